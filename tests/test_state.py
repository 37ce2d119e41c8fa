"""The state digest, the invariants that verify() checks, and the differences compare() names."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import ClassVar

import pytest

from cdb.contents.packed_reads import LOOKUP_COINS
from cdb.contents.state import StateSummary, compare, summarize, verify
from cdb.contract.blocks import BlockSpendInfo, canonical
from cdb.contract.coins import Coin, CoinInfo, bytes32, bytes32_unchecked
from cdb.errors import ChainMismatchError, InvariantError
from cdb.schemas.memory import MemorySchema
from cdb.testing.chains import Chain, child, hash_of, reward, sample_chain
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


def holding(
    blocks: Iterable[BlockSpendInfo], kind: type[MemorySchema] = MemorySchema
) -> MemorySchema:
    """A schema in memory that holds these blocks."""
    schema = kind()
    for block in blocks:
        schema.accept_block(block)
    return schema


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
    coins = [reward(1, n) for n in range(LOOKUP_COINS + 1)]
    blocks = [
        canonical(BlockSpendInfo(1, 0, [], coins)),
        canonical(BlockSpendInfo(2, 0, [coin.name() for coin in coins[::2]], [reward(2)])),
    ]
    told: list[int] = []
    summary = summarize(holding(blocks), told.append)
    assert summary.digest == digest_of(blocks)
    assert told == [LOOKUP_COINS + 1, 1]


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


# One schema for each way to break the contract. All hold the chain below, and lie about it.

CHAIN = [
    BlockSpendInfo(1, 0, [], [reward(1, n) for n in range(4)]),
    BlockSpendInfo(4, 0, [reward(1).name(), reward(1, 1).name()], [child(reward(1).name())]),
    BlockSpendInfo(6, 0, [reward(1, 2).name()], [reward(6, n) for n in range(3)]),
    BlockSpendInfo(9, 0, [], [reward(9)]),
]
LIAR, UNSPENT = reward(1, 1).name(), reward(9).name()


class ChangesInfos(MemorySchema):
    """Lies about single coins."""

    victim: ClassVar[bytes32] = LIAR

    def coin_infos_for_coin_names(self, coin_names: list[bytes32]) -> list[CoinInfo]:
        answers = []
        for name in coin_names:
            for info in super().coin_infos_for_coin_names([name]):
                answers += self.lie(info) if name == self.victim else [info]
        return answers

    def lie(self, info: CoinInfo) -> list[CoinInfo]:
        raise NotImplementedError


class MissesACoin(ChangesInfos):
    def lie(self, info: CoinInfo) -> list[CoinInfo]:
        return []


class AnswersTwice(ChangesInfos):
    def lie(self, info: CoinInfo) -> list[CoinInfo]:
        return [info, info]


class GivesAnotherAmount(ChangesInfos):
    def lie(self, info: CoinInfo) -> list[CoinInfo]:
        return [replace(info, coin=replace(info.coin, amount=info.coin.amount + 1))]


class GivesAnotherConfirmedIndex(ChangesInfos):
    def lie(self, info: CoinInfo) -> list[CoinInfo]:
        return [replace(info, confirmed_index=info.confirmed_index + 1)]


class ForgetsASpend(ChangesInfos):
    def lie(self, info: CoinInfo) -> list[CoinInfo]:
        return [replace(info, spent_index=0)]


class SpendsElsewhere(ChangesInfos):
    def lie(self, info: CoinInfo) -> list[CoinInfo]:
        return [replace(info, spent_index=6)]


class InventsASpend(ChangesInfos):
    victim = UNSPENT

    def lie(self, info: CoinInfo) -> list[CoinInfo]:
        return [replace(info, spent_index=9)]


class MissesInLongLookups(MemorySchema):
    def coin_infos_for_coin_names(self, coin_names: list[bytes32]) -> list[CoinInfo]:
        return super().coin_infos_for_coin_names(coin_names)[:5]


class AnswersOutOfOrder(MemorySchema):
    def coin_infos_for_coin_names(self, coin_names: list[bytes32]) -> list[CoinInfo]:
        return super().coin_infos_for_coin_names(coin_names)[::-1]


class MatchesPrefixes(MemorySchema):
    def coin_infos_for_coin_names(self, coin_names: list[bytes32]) -> list[CoinInfo]:
        by_prefix = {name[:31]: name for name in self._coins}
        found = [by_prefix.get(name[:31], name) for name in coin_names]
        return super().coin_infos_for_coin_names(found)


class ChangesBlocks(MemorySchema):
    """Lies about blocks, in the iteration and alone alike."""

    def blocks(self) -> Iterable[BlockSpendInfo]:
        return map(self.lie, super().blocks())

    def block_info_for_block_index(self, block_index: int) -> BlockSpendInfo | None:
        block = super().block_info_for_block_index(block_index)
        return None if block is None else self.lie(block)

    def lie(self, block: BlockSpendInfo) -> BlockSpendInfo:
        raise NotImplementedError


class ReversesSpends(ChangesBlocks):
    def lie(self, block: BlockSpendInfo) -> BlockSpendInfo:
        return replace(block, spends=block.spends[::-1])


class ReversesConfirms(ChangesBlocks):
    def lie(self, block: BlockSpendInfo) -> BlockSpendInfo:
        return replace(block, confirms=block.confirms[::-1])


class SpendsTheUnknown(ChangesBlocks):
    def lie(self, block: BlockSpendInfo) -> BlockSpendInfo:
        return replace(block, spends=[hash_of()]) if block.index == 9 else block


class SpendsTwice(ChangesBlocks):
    def lie(self, block: BlockSpendInfo) -> BlockSpendInfo:
        return replace(block, spends=[LIAR]) if block.index == 9 else block


class DropsASpend(ChangesBlocks):
    def lie(self, block: BlockSpendInfo) -> BlockSpendInfo:
        return replace(block, spends=[]) if block.index == 6 else block


class LacksABlockAlone(MemorySchema):
    def block_info_for_block_index(self, block_index: int) -> BlockSpendInfo | None:
        return None if block_index == 6 else super().block_info_for_block_index(block_index)


class HasAnotherTimestampAlone(MemorySchema):
    def block_info_for_block_index(self, block_index: int) -> BlockSpendInfo | None:
        block = super().block_info_for_block_index(block_index)
        return None if block is None else replace(block, timestamp=block_index // 6)


class IteratesOutOfOrder(MemorySchema):
    def blocks(self) -> Iterable[BlockSpendInfo]:
        first, *rest = super().blocks()
        return [*rest, first]


class RepeatsABlock(MemorySchema):
    def blocks(self) -> Iterable[BlockSpendInfo]:
        blocks = list(super().blocks())
        return [*blocks, blocks[-1]]


class LacksTheLastBlock(MemorySchema):
    def blocks(self) -> Iterable[BlockSpendInfo]:
        return list(super().blocks())[:-1]


class LacksABlockWithSpends(MemorySchema):
    def blocks(self) -> Iterable[BlockSpendInfo]:
        return (block for block in super().blocks() if block.index != 6)


class GivesALongParent(ChangesInfos):
    def lie(self, info: CoinInfo) -> list[CoinInfo]:
        return [
            replace(info, coin=replace(info.coin, parent_coin_name=bytes32_unchecked(LIAR + b"!")))
        ]


class GivesALongPuzzleHash(ChangesInfos):
    def lie(self, info: CoinInfo) -> list[CoinInfo]:
        longer = bytes32_unchecked(info.coin.puzzle_hash + b"!")
        return [replace(info, coin=replace(info.coin, puzzle_hash=longer))]


class SpendsOneTwiceInABlock(MemorySchema):
    def blocks(self) -> Iterable[BlockSpendInfo]:
        for block in super().blocks():
            yield replace(block, spends=sorted(block.spends * 2))


class HasAnotherNewestIndex(MemorySchema):
    @property
    def last_block_index(self) -> int | None:
        newest = super().last_block_index
        return None if newest is None else newest + (newest == 9)


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        (MissesACoin, f"block 1 confirms coin {LIAR.hex()}, but a lookup misses it"),
        (AnswersTwice, f"block 1 confirms coin {LIAR.hex()}, but a lookup"),
        (GivesAnotherAmount, f"block 1 confirms coin {LIAR.hex()}, but a lookup says"),
        (GivesAnotherConfirmedIndex, f"block 1 confirms coin {LIAR.hex()}, but a lookup says"),
        (ForgetsASpend, f"block 4 spends coin {LIAR.hex()}, but it says 0"),
        (SpendsElsewhere, f"block 4 spends coin {LIAR.hex()}, but it says 6"),
        (InventsASpend, "4 coins say that they are spent, and blocks spend 3"),
        (MissesInLongLookups, "a lookup of many names gives other answers than lookups of one"),
        (AnswersOutOfOrder, "block 1 confirms coin"),
        (MatchesPrefixes, "a lookup finds coins that no block confirms"),
        (ReversesSpends, "block 4 is not in canonical order"),
        (ReversesConfirms, "block 1 is not in canonical order"),
        (SpendsTheUnknown, "block 9 spends a coin that no lookup finds"),
        (SpendsTwice, f"block 9 spends coin {LIAR.hex()}, but it says 4"),
        (DropsASpend, "3 coins say that they are spent, and blocks spend 2"),
        (LacksABlockAlone, "block 6 alone differs"),
        (HasAnotherTimestampAlone, "block 6 alone differs"),
        (IteratesOutOfOrder, "block 1 comes after block 9"),
        (RepeatsABlock, "block 9 comes after block 9"),
        (LacksTheLastBlock, "the last block is 6, and the newest 9"),
        (LacksABlockWithSpends, "3 coins say that they are spent, and blocks spend 2"),
        (GivesALongParent, "a lookup says CoinInfo("),
        (GivesALongPuzzleHash, "a lookup says CoinInfo("),
        (SpendsOneTwiceInABlock, "block 4 is not in canonical order, each entry once"),
        (HasAnotherNewestIndex, "the last block is 9, and the newest 10"),
    ],
)
def test_verify_finds_each_breach(kind: type[MemorySchema], problem: str) -> None:
    with pytest.raises(InvariantError) as caught:
        verify(holding(CHAIN, kind))
    assert str(caught.value).startswith(problem)


@pytest.mark.parametrize("kind", [MissesACoin, GivesAnotherAmount, GivesAnotherConfirmedIndex])
def test_a_digest_is_never_taken_of_wrong_lookups(kind: type[MemorySchema]) -> None:
    with pytest.raises(InvariantError):
        summarize(holding(CHAIN, kind))


@pytest.mark.parametrize("kind", [ForgetsASpend, SpendsElsewhere, InventsASpend])
def test_a_lie_about_a_spend_changes_the_digest(kind: type[MemorySchema]) -> None:
    assert summarize(holding(CHAIN, kind)).digest != summarize(holding(CHAIN)).digest


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
            holding(CHAIN, ForgetsASpend),
            f"block 1 differs: coin {LIAR.hex()} is spent at 4, 0",
        ),
    ],
)
def test_compare_names_the_first_difference(other: MemorySchema, difference: str) -> None:
    with pytest.raises(ChainMismatchError) as caught:
        compare(holding(CHAIN), other)
    assert str(caught.value) == difference


def test_compare_names_the_spend_that_differs() -> None:
    made = Chain()
    made.append(BlockSpendInfo(1, 0, [], [reward(1)]))
    left = BlockSpendInfo(2, 0, [reward(2).name()], [reward(2)])
    with pytest.raises(ChainMismatchError) as caught:
        compare(holding([*made.blocks, left]), holding([*made.blocks, replace(left, spends=[])]))
    assert str(caught.value) == (
        f"block 2 differs: only one of them spends coin {reward(2).name().hex()}"
    )


def test_compare_the_other_way_round() -> None:
    with pytest.raises(ChainMismatchError, match=r"^block 9 is only in the second database$"):
        compare(holding(CHAIN[:-1]), holding(CHAIN))
