"""A node's week: both stores live through the same one, on new files, one after the other."""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from cdb.bench.counter import watched
from cdb.bench.node_rounds import STORES
from cdb.bench.results import Document
from cdb.bench.rounds import rotated
from cdb.bench.sync_calls import counting_syncs
from cdb.chia.bench import work
from cdb.chia.bench.measuring import Setting, measured, round_of
from cdb.chia.bench.terms import ASKED, FOLLOW, HINT, SYNC, SYNCHRONOUS, WeekJob
from cdb.contract.coins import MAX_U32
from cdb.contract.progress import Progress
from cdb.errors import storage_errors
from cdb.lab.places import Place, place
from cdb.lab.process import Limits, fresh_within
from cdb.lab.profile import FAST
from cdb.text.mainnet_shape import mainnet_shaped_blocks
from cdb.text.replay import write_blocks

THEIRS, _ = STORES
SPENDS_FROM = 1_000
"""The first height with spends, or a tenth of the number of blocks: mainnet's first 225,698 heights
had none, which few nodes have in their week.
"""
COINS_A_BLOCK = 67
"""In the mean, with 30 spends."""
FOLLOWED_PART, ASKED_PART = 100, 500
LEAST_FOLLOWED, LEAST_ASKED = 40, 20
BYTES_A_BLOCK = 800 * COINS_A_BLOCK
"""Of a store; chia's is the larger."""
MORE_BYTES = 2 << 30
TEXT_BYTES_A_BLOCK = 171 * COINS_A_BLOCK
_SOURCE = "made in mainnet's shape since spends began; 42 in 100 coins have a hint"

Bar = Callable[[str, int, str], AbstractContextManager[Progress]]
"""Shows a step of a longer work: what it is, how much there is to do, and of what unit."""


@dataclass(frozen=True, slots=True)
class Parts:
    """So many blocks to sync, to add the hints of, to follow, and to follow while wallets ask."""

    synced: int
    hinted: int
    followed: int
    asked: int

    @classmethod
    def of(cls, blocks: int) -> "Parts":
        """Of a week with so many to sync."""
        followed = max(LEAST_FOLLOWED, blocks // FOLLOWED_PART)
        return cls(blocks, blocks, followed, max(LEAST_ASKED, blocks // ASKED_PART))

    @property
    def blocks(self) -> int:
        """What the chain has then."""
        return self.synced + self.followed + self.asked


@dataclass(frozen=True, slots=True)
class Week:
    """What to live through, and where.

    part_seconds: chia's store has so much for each part. cdb's then does as much as that did.
    """

    blocks: int
    part_seconds: float
    setting: Setting
    bar: Bar

    def run(self) -> Document:
        """The document of it. Raises as measured()."""
        with place(FAST, self.setting.parent, 0) as texts:
            replay = texts.directory / "replay.txt"
            chain = {
                "source": _SOURCE,
                "coins": self._write(replay),
                "synchronous": SYNCHRONOUS,
            }
            week = {"blocks": self.blocks, "part_seconds": self.part_seconds}
            rounds = partial(self._rounds, replay)
            size_bytes = BYTES_A_BLOCK * self.blocks + MORE_BYTES
            return measured(self.setting, size_bytes, rounds, {"chain": chain, "week": week})

    def _write(self, replay: Path) -> int:
        """Make the blocks; the number of their coins."""
        # The last episode may take some more than it should.
        n_blocks, n_coins = Parts.of(self.blocks).blocks + 20, 0
        spends_from = min(SPENDS_FROM, n_blocks // 10)
        blocks = mainnet_shaped_blocks(heights=MAX_U32, spends_from=spends_from)
        with (
            self.bar("blocks are made", n_blocks, " blocks") as tell,
            storage_errors(replay),
            replay.open("wb") as stream,
        ):
            for block in islice(blocks, n_blocks):
                write_blocks(stream, [block])
                n_coins += len(block.confirms)
                tell(1)
        return n_coins

    def _rounds(self, replay: Path, there: Place) -> Iterator[Document]:
        """chia's store goes first, and what it has done in its time is done by all others."""
        parts = Parts.of(self.blocks)
        seconds: float | None = self.part_seconds
        for run in range(self.setting.runs):
            for store in rotated(STORES, run):
                lived = partial(self._lived, store, replay, there, parts, seconds)
                made = round_of(store, run, lived)
                parts, seconds = done(made["cases"]), None
                yield made

    def _lived(
        self, store: str, replay: Path, there: Place, parts: Parts, part_seconds: float | None
    ) -> list[Any]:
        """The cases of a store, whose files are gone then."""
        directory, progress = there.directory / store, replay.with_name("progress")
        progress.unlink(missing_ok=True)
        week: WeekJob = {
            "store": store,
            "directory": str(directory),
            "replay": str(replay),
            "progress": str(progress),
            "synced": parts.synced,
            "hinted": parts.hinted,
            "followed": parts.followed,
            "asked": parts.asked,
            "rest": 0 if store == THEIRS else max(0, self.blocks - parts.blocks),
            "part_seconds": part_seconds,
        }
        what = f"{self.setting.profile.name}, {store}"
        self.setting.note(f"{what}: {_plan(week)}")
        limits = Limits(there.join, environment=counting_syncs())
        with (
            self.bar(what, parts.hinted + parts.blocks + week["rest"], " blocks") as tell,
            watched(progress, tell),
        ):
            cases = fresh_within(limits, work.live, week)
        shutil.rmtree(directory)
        return cases


def _plan(week: WeekJob) -> str:
    """What a store is about to do, and how long it may take."""
    parts = f"sync {week['synced']:,} blocks and then add hints, follow {week['followed']:,}"
    more = f", and {week['asked']:,} with wallets asking"
    if week["part_seconds"] is not None:
        return f"{parts}{more}; at most {week['part_seconds'] / 60:,g} min each"
    return f"{parts}{more}" + (f"; then sync {week['rest']:,} more" if week["rest"] else "")


def done(cases: Sequence[Mapping[str, Any]]) -> Parts:
    """How far a store came in each part."""
    blocks = {case["workload"]: case["parameters"].get("blocks", 0) for case in cases}
    return Parts(*(blocks[part] for part in (SYNC, HINT, FOLLOW, ASKED)))
