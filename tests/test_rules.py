"""The rules of a block are the same for all stores: in C++, in Python, and in the reference model.

Blocks are drawn from few parents, which are often there already: rewards of many kinds, that rise
and that don't; names that are nearly rewards; coins that are spent before, after or with it.
"""

from pathlib import Path
from random import Random

import pytest

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import Coin, bytes32, is_reward
from cdb.contract.packed import PackedBlocks
from cdb.errors import BlockError, DuplicateCoinError, UnknownCoinError
from cdb.schemas import Schema, offer_of
from cdb.schemas.memory import MemorySchema
from cdb.schemas.registry import SchemaInfo
from cdb.testing.base import accept_all
from cdb.testing.chains import child, hash_of, reward
from cdb.text.mainnet import pool_coin

KINDS = [hash_of("kind", n)[:16] for n in range(11)]
STRANGERS = [bytes32(KINDS[0] + bytes(11) + b"\1" + bytes(4)), hash_of("nobody")]


def drawn_parent(random: Random, index: int, coins: list[bytes32]) -> bytes32:
    draw = random.random()
    if draw < 0.4:
        # Two kinds that rise, as a network has; or more than a store keeps, which come again.
        is_rising = draw < 0.2
        kind = KINDS[random.randrange(2 if is_rising else len(KINDS))]
        height = max(0, index - random.randrange(4)) if is_rising else 7
        return bytes32(kind + bytes(12) + height.to_bytes(4, "big"))
    if draw < 0.5:
        return random.choice(STRANGERS)
    return random.choice(coins[-9:] or STRANGERS)


def drawn_block(random: Random, index: int, coins: list[bytes32]) -> BlockSpendInfo:
    confirms = {
        Coin(drawn_parent(random, index, coins), hash_of("puzzle"), random.randrange(3))
        for _ in range(random.randrange(5))
    }
    own = [coin.name() for coin in confirms]
    spends = {random.choice([*coins[-9:], *own]) for _ in range(random.randrange(3)) if coins}
    # Most children come with their parent's spend.
    if random.random() < 0.7:
        spends |= {coin.parent_coin_name for coin in confirms} & {*coins}
    return BlockSpendInfo(index, 0, sorted(spends), list(confirms))


def outcome(schema: Schema, block: BlockSpendInfo, *, packed: bool) -> object:
    accepts = offer_of(schema).accepts_packed
    try:
        if packed and accepts is not None:
            accepts.accept_packed(PackedBlocks.of([block]))
            schema.flush()
        else:
            schema.accept_block(block)
    except BlockError as error:
        return type(error), error.block_index, error.coin_name
    return None


@pytest.mark.parametrize("seed", range(6))
def test_all_stores_refuse_the_same_blocks(
    own_schema: SchemaInfo, tmp_path: Path, seed: int
) -> None:
    if own_schema.missing is not None:
        pytest.skip(own_schema.missing)
    random, coins, refused = Random(seed), list[bytes32](), 0
    path = tmp_path / "database"
    model, schema = MemorySchema(None), own_schema.open(path)
    for index in range(1, 150):
        block = drawn_block(random, index, coins)
        expected = outcome(model, block, packed=False)
        assert outcome(schema, block, packed=random.random() < 0.5) == expected, block
        if expected is None:
            coins += sorted(coin.name() for coin in block.confirms)
        else:
            refused += 1
        if random.random() < 0.03:
            schema.close()
            schema = own_schema.open(path)
        if random.random() < 0.03:
            for each in (model, schema):
                each.rewind_to_block_index(index - 4)
    schema.close()
    assert 20 < refused < 140


@pytest.mark.parametrize("how", ["rewound", "refused"])
def test_an_early_child_is_known_when_a_later_one_is_gone(
    own_schema: SchemaInfo, tmp_path: Path, how: str
) -> None:
    if own_schema.missing is not None:
        pytest.skip(own_schema.missing)
    parent = reward(1)
    early, sibling = child(parent.name()), child(parent.name(), 1)
    with own_schema.open(tmp_path / "database") as schema:
        accept_all(schema, [BlockSpendInfo(1, 0, [], [parent]), BlockSpendInfo(2, 0, [], [early])])
        if how == "rewound":
            schema.accept_block(BlockSpendInfo(3, 0, [], [sibling]))
            schema.rewind_to_block_index(2)
        else:
            with pytest.raises(UnknownCoinError):
                schema.accept_block(BlockSpendInfo(3, 0, [hash_of("nobody")], [sibling]))
        with pytest.raises(DuplicateCoinError):
            schema.accept_block(BlockSpendInfo(3, 0, [parent.name()], [early]))
        schema.accept_block(BlockSpendInfo(3, 0, [parent.name()], [sibling]))


def test_a_reward_below_the_highest_is_not_confirmed_again(
    own_schema: SchemaInfo, tmp_path: Path
) -> None:
    if own_schema.missing is not None:
        pytest.skip(own_schema.missing)
    path = tmp_path / "database"
    with own_schema.open(path) as schema:
        for index, height in enumerate((9, 5, 7), 1):
            schema.accept_block(BlockSpendInfo(index, 0, [], [pool_coin(height, hash_of("pool"))]))
    with own_schema.open(path) as schema:
        for height in (5, 7, 9):
            with pytest.raises(DuplicateCoinError):
                schema.accept_block(BlockSpendInfo(4, 0, [], [pool_coin(height, hash_of("pool"))]))


def test_what_a_rewards_parent_is() -> None:
    assert is_reward(KINDS[3] + bytes(12) + b"\xff" * 4)
    assert not any(map(is_reward, STRANGERS))
