"""What a schema promises of reading."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from random import Random

from cdb.blocks import BlockSpendInfo, canonical
from cdb.coins import MAX_U64, CoinInfo, bytes32
from cdb.packed import PackedBlocks
from cdb.schemas import Schema
from cdb.state import verify
from cdb.testing.base import SchemaTests, accept_all, block_at, expected_state, settle
from cdb.testing.chains import EDGE_AMOUNTS, Chain, hash_of, reward, sample_chain

N_READERS = 3
LEAST_READS = 3
BATCH_NAMES = 100
REWOUND_BLOCKS = 25


class ReadingTests(SchemaTests):
    """Lookups, blocks, snapshots, whole 64-bit ranges, and readers beside the writer."""

    def test_lookups_answer_in_the_order_asked_and_skip_unknown_names(self, path: Path) -> None:
        coins = [reward(1, n) for n in range(50)]
        names = [coin.name() for coin in coins]
        with self.open(path) as schema:
            schema.accept_block(BlockSpendInfo(1, 0, [], coins))
            asked = [*names[::-1], hash_of("nobody"), names[3], names[3]]
            answered = [info.coin for info in schema.coin_infos_for_coin_names(asked)]
            assert answered == [*coins[::-1], coins[3], coins[3]]
            assert schema.coin_infos_for_coin_names([]) == []

    def test_names_that_share_a_prefix_with_a_coin_are_unknown(self, path: Path) -> None:
        coins = [reward(1, n) for n in range(200)]
        with self.open(path) as schema:
            schema.accept_block(BlockSpendInfo(1, 0, [], coins))
            for shared_bytes in (8, 16, 31):
                names = [_vary(coin.name(), shared_bytes) for coin in coins]
                assert schema.coin_infos_for_coin_names(names) == []

    def test_100_000_coins_in_a_block_and_names_in_a_lookup(self, path: Path) -> None:
        coins = [reward(1, n) for n in range(100_000)]
        names = [coin.name() for coin in coins]
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
            _write_beside_readers(schema, chain, lambda _: _check_whole_blocks(schema, chain))
            assert verify(schema) == expected_state(chain.blocks)

    def test_lookups_beside_the_writer_see_whole_blocks(self, path: Path) -> None:
        chain = sample_chain(150)
        history = _History(chain)
        unknown = [hash_of("nobody", n) for n in range(20)]
        batches = [Random(reader) for reader in range(N_READERS)]  # noqa: S311 - reproducible
        with self.open(path) as schema:

            def look_up(reader: int) -> None:
                names = batches[reader].choices([*chain.names, *unknown], k=BATCH_NAMES)
                history.check(names, schema.coin_infos_for_coin_names(names))

            _write_beside_readers(schema, chain, look_up)
            assert verify(schema) == expected_state(chain.blocks)


class _History:
    """When each coin of a chain was confirmed and spent."""

    def __init__(self, chain: Chain) -> None:
        self._spent = {name: block.index for block in chain.blocks for name in block.spends}
        self._coins = {
            coin.name(): (coin, block.index) for block in chain.blocks for coin in block.confirms
        }

    def check(self, names: list[bytes32], infos: list[CoinInfo]) -> None:
        """The infos are what a lookup of the names gives after one of the blocks."""
        newest = max([max(info.confirmed_index, info.spent_index) for info in infos], default=-1)
        assert infos == self._infos_after(newest, names)

    def _infos_after(self, newest: int, names: list[bytes32]) -> list[CoinInfo]:
        infos = []
        for name in names:
            coin, confirmed = self._coins.get(name, (None, newest + 1))
            if coin is not None and confirmed <= newest:
                spent = self._spent.get(name, newest + 1)
                infos.append(CoinInfo(coin, confirmed, spent if spent <= newest else 0))
        return infos


def _vary(name: bytes32, shared_bytes: int) -> bytes32:
    return bytes32(name[:shared_bytes] + bytes(byte ^ 0xFF for byte in name[shared_bytes:]))


def _write_beside_readers(schema: Schema, chain: Chain, read: Callable[[int], None]) -> None:
    """Accept the chain, while readers call read(number) again and again; raise what they raise.

    It goes on, with rewinds, until each of them has read often enough.
    """
    accept_all(schema, chain.blocks[:REWOUND_BLOCKS])
    done = threading.Event()
    times_read = [0] * N_READERS

    def read_until_done(reader: int) -> None:
        while not done.is_set():
            read(reader)
            times_read[reader] += 1

    with ThreadPoolExecutor(N_READERS) as pool:
        reading = [pool.submit(read_until_done, reader) for reader in range(N_READERS)]
        try:
            _write(schema, chain, REWOUND_BLOCKS)
            while min(times_read) < LEAST_READS and not any(each.done() for each in reading):
                schema.rewind_to_block_index(chain.blocks[-REWOUND_BLOCKS - 1].index)
                _write(schema, chain, len(chain.blocks) - REWOUND_BLOCKS)
        finally:
            done.set()
        for each in reading:
            each.result()
    assert min(times_read) >= LEAST_READS


def _write(schema: Schema, chain: Chain, n_written: int) -> None:
    """Accept the rest of a chain in both forms; on the way flush, settle and rewind."""
    for step in count(1):
        blocks = [canonical(block) for block in chain.blocks[n_written : n_written + 10]]
        accept_packed = getattr(schema, "accept_packed", None)
        if accept_packed is None or step % 2:
            accept_all(schema, blocks)
        else:
            accept_packed(PackedBlocks.of(blocks))
        n_written += len(blocks)
        if n_written == len(chain.blocks):
            return
        if step % 3 == 0:
            schema.flush()
        if step % 4 == 0:
            settle(schema)
        if step % 5 == 0:
            n_written -= REWOUND_BLOCKS
            schema.rewind_to_block_index(chain.blocks[n_written - 1].index)


def _check_whole_blocks(schema: Schema, chain: Chain) -> None:
    seen = list(schema.blocks())
    assert seen == [canonical(block) for block in chain.blocks[: len(seen)]]
    for block in seen[-3:]:
        confirmed = [coin.name() for coin in block.confirms]
        infos = schema.coin_infos_for_coin_names([*confirmed, *block.spends])
        found = {info.coin.name(): info for info in infos}
        # A rewind may have taken the block since, but only as a whole.
        answers = {name in found for name in confirmed}
        answers |= {
            name in found and found[name].spent_index == block.index for name in block.spends
        }
        assert len(answers) <= 1
        assert schema.block_info_for_block_index(block.index) in (block, None)
