"""A node's week on one store: it syncs, follows the chain's tip, and wallets ask meanwhile."""

import asyncio
import gc
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any

from cdb.bench.case import Case
from cdb.bench.counter import Counter
from cdb.chia.bench.chain import SEED
from cdb.chia.bench.feed import Feed, Reorg, Step
from cdb.chia.bench.part import Part
from cdb.chia.bench.questions import digest
from cdb.chia.bench.stores import Store, opened
from cdb.chia.bench.terms import ASKED, END, FOLLOW, HINT, REST, SYNC, WeekFiles
from cdb.chia.bench.timing import watched_loop
from cdb.chia.bench.wallets import REQUESTS, Request, Wallets
from cdb.process.meter import peak_rss_bytes, size_bytes

HINTED_BLOCKS = 11
"""A syncing node takes 32 blocks at a time, of which so many have transactions, and adds the hints
of these together.
"""
NAP_SECONDS = 0.005


def measure(files: WeekFiles) -> list[Case]:
    """See the module; in a directory that this makes."""
    return asyncio.run(_measure(files))


async def _measure(files: WeekFiles) -> list[Case]:
    files.directory.mkdir()
    parts, feed, count = files.parts, Feed(files.replay, SEED), Counter(files.progress)
    async with opened(files.store, files.directory) as store:
        life = Life(store, files.directory, feed, count, files.part_seconds)
        cases = [synced := await life.sync(SYNC, parts.synced)]
        hinted = min(parts.hinted, int(synced.parameters["blocks"]))
        cases.append(await life.hint(Feed(files.replay, SEED), hinted))
        cases += await life.follow(FOLLOW, parts.followed)
        cases += await life.follow(ASKED, parts.asked, REQUESTS)
        cases.append(await life.end())
        if files.rest:
            cases.append(await life.sync(REST, files.rest))
    return cases


@dataclass(frozen=True, slots=True)
class Life:
    """A store that is open, what comes to it, and where its files are.

    count: of the blocks so far. part_seconds: a part takes no further block after so long, but one
    at least, so that wallets know a coin; None: each goes on to its end.
    """

    store: Store
    directory: Path
    feed: Feed
    count: Counter
    part_seconds: float | None

    async def sync(self, what: str, blocks: int) -> Case:
        """Add so many blocks, without their hints, as far as there is time."""
        done, end = 0, self._end()
        async with self._part() as part:
            while _more(done, blocks, end):
                with part.loop.aside():
                    arrival = self.feed.next()
                if arrival is None:
                    break
                with part.calls.running():
                    answers = await self._take(arrival, part)
                done += 1
                with part.loop.aside():
                    part.tell(answers)
                    self.count.add(1)
        return _case(what, done, part)

    async def hint(self, feed: Feed, blocks: int) -> Case:
        """Add the hints of a feed's next blocks, some together, as far as there is time."""
        done, end = 0, self._end()
        async with self._part() as part:
            while _more(done, blocks, end):
                with part.loop.aside():
                    arrivals = feed.take(min(HINTED_BLOCKS, blocks - done))
                    hints = [pair for each in arrivals for pair in each.hints]
                await self._hint(hints, part)
                done += len(arrivals)
                self.count.add(len(arrivals))
        return Case(HINT, {"blocks": done}, figures=part.figures())

    async def follow(self, what: str, blocks: int, requests: Sequence[Request] = ()) -> list[Case]:
        """Follow the tip for so many blocks, as far as there is time.

        Beside each step all requests are made once, and the next step waits for their answers.
        """
        wallets = Wallets(requests, self.feed.height, self.feed.known)
        done, end = 0, self._end()
        async with self._part() as part:
            while _more(done, blocks, end):
                with part.loop.aside():
                    steps, grown = self.feed.episode()
                if not steps:
                    break
                for step in steps:
                    await self._beside(step, wallets, part)
                done += grown
                self.count.add(grown)
        return [_case(what, done, part), *wallets.cases()]

    async def end(self) -> Case:
        """What there is in the end; answers: of all coins that wallets know, and some more."""
        size, peak = size_bytes(self.directory), peak_rss_bytes()
        calls, height = self.store.calls, self.feed.height
        coins = [
            await calls.get_coin_records([coin.name for coin in self.feed.known]),
            await calls.get_coins_added_at_height(height),
            await calls.get_coins_removed_at_height(height),
        ]
        told = sha256(f"{await calls.num_unspent()} {digest(coins)}".encode())
        figures = {"size_bytes": size, "peak_rss_bytes": peak}
        return Case(END, figures=figures, answers=told.hexdigest())

    async def _beside(self, step: Step, wallets: Wallets, part: Part) -> None:
        """A step, with what wallets ask meanwhile."""
        with part.loop.aside():
            asked = wallets.calls(self.store)
        with part.calls.running():
            answers, *told = await asyncio.gather(self._take(step, part), *asked)
        with part.loop.aside():
            part.tell(answers)
            wallets.tell(told)
        await self._hint(step.hints, part)

    async def _take(self, step: Step, part: Part) -> list[Any]:
        """Look at what is spent, as a node checks a block, and then take the block, or blocks."""
        with (part.reorgs if isinstance(step, Reorg) else part.blocks).running():
            coins = await self.store.calls.get_coin_records(step.older)
            if isinstance(step, Reorg):
                return [coins, await self.store.reorganize(step.height, step.blocks)]
            await self.store.add(step.block)
            return [coins]

    async def _hint(self, hints: list[Any], part: Part) -> None:
        with part.calls.running(), part.hints.running():
            await self.store.hint(hints)

    @asynccontextmanager
    async def _part(self) -> AsyncIterator[Part]:
        """With what the store puts off until its next call. What the bench holds is no garbage."""
        gc.collect()
        gc.freeze()
        async with watched_loop(NAP_SECONDS) as loop:
            part = Part(self.directory, loop)
            yield part
            with part.calls.running():
                await self.store.finish()

    def _end(self) -> float:
        return inf if self.part_seconds is None else perf_counter() + self.part_seconds


def _more(done: int, blocks: int, end: float) -> bool:
    return done < blocks and (not done or perf_counter() < end)


def _case(what: str, done: int, part: Part) -> Case:
    return Case(what, {"blocks": done}, figures=part.figures(), answers=part.answers)
