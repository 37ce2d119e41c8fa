"""Coins as of a height, of rows: block by block, each held against its checksum.

All is read of one snapshot, whose rows say (confirmed, spent) of each coin: as of a height that is
a mask (cdb.contract.history). So a state comes in the order of the rows, which is that of creation.
"""

from collections.abc import Iterator

from cdb.contract.coins import MAX_U32, CoinInfo, bytes32
from cdb.contract.history import as_of
from cdb.stores.rows.coin_rows import CoinReader


def state_at(reader: CoinReader, height: int) -> Iterator[CoinInfo]:
    """All coins as of a height."""
    for row in reader.blocks_above(-1):
        if row.block_index > height:
            return
        coins, spent = reader.coins_of(row)
        reader.assembled(row, coins, spent)
        for coin in coins:
            info = as_of(coin.info(), height)
            is_of_it = (
                coin.has_possible_indices() and coin.info().confirmed_index == row.block_index
            )
            if info is None or not is_of_it:
                raise reader.damaged(f"coin row {coin.row} is not of block {row.block_index}")
            yield info


def unspent(reader: CoinReader) -> Iterator[CoinInfo]:
    """The coins that are unspent."""
    return (info for info in state_at(reader, MAX_U32) if not info.spent_index)


def versions(reader: CoinReader, first: int, last: int) -> Iterator[CoinInfo]:
    """What the blocks first … last leave of the coins that they touch."""
    for row in reader.blocks_above(first - 1):
        if row.block_index > last:
            return
        coins, spent = reader.coins_of(row)
        reader.assembled(row, coins, spent)
        left: dict[bytes32, CoinInfo] = {}
        for coin in (*coins, *spent):
            info = as_of(coin.info(), row.block_index)
            if info is None or max(info.confirmed_index, info.spent_index) != row.block_index:
                raise reader.damaged(
                    f"coin row {coin.row} is not as block {row.block_index} has it"
                )
            left[coin.name()] = info
        yield from [left[name] for name in sorted(left)]
