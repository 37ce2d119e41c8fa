"""What a schema promises of accepting and refusing blocks."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pytest

from cdb.contents.state import summarize, verify
from cdb.contract.blocks import BlockSpendInfo, canonical
from cdb.contract.coins import MAX_U32, MAX_U64, NAME_BYTES, Coin, CoinInfo, bytes32
from cdb.errors import (
    AlreadySpentError,
    BlockOrderError,
    DuplicateCoinError,
    InvalidBlockError,
    UnknownCoinError,
)
from cdb.testing.base import SchemaTests, accept_all, expected_state
from cdb.testing.chains import BREACHES, Chain, block_at, child, hash_of, reward, sample_chain

NO_INTEGERS: Any = [1.0, 1.5, "1", b"1", None]
NO_BYTES: Any = ["x" * 32, bytearray(32), memoryview(bytes(32)), 32, None]
NO_NAMES: Any = [bytes(31), bytes(33), b""]
TOO_LARGE = [2**64, 10**30, 10**5000]
EDGE_HEIGHTS = [edge + step for edge in (2**8, 2**16, 2**24, 2**31) for step in (-1, 0)] + [
    MAX_U32 - 1,
    MAX_U32,
]
"""Where a height takes a byte more, or one bit too many for a signed integer."""


class AcceptingTests(SchemaTests):
    """Order, spends, confirms, atomicity, and reading one's own writes."""

    def test_an_empty_database_has_no_blocks(self, path: Path) -> None:
        with self.open(path) as schema:
            assert schema.last_block_index is None
            assert list(schema.blocks()) == []
            assert schema.block_info_for_block_index(0) is None
            assert schema.coin_infos_for_coin_names([hash_of(1)]) == []

    def test_indices_rise_with_gaps_up_to_the_limit(self, path: Path) -> None:
        blocks = [block_at(i, n) for n, i in enumerate([0, 1, 5, 1000, MAX_U32])]
        with self.open(path) as schema:
            for block in blocks:
                schema.accept_block(block)
                assert schema.last_block_index == block.index
            assert list(schema.blocks()) == blocks

    def test_heights_are_told_right_up_to_the_limit(self, path: Path) -> None:
        blocks, spent = [block_at(1)], []
        for height in EDGE_HEIGHTS:
            spent.append(blocks[-1].confirms[0].name())
            blocks.append(BlockSpendInfo(height, 0, spent[-1:], block_at(height).confirms))
        expected = expected_state(blocks)
        with self.open(path) as schema:
            accept_all(schema, blocks[:-1])
            self.refuses(schema, replace(blocks[-1], spends=spent[:-1]), AlreadySpentError)
            schema.accept_block(blocks[-1])
            assert verify(schema) == expected
        with self.open(path) as schema:
            assert verify(schema) == expected
            heights = [info.spent_index for info in schema.coin_infos_for_coin_names(spent)]
            assert heights == EDGE_HEIGHTS
            for n in range(len(blocks) - 1, 0, -1):
                schema.rewind_to_block_index(blocks[n - 1].index)
                assert summarize(schema) == expected_state(blocks[:n])

    @pytest.mark.parametrize("index", [0, 6, 7])
    def test_an_index_at_or_below_the_newest_is_refused(self, path: Path, index: int) -> None:
        with self.open(path) as schema:
            schema.accept_block(block_at(7))
            self.refuses(schema, block_at(index, 1), BlockOrderError)

    def test_block_0_confirms_but_spends_nothing(self, path: Path) -> None:
        coin = reward(0)
        with self.open(path) as schema:
            spending = BlockSpendInfo(0, 0, [coin.name()], [coin])
            self.refuses(schema, spending, InvalidBlockError, coin.name())
            schema.accept_block(BlockSpendInfo(0, 0, [], [coin]))
            assert schema.coin_infos_for_coin_names([coin.name()])[0].spent_index == 0

    def test_spending_an_unknown_coin_is_refused(self, path: Path) -> None:
        with self.open(path) as schema:
            block = BlockSpendInfo(1, 0, [hash_of("nobody")], [reward(1)])
            self.refuses(schema, block, UnknownCoinError, hash_of("nobody"))

    def test_spending_a_coin_twice_is_refused(self, path: Path) -> None:
        coin, other = reward(1), reward(1, 1)
        with self.open(path) as schema:
            schema.accept_block(BlockSpendInfo(1, 0, [], [coin, other]))
            twice = BlockSpendInfo(2, 0, [coin.name(), coin.name()], [])
            self.refuses(schema, twice, AlreadySpentError, coin.name())
            schema.accept_block(BlockSpendInfo(2, 0, [coin.name()], []))
            later = BlockSpendInfo(3, 0, [other.name(), coin.name()], [])
            self.refuses(schema, later, AlreadySpentError, coin.name())

    def test_confirming_a_coin_twice_is_refused(self, path: Path) -> None:
        coin, other = reward(1), reward(2)
        with self.open(path) as schema:
            twice = BlockSpendInfo(1, 0, [], [coin, other, coin])
            self.refuses(schema, twice, DuplicateCoinError, coin.name())
            schema.accept_block(BlockSpendInfo(1, 0, [], [coin]))
            self.refuses(
                schema, BlockSpendInfo(2, 0, [], [other, coin]), DuplicateCoinError, coin.name()
            )
            schema.accept_block(BlockSpendInfo(2, 0, [coin.name()], []))
            self.refuses(schema, BlockSpendInfo(3, 0, [], [coin]), DuplicateCoinError, coin.name())

    def test_ephemeral_coins_live_and_die_in_one_block(self, path: Path) -> None:
        coin = reward(4)
        with self.open(path) as schema:
            schema.accept_block(BlockSpendInfo(4, 0, [coin.name()], [coin]))
            (info,) = schema.coin_infos_for_coin_names([coin.name()])
            assert (info.coin, info.confirmed_index, info.spent_index) == (coin, 4, 4)

    def test_a_chain_of_3000_ephemeral_coins_in_one_block(self, path: Path) -> None:
        coins = [reward(1)]
        while len(coins) < 3000:
            coins.append(child(coins[-1].name()))
        names = [coin.name() for coin in coins]
        with self.open(path) as schema:
            schema.accept_block(BlockSpendInfo(1, 0, names[:-1], coins))
            infos = schema.coin_infos_for_coin_names(names)
            assert [info.spent_index for info in infos] == [1] * 2999 + [0]
            schema.rewind_to_block_index(0)
            assert schema.coin_infos_for_coin_names(names) == []

    @pytest.mark.parametrize("breach", BREACHES)
    def test_after_a_refusal_all_is_as_before_and_goes_on(self, path: Path, breach: str) -> None:
        chain = sample_chain(12)
        *before, last = chain.blocks
        broken = BREACHES[breach].make(Chain.of(before), last)
        assert broken is not None
        with self.open(path) as schema:
            accept_all(schema, before)
            self.refuses(schema, broken, BREACHES[breach].error)
            schema.accept_block(last)
            assert verify(schema) == expected_state(chain.blocks)

    def test_a_field_of_another_type_is_a_value_error_and_changes_nothing(self, path: Path) -> None:
        good, coin = block_at(9), reward(9)
        blocks = [replace(good, index=value) for value in NO_INTEGERS]
        blocks += [replace(good, timestamp=value) for value in NO_INTEGERS]
        blocks += [replace(good, spends=[value]) for value in NO_BYTES]
        coins = [replace(coin, amount=value) for value in NO_INTEGERS]
        coins += [replace(coin, parent_coin_name=value) for value in NO_BYTES]
        coins += [replace(coin, puzzle_hash=value) for value in NO_BYTES]
        blocks += [replace(good, confirms=[coin, each]) for each in coins]
        with self.open(path) as schema:
            schema.accept_block(block_at(1))
            before = summarize(schema)
            for block in blocks:
                with pytest.raises(ValueError, match=r" is (an integer|bytes), not "):
                    schema.accept_block(block)
            assert summarize(schema) == before
            schema.accept_block(good)
            assert verify(schema) == expected_state([block_at(1), good])

    def test_a_field_out_of_its_range_is_refused_and_changes_nothing(self, path: Path) -> None:
        good, coin = block_at(9), reward(9)
        blocks = [replace(good, index=value) for value in (MAX_U32 + 1, 2**63, *TOO_LARGE)]
        blocks += [replace(good, timestamp=value) for value in TOO_LARGE]
        blocks += [replace(good, spends=[value]) for value in NO_NAMES]
        coins = [replace(coin, amount=value) for value in TOO_LARGE]
        coins += [replace(coin, parent_coin_name=value) for value in NO_NAMES]
        coins += [replace(coin, puzzle_hash=value) for value in NO_NAMES]
        # Together they are as long as they should be.
        coins.append(replace(coin, parent_coin_name=NO_NAMES[0], puzzle_hash=NO_NAMES[1]))
        blocks += [replace(good, confirms=[coin, each]) for each in coins]
        blocks += [_negated(block) for block in blocks]
        with self.open(path) as schema:
            schema.accept_block(block_at(1))
            before = summarize(schema)
            for block in blocks:
                with pytest.raises(InvalidBlockError) as refusal:
                    schema.accept_block(block)
                assert refusal.value.block_index == block.index
            assert summarize(schema) == before
            schema.accept_block(good)
            assert verify(schema) == expected_state([block_at(1), good])

    def test_whatever_python_takes_for_an_integer_is_kept_as_a_plain_one(self, path: Path) -> None:
        coin = Coin(hash_of(1), hash_of(2), True)
        with self.open(path) as schema:
            schema.accept_block(BlockSpendInfo(False, True, [], [coin]))
            schema.accept_block(BlockSpendInfo(_Integer(7), _Integer(MAX_U64), [coin.name()], []))
            (info,) = schema.coin_infos_for_coin_names([coin.name()])
            assert type(info.coin.amount) is int
        with self.open(path) as schema:
            kept = [BlockSpendInfo(0, 1, [], [coin]), BlockSpendInfo(7, MAX_U64, [coin.name()], [])]
            assert list(schema.blocks()) == kept
            assert [type(block.timestamp) for block in schema.blocks()] == [int, int]

    def test_bytes_and_coins_of_other_classes_are_kept_as_plain_ones(self, path: Path) -> None:
        coin = _Coin(_Bytes(hash_of(1)), _Bytes(hash_of(2)), 5)
        plain = Coin(hash_of(1), hash_of(2), 5)
        short = Coin(_Bytes(hash_of(1)[:31]), hash_of(2), 5)
        with self.open(path) as schema:
            for bad in (BlockSpendInfo(0, 0, [], [short]), BlockSpendInfo(1, 0, [_Bytes(b"")], [])):
                with pytest.raises(InvalidBlockError):
                    schema.accept_block(bad)
            with pytest.raises(ValueError, match="a coin name has 32 bytes"):
                schema.coin_infos_for_coin_names([_Bytes(b"short")])
            schema.accept_block(BlockSpendInfo(0, 1, [], [coin]))
            schema.accept_block(BlockSpendInfo(1, 2, [_Bytes(plain.name())], []))
            infos = schema.coin_infos_for_coin_names([_Bytes(plain.name())])
            assert infos == [CoinInfo(plain, 0, 1)]
        with self.open(path) as schema:
            kept = [BlockSpendInfo(0, 1, [], [plain]), BlockSpendInfo(1, 2, [plain.name()], [])]
            assert list(schema.blocks()) == kept
            verify(schema)

    def test_the_items_of_a_block_are_kept_however_they_come(self, path: Path) -> None:
        coins = [reward(1, n) for n in range(3)]
        names = sorted(coin.name() for coin in coins)
        once: Any = BlockSpendInfo(1, 1, iter([]), iter(coins))  # type: ignore[arg-type]
        with self.open(path) as schema:
            schema.accept_block(once)
            schema.accept_block(BlockSpendInfo(2, 2, _List(names), _List([])))
            kept = [BlockSpendInfo(1, 1, [], coins), BlockSpendInfo(2, 2, names, [])]
            assert verify(schema) == expected_state(kept)

    def test_what_is_accepted_is_visible_at_once(self, path: Path) -> None:
        chain = Chain()
        with self.open(path) as schema:
            for block in sample_chain(10).blocks:
                schema.accept_block(block)
                chain.append(block)
                names = [coin.name() for coin in block.confirms]
                assert len(schema.coin_infos_for_coin_names(names)) == len(names)
                spent = schema.coin_infos_for_coin_names(block.spends)
                assert all(info.spent_index == block.index for info in spent)
                assert schema.block_info_for_block_index(block.index) == canonical(block)
            assert list(schema.blocks()) == [canonical(block) for block in chain.blocks]


class _Integer(int):
    def __str__(self) -> str:
        return "written as something else"

    __repr__ = __str__


class _Bytes(bytes32):
    """Says that it has 32 bytes, that it is equal to nothing, and that it is more than it is."""

    def __new__(cls, value: bytes) -> Self:
        return bytes.__new__(cls, value)

    def __len__(self) -> int:
        return NAME_BYTES

    def __eq__(self, other: object) -> bool:
        return False

    def __add__(self, other: Any) -> bytes:
        return bytes.__add__(self, other) * 2

    __hash__ = None  # type: ignore[assignment]


class _List(list[Any]):
    """Says that it is longer than it is."""

    def __len__(self) -> int:
        return 100_000


class _Coin(Coin):
    """Has a name of its own."""

    def name(self) -> bytes32:
        """See Coin."""
        return hash_of(77)


def _negated(block: BlockSpendInfo) -> BlockSpendInfo:
    """The block with a minus before what is too large."""
    return replace(
        block,
        index=block.index if block.index <= MAX_U32 else -block.index,
        timestamp=block.timestamp if block.timestamp <= MAX_U64 else -block.timestamp,
        confirms=[
            coin if coin.amount <= MAX_U64 else replace(coin, amount=-coin.amount)
            for coin in block.confirms
        ],
    )
