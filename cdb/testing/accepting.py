"""What a schema promises of accepting and refusing blocks."""

from pathlib import Path

import pytest

from cdb.blocks import BlockSpendInfo, canonical
from cdb.coins import MAX_U32
from cdb.errors import (
    AlreadySpentError,
    BlockOrderError,
    DuplicateCoinError,
    InvalidBlockError,
    UnknownCoinError,
)
from cdb.state import verify
from cdb.testing.base import SchemaTests, accept_all, block_at, expected_state
from cdb.testing.chains import BREACHES, Chain, child, hash_of, reward, sample_chain


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
