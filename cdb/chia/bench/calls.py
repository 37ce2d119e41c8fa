"""The calls that a node lives by, cold ones first, and how late the event loop is beside them.

They leave the store as it was loaded.
"""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from cdb.bench import page_cache
from cdb.bench.case import Case
from cdb.bench.figures import latency_figures
from cdb.bench.stopwatch import Stopwatch
from cdb.chia.bench.chain import SMALL_BLOCK_COINS, loaded
from cdb.chia.bench.questions import Question, digest, questions
from cdb.chia.bench.stores import Store, opened
from cdb.chia.bench.terms import Files
from cdb.chia.bench.timing import watched_loop
from cdb.process.meter import database_files

LARGE_BLOCK_COINS, LARGE_BLOCKS = 2_000, 25
SMALL_BLOCKS = 1_000
COLD_BLOCKS = 20
COLD_PART, QUICK_PART = 10, 10
IDLE_SECONDS = 1.0


def measure(files: Files) -> list[Case]:
    """See the module."""
    return asyncio.run(_measure(files))


async def _measure(files: Files) -> list[Case]:
    cases = [case async for case in _cold(files)]
    for path in database_files(files.directory):
        page_cache.fill(path)
    async with opened(files.store, files.directory) as store:
        cases += [case async for case in _warm(store, files)]
    return cases


def _part(files: Files) -> int:
    """One in so many calls is made."""
    return QUICK_PART if files.quick else 1


async def _cold(files: Files) -> AsyncIterator[Case]:
    """Each kind of call after the files' pages were dropped, by a store that opened since."""
    chain = loaded(files)
    for question in questions(chain, COLD_PART * _part(files)):
        async with opened_cold(files) as store:
            yield await _answered(store, question, "cold")
    height = chain.height
    blocks = [chain.block(SMALL_BLOCK_COINS) for _ in range(COLD_BLOCKS)]
    async with opened_cold(files) as store:
        yield await _added(store, blocks, "cold")
        await store.take_back(height)


@asynccontextmanager
async def opened_cold(files: Files) -> AsyncIterator[Store]:
    """The store with no page of its files in memory but those that opening has mapped."""
    page_cache.drop(database_files(files.directory))
    async with opened(files.store, files.directory) as store:
        page_cache.drop(database_files(files.directory))
        yield store


async def _warm(store: Store, files: Files) -> AsyncIterator[Case]:
    """With all files in the page cache, and some other questions asked before."""
    chain = loaded(files)
    for question in questions(chain, COLD_PART * _part(files)):
        await _answered(store, question, "warm")
    for question in questions(chain, _part(files)):
        yield await _answered(store, question, "warm")
    height = chain.height
    blocks = [chain.block(LARGE_BLOCK_COINS) for _ in range(max(2, LARGE_BLOCKS // _part(files)))]
    yield await _added(store, blocks, "warm")
    blocks = [chain.block(LARGE_BLOCK_COINS) for _ in blocks]
    yield await _stalled("nothing", asyncio.sleep, [IDLE_SECONDS / _part(files)])
    yield await _stalled(f"blocks of {LARGE_BLOCK_COINS:,} coins", store.add, blocks)
    top = chain.height
    blocks = [chain.block(SMALL_BLOCK_COINS) for _ in range(SMALL_BLOCKS // _part(files))]
    yield await _added(store, blocks, "warm")
    rollback = Question("rollback_to_block", {"blocks": len(blocks)}, _roll_back, [top])
    yield await _answered(store, rollback, "warm")
    await store.take_back(height)


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
        await store.finish()
    told = [answer for answer in answers if answer is not None]
    return Case(
        question.method,
        {**question.parameters, "cache": cache},
        figures=watch.means(len(question.arguments)),
        answers=digest(told) if told else None,
    )


async def _stalled(
    what: str, call: Callable[[Any], Awaitable[Any]], arguments: Sequence[Any]
) -> Case:
    """How late the event loop is while calls follow on each other."""
    _keep_out_of_garbage_collection()
    async with watched_loop() as loop:
        for each in arguments:
            await call(each)
    return Case("event loop", {"beside": what}, figures=latency_figures("late", loop.late))


def _keep_out_of_garbage_collection() -> None:
    """What this bench holds, a node doesn't: it is not to be searched for garbage."""
    gc.collect()
    gc.freeze()
