"""The state digest, the invariants that verify() checks, and the differences compare() names."""

import hashlib
from collections.abc import Callable
from dataclasses import replace

import pytest

from cdb.contents.state import StateSummary, compare, summarize, verify
from cdb.contract.blocks import BlockSpendInfo, canonical
from cdb.contract.coins import Coin, bytes32
from cdb.contract.packed import MOST_ENTRIES
from cdb.errors import ChainMismatchError
from cdb.schemas.memory import MemorySchema
from cdb.testing.chains import Chain, block_at, reward, sample_chain
from tests.broken.lies import CHAIN, SPENT, UNSPENT, holding, verified
from tests.conftest import digest_of

P, Q = bytes32(b"\x01" * 32), bytes32(b"\x02" * 32)
FIRST, SECOND = Coin(P, Q, 1), Coin(P, Q, 128)
THIRD = Coin(FIRST.name(), Q, 0)
BLOCKS = [
    BlockSpendInfo(0, 5, [], [FIRST, SECOND]),
    BlockSpendInfo(258, 2**64 - 1, sorted([FIRST.name(), THIRD.name()]), [THIRD]),
    BlockSpendInfo(2**32 - 1, 7, [], []),
]
DIGEST = "d0d6f21b13dd2617bde57cea223a66034adca7789c4e0a8b3e57c3f5f472f952"


def bytes_to_digest() -> bytes:
    """What the specification of summarize() says, written out."""
    spent, unspent = b"\0\0\1\2", b"\0\0\0\0"
    return b"".join(
        [
            b"\0\0\0\0" + b"\0\0\0\0\0\0\0\5" + b"\0\0\0\2",
            FIRST.name() + b"\0\0\0\0" + spent,
            SECOND.name() + b"\0\0\0\0" + unspent,
            b"\0\0\1\2" + b"\xff" * 8 + b"\0\0\0\1",
            THIRD.name() + b"\0\0\1\2" + spent,
            b"\xff\xff\xff\xff" + b"\0\0\0\0\0\0\0\7" + b"\0\0\0\0",
        ]
    )


def test_the_digest_of_a_hand_made_state() -> None:
    expected = StateSummary(3, 3, 2, 2**32 - 1, DIGEST)
    assert hashlib.sha256(bytes_to_digest()).hexdigest() == DIGEST
    assert summarize(holding(BLOCKS)) == expected
    assert verify(holding(BLOCKS)) == expected
    assert digest_of(BLOCKS) == DIGEST


def test_the_digest_of_nothing() -> None:
    expected = StateSummary(0, 0, 0, None, hashlib.sha256().hexdigest())
    assert summarize(MemorySchema()) == verify(MemorySchema()) == expected


def test_the_digest_of_more_coins_than_one_lookup_takes() -> None:
    coins = [reward(1, n) for n in range(MOST_ENTRIES + 1)]
    blocks = [
        canonical(BlockSpendInfo(1, 0, [], coins)),
        canonical(BlockSpendInfo(2, 0, [coin.name() for coin in coins[::2]], [reward(2)])),
    ]
    told: list[int] = []
    summary = summarize(holding(blocks), told.append)
    assert summary.digest == digest_of(blocks)
    assert told == [MOST_ENTRIES + 1, 1]


@pytest.mark.parametrize(
    "change",
    [
        lambda block: replace(block, timestamp=block.timestamp + 1),
        lambda block: replace(block, spends=block.spends[1:]),
        lambda block: replace(block, confirms=[*block.confirms, reward(77)]),
        lambda block: replace(block, index=block.index + 1),
        lambda block: replace(
            block, confirms=[*block.confirms[:-1], replace(block.confirms[-1], amount=99)]
        ),
    ],
)
def test_every_part_of_a_block_changes_the_digest(
    change: Callable[[BlockSpendInfo], BlockSpendInfo],
) -> None:
    old, new = Chain(), Chain()
    for chain in (old, new):
        chain.append(BlockSpendInfo(1, 0, [], [reward(1), reward(1, 1)]))
    last = BlockSpendInfo(5, 0, [reward(1).name(), reward(1, 1).name()], [reward(5)])
    old.append(last)
    new.append(change(last))
    assert summarize(holding(old.blocks)).digest != summarize(holding(new.blocks)).digest
    with pytest.raises(ChainMismatchError):
        compare(holding(old.blocks), holding(new.blocks))


def test_a_sound_state_passes_and_reports_progress() -> None:
    chain = sample_chain()
    told: list[int] = []
    summary = verify(holding(chain.blocks), told.append)
    assert summary.digest == digest_of(map(canonical, chain.blocks))
    assert sum(told) == summary.coins
    assert (summary.blocks, summary.newest_index) == (len(chain.blocks), chain.newest_index)
    assert summary.coins == len(chain.spent) + len(chain.unspent)
    assert summary.spends == len(chain.spent)


# Comparing


def test_equal_states_compare_equal() -> None:
    told: list[int] = []
    compare(holding(CHAIN), holding(CHAIN), told.append)
    assert sum(told) == 9
    compare(MemorySchema(), MemorySchema())


BY_COIN = [coin.name() for coin in canonical(CHAIN[0]).confirms].index


def with_last(**changes: object) -> MemorySchema:
    return holding([*CHAIN[:-1], replace(CHAIN[-1], **changes)])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (holding(CHAIN[:-1]), "block 9 is only in the first database"),
        (
            holding(CHAIN[:1]),  # a coin's later spend is part of its block's state
            f"block 1 differs: coin {min(CHAIN[1].spends, key=BY_COIN).hex()} is spent at 4, 0",
        ),
        (holding([]), "block 1 is only in the first database"),
        (
            holding([*CHAIN, BlockSpendInfo(12, 0, [], [])]),
            "block 12 is only in the second database",
        ),
        (with_last(index=8), "block 8 is only in the second database"),
        (with_last(index=10), "block 9 is only in the first database"),
        (with_last(timestamp=3), "block 9 differs: timestamps 0 and 3"),
        (
            with_last(spends=[reward(1, 3).name()]),
            f"block 1 differs: coin {reward(1, 3).name().hex()} is spent at 0, 9",
        ),
        (
            with_last(confirms=[]),
            f"block 9 differs: only one of them confirms coin {UNSPENT.hex()}",
        ),
        (
            with_last(confirms=[reward(9), reward(9, 1)]),
            f"block 9 differs: only one of them confirms coin {reward(9, 1).name().hex()}",
        ),
        (
            holding(CHAIN, verified["ForgetsASpend"]),
            f"block 1 differs: coin {SPENT.hex()} is spent at 4, 0",
        ),
    ],
)
def test_compare_names_the_first_difference(other: MemorySchema, difference: str) -> None:
    with pytest.raises(ChainMismatchError) as caught:
        compare(holding(CHAIN), other)
    assert str(caught.value) == difference


def test_compare_names_the_spend_that_differs() -> None:
    made = Chain()
    made.append(block_at(1))
    left = BlockSpendInfo(2, 0, [reward(2).name()], [reward(2)])
    with pytest.raises(ChainMismatchError) as caught:
        compare(holding([*made.blocks, left]), holding([*made.blocks, replace(left, spends=[])]))
    assert str(caught.value) == (
        f"block 2 differs: only one of them spends coin {reward(2).name().hex()}"
    )


def test_compare_the_other_way_round() -> None:
    with pytest.raises(ChainMismatchError, match=r"^block 9 is only in the second database$"):
        compare(holding(CHAIN[:-1]), holding(CHAIN))
