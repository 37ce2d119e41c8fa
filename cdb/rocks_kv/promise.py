"""The file NEWEST beside a RocksDB database: how far that one has come, at least.

A manifest of RocksDB's that is cut ends early without a complaint; the database would be an older
one. What a promise says tells.
"""

import re
import zlib
from pathlib import Path
from typing import NamedTuple

from cdb.disk.files import replace_file, storage_errors
from cdb.disk.own import read_own
from cdb.errors import CorruptDatabaseError

NEWEST_FILE = "NEWEST"

_line = re.compile(rb"newest (-?[0-9]{1,10}) sequence ([0-9]{1,20}) crc32 [0-9a-f]{8}\n").fullmatch


class Promise(NamedTuple):
    """The newest block (-1 promises none), and RocksDB's sequence number."""

    newest: int
    sequence: int


def read_promise(path: Path) -> Promise | None:
    """What the file says; None where there is none. Raises CorruptDatabaseError."""
    with storage_errors(path):
        line = read_own(path)
    if line is None:
        return None
    match = _line(line)
    if match is None:
        problem = "damaged: it should read 'newest N sequence N crc32 XXXXXXXX'"
        raise CorruptDatabaseError(path, problem)
    promise = Promise(int(match[1]), int(match[2]))
    if line != _line_of(promise):
        raise CorruptDatabaseError(path, "damaged: its checksum is another one")
    return promise


def write_promise(path: Path, promise: Promise) -> None:
    """Replace the file in one step, durably: torn by a power cut, it would look like damage."""
    replace_file(path, _line_of(promise), durable=True)


def _line_of(promise: Promise) -> bytes:
    line = f"newest {promise.newest} sequence {promise.sequence}".encode("ascii")
    return b"%s crc32 %08x\n" % (line, zlib.crc32(line))
