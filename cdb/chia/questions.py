"""Questions about coins that take more than one query, or more than a list of them to answer."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from struct import iter_unpack, unpack

from chia_rs import CoinRecord, CoinState

from cdb.chia import convert
from cdb.contract.coin_query import COIN_BYTES, MAX_INDEX, CoinKey, CoinQuery
from cdb.contract.coins import MAX_U32, NAME_BYTES, is_reward
from cdb.contract.packed import Packed
from cdb.contract.schema import QueriesPacked
from cdb.node.marked_table import Changes, Marked
from cdb.node.rows import AMOUNT, CONFIRMED, NAME, PARENT, PUZZLE_HASH, Row, coin_rows

ANY = (0, MAX_INDEX)
UNSPENT = (0, 0)
_PART_HEIGHTS = 10_000
_HEIGHTS = "=104xII8x"
"""Of a packed coin: which blocks confirmed and spent it."""


def page(view: QueriesPacked, query: CoinQuery, names: bytes) -> tuple[list[CoinState], int | None]:
    """The coins of a query, whose limit is one more than a page has, and of names, by change.

    All of them and None; or, where they are more than a page, those before the block that the last
    of them is in, and that block's height. So no block is torn, and one that is larger than a page
    makes it empty.
    """
    coins = view.coins_packed(query)
    if names:
        hinted = view.coins_packed(replace(query, key=CoinKey.NAME, values=names))
        each_once = {coin[:NAME_BYTES]: coin for coin in chain(_each(coins), _each(hinted))}
        by_change = sorted(each_once.values(), key=_changed_at)
        coins = b"".join(by_change)
    if query.limit is None or len(coins) < query.limit * COIN_BYTES:
        return convert.states(coins), None
    changes = [*map(max, iter_unpack(_HEIGHTS, coins))]
    following = changes[query.limit - 1]
    return convert.states(coins[: COIN_BYTES * bisect_left(changes, following)]), following


def lineages(view: QueriesPacked, names: bytes) -> list[tuple[bytes, bytes, bytes]]:
    """Those of some coins that may be fast-forwarded; the names of each, its parent, and theirs.

    Such a coin is unspent and no reward, and its parent, which is spent, has the same puzzle hash
    and amount.
    """
    unspent = view.coins_packed(CoinQuery(CoinKey.NAME, names, spent=UNSPENT))
    return [
        (row[NAME], row[PARENT], parent[PARENT])
        for row, parent in _recreated(view, coin_rows(unspent))
    ]


def marked(view: QueriesPacked, coins: Packed) -> list[Marked]:
    """Those of some coins that chia marks as soon as they are unspent: see lineages()."""
    return [(row[PUZZLE_HASH], row[NAME]) for row, _ in _recreated(view, coin_rows(coins))]


def all_marked(view: QueriesPacked) -> Iterator[list[Marked]]:
    """All of the unspent ones, part by part. It goes over all unspent coins."""
    return (marked(view, coins) for coins in _unspent(view))


def _recreated(view: QueriesPacked, coins: Iterable[Row]) -> Iterator[tuple[Row, Row]]:
    """Those of some coins that are their spent parent again, each with that."""
    rows = [row for row in coins if not is_reward(row[PARENT])]
    names = convert.by_name([row[PARENT] for row in rows], spent=(1, MAX_INDEX))
    parents = {row[NAME]: row for row in coin_rows(view.coins_packed(names))}
    for row in rows:
        parent = parents.get(row[PARENT])
        if parent is not None and _is_same(row, parent):
            yield row, parent


def changes_above(view: QueriesPacked, height: int) -> tuple[dict[bytes, CoinRecord], Changes]:
    """What a rollback makes of the coins of the blocks at a height and above, by name; and which
    coins it marks, and which it takes away."""
    new = view.coins_packed(CoinQuery(confirmed=(height, MAX_U32)))
    spent = view.coins_packed(CoinQuery(confirmed=(0, height - 1), spent=(height, MAX_U32)))
    records = {
        name: record
        for coins in (new, spent)
        for name, record in convert.rolled_back(coins, height)
    }
    gone = [(row[PUZZLE_HASH], row[NAME]) for row in coin_rows(new)]
    return records, Changes(marked(view, spent), gone)


def _unspent(view: QueriesPacked) -> Iterator[Packed]:
    """All unspent coins, of so many heights at a time."""
    first = 0
    while following := view.coins_packed(
        CoinQuery(confirmed=(first, MAX_U32), limit=1, any_of_block=True)
    ):
        [coin] = coin_rows(following)
        first = coin[CONFIRMED] + _PART_HEIGHTS
        heights = (coin[CONFIRMED], first - 1)
        yield view.coins_packed(CoinQuery(confirmed=heights, spent=UNSPENT))


def _is_same(coin: Row, parent: Row) -> bool:
    return coin[PUZZLE_HASH : AMOUNT + 1] == parent[PUZZLE_HASH : AMOUNT + 1]


def _each(coins: Packed) -> Iterator[bytes]:
    """The coins, each packed."""
    return (coin for (coin,) in iter_unpack(f"{COIN_BYTES}s", coins))


def _changed_at(coin: bytes) -> int:
    """The height of the newest block that changed a packed coin."""
    confirmed, spent = unpack(_HEIGHTS, coin)
    return int(max(confirmed, spent))
