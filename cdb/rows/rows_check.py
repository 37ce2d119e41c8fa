"""Checks coin rows, by nothing but themselves: the SQLite file, and then every block in it."""

from collections.abc import Iterator

from cdb.damage import Damage, Progress
from cdb.errors import CorruptDatabaseError
from cdb.rows.coin_rows import CoinReader, CoinRows
from cdb.rows.sqlite import integrity_problems, stored_data
from cdb.rows.stored import BlockRow


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
