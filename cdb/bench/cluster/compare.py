"""The same blocks, names and rewind by the schema cassandra and by a plain client, in one run."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

from cdb.bench.cluster.plain import PlainClient
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.packed import PackedBlocks
from cdb.errors import InvariantError
from cdb.stores.cassandra.cql import cluster_of
from cdb.stores.cassandra.place import place_of
from cdb.stores.cassandra.schema import CassandraSchema, cassandra
from cdb.text.mainnet_shape import mainnet_shaped_blocks

PACK_BLOCKS = 50
NAMES = 1_000
"""Of a look-up."""
REWOUND = 100
"""Blocks."""


@dataclass(frozen=True, slots=True)
class Figure:
    """How long something took the schema, and the plain client. units: coins, names or blocks."""

    what: str
    n: int
    units: str
    seconds: float
    plain_seconds: float

    @property
    def per_second(self) -> float:
        """The schema's."""
        return self.n / self.seconds

    @property
    def ratio(self) -> float:
        """How many times faster than the plain client."""
        return self.plain_seconds / self.seconds


def compare(hosts: str, coins: int, seed: int, told: Callable[[str], object]) -> list[Figure]:
    """Measure. hosts: as in a URL. told: what is measured now."""
    packed = [PackedBlocks.of([block]) for block in _blocks(coins, seed)]
    n_coins = sum(block.n_confirms for block in packed)
    names = [bytes(block.names[at : at + 32]) for block in packed for at in _places(block)]
    asked = Random(seed).sample(names, min(len(names), 10 * NAMES))  # noqa: S311
    url = f"cassandra://{hosts}/bench-{time.time_ns()}?keyspace=cdb_bench"
    copies = _copies(url)
    plain = PlainClient(place_of(url), copies)
    try:
        told("the plain client loads")
        plain_load = _timed(lambda: _each(plain.accept, packed))
        told("block by block")
        with cassandra(url) as schema:
            by_block = _timed(lambda: _each(schema.accept_packed, packed))
        told("bulk")
        with cassandra(url.replace("bench-", "bulk-")) as schema:
            packs = [*_packs(coins, seed)]
            bulk = _timed(lambda: _each(schema.accept_packed, packs))
            told("look-ups")
            parts = [asked[at : at + NAMES] for at in range(0, len(asked), NAMES)]
            joined = [b"".join(part) for part in parts]
            found = _timed(lambda: _each(partial(_look_up, schema), joined))
            plain_found = _timed(lambda: _each(partial(_look_up_plainly, plain), parts))
            told("rewind")
            gone = [block.indices[0] for block in packed[-REWOUND:]]
            rewind = _timed(lambda: schema.rewind_to_block_index(gone[0] - 1))
            plain_rewind = _timed(lambda: plain.rewind(reversed(gone), gone[0] - 1))
    finally:
        plain.close()
    return [
        Figure(f"bulk load, {PACK_BLOCKS} blocks a commit", n_coins, "coins", bulk, plain_load),
        Figure("block by block", n_coins, "coins", by_block, plain_load),
        Figure(f"look-ups of {NAMES:,} names", len(asked), "names", found, plain_found),
        Figure(f"rewind of {len(gone)} blocks", len(gone), "blocks", rewind, plain_rewind),
    ]


def _blocks(coins: int, seed: int) -> list[BlockSpendInfo]:
    return [*mainnet_shaped_blocks(coins=coins, seed=seed, spends_from=0)]


def _packs(coins: int, seed: int) -> Sequence[PackedBlocks]:
    blocks = _blocks(coins, seed)
    return [
        PackedBlocks.of(blocks[at : at + PACK_BLOCKS]) for at in range(0, len(blocks), PACK_BLOCKS)
    ]


def _places(block: PackedBlocks) -> range:
    return range(0, len(block.names), 32)


def _look_up(schema: CassandraSchema, names: bytes) -> None:
    _, found = schema.coin_infos_packed(names)
    if 0 in found:
        raise InvariantError("a coin that was loaded is not found")


def _look_up_plainly(plain: PlainClient, names: list[bytes]) -> None:
    if not all(plain.find(names)):
        raise InvariantError("the plain client does not find a coin that it loaded")


def _each(do: Callable[..., object], items: Sequence[object]) -> None:
    for item in items:
        do(item)


def _timed(do: Callable[[], object]) -> float:
    begun = time.perf_counter()
    do()
    return time.perf_counter() - begun


def _copies(url: str) -> int:
    """As many as a chain of this cluster has."""
    cluster = cluster_of(place_of(url))
    try:
        cluster.connect()
        return min(3, len(cluster.metadata.all_hosts()))
    finally:
        cluster.shutdown()
