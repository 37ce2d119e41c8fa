"""Questions about coins that take more than one query, or more than a list of them to answer."""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from struct import iter_unpack, unpack

from chia_rs import CoinRecord, CoinState

from cdb.chia import convert
from cdb.chia.rows import AMOUNT, CONFIRMED, NAME, PARENT, PUZZLE_HASH, Row, coin_rows
from cdb.coin_query import COIN_BYTES, MAX_INDEX, CoinKey, CoinQuery
from cdb.coins import MAX_U32, NAME_BYTES, is_reward
from cdb.packed import Packed
from cdb.schemas.protocol import QueriesPacked

ANY = (0, MAX_INDEX)
UNSPENT = (0, 0)
_COUNTED_HEIGHTS = 10_000
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


def lineages(view: QueriesPacked, puzzle_hash: bytes) -> list[tuple[bytes, bytes, bytes]]:
    """The names of coins of a puzzle hash that could be fast-forwarded, their parents', and theirs.

    Such a coin is unspent and no reward, and its parent, which is spent, has the same puzzle hash
    and amount.
    """
    query = CoinQuery(CoinKey.PUZZLE_HASH, convert.joined([puzzle_hash]), spent=UNSPENT)
    coins = [row for row in coin_rows(view.coins_packed(query)) if not is_reward(row[PARENT])]
    if not coins:
        return []
    names = convert.by_name([row[PARENT] for row in coins], spent=(1, MAX_INDEX))
    parents = {row[NAME]: row for row in coin_rows(view.coins_packed(names))}
    return [
        (row[NAME], row[PARENT], parents[row[PARENT]][PARENT])
        for row in coins
        if row[PARENT] in parents and _is_same(row, parents[row[PARENT]])
    ]


def changes_above(view: QueriesPacked, height: int) -> dict[bytes, CoinRecord]:
    """By name, what a rollback makes of the coins of the blocks at a height and above."""
    new = view.coins_packed(CoinQuery(confirmed=(height, MAX_U32)))
    spent = view.coins_packed(CoinQuery(confirmed=(0, height - 1), spent=(height, MAX_U32)))
    return {
        name: record
        for coins in (new, spent)
        for name, record in convert.rolled_back(coins, height)
    }


def n_unspent(view: QueriesPacked) -> int:
    """How many coins are unspent, counted by so many heights at a time."""
    count = first = 0
    while following := view.coins_packed(CoinQuery(confirmed=(first, MAX_U32), limit=1)):
        [coin] = coin_rows(following)
        first = coin[CONFIRMED] + _COUNTED_HEIGHTS
        heights = (coin[CONFIRMED], first - 1)
        unspent = view.coins_packed(CoinQuery(confirmed=heights, spent=UNSPENT))
        count += len(unspent) // COIN_BYTES
    return count


def _is_same(coin: Row, parent: Row) -> bool:
    return coin[PUZZLE_HASH : AMOUNT + 1] == parent[PUZZLE_HASH : AMOUNT + 1]


def _each(coins: Packed) -> Iterator[bytes]:
    """The coins, each packed."""
    return (coin for (coin,) in iter_unpack(f"{COIN_BYTES}s", coins))


def _changed_at(coin: bytes) -> int:
    """The height of the newest block that changed a packed coin."""
    confirmed, spent = unpack(_HEIGHTS, coin)
    return int(max(confirmed, spent))
