"""The rules of a block are the same for all stores: in C++, in Python, and in the reference model.

Blocks are drawn from few parents, which are often there already: rewards of many kinds, that rise
and that don't; names that are nearly rewards; coins that are spent before, after or with it. And
each rule is broken beside each other one.
"""

from collections.abc import Iterator
from functools import partial
from itertools import combinations_with_replacement, product
from pathlib import Path
from random import Random

import pytest
from _pytest.mark import ParameterSet

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import Coin, bytes32, is_reward
from cdb.contract.objects import packed_block
from cdb.errors import DuplicateCoinError, InvalidBlockError, UnknownCoinError
from cdb.schemas import find_schema
from cdb.schemas.coin_log import coin_log
from cdb.schemas.registry import SchemaInfo
from cdb.stores.coin_log.binding import Sizes, missing
from cdb.testing.base import accept_all
from cdb.testing.chains import BREACHES, Chain, child, hash_of, reward
from cdb.testing.crafts import KIN_BREACHES, chain_with_kin
from cdb.testing.side_by_side import CALLS, SideBySide
from cdb.text.mainnet import pool_coin
from tests.conftest import own_schemas

KINDS = [hash_of("kind", n)[:16] for n in range(11)]
RULES = {**BREACHES, **KIN_BREACHES}
PACKABLE = [name for name, breach in RULES.items() if breach.error is not InvalidBlockError]
"""A field that is out of its range can't be packed."""
TRUSTING = partial(coin_log, sizes=Sizes(50, 3, name_bits=6, recent_bits=0, unverified_spends=999))
"""It believes most spends at first, often those of a wrong coin."""
STRANGERS = [bytes32(KINDS[0] + bytes(11) + b"\1" + bytes(4)), hash_of("nobody")]


def openers() -> Iterator[ParameterSet]:
    """Of each schema but the model, of its small twin, and of a trusting coin log."""
    for parameter in own_schemas():
        (name,) = parameter.values
        if name == "memory":
            continue
        yield parameter
        if (small := find_schema(str(name)).small) is not None:
            yield pytest.param(small, marks=parameter.marks)
    without_log = pytest.mark.skipif(missing() is not None, reason=str(missing()))
    yield pytest.param(TRUSTING, id="trusting", marks=without_log)


@pytest.fixture(params=[*openers()])
def held(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SideBySide]:
    """Each store beside the reference model."""
    opener = request.param
    opens = find_schema(opener).open if isinstance(opener, str) else opener
    both = SideBySide(lambda: opens(tmp_path / "database"))
    yield both
    both.schema.close()


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


def drawn_call(random: Random, index: int, coins: list[bytes32]) -> list[BlockSpendInfo]:
    """Blocks from an index on, each as if those before it were accepted; one may look ahead."""
    blocks = list[BlockSpendInfo]()
    for _ in range(random.choice([1, 1, 2, 5])):
        blocks.append(drawn_block(random, index + len(blocks), coins))
        coins = [*coins, *sorted(coin.name() for coin in blocks[-1].confirms)]
    if len(blocks) > 1 and random.random() < 0.2:
        ahead = [coin.name() for block in blocks[1:] for coin in block.confirms]
        blocks[0].spends = sorted({*blocks[0].spends, *random.sample(ahead, min(1, len(ahead)))})
    return blocks


@pytest.mark.parametrize("seed", range(6))
def test_all_stores_refuse_the_same_blocks(held: SideBySide, seed: int) -> None:
    random, refused = Random(seed), 0
    coins = list[bytes32]()
    for _ in range(120):
        blocks = drawn_call(random, held.chain.next_index, coins)
        then = random.choice([*CALLS])
        refused += held.offer(blocks, packed=random.random() < 0.7, then=then) is not None
        if random.random() < 0.03:
            held.reopen()
        if random.random() < 0.03:
            held.rewind(held.chain.newest_index - 4)
        coins = in_order(held.chain)
    held.agree()
    assert 20 < refused < 110


def in_order(chain: Chain) -> list[bytes32]:
    return [name for block in chain.blocks for name in sorted(c.name() for c in block.confirms)]


def next_block(chain: Chain) -> BlockSpendInfo:
    """Breaks no rule, and offers something to break each with."""
    old, new = [*chain.unspent][-2:], reward(chain.next_index)
    confirms = [new, reward(chain.next_index, 1), child(old[0]), child(new.name())]
    return chain.next(spends=[*old, new.name()], confirms=confirms)


def broken(how: tuple[str, ...], chain: Chain, block: BlockSpendInfo) -> BlockSpendInfo:
    """The block, broken in each of these ways: by a field that is out of its range last."""
    for each in sorted(dict.fromkeys(how), key=lambda each: RULES[each].error is InvalidBlockError):
        made = RULES[each].make(chain, block)
        assert made is not None, each
        block = made
    return block


def test_a_block_that_breaks_two_rules_is_refused_for_the_same_one(held: SideBySide) -> None:
    held.accept(chain_with_kin().blocks)
    block = next_block(held.chain)
    for how in combinations_with_replacement(RULES, 2):
        bad = broken(how, held.chain, block)
        assert held.offer([bad], packed=False) is not None, how
        if packed_block(bad) is not None:
            assert held.offer([bad], packed=True) is not None, how
    held.accept([block], packed=True)
    held.agree()


def test_of_two_blocks_of_a_call_the_first_one_is_refused(held: SideBySide) -> None:
    held.accept(chain_with_kin().blocks)
    for how in product(PACKABLE, repeat=2):
        before = held.chain.up_to(held.chain.newest_index)
        blocks = list[BlockSpendInfo]()
        for each in [None, how[0], None, how[1]]:
            block = next_block(before)
            before.append(block)
            if each is not None:
                block = broken((each,), held.chain, block)
            blocks.append(block)
        assert held.offer(blocks, packed=True, then="flush") is RULES[how[0]].error, how
    held.agree()


@pytest.mark.parametrize("packed", [False, True])
def test_block_0_spends_not_even_a_coin_of_its_own(held: SideBySide, packed: bool) -> None:
    coin = reward(0)
    bad = BlockSpendInfo(0, 0, [coin.name()], [coin])
    assert held.offer([bad], packed=packed) is InvalidBlockError


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


def test_an_early_child_is_known_when_its_parents_spend_in_the_same_call_is_rewound(
    held: SideBySide,
) -> None:
    parent = reward(1)
    early, spends = child(parent.name()), [parent.name()]
    blocks = [BlockSpendInfo(1, 0, [], [parent]), BlockSpendInfo(2, 0, [], [early])]
    held.accept([*blocks, BlockSpendInfo(3, 0, spends, [])], packed=True)
    held.rewind(2)
    again = BlockSpendInfo(3, 0, spends, [early])
    assert held.offer([again], packed=True) is DuplicateCoinError


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
