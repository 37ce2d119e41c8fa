"""Loads of more coins than any buffer holds: after it is opened again, every name is found.

At the default sizes: small ones, with which other tests reach what is behind a buffer, never fill
one that has no size to be set. The largest of those is that of coin_log's runs.
"""

import hashlib
import os
from array import array
from functools import cache, partial
from pathlib import Path
from struct import iter_unpack

import pytest

from cdb.contents.loader import accept
from cdb.contract.coins import NAME_BYTES
from cdb.contract.durability import Durability
from cdb.contract.packed import INFO_FORMAT, PackedBlocks
from cdb.schemas import SchemaInfo, find_schema, offer_of
from cdb.schemas.coin_log import CoinLogSchema
from cdb.stores.coin_log.binding import Sizes
from cdb.stores.rows.index import Watermark
from cdb.stores.rows.opening import MEMTABLE_COINS
from cdb.testing.faults import scratch
from tests.conftest import ROWS_WITH_INDEX, index_factories
from tests.native_sizes import native_size

BUFFER_COINS = native_size("coin_log/index/run.h", "kBufferBytes", unit="kEntryBytes")
BLOCK_COINS = 10_000
COINS = (BUFFER_COINS // BLOCK_COINS + 1) * BLOCK_COINS
ABSENT = 20_000


def digests(what: bytes, count: int) -> list[bytes]:
    return [hashlib.sha256(what + n.to_bytes(4, "big")).digest() for n in range(count)]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name == ROWS_WITH_INDEX else pytest.mark.long)
        for name in sorted(index_factories())
    ],
)
def test_an_index_finds_every_name_of_a_large_load(tmp_path: Path, name: str) -> None:
    names, absent = digests(b"coin", COINS), digests(b"nobody", ABSENT)
    open_index = index_factories()[name]
    open_now = partial(open_index, tmp_path / "index", durability=Durability.POWER)
    index = open_now(read_only=False)
    for start in range(0, COINS, MEMTABLE_COINS):
        part = names[start : start + MEMTABLE_COINS]
        index.write(part, Watermark(start + len(part), part[-1]))
    index.close()
    index = open_now(read_only=True)
    assert index.find(names) == list(range(1, COINS + 1))
    assert index.find(absent) == [None] * ABSENT
    index.close()


def test_what_reads_packed_finds_every_coin_of_a_large_load(
    tmp_path: Path, own_schema: SchemaInfo
) -> None:
    if own_schema.missing is not None:
        pytest.skip(own_schema.missing)
    path, packed = tmp_path / "database", rewards()
    with own_schema.open(path) as schema:
        if offer_of(schema).reads_packed is None:
            pytest.skip("it gives no packed reads")
        accept(schema, packed)
    with own_schema.open(path, read_only=True) as schema:
        reads = offer_of(schema).reads_packed
        assert reads is not None
        infos, found = reads.coin_infos_packed(bytes(packed.names))
        assert found == b"\1" * COINS
        parents = [info[0] for info in iter_unpack(INFO_FORMAT, infos)]
        assert parents == [coin for (coin,) in iter_unpack("32s40x", packed.confirms)]
        _, found = reads.coin_infos_packed(b"".join(digests(b"nobody", ABSENT)))
        assert found == bytes(ABSENT)


@pytest.mark.skipif(find_schema("coin_log").missing is not None, reason="coin_log is missing")
def test_a_checkpoint_promises_only_what_is_in_the_log() -> None:
    """A large append is written by a thread, which takes longer than a sync in memory does."""
    open_now = partial(CoinLogSchema, sizes=Sizes(memtable_coins=COINS // 4))
    with scratch() as directory:
        path = directory / "database"
        log, acked = path / "log", path / "acked"
        with open_now(path) as schema:
            schema.accept_packed(rewards())
            synced_bytes, promise = log.stat().st_size, acked.read_bytes()
        assert (path / "derived" / "manifest").exists()
        os.truncate(log, synced_bytes)
        acked.write_bytes(promise)
        with open_now(path) as schema:
            assert schema.last_block_index == COINS // BLOCK_COINS


@cache
def rewards() -> PackedBlocks:
    """Blocks that confirm coins of 1 mojo each."""
    tail = bytes(NAME_BYTES) + (1).to_bytes(8, "big")
    parents = digests(b"parent", COINS)
    blocks = [sorted(parents[n : n + BLOCK_COINS]) for n in range(0, COINS, BLOCK_COINS)]
    coins = [parent + tail for block in blocks for parent in block]
    names = [hashlib.sha256(coin[:64] + b"\1").digest() for coin in coins]
    count = len(blocks)
    return PackedBlocks(
        array("Q", range(1, count + 1)),
        array("Q", range(count)),
        array("Q", bytes(8 * count)),
        array("Q", range(BLOCK_COINS, COINS + 1, BLOCK_COINS)),
        b"",
        b"".join(coins),
        b"".join(names),
    )
