"""Checks a name index against the rows that it is derived from, and makes it anew from them."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from cdb.coins import bytes32
from cdb.damage import Damage, Progress
from cdb.disk.files import storage_errors
from cdb.errors import CorruptDatabaseError, DatabaseNotFoundError
from cdb.rows.coin_rows import CoinRows
from cdb.rows.index import NameIndex, Watermark

CHECKED_NAMES = 10_000

OpenIndex = Callable[[Path], NameIndex]


def check_index(
    rows: CoinRows, path: Path, open_index: OpenIndex, progress: Progress
) -> Iterator[Damage]:
    """The first damage to an index of sound rows: it is repaired as a whole.

    open_index opens it for reading only.
    """
    try:
        with closing(open_index(path)) as index:
            index.check()
            _check_names(rows, path, index, progress)
    except (CorruptDatabaseError, DatabaseNotFoundError) as error:
        yield Damage.of(error, rows.path.name)


def rebuild_index(
    rows: CoinRows, path: Path, open_index: OpenIndex, batch_coins: int, progress: Progress
) -> None:
    """Throw the index away and make it from the rows, which are only read.

    A crash leaves an index that covers too little, or none, or a damaged one: never a wrong one.
    """
    if path.exists():
        with storage_errors(path):
            shutil.rmtree(path)
    with closing(open_index(path)) as index:
        for last_row, names in _batches(rows, rows.row_count, batch_coins):
            index.write(names, Watermark(last_row, names[-1]))
            progress(len(names))


def _check_names(rows: CoinRows, path: Path, index: NameIndex, progress: Progress) -> None:
    covered, last_name = index.covered
    if covered > rows.row_count:
        problem = f"it covers {covered} rows, and {rows.path.name} ends at row {rows.row_count}"
        raise CorruptDatabaseError(path, f"{problem}: the newest commits were lost")
    names: list[bytes32] = []
    for last_row, names in _batches(rows, covered, CHECKED_NAMES):
        expected = range(last_row - len(names) + 1, last_row + 1)
        for name, row, found in zip(names, expected, index.find(names), strict=True):
            if found != row:
                problem = f"it finds coin {name.hex()}, which is row {row}, at row {found}"
                raise CorruptDatabaseError(path, problem)
        progress(len(names))
    if b"".join(names[-1:]) != last_name:
        raise CorruptDatabaseError(path, f"its watermark has another name than row {covered}")


def _batches(rows: CoinRows, last: int, coins: int) -> Iterator[tuple[int, list[bytes32]]]:
    """The names of rows 1 … last, so many at a time, with the last one's row."""
    for first_row in range(1, last + 1, coins):
        last_row = min(first_row + coins - 1, last)
        yield last_row, list(rows.read.names_between(first_row, last_row))
