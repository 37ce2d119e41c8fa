"""chia's coin store and cdb's, side by side: CPU time of the calls that a node lives by.

    build/chia/venv/bin/python -m tests.chia.bench --coins 1000000

Each store is measured in a process of its own, on a file of its own, with the same blocks, as a
node has it: each block in a transaction, hints in a table of SQLite. CPU time is of all threads of
the process; times are per call, the mean of all calls of a kind.
"""

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from random import Random
from time import perf_counter, process_time
from typing import Any

from chia.full_node.coin_store import CoinStore as TheirStore
from chia.full_node.hint_store import HintStore
from chia.util.db_wrapper import DBWrapper2
from chia_rs import Coin
from chia_rs.sized_bytes import bytes32
from chia_rs.sized_ints import uint32, uint64

from cdb.chia import CoinStore

STORES = {"chia": TheirStore, "cdb": CoinStore}
LOAD_BLOCK_COINS = 5_000
LARGE_BLOCK_COINS, LARGE_BLOCKS = 2_000, 50
SMALL_BLOCK_COINS, SMALL_BLOCKS = 45, 1_000
SPENT_SHARE = 0.45
HINTED_SHARE = 0.42
BUSY_SHARE = 0.02
REUSED_SHARE = 0.45
ADDRESSES = 4_096
CALLS = 200
LONG_CALLS = 10

Made = tuple[list[Coin], list[tuple[bytes32, Coin, bool]], list[bytes32]]


class Chain:
    """Makes blocks: rewards, additions, removals. The same seed makes the same."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.heights = count(1)
        self.busy = bytes32(self.random.randbytes(32))
        self.addresses = [bytes32(self.random.randbytes(32)) for _ in range(ADDRESSES)]
        self.names: list[bytes32] = []
        self.spent: list[bytes32] = []
        self._unspent: list[bytes32] = []

    def block(self, height: int, n_coins: int) -> Made:
        """One with so many new coins."""
        random = self.random
        marks = [b"a pool's network", b"a farmer's netwo"]
        rewards = [Coin(bytes32(m + height.to_bytes(16, "big")), self.busy, 1) for m in marks]
        n_spends = min(len(self._unspent) // 2, round(n_coins * SPENT_SHARE))
        removals = [self._drawn() for _ in range(n_spends)]
        parents = removals or [bytes32(random.randbytes(32))]
        coins = [self._coin(parents[n % len(parents)]) for n in range(n_coins - len(rewards))]
        additions = [(coin.name(), coin, False) for coin in coins]
        self.names += [name for name, _, _ in additions]
        self._unspent += [name for name, _, _ in additions]
        self.spent += removals
        return rewards, additions, removals

    def _drawn(self) -> bytes32:
        """An unspent coin, which is spent from now on."""
        place = self.random.randrange(len(self._unspent))
        self._unspent[place], self._unspent[-1] = self._unspent[-1], self._unspent[place]
        return self._unspent.pop()

    def _coin(self, parent: bytes32) -> Coin:
        random = self.random
        if random.random() < BUSY_SHARE:
            puzzle_hash = self.busy
        elif random.random() < REUSED_SHARE:
            puzzle_hash = random.choice(self.addresses)
        else:
            puzzle_hash = bytes32(random.randbytes(32))
        return Coin(parent, puzzle_hash, uint64(random.getrandbits(40)))


class Bench:
    """One store. figures: seconds of CPU and of the clock per call, by what was measured."""

    def __init__(self, store: Any, wrapper: Any, hints: HintStore, chain: Chain) -> None:
        self.figures: dict[str, tuple[float, float]] = {}
        self._store = store
        self._wrapper = wrapper
        self._hints = hints
        self._chain = chain

    async def load(self, n_coins: int) -> None:
        """Make the chain that all else is measured on, with its hints."""
        while len(self._chain.names) < n_coins:
            await self._add(self._made(LOAD_BLOCK_COINS))
        random = self._chain.random
        hinted = random.sample(self._chain.names, round(HINTED_SHARE * len(self._chain.names)))
        pairs = [(name, bytes(random.choice(self._chain.addresses))) for name in hinted]
        for at in range(0, len(pairs), 10_000):
            await self._hints.add_hints(pairs[at : at + 10_000])

    async def measure(self) -> None:
        """Measure everything."""
        chain, store = self._chain, self._store
        random = chain.random
        for n_coins, n_blocks in (
            (LARGE_BLOCK_COINS, LARGE_BLOCKS),
            (SMALL_BLOCK_COINS, SMALL_BLOCKS),
        ):
            made = [self._made(n_coins) for _ in range(n_blocks)]
            await self._each(f"new_block, {n_coins:,} coins", self._add, made)
        height = made[0][0] - 1
        for n in (1, 100, 1_000):
            names = [
                random.sample(chain.names, n) for _ in range(CALLS if n < 1_000 else CALLS // 10)
            ]
            await self._each(f"get_coin_records, {n:,} names", store.get_coin_records, names)
        hashes = [random.sample(chain.addresses, 100) for _ in range(CALLS // 10)]
        await self._each(
            "100 puzzle hashes, unspent",
            lambda each: store.get_coin_records_by_puzzle_hashes(False, each),
            hashes,
        )
        parents = [[name] for name in random.sample(chain.spent, CALLS)]
        await self._each(
            "children of one",
            lambda each: store.get_coin_records_by_parent_ids(True, each),
            parents,
        )
        page = store.batch_coin_states_by_puzzle_hashes
        await self._each(
            "first 1,000 states, a busy hash",
            lambda each: page(each, max_items=1_000),
            [[chain.busy]] * LONG_CALLS,
        )
        await self._each(
            "first 1,000 states, 500 addresses and hints",
            lambda each: page(each, max_items=1_000),
            [random.sample(chain.addresses, 500) for _ in range(LONG_CALLS)],
        )
        await self._each(f"rollback, {SMALL_BLOCKS:,} blocks", self._roll_back, [height])

    async def _each(self, what: str, call: Callable[[Any], Awaitable[Any]], on: list[Any]) -> None:
        started = perf_counter(), process_time()
        for each in on:
            await call(each)
        # What the store has put off until the next call is part of it.
        await self._store.get_coin_record(bytes32(bytes(32)))
        wall, cpu = perf_counter() - started[0], process_time() - started[1]
        self.figures[what] = (cpu / len(on), wall / len(on))

    def _made(self, n_coins: int) -> tuple[int, Made]:
        height = next(self._chain.heights)
        return height, self._chain.block(height, n_coins)

    async def _add(self, made: tuple[int, Made]) -> None:
        height, (rewards, additions, removals) = made
        async with self._wrapper.writer():
            await self._store.new_block(
                uint32(height), uint64(1_700_000_000 + 19 * height), rewards, additions, removals
            )

    async def _roll_back(self, height: int) -> None:
        async with self._wrapper.writer():
            await self._store.rollback_to_block(height)


@asynccontextmanager
async def opened(kind: str, place: Path, chain: Chain) -> Any:
    """A store on its file."""
    async with DBWrapper2.managed(
        place / "node.sqlite", db_version=2, synchronous="NORMAL"
    ) as wrapper:
        hints = await HintStore.create(wrapper)
        store = await STORES[kind].create(wrapper)
        yield Bench(store, wrapper, hints, chain)


async def run(kind: str, place: Path, n_coins: int) -> dict[str, Any]:
    """The figures of a store. Bytes are of the chain as it was loaded, with hints, closed."""
    chain = Chain(1)
    async with opened(kind, place, chain) as bench:
        await bench.load(n_coins)
    _close()
    n_bytes = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
    bytes_a_coin = n_bytes / len(chain.names)
    async with opened(kind, place, chain) as bench:
        await bench.measure()
    _close()
    return {"bytes a coin, with hints": bytes_a_coin, **bench.figures}


def _close() -> None:
    """Nobody tells a store that its wrapper was closed."""
    from cdb.chia import opening

    opening._close_all()


def main() -> int:
    """Measure both, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m tests.chia.bench", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--coins", type=int, default=1_000_000)
    parser.add_argument("--dir", type=Path, help="where to put the files; default: where others do")
    parser.add_argument("--store", choices=STORES, help="only this one, and print JSON")
    arguments = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="cdb-bench-", dir=arguments.dir))
    try:
        if arguments.store:
            figures = asyncio.run(run(arguments.store, place, arguments.coins))
            sys.stdout.write(json.dumps(figures))
        else:
            sys.stdout.writelines(_table(arguments.coins, place))
    finally:
        shutil.rmtree(place)
    return 0


def _table(n_coins: int, place: Path) -> Iterator[str]:
    found = {}
    for kind in STORES:
        options = ["--coins", str(n_coins), "--dir", str(place), "--store", kind]
        line = [sys.executable, "-m", "tests.chia.bench", *options]
        found[kind] = json.loads(subprocess.run(line, check=True, stdout=subprocess.PIPE).stdout)
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    yield f"{n_coins:,} coins; milliseconds of CPU (of the clock) a call; load average {load}\n\n"
    yield "| | chia | cdb | ratio of CPU |\n|---|---|---|---|\n"
    for what, theirs in found["chia"].items():
        ours = found["cdb"][what]
        if isinstance(theirs, float):
            yield f"| {what} | {theirs:.0f} | {ours:.0f} | {theirs / ours:.1f} |\n"
        else:
            cells = [f"{cpu * 1e3:.3g} ({wall * 1e3:.3g})" for cpu, wall in (theirs, ours)]
            yield f"| {what} | {cells[0]} | {cells[1]} | {theirs[0] / ours[0]:.1f} |\n"


if __name__ == "__main__":
    sys.exit(main())
