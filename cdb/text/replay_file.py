"""A whole database as one replay file that is replaced at each save.

    # cdb memory 1          the format, and its version
    B …                     canonical replay text
    # sha256 <64 digits>    of all that stands above

Both comments are part of the replay format, so the file loads into any schema as it is.
"""

import hashlib
import re
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path

from cdb.contract.blocks import BlockSpendInfo
from cdb.disk.files import replace_file
from cdb.disk.paths import first_bytes, own
from cdb.errors import (
    CorruptDatabaseError,
    DatabaseNotFoundError,
    ReplayError,
    WrongDatabaseError,
    storage_errors,
    wrong_version,
)
from cdb.text.replay import block_text, read_blocks

_BEGINNING = b"# cdb memory 1\n"
_any_version = re.compile(rb"# cdb memory (0|[1-9][0-9]{0,8})\n").fullmatch
_MAX_FIRST_LINE_BYTES = 80
_LAST_LINE_BYTES = len(b"# sha256 \n") + 64


def save(path: Path, blocks: Iterable[BlockSpendInfo], *, durable: bool) -> None:
    """Replace the file, in one step that a crash does not halve."""
    text = b"".join([_BEGINNING, *map(block_text, blocks)])
    replace_file(path, text + _last_line(text), durable=durable)


def version_of(path: Path) -> int | None:
    """Which version of the format a file is; None where it is no such file."""
    with storage_errors(path):
        found = _any_version(_first_line(path))
    return None if found is None else int(found[1])


def check_format(path: Path) -> None:
    """Raise DatabaseNotFoundError or WrongDatabaseError unless such a file is at the path."""
    with storage_errors(path):
        if path.is_dir():
            raise WrongDatabaseError(
                path, "this is a directory, and a database of memory is a file"
            )
        if not path.exists():
            raise DatabaseNotFoundError(path, "no database is here")
        if not path.is_file():
            raise WrongDatabaseError(path, "this is no file, and a database of memory is one")
        first_line = _first_line(path)
    if first_line != _BEGINNING:
        if version := _any_version(first_line):
            raise wrong_version(path, f"memory {version[1].decode()}", "memory 1")
        raise WrongDatabaseError(path, "this is not a memory database; name a new path")


def load(path: Path) -> list[BlockSpendInfo]:
    """Read the file. Raises check_format's errors and CorruptDatabaseError."""
    check_format(path)
    with storage_errors(path), open(path, "rb", opener=own) as file:
        data = file.read()
    text = data[:-_LAST_LINE_BYTES]
    if data[-_LAST_LINE_BYTES:] != _last_line(text):
        raise CorruptDatabaseError(path, "it was truncated or altered: its SHA-256 does not match")
    try:
        return list(read_blocks(BytesIO(text)))
    except ReplayError as error:
        raise CorruptDatabaseError(path, str(error)) from error


def _first_line(path: Path) -> bytes:
    line, end, _ = first_bytes(path, _MAX_FIRST_LINE_BYTES).partition(b"\n")
    return line + end


def _last_line(text: bytes) -> bytes:
    return b"# sha256 " + hashlib.sha256(text).hexdigest().encode("ascii") + b"\n"
