"""What secondary keys find, held against the reference model's coins."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random
from struct import iter_unpack
from typing import ClassVar, TypeVar

from cdb.contract.coin_query import COIN_FORMAT, MAX_INDEX, CoinKey, CoinQuery, unpacked_coins
from cdb.contract.coins import MAX_U64, Coin, CoinInfo, bytes32
from cdb.contract.schema import IndexedSchema, QueriesPacked, Schema, offer_of
from cdb.testing.chains import EDGE_AMOUNTS, Chain, hash_of
from cdb.testing.crafts import near
from cdb.testing.side_by_side import CALLS, SideBySide, model_of

T = TypeVar("T")

SOME = 6
"""So many values of each key are asked alone, and so many packed queries made."""
NOBODY = hash_of("nobody")


def keys_of(schema: Schema) -> IndexedSchema:
    """The schema as one that has secondary keys. Raises AssertionError where it has none."""
    indexed = offer_of(schema).indexed
    assert indexed is not None, "it offers no IndexedSchema"
    return indexed


def queries_of(schema: Schema) -> QueriesPacked | None:
    """The schema as one that answers packed queries, if it does."""
    return offer_of(schema).queries_packed


KEYED_CALLS: Mapping[str, Callable[[Schema], object]] = {
    "puzzle hashes": lambda schema: keys_of(schema).coin_infos_for_puzzle_hashes([NOBODY]),
    "parents": lambda schema: keys_of(schema).coin_infos_for_parents([NOBODY]),
    "confirmed at": lambda schema: keys_of(schema).coin_infos_confirmed_at(0),
    "spent at": lambda schema: keys_of(schema).coin_infos_spent_at(1),
    "packed query": lambda schema: _query_nothing(schema),
}
"""More calls that change nothing, and must raise what a pack has deferred."""


def _query_nothing(schema: Schema) -> None:
    queries = queries_of(schema)
    if queries is None:
        keys_of(schema).coin_infos_for_parents([NOBODY])
    else:
        queries.coins_packed(CoinQuery(CoinKey.PARENT, NOBODY))


class KeyedSideBySide(SideBySide):
    """Compares what secondary keys find, too."""

    calls: ClassVar[Mapping[str, Callable[[Schema], object]]] = {**CALLS, **KEYED_CALLS}

    def agree(self) -> None:
        """Compare all that can be asked; by secondary keys with some of the values there are."""
        super().agree()
        self.agree_on_keys()

    def agree_on_keys(self, most: int = SOME) -> None:
        """Compare what all values find together, and most of them alone, filtered in all ways."""
        check_keys(self.schema, self.model, most)
        for query in random_queries(self.chain, Random(len(self.chain.blocks)), SOME):  # noqa: S311
            self.agree_on(query)

    def agree_on(self, query: CoinQuery) -> None:
        """Compare the answers to a packed query, where the schema takes any."""
        queries = queries_of(self.schema)
        if queries is not None:
            assert bytes(queries.coins_packed(query)) == self.model.coins_packed(query), query

    def agree_on_any_of_blocks(self, query: CoinQuery, limits: Sequence[int | None]) -> None:
        """Compare how many coins of each block there are, where any of a block will do."""
        queries = queries_of(self.schema)
        if queries is None:
            return
        everything = {*iter_unpack(COIN_FORMAT, self.model.coins_packed(query))}
        for limit in limits:
            asked = replace(query, limit=limit, any_of_block=True)
            found, expected = (
                [*iter_unpack(COIN_FORMAT, each.coins_packed(asked))]
                for each in (queries, self.model)
            )
            assert everything.issuperset(found), asked
            assert len({*found}) == len(found), asked
            blocks, others = (
                [max(coin[4:6]) if query.by_change else coin[4] for coin in coins]
                for coins in (found, expected)
            )
            assert blocks == others, asked


def check_by_scan(schema: Schema) -> None:
    """Whether puzzle hashes, and parents, find all coins that blocks() has.

    Nothing is asked of a schema without secondary keys. Raises AssertionError.
    """
    keys = offer_of(schema).indexed
    if keys is None:
        return
    with model_of(schema.blocks()) as model:
        coins = unpacked_coins(model.coins_packed(CoinQuery()))
    hashes = {info.coin.puzzle_hash for info in coins}
    parents = {info.coin.parent_coin_name for info in coins}
    assert keys.coin_infos_for_puzzle_hashes([*hashes]) == coins, "puzzle hashes"
    assert keys.coin_infos_for_parents([*parents]) == coins, "parents"


def check_keys(schema: Schema, model: QueriesPacked, most: int) -> None:
    """Ask by all four keys. Raises AssertionError where the answer is not the model's."""
    coins = unpacked_coins(model.coins_packed(CoinQuery()))
    random = Random(len(coins))  # noqa: S311 - reproducible, not secret
    hashes = [info.coin.puzzle_hash for info in coins]
    parents = [info.coin.parent_coin_name for info in coins]
    heights = {info.confirmed_index for info in coins} | {info.spent_index for info in coins}
    for values in _choices(hashes, random, most):
        _check_puzzle_hashes(schema, coins, values, random)
    for values in _choices(parents, random, most):
        _check_parents(schema, coins, values, random)
    between = {height + step for height in heights for step in (-1, 1)}
    asked = _some([*heights], random, most) + _some([*between], random, most)
    for height in (0, *asked, MAX_INDEX + 1, -(2**70)):
        _check_heights(schema, coins, height)


def _check_puzzle_hashes(
    schema: Schema, coins: Sequence[CoinInfo], values: list[bytes32], random: Random
) -> None:
    ask, wanted = keys_of(schema).coin_infos_for_puzzle_hashes, set(values)
    found = [info for info in coins if info.coin.puzzle_hash in wanted]
    assert ask(values) == found, "puzzle hashes"
    newest = max([info.confirmed_index for info in coins], default=0)
    first, last = random.randint(0, newest), random.randint(0, newest)
    for include_spent in (True, False):
        for ends in ((0, MAX_INDEX), (first, last), (last, last)):
            left = _filtered(found, ends, include_spent=include_spent)
            limit = random.choice([None, random.randint(0, len(left))])
            answer = ask(
                values, first=ends[0], last=ends[1], include_spent=include_spent, limit=limit
            )
            assert answer == left[:limit], f"puzzle hashes, {ends}, {include_spent}, {limit}"


def _check_parents(
    schema: Schema, coins: Sequence[CoinInfo], values: list[bytes32], random: Random
) -> None:
    ask, wanted = keys_of(schema).coin_infos_for_parents, set(values)
    found = [info for info in coins if info.coin.parent_coin_name in wanted]
    assert ask(values) == found, "parents"
    for include_spent in (True, False):
        left = _filtered(found, (0, MAX_INDEX), include_spent=include_spent)
        limit = random.randint(0, len(left))
        answer = ask(values, include_spent=include_spent, limit=limit)
        assert answer == left[:limit], f"parents, limit {limit}, spent: {include_spent}"


def _check_heights(schema: Schema, coins: Sequence[CoinInfo], height: int) -> None:
    confirmed = [info for info in coins if info.confirmed_index == height]
    spent = [info for info in coins if info.spent_index == height > 0]
    assert keys_of(schema).coin_infos_confirmed_at(height) == confirmed, f"confirmed at {height}"
    assert keys_of(schema).coin_infos_spent_at(height) == spent, f"spent at {height}"


def _filtered(
    coins: Iterable[CoinInfo], ends: tuple[int, int], *, include_spent: bool
) -> list[CoinInfo]:
    first, last = ends
    return [
        info
        for info in coins
        if first <= info.confirmed_index <= last and (include_spent or not info.spent_index)
    ]


def _choices(values: Iterable[bytes32], random: Random, most: int) -> list[list[bytes32]]:
    """None; all that there are, some twice, among others that are not there; and some alone."""
    there = [*dict.fromkeys(values)]
    alone = _some(there, random, most)
    strangers = [other for value in alone[:1] for other in near(value)]
    together = [*there, *alone, NOBODY, *strangers, NOBODY]
    random.shuffle(together)
    return [[], together, strangers, *([value] for value in alone)]


def _some(values: Sequence[T], random: Random, most: int) -> list[T]:
    return random.sample(values, min(len(values), most))


def random_queries(chain: Chain, random: Random, n: int) -> list[CoinQuery]:
    """Queries of all kinds for the coins of a chain."""
    coins = [*chain.unspent.values(), *chain.spent.values()]
    return [_random_query(chain, coins, random) for _ in range(n)]


def _random_query(chain: Chain, coins: Sequence[Coin], random: Random) -> CoinQuery:
    values = {
        CoinKey.NONE: lambda coin: b"",
        CoinKey.NAME: lambda coin: coin.name(),
        CoinKey.PUZZLE_HASH: lambda coin: coin.puzzle_hash,
        CoinKey.PARENT: lambda coin: coin.parent_coin_name,
    }
    key = random.choice([*CoinKey])
    some = random.choices(coins, k=random.randint(0, 30)) if coins else []
    newest = max(chain.newest_index, 0)

    def ends() -> tuple[int, int]:
        first, last = random.randint(0, newest + 1), random.randint(0, newest + 1)
        return random.choice([(0, MAX_INDEX), (0, MAX_INDEX), (first, MAX_INDEX), (first, last)])

    return CoinQuery(
        key,
        b"".join(map(values[key], some)) + (NOBODY if key else b""),
        ends(),
        random.choice([ends(), (0, 0), (1, MAX_INDEX)]),
        random.choice([0, 0, random.randint(0, newest + 2)]),
        random.choice([0, 0, 1, *EDGE_AMOUNTS, MAX_U64]),
        random.choice([True, False]),
        random.choice([None, None, random.randint(0, 2 * SOME)]),
    )
