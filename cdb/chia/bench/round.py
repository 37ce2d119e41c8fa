"""One store: loaded once, and measured in rounds that leave it as it was loaded."""

import asyncio
import gc
import pickle
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chia_rs.sized_bytes import bytes32

from cdb.bench import page_cache
from cdb.bench.figures import Figures, latency_figures
from cdb.chia.bench.chain import Chain
from cdb.chia.bench.questions import Parameters, Question, digest, questions
from cdb.chia.bench.stores import Store, opened
from cdb.chia.bench.timing import Stopwatch, watched_loop
from cdb.process.meter import database_files, size_bytes

SEED = 1
LOAD_BLOCK_COINS = 5_000
LARGE_BLOCK_COINS, LARGE_BLOCKS = 2_000, 25
SMALL_BLOCK_COINS, SMALL_BLOCKS = 45, 1_000
COLD_BLOCKS = 20
COLD_PART, QUICK_PART = 10, 10
IDLE_SECONDS = 1.0
_NOBODY = bytes32(bytes(32))


@dataclass(frozen=True, slots=True)
class Case:
    """A case of node.schema.json. answers: their digest; None where a call gives none."""

    workload: str
    parameters: Parameters
    figures: Figures
    answers: str | None = None


@dataclass(frozen=True, slots=True)
class Files:
    """Where a store's files are, which nothing else is among, and the chain that they hold.

    quick: a tenth of the calls, where the figures don't matter.
    """

    store: str
    directory: Path
    chain: Path
    quick: bool

    @property
    def part(self) -> int:
        """One in so many calls is made."""
        return QUICK_PART if self.quick else 1

    def loaded(self) -> Chain:
        """The chain as it was loaded: whoever draws from it draws what all others do."""
        chain: Chain = pickle.loads(self.chain.read_bytes())  # noqa: S301 - our own file
        return chain


async def load(files: Files, n_coins: int) -> list[Case]:
    """Make the chain, with its hints; what that took. Its size is that of closed files.

    A block is taken back in the end, as in a round: the first one finds the store as all others do.
    """
    chain, watch = Chain(SEED), Stopwatch()
    files.directory.mkdir()
    async with opened(files.store, files.directory) as store:
        while len(chain.names) < n_coins:
            block = chain.block(LOAD_BLOCK_COINS)
            with watch.running():
                await store.add(block)
        with watch.running():
            await store.calls.get_coin_record(_NOBODY)  # what is put off until the next call
        await store.hint(chain.hints())
    files.chain.write_bytes(pickle.dumps(chain))
    figures = watch.figures(len(chain.names), "_per_coin")
    figures["size_bytes_per_coin"] = size_bytes(files.directory) / len(chain.names)
    async with opened(files.store, files.directory) as store:
        await store.add(files.loaded().block(SMALL_BLOCK_COINS))
        await _take_back(store, chain.height)
    return [Case("load", {}, figures)]


async def measure(files: Files) -> list[Case]:
    """All other cases, cold ones first."""
    cases = [case async for case in _cold(files)]
    for path in database_files(files.directory):
        page_cache.fill(path)
    async with opened(files.store, files.directory) as store:
        cases += [case async for case in _warm(store, files)]
    return cases


async def _cold(files: Files) -> AsyncIterator[Case]:
    """Each kind of call after the files' pages were dropped, by a store that opened since."""
    chain = files.loaded()
    for question in questions(chain, COLD_PART * files.part):
        async with opened_cold(files) as store:
            yield await _answered(store, question, "cold")
    height = chain.height
    blocks = [chain.block(SMALL_BLOCK_COINS) for _ in range(COLD_BLOCKS)]
    async with opened_cold(files) as store:
        yield await _added(store, blocks, "cold")
        await _take_back(store, height)


@asynccontextmanager
async def opened_cold(files: Files) -> AsyncIterator[Store]:
    """The store with no page of its files in memory but those that opening has mapped."""
    page_cache.drop(database_files(files.directory))
    async with opened(files.store, files.directory) as store:
        page_cache.drop(database_files(files.directory))
        yield store


async def _warm(store: Store, files: Files) -> AsyncIterator[Case]:
    """With all files in the page cache, and some other questions asked before."""
    chain = files.loaded()
    for question in questions(chain, COLD_PART * files.part):
        await _answered(store, question, "warm")
    for question in questions(chain, files.part):
        yield await _answered(store, question, "warm")
    height = chain.height
    blocks = [chain.block(LARGE_BLOCK_COINS) for _ in range(max(2, LARGE_BLOCKS // files.part))]
    yield await _added(store, blocks, "warm")
    blocks = [chain.block(LARGE_BLOCK_COINS) for _ in blocks]
    yield await _stalled("nothing", asyncio.sleep, [IDLE_SECONDS / files.part])
    yield await _stalled(f"blocks of {LARGE_BLOCK_COINS:,} coins", store.add, blocks)
    top = chain.height
    blocks = [chain.block(SMALL_BLOCK_COINS) for _ in range(SMALL_BLOCKS // files.part)]
    yield await _added(store, blocks, "warm")
    rollback = Question("rollback_to_block", {"blocks": len(blocks)}, _roll_back, [top])
    yield await _answered(store, rollback, "warm")
    await _take_back(store, height)


async def _take_back(store: Store, height: int) -> None:
    """Leave nothing to be done by the next one that opens it."""
    await store.roll_back(height)
    await store.calls.get_coin_record(_NOBODY)


async def _roll_back(store: Store, height: int) -> Any:
    return await store.roll_back(height)


async def _added(store: Store, blocks: Sequence[Any], cache: str) -> Case:
    n_coins = len(blocks[0][1][0]) + len(blocks[0][1][1])
    adding = Question(
        "new_block", {"coins": n_coins}, lambda store, block: store.add(block), blocks
    )
    return await _answered(store, adding, cache)


async def _answered(store: Store, question: Question, cache: str) -> Case:
    watch, answers = Stopwatch(), []
    _keep_out_of_garbage_collection()
    with watch.running():
        for each in question.arguments:
            answers.append(await question.call(store, each))
        # What the store has put off until the next call is part of it.
        await store.calls.get_coin_record(_NOBODY)
    told = [answer for answer in answers if answer is not None]
    return Case(
        question.method,
        {**question.parameters, "cache": cache},
        watch.figures(len(question.arguments)),
        digest(told) if told else None,
    )


async def _stalled(
    what: str, call: Callable[[Any], Awaitable[Any]], arguments: Sequence[Any]
) -> Case:
    """How late the event loop is while calls follow on each other."""
    _keep_out_of_garbage_collection()
    async with watched_loop() as loop:
        for each in arguments:
            await call(each)
    return Case("event loop", {"beside": what}, latency_figures("late", loop.late))


def _keep_out_of_garbage_collection() -> None:
    """What this bench holds, a node doesn't: it is not to be searched for garbage."""
    gc.collect()
    gc.freeze()
