"""Coins as of a height, of rows: block by block, each held against its checksum.

All is read of one snapshot, whose rows say (confirmed, spent) of each coin: as of a height that is
a mask (cdb.contract.history). So a state comes in the order of the rows, which is that of creation.
"""

from collections.abc import Iterator
from itertools import takewhile

from cdb.contract.history import Page, cut, unspent_pages
from cdb.contract.packed import packed_infos
from cdb.contract.packed_state import names_of
from cdb.stores.rows.coin_rows import CoinReader
from cdb.stores.rows.stored import BlockRow


def state_at(reader: CoinReader, height: int, *, only_unspent: bool) -> Iterator[Page]:
    """All coins as of a height, or those that are unspent then."""
    rows = takewhile(lambda row: row.block_index <= height, reader.blocks_above(-1))
    pages = (page for row in rows for page in cut(_state_of(reader, row, height)))
    return unspent_pages(pages) if only_unspent else pages


def versions(reader: CoinReader, first: int, last: int) -> Iterator[Page]:
    """What the blocks first … last leave of the coins that they touch."""
    rows = takewhile(lambda row: row.block_index <= last, reader.blocks_above(first - 1))
    return (page for row in rows for page in cut(_versions_of(reader, row)))


def _state_of(reader: CoinReader, row: BlockRow, height: int) -> Page:
    coins, spent = reader.coins_of(row)
    block = reader.assembled(row, coins, spent)
    for coin in coins:
        if not coin.has_possible_indices() or coin.confirmed_index != row.block_index:
            raise reader.damaged(f"coin row {coin.row} is not of block {row.block_index}")
    infos, _ = packed_infos(coin.fields(height) for coin in coins)
    return Page(names_of(block.confirms), infos)


def _versions_of(reader: CoinReader, row: BlockRow) -> Page:
    coins, spent = reader.coins_of(row)
    reader.assembled(row, coins, spent)
    left = {}
    for coin in (*coins, *spent):
        fields = coin.fields(row.block_index) if coin.has_possible_indices() else None
        if fields is None or max(fields[-2:]) != row.block_index:
            raise reader.damaged(f"coin row {coin.row} is not as block {row.block_index} has it")
        left[coin.name()] = fields
    names = sorted(left)
    infos, _ = packed_infos(left[name] for name in names)
    return Page(b"".join(names), infos)
