"""What the processes of a comparison do. Importing this imports nothing of chia."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from cdb.chia.bench.round import Files

SYNCHRONOUS = "NORMAL"
"""What SQLite has by `db_sync: auto`."""
SYNC, HINT, FOLLOW, ASKED, END, REST = (
    "sync",
    "hints of the sync",
    "follow the tip",
    "follow the tip, wallets asking",
    "in the end",
    "sync of the rest",
)
"""What a week is made of: workloads of its cases. The rest is synced where there was no time."""


class Job(TypedDict):
    """directory: where the stores are. quick: a tenth of the calls; figures don't matter."""

    store: str
    directory: str
    n_coins: int
    quick: bool


class Week(TypedDict):
    """What a store lives through: so many blocks of a replay to sync, of those to add the hints, to
    follow, and to follow while wallets ask; and then, where it goes on, to sync again.

    directory: the store's own. progress: the file in which blocks are counted. part_seconds: no
    part goes on for longer; None: each to its end.
    """

    store: str
    directory: str
    replay: str
    progress: str
    synced: int
    hinted: int
    followed: int
    asked: int
    rest: int
    part_seconds: float | None


@dataclass(frozen=True, slots=True)
class Cases:
    """Cases, which a process gives back as dictionaries."""

    cases: list[Any]


def load(job: Job) -> Cases:
    """Make a store, and the chain that it holds."""
    from cdb.chia.bench import round

    return Cases(asyncio.run(round.load(_files(job), job["n_coins"])))


def measure(job: Job) -> Cases:
    """All cases of a round, on a store that was loaded and stays as it is."""
    from cdb.chia.bench import round

    return Cases(asyncio.run(round.measure(_files(job))))


def live(week: Week) -> Cases:
    """All cases of a week, on a new store."""
    from cdb.chia.bench import life

    return Cases(asyncio.run(life.lived(week)))


def _files(job: Job) -> "Files":
    from cdb.chia.bench.round import Files

    store, directory = job["store"], Path(job["directory"])
    return Files(store, directory / store, directory / f"{store}.chain", job["quick"])
