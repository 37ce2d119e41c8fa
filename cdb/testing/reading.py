"""What a schema promises of reading."""

from functools import cache, partial
from pathlib import Path
from random import Random
from typing import ClassVar

import pytest

from cdb.contents.state import summarize, verify
from cdb.contract.blocks import BlockSpendInfo, canonical
from cdb.contract.coins import MAX_U32, MAX_U64, Coin, bytes32
from cdb.testing.accepting import NO_BYTES, NO_INTEGERS, NO_NAMES
from cdb.testing.base import SchemaTests, accept_all, expected_state
from cdb.testing.chains import EDGE_AMOUNTS, block_at, hash_of, reward, sample_chain
from cdb.testing.faults.beside import History, check_blocks, write_beside_readers

N_READERS = 3
LEAST_READS = 3


class ReadingTests(SchemaTests):
    """Lookups, blocks, snapshots, whole 64-bit ranges, and readers beside the writer."""

    many_names: ClassVar[int] = 40_000
    """More than the 32,766 variables that SQLite allows. Fewer do as at_most() says."""

    def test_lookups_answer_in_the_order_asked_and_skip_unknown_names(self, path: Path) -> None:
        coins = [reward(1, n) for n in range(50)]
        names = [coin.name() for coin in coins]
        with self.open(path) as schema:
            schema.accept_block(BlockSpendInfo(1, 0, [], coins))
            asked = [*names[::-1], hash_of("nobody"), names[3], names[3]]
            answered = [info.coin for info in schema.coin_infos_for_coin_names(asked)]
            assert answered == [*coins[::-1], coins[3], coins[3]]
            assert schema.coin_infos_for_coin_names([]) == []

    def test_any_block_index_may_be_asked_for_and_rewound_to(self, path: Path) -> None:
        large = [MAX_U32 + 1, 2**63 - 1, 2**63, MAX_U64, 2**64, 10**30, 10**5000]
        chain = [*sample_chain(3).blocks, block_at(MAX_U32)]
        with self.open(path) as schema:
            accept_all(schema, chain)
            assert schema.block_info_for_block_index(MAX_U32) == chain[-1]
            for index in large:
                assert schema.block_info_for_block_index(index) is None
                assert schema.block_info_for_block_index(-index) is None
                schema.rewind_to_block_index(index)
            assert summarize(schema) == expected_state(chain)
            for index in (1, *large):
                schema.rewind_to_block_index(-index)
                assert schema.last_block_index is None
                schema.accept_block(chain[0])
            accept_all(schema, chain[1:])
            for value in NO_INTEGERS:
                with pytest.raises(ValueError, match="a block's index is an integer, not "):
                    schema.block_info_for_block_index(value)
                with pytest.raises(ValueError, match="a block's index is an integer, not "):
                    schema.rewind_to_block_index(value)
            assert verify(schema) == expected_state(chain)

    def test_what_is_no_name_is_a_value_error(self, path: Path) -> None:
        with self.open(path) as schema:
            schema.accept_block(block_at(1))
            (name,) = (coin.name() for coin in block_at(1).confirms)
            for value in (*NO_BYTES, *NO_NAMES):
                with pytest.raises(ValueError, match="a coin name "):
                    schema.coin_infos_for_coin_names([name, value])
            for alone in (name, name.hex()):
                with pytest.raises(ValueError, match="a coin name "):
                    schema.coin_infos_for_coin_names(alone)  # type: ignore[arg-type]
            (info,) = schema.coin_infos_for_coin_names(iter([name]))  # type: ignore[arg-type]
            assert info.coin.name() == name

    def test_names_that_share_a_prefix_with_a_coin_are_unknown(self, path: Path) -> None:
        coins = [reward(1, n) for n in range(200)]
        with self.open(path) as schema:
            schema.accept_block(BlockSpendInfo(1, 0, [], coins))
            for shared_bytes in (8, 16, 31):
                names = [_vary(coin.name(), shared_bytes) for coin in coins]
                assert schema.coin_infos_for_coin_names(names) == []

    def test_many_coins_in_a_block_and_names_in_a_lookup(self, path: Path) -> None:
        coins, names = _many_coins(self.at_most(self.many_names))
        with self.open(path) as schema:
            schema.accept_block(BlockSpendInfo(1, 0, [], coins))
            schema.flush()
            infos = schema.coin_infos_for_coin_names(names)
            assert [info.coin for info in infos] == coins
            schema.accept_block(BlockSpendInfo(2, 0, names, []))
            infos = schema.coin_infos_for_coin_names(names)
            assert {info.spent_index for info in infos} == {2}
            block = schema.block_info_for_block_index(2)
            assert block is not None
            assert block.spends == sorted(names)

    def test_blocks_are_canonical_whatever_the_order_they_came_in(self, path: Path) -> None:
        coins = [reward(1, n, amount) for n in range(5) for amount in (300, 2, 10)]
        names = [coin.name() for coin in coins]
        with self.open(path) as schema:
            schema.accept_block(BlockSpendInfo(1, 0, [], coins))
            schema.accept_block(BlockSpendInfo(2, 0, sorted(names, reverse=True), []))
            first, second = schema.blocks()
            assert first == canonical(BlockSpendInfo(1, 0, [], coins))
            assert second.spends == sorted(names)
            assert [schema.block_info_for_block_index(i) for i in (1, 2)] == [first, second]
            assert [schema.block_info_for_block_index(i) for i in (-1, 0, 3)] == [None] * 3

    def test_an_iteration_is_a_snapshot_of_its_beginning(self, path: Path) -> None:
        chain = sample_chain()
        expected = [canonical(block) for block in chain.blocks[:20]]
        with self.open(path) as schema:
            accept_all(schema, chain.blocks[:20])
            early, late = iter(schema.blocks()), iter(schema.blocks())
            seen = [next(early)]
            accept_all(schema, chain.blocks[20:])
            schema.flush()
            seen.append(next(early))
            schema.rewind_to_block_index(chain.blocks[5].index)
            assert [*seen, *early] == expected
            assert list(late) == expected
            assert len(list(schema.blocks())) == 6

    def test_amounts_and_timestamps_have_64_bits(self, path: Path) -> None:
        coins = [reward(1, n, amount) for n, amount in enumerate(EDGE_AMOUNTS)]
        with self.open(path) as schema:
            for index, timestamp in enumerate([0, 2**63 - 1, 2**63, MAX_U64], 1):
                schema.accept_block(block_at(index, 100 + index, timestamp))
            schema.accept_block(BlockSpendInfo(9, 0, [], coins))
        with self.open(path) as schema:
            timestamps = [block.timestamp for block in schema.blocks()]
            assert timestamps == [0, 2**63 - 1, 2**63, MAX_U64, 0]
            infos = schema.coin_infos_for_coin_names([coin.name() for coin in coins])
            assert [info.coin.amount for info in infos] == EDGE_AMOUNTS

    def test_readers_beside_the_writer_see_whole_blocks(self, path: Path) -> None:
        chain = sample_chain(150)
        with self.open(path) as schema:
            readers = [partial(check_blocks, schema, chain)] * N_READERS
            write_beside_readers(schema, chain, readers, LEAST_READS)
            assert verify(schema) == expected_state(chain.blocks)

    def test_lookups_beside_the_writer_see_whole_blocks(self, path: Path) -> None:
        chain = sample_chain(150)
        check_lookup = History(chain).check_lookup
        with self.open(path) as schema:
            choices = map(Random, range(N_READERS))
            readers = [partial(check_lookup, schema, each) for each in choices]
            write_beside_readers(schema, chain, readers, LEAST_READS)
            assert verify(schema) == expected_state(chain.blocks)


def _vary(name: bytes32, shared_bytes: int) -> bytes32:
    return bytes32(name[:shared_bytes] + bytes(byte ^ 0xFF for byte in name[shared_bytes:]))


@cache
def _many_coins(count: int) -> tuple[list[Coin], list[bytes32]]:
    """Coins and their names. Not to be changed."""
    coins = [reward(1, n) for n in range(count)]
    return coins, [coin.name() for coin in coins]
