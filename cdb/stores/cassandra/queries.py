"""Coins by puzzle hash, parent or block: names that may be meant, each held against its coin."""

from collections.abc import Iterable, Iterator
from functools import cache
from heapq import nsmallest
from itertools import islice
from struct import iter_unpack, pack

from cdb.contract.coin_query import COIN_FORMAT, MAX_INDEX, CoinKey, CoinQuery
from cdb.contract.history import PAGE_ROWS
from cdb.contract.packed import INFO_FORMAT, PackedBlocks
from cdb.contract.packed_state import with_names
from cdb.stores.cassandra.moment import Moment
from cdb.stores.cassandra.rows import keyed_key
from cdb.stores.cassandra.tables import Tables

_Found = tuple[int, bytes, bytes]
"""The index by which a coin is ordered, its name, and the coin as COIN_FORMAT has it."""


def ask(moment: Moment, tables: Tables, query: CoinQuery) -> bytes:
    """See KeyedBackend. Of a limit it holds so many coins in memory, and else all that it finds."""
    found = _found(moment, _names(moment, tables, query), query)
    coins = sorted(found) if query.limit is None else nsmallest(query.limit, found)
    return b"".join([packed for _, _, packed in coins])


def _names(moment: Moment, tables: Tables, query: CoinQuery) -> Iterator[bytes]:
    """The names of all coins that are asked for, and of others, in any order and some twice."""
    if query.key is CoinKey.NAME:
        yield from query.separate_values()
    elif query.key is not CoinKey.NONE:
        keys = [keyed_key(moment.state.chain, query.key, each) for each in query.separate_values()]
        yield from tables.keyed(keys, *query.confirmed)
    elif query.changed_from > 0:
        for blocks in moment.read(query.changed_from, MAX_INDEX, PAGE_ROWS):
            yield from _each(with_names(blocks).names)
            yield from _each(blocks.spends)
    elif query.spent[0] > 0:
        for blocks in moment.read(*query.spent, PAGE_ROWS):
            yield from _each(blocks.spends)
    else:
        for blocks in map(with_names, moment.read(*query.confirmed, PAGE_ROWS)):
            yield from _each(blocks.names)


def _each(names: bytes | memoryview) -> Iterator[bytes]:
    return (name for (name,) in iter_unpack("32s", names))


def _found(moment: Moment, names: Iterable[bytes], query: CoinQuery) -> Iterator[_Found]:
    """The coins that are asked for, each once, in any order."""
    timestamp_at = cache(lambda index: moment.head(moment.blocks_up_to(index) - 1).timestamp)
    seen: set[bytes] = set()
    names, wanted = iter(names), query.separate_values()
    while page := dict.fromkeys(islice(names, PAGE_ROWS)):
        new = [name for name in page if name not in seen]
        seen.update(new)
        infos, found = moment.find(b"".join(new))
        for name, is_found, fields in zip(new, found, iter_unpack(INFO_FORMAT, infos), strict=True):
            if is_found and _is_asked(query, wanted, name, fields):
                *_, confirmed, spent = fields
                order = max(confirmed, spent) if query.by_change else confirmed
                yield order, name, pack(COIN_FORMAT, name, *fields, timestamp_at(confirmed))


def _is_asked(
    query: CoinQuery,
    wanted: set[bytes],
    name: bytes,
    fields: tuple[bytes, bytes, int, int, int],
) -> bool:
    parent, puzzle_hash, amount, confirmed, spent = fields
    keys = {CoinKey.NAME: name, CoinKey.PUZZLE_HASH: puzzle_hash, CoinKey.PARENT: parent}
    return (
        (query.key is CoinKey.NONE or keys[query.key] in wanted)
        and query.confirmed[0] <= confirmed <= query.confirmed[1]
        and query.spent[0] <= spent <= query.spent[1]
        and query.changed_from <= max(confirmed, spent)
        and query.least_amount <= amount
    )


def keyed_rows(chain: bytes, blocks: PackedBlocks) -> Iterator[tuple[bytes, int, bytes]]:
    """The rows by which the blocks' coins are found, of packs with names."""
    start = 0
    coins = zip(iter_unpack(">32s32s8x", blocks.confirms), _each(blocks.names), strict=True)
    for index, end in zip(blocks.indices, blocks.confirm_ends, strict=True):
        for (parent, puzzle_hash), name in islice(coins, end - start):
            yield keyed_key(chain, CoinKey.PUZZLE_HASH, puzzle_hash), index, name
            yield keyed_key(chain, CoinKey.PARENT, parent), index, name
        start = end
