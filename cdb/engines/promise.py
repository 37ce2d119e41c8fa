"""The file NEWEST beside a RocksDB database: how far that one has come, at least.

A manifest of RocksDB's that is cut ends early without a complaint; the database would be an older
one. What a promise says tells.
"""

import re
from pathlib import Path
from typing import NamedTuple

from cdb.engines.files import replace_file, storage_errors
from cdb.errors import CorruptDatabaseError

NEWEST_FILE = "NEWEST"

_line = re.compile(r"newest (-?[0-9]{1,10}) sequence ([0-9]{1,20})\n").fullmatch


class Promise(NamedTuple):
    """The newest block (-1 promises none), and RocksDB's sequence number."""

    newest: int
    sequence: int


def read_promise(path: Path) -> Promise | None:
    """What the file says; None where there is none. Raises CorruptDatabaseError."""
    with storage_errors(path):
        if not path.exists():
            return None
        match = _line(path.read_bytes().decode("ascii", "replace"))
    if match is None:
        raise CorruptDatabaseError(path, "damaged: it should read 'newest N sequence N'")
    return Promise(int(match[1]), int(match[2]))


def write_promise(path: Path, promise: Promise) -> None:
    """Replace the file in one step, durably: torn by a power cut, it would look like damage."""
    line = f"newest {promise.newest} sequence {promise.sequence}\n"
    replace_file(path, line.encode("ascii"), durable=True)
