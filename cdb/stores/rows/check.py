"""Checks coin rows, by nothing but themselves, and a name index against them; rebuilds it."""

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

from cdb.contract.progress import Progress
from cdb.disk.damage import Damage
from cdb.disk.files import remove_dir
from cdb.errors import CorruptDatabaseError, DatabaseNotFoundError
from cdb.stores.rows.coin_rows import CoinReader, CoinRows
from cdb.stores.rows.index import NameIndex, Numbered, held_twice, is_of, name_of, written
from cdb.stores.rows.sqlite import integrity_problems, stored_data
from cdb.stores.rows.stored import BlockRow

CHECKED_NAMES = 10_000

OpenIndex = Callable[[Path], NameIndex]


def check_rows(rows: CoinRows, progress: Progress) -> Iterator[Damage]:
    """All damage to the rows of a read-only object. Nothing can repair it: they are the truth."""
    with stored_data(rows.path):
        problems = integrity_problems(rows.connection)
    yield from (Damage(rows.path, problem) for problem in problems)
    try:
        yield from _check_blocks(rows, progress)
    except CorruptDatabaseError as error:
        yield Damage.of(error)


def _check_blocks(rows: CoinRows, progress: Progress) -> Iterator[Damage]:
    is_sound = True
    next_row = 1
    spends = spent_coins = 0
    for block in rows.read.blocks_above(-1):
        try:
            spent_coins += _check_block(rows.read, block, next_row)
        except CorruptDatabaseError as error:
            is_sound = False
            yield Damage.of(error)
        spends += len(block.spent_rows) // 8
        next_row = block.first_row + block.n_confirms
        progress(block.n_confirms)
    if rows.row_count != next_row - 1:
        problem = f"its coins end at row {rows.row_count}, and its blocks at row {next_row - 1}"
        yield Damage(rows.path, problem)
    if is_sound and spends != spent_coins:
        problem = f"{spent_coins} coins say that they are spent, and blocks spend {spends}"
        yield Damage(rows.path, problem)


def _check_block(read: CoinReader, row: BlockRow, first_row: int) -> int:
    """How many of the block's own coins are spent, by whichever block."""
    coins, spent = read.coins_of(row)
    read.assembled(row, coins, spent)
    index = row.block_index
    if row.first_row != first_row:
        raise read.damaged(f"block {index} begins at row {row.first_row}, not at {first_row}")
    for coin in coins:
        if coin.confirmed_index != index:
            problem = f"coin row {coin.row} of block {index} says block {coin.confirmed_index}"
            raise read.damaged(problem)
        if not coin.has_possible_indices():
            raise read.damaged(f"coin row {coin.row} can't be spent by block {coin.spent_index!r}")
    for coin in spent:
        if coin.spent_index != index:
            problem = f"block {index} spends coin row {coin.row}, which says {coin.spent_index}"
            raise read.damaged(problem)
    return sum(coin.spent_index > 0 for coin in coins)


def check_index(
    rows: Numbered, path: Path, open_index: OpenIndex, progress: Progress
) -> Iterator[Damage]:
    """The first damage to an index of sound rows, which is repaired as a whole; or a coin that rows
    hold twice.

    open_index opens it for reading only.
    """
    try:
        with closing(open_index(path)) as index:
            index.check()
            _check_names(rows, path, index, progress)
    except (CorruptDatabaseError, DatabaseNotFoundError) as error:
        is_of_rows = Path(error.path).name == rows.path.name
        yield Damage.of(error, None if is_of_rows else rows.path.name)


def rebuild_index(
    rows: Numbered, path: Path, open_index: OpenIndex, batch_coins: int, progress: Progress
) -> None:
    """Throw the index away and make it from the rows, which are only read.

    A crash leaves an index that covers too little, or none, or a damaged one: never a wrong one.
    """
    remove_dir(path)
    with closing(open_index(path)) as index:
        for last_row, names in _batches(rows, rows.row_count, batch_coins):
            if len({*names}) < len(names):
                _raise_of_double(rows, names, last_row)
            index.write(names, written(rows, last_row, names[-1]))
            progress(len(names))


def _raise_of_double(rows: Numbered, names: list[bytes], last_row: int) -> None:
    found: dict[bytes, int] = {}
    for row, name in enumerate(names, last_row - len(names) + 1):
        if name in found:
            raise held_twice(rows, name, found[name], row)
        found[name] = row


def _check_names(rows: Numbered, path: Path, index: NameIndex, progress: Progress) -> None:
    covered = index.covered.rows
    if covered > rows.row_count:
        problem = f"it covers {covered} rows, and {rows.path.name} ends at row {rows.row_count}"
        raise CorruptDatabaseError(path, f"{problem}: the newest commits were lost")
    for last_row, names in _batches(rows, covered, CHECKED_NAMES):
        expected = range(last_row - len(names) + 1, last_row + 1)
        for name, row, found in zip(names, expected, index.find(names), strict=True):
            if found != row:
                other = found or 0
                if 0 < other <= rows.row_count and name_of(rows, other) == name:
                    raise held_twice(rows, name, row, other)
                problem = f"it finds coin {name.hex()}, which is row {row}, at row {found}"
                raise CorruptDatabaseError(path, problem)
        progress(len(names))
    if not is_of(index.covered, rows):
        raise CorruptDatabaseError(path, f"its watermark does not fit row {covered}")


def _batches(rows: Numbered, last: int, coins: int) -> Iterator[tuple[int, list[bytes]]]:
    """The names of rows 1 … last, so many at a time, with the last one's row."""
    names = rows.read.names_between(1, last)
    for first_row in range(1, last + 1, coins):
        last_row = min(first_row + coins - 1, last)
        yield last_row, list(islice(names, coins))
