"""The experiment of a node's week: both stores live through the same one, each on new files."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from cdb.bench.campaign import Data, Experiment, Note
from cdb.bench.case import Case, measure
from cdb.bench.counter import watched
from cdb.bench.results import STORES, Document, Kind
from cdb.chia.bench.comparison import of_stores
from cdb.chia.bench.terms import ASKED, FOLLOW, HINT, SYNC, SYNCHRONOUS, Parts, WeekFiles
from cdb.contract.coins import MAX_U32
from cdb.contract.progress import Progress
from cdb.errors import storage_errors
from cdb.lab.places import Place
from cdb.lab.process import Limits
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
class Week:
    """What to live through.

    part_seconds: chia's store has so much for each part. cdb's then does as much as that did.
    """

    blocks: int
    part_seconds: float
    bar: Bar

    def experiment(self) -> Experiment:
        """It, in which chia's store goes first."""
        return of_stores(Kind.WEEK, _SOURCE, self._data, self._asked())

    def _asked(self) -> Document:
        return {"blocks": self.blocks, "part_seconds": self.part_seconds}

    def _data(self, directory: Path, note: Note) -> Data:
        # The last episode may take some more than it should.
        n_blocks, n_coins = parts_of(self.blocks).blocks + 20, 0
        spends_from = min(SPENDS_FROM, n_blocks // 10)
        blocks = mainnet_shaped_blocks(heights=MAX_U32, spends_from=spends_from)
        replay = directory / "replay.txt"
        with (
            self.bar("blocks are made", n_blocks, " blocks") as tell,
            storage_errors(replay),
            replay.open("wb") as stream,
        ):
            for block in islice(blocks, n_blocks):
                write_blocks(stream, [block])
                n_coins += len(block.confirms)
                tell(1)
        chain = {"source": _SOURCE, "coins": n_coins, "synchronous": SYNCHRONOUS}
        size_bytes = BYTES_A_BLOCK * self.blocks + MORE_BYTES
        return Data({"data": chain | self._asked()}, size_bytes, partial(self._run, replay))

    def _run(
        self, replay: Path, store: str, there: Place, before: Sequence[Document], note: Note
    ) -> list[Case]:
        """What the first has done in its time is done by all others."""
        parts = done(before[0]["cases"]) if before else parts_of(self.blocks)
        if parts is None:
            return [Case.not_measured(SYNC, {}, "the week before it has no end")]
        files = WeekFiles(
            store=store,
            directory=there.directory / store,
            replay=replay,
            progress=replay.with_name("progress"),
            parts=parts,
            rest=0 if store == THEIRS else max(0, self.blocks - parts.blocks),
            part_seconds=None if before else self.part_seconds,
        )
        files.progress.unlink(missing_ok=True)
        note(_plan(files))
        with (
            self.bar(store, parts.hinted + parts.blocks + files.rest, " blocks") as tell,
            watched(files.progress, tell),
        ):
            cases = measure("life", files, Limits(there.join))
        shutil.rmtree(files.directory, ignore_errors=True)
        return cases


def parts_of(blocks: int) -> Parts:
    """Those of a week with so many blocks to sync."""
    followed = max(LEAST_FOLLOWED, blocks // FOLLOWED_PART)
    return Parts(blocks, blocks, followed, max(LEAST_ASKED, blocks // ASKED_PART))


def _plan(week: WeekFiles) -> str:
    """What a store is about to do, and how long it may take."""
    parts = week.parts
    plan = f"sync {parts.synced:,} blocks and then add hints, follow {parts.followed:,}"
    plan += f", and {parts.asked:,} with wallets asking"
    if week.part_seconds is not None:
        return f"{plan}; at most {week.part_seconds / 60:,g} min each"
    return plan + (f"; then sync {week.rest:,} more" if week.rest else "")


def done(cases: Sequence[Mapping[str, Any]]) -> Parts | None:
    """How far a store came in each part; None where it didn't come to the last one."""
    blocks = {case["workload"]: case["parameters"].get("blocks", 0) for case in cases}
    parts = (SYNC, HINT, FOLLOW, ASKED)
    return Parts(*map(blocks.__getitem__, parts)) if blocks.keys() >= {*parts} else None
