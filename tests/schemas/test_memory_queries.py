"""The model of secondary keys: whatever is asked, memory answers as a scan of its blocks would.

IndexedConformance (tests/test_conformance.py) holds every schema that offers them to the model.
"""

from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdb.contract.coin_query import (
    COIN_BYTES,
    MAX_INDEX,
    CoinKey,
    CoinQuery,
    joined_values,
    unpacked_coins,
)
from cdb.contract.coins import MAX_U64, CoinInfo, bytes32
from cdb.schemas import Schema
from cdb.schemas.memory import MemorySchema
from cdb.testing.base import accept_all
from cdb.testing.chains import Chain, hash_of, random_chain
from cdb.testing.crafts import crafted_block
from cdb.testing.side_by_side import model_of
from tests.conftest import CALM

CHAIN = random_chain(Random(7), 40)
for _ in range(8):
    CHAIN.append(crafted_block(CHAIN, Random(CHAIN.newest_index)))
BLOCKS = CHAIN.blocks
HASHES = sorted({coin.puzzle_hash for block in BLOCKS for coin in block.confirms})
PARENTS = sorted({coin.parent_coin_name for block in BLOCKS for coin in block.confirms})
INDICES = st.integers(-1, CHAIN.newest_index + 2)
RANGES = st.tuples(INDICES, INDICES) | st.just((0, MAX_INDEX))


class Found(NamedTuple):
    """A coin as a scan finds it."""

    name: bytes32
    info: CoinInfo
    timestamp: int

    @property
    def changed(self) -> int:
        return max(self.info.confirmed_index, self.info.spent_index)


def scanned(schema: Schema) -> list[Found]:
    """All coins, by a scan with a look-up by name, in the order of secondary keys."""
    found = []
    for block in schema.blocks():
        for coin in block.confirms:
            (info,) = schema.coin_infos_for_coin_names([coin.name()])
            found.append(Found(coin.name(), info, block.timestamp))
    return sorted(found, key=lambda each: (each.info.confirmed_index, each.name))


def asked(coins: list[Found], query: CoinQuery) -> list[Found]:
    """Those of them that a query asks for."""
    values = [query.values[i : i + 32] for i in range(0, len(query.values), 32)]
    key_of = {
        CoinKey.NAME: lambda each: each.name,
        CoinKey.PUZZLE_HASH: lambda each: each.info.coin.puzzle_hash,
        CoinKey.PARENT: lambda each: each.info.coin.parent_coin_name,
    }
    if query.key is not CoinKey.NONE:
        coins = [each for each in coins if key_of[query.key](each) in values]
    coins = [
        each
        for each in coins
        if query.confirmed[0] <= each.info.confirmed_index <= query.confirmed[1]
        and query.spent[0] <= each.info.spent_index <= query.spent[1]
        and each.changed >= query.changed_from
        and each.info.coin.amount >= query.least_amount
    ]
    if query.by_change:
        coins.sort(key=lambda each: (each.changed, each.name))
    return coins[: query.limit]


@pytest.fixture(scope="module")
def memory() -> MemorySchema:
    return model_of(BLOCKS)


@pytest.fixture(scope="module")
def coins(memory: MemorySchema) -> list[Found]:
    return scanned(memory)


def check_objects(schema: MemorySchema, random: Random) -> None:
    """The four methods, with values that are there, that are not, and that come twice."""
    coins = scanned(schema)
    infos = [each.info for each in coins]
    hashes = [bytes32(each) for each in random.choices(HASHES, k=3)] + [hash_of("nobody")]
    parents = [bytes32(each) for each in random.choices(PARENTS, k=9)] + [hash_of("nobody")]
    for _ in range(2):
        of_hashes = [info for info in infos if info.coin.puzzle_hash in hashes]
        of_parents = [info for info in infos if info.coin.parent_coin_name in parents]
        assert schema.coin_infos_for_puzzle_hashes(hashes) == of_hashes
        assert schema.coin_infos_for_parents(parents) == of_parents
        hashes, parents = [*hashes, *hashes], [*parents, *parents]
    unspent = [info for info in of_hashes if not info.spent_index]
    assert schema.coin_infos_for_puzzle_hashes(hashes, include_spent=False) == unspent
    for first, last in ((0, 9), (5, 5), (9, 30), (30, 9)):
        within = [info for info in of_hashes if first <= info.confirmed_index <= last]
        assert schema.coin_infos_for_puzzle_hashes(hashes, first=first, last=last) == within
    for limit in (0, 1, 2, 5, len(infos)):
        assert schema.coin_infos_for_puzzle_hashes(hashes, limit=limit) == of_hashes[:limit]
        assert (
            schema.coin_infos_for_parents(parents, include_spent=False, limit=limit)
            == [info for info in of_parents if not info.spent_index][:limit]
        )
    for index in (-1, 0, *random.sample(range(CHAIN.newest_index), 9), CHAIN.newest_index, 2**70):
        at = [info for info in infos if info.confirmed_index == index]
        assert schema.coin_infos_confirmed_at(index) == at
        spent = [info for info in infos if info.spent_index == index and index > 0]
        assert schema.coin_infos_spent_at(index) == spent


def test_it_answers_as_a_scan_would(tmp_path: Path) -> None:
    random = Random(1)
    with MemorySchema(tmp_path / "database") as schema:
        check_objects(schema, random)
        accept_all(schema, BLOCKS[:30])
        check_objects(schema, random)
        schema.rewind_to_block_index(BLOCKS[12].index)
        check_objects(schema, random)
        accept_all(schema, BLOCKS[13:])
        check_objects(schema, random)
    with MemorySchema(tmp_path / "database", read_only=True) as schema:
        check_objects(schema, random)


QUERIES = st.builds(
    CoinQuery,
    confirmed=RANGES,
    spent=RANGES | st.sampled_from([(0, 0), (1, MAX_INDEX)]),
    changed_from=INDICES,
    least_amount=st.sampled_from([0, 1, 128, 2**32, MAX_U64]),
    by_change=st.booleans(),
    limit=st.none() | st.integers(0, 30),
)
VALUES = {
    CoinKey.NAME: sorted(Chain.of(BLOCKS).names),
    CoinKey.PUZZLE_HASH: HASHES,
    CoinKey.PARENT: PARENTS,
}
KEYED = st.one_of(
    [
        st.tuples(st.just(key), st.lists(st.sampled_from([*values, hash_of("nobody")])))
        for key, values in VALUES.items()
    ]
)


@CALM
@given(query=QUERIES, keyed=KEYED | st.none())
def test_a_packed_query_answers_as_a_scan_would(
    memory: MemorySchema,
    coins: list[Found],
    query: CoinQuery,
    keyed: tuple[CoinKey, list[bytes32]] | None,
) -> None:
    if keyed is not None:
        fields = (query.confirmed, query.spent, query.changed_from, query.least_amount)
        values = joined_values(keyed[1])
        query = CoinQuery(keyed[0], values, *fields, query.by_change, query.limit)
    expected = asked(coins, query)
    packed = memory.coins_packed(query)
    assert unpacked_coins(packed) == [each.info for each in expected]
    for place, each in enumerate(expected):
        coin = packed[COIN_BYTES * place : COIN_BYTES * (place + 1)]
        assert coin.startswith(each.name)
        assert coin.endswith(each.timestamp.to_bytes(8, "little"))
