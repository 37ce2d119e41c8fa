"""What a backup of a node's database looks like.

DIR/
├── BACKUP              a line that says what this is, and one of JSON; written last
├── node.sqlite         the node's file
└── node.sqlite.cdb/    its coins: a coin log
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from cdb.contract.coins import MAX_U32
from cdb.disk.files import replace_file
from cdb.disk.paths import read_own
from cdb.errors import (
    CorruptDatabaseError,
    DatabaseNotFoundError,
    WrongDatabaseError,
    storage_errors,
)
from cdb.node.log import log_path_of

BACKUP_FILE = "BACKUP"
PARTIAL_SUFFIX = ".partial"
_HEAD = b"cdb node backup 1\n"
_NAME = "node.sqlite"


@dataclass(frozen=True, slots=True)
class Contents:
    """What a backup holds.

    height: of the newest block of the coins; -1 without any. made_at: UTC, ISO 8601.
    """

    height: int
    file_bytes: int
    log_bytes: int
    made_at: str

    def __str__(self) -> str:
        sizes = (f"{n / 1e6:,.1f} MB" for n in (self.file_bytes, self.log_bytes))
        return "a file of {} and coins of {}".format(*sizes)


def file_in(directory: Path) -> Path:
    """The node's file in a backup."""
    return directory / _NAME


def log_in(directory: Path) -> Path:
    """The coins in a backup."""
    return log_path_of(file_in(directory))


def write_contents(directory: Path, contents: Contents) -> None:
    """Say that a backup is whole, durably."""
    replace_file(directory / BACKUP_FILE, _HEAD + line_of(contents), durable=True)


def line_of(contents: Contents) -> bytes:
    """What a backup says of itself, as a line of JSON."""
    return json.dumps(asdict(contents)).encode("ascii") + b"\n"


def contents_of(directory: Path) -> Contents:
    """What a backup says of itself.

    Raises DatabaseNotFoundError, WrongDatabaseError for what is none, or is not whole, and
    CorruptDatabaseError.
    """
    path = directory / BACKUP_FILE
    if not directory.is_dir():
        raise DatabaseNotFoundError(directory, "no backup is here; 'cdb backup' makes directories")
    with storage_errors(path):
        text = read_own(path)
    if text is None:
        raise WrongDatabaseError(directory, "this is no backup, or one that was never finished")
    if not text.startswith(_HEAD):
        raise WrongDatabaseError(path, "it is of no backup that this cdb knows; use a newer one")
    return contents_of_line(text[len(_HEAD) :], path)


def contents_of_line(line: bytes, path: Path) -> Contents:
    """What line_of() has made. path: where that is read. Raises CorruptDatabaseError."""
    try:
        contents = Contents(**json.loads(line))
        if not _is_possible(contents):
            raise ValueError("what it says can't be")
        return contents
    except (ValueError, TypeError, RecursionError) as error:
        raise CorruptDatabaseError(path, f"damaged: {error}", "use another backup") from error


def _is_possible(contents: Contents) -> bool:
    sizes = (contents.file_bytes, contents.log_bytes)
    return (
        all(type(n) is int for n in (contents.height, *sizes))
        and -1 <= contents.height <= MAX_U32
        and min(sizes) >= 0
        and type(contents.made_at) is str
    )


def size_bytes(path: Path) -> int:
    """Of a file, or of all in a directory. What goes away meanwhile doesn't count."""
    total = 0
    for each in path.rglob("*") if path.is_dir() else [path]:
        try:
            total += each.stat().st_size if each.is_file() else 0
        except FileNotFoundError:
            continue
    return total
