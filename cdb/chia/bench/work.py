"""What the processes of a comparison do. Importing this imports nothing of chia."""

import asyncio
from collections.abc import Coroutine
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from cdb.chia.bench.terms import WeekJob

if TYPE_CHECKING:
    from cdb.chia.bench.round import Case, Files


class Job(TypedDict):
    """directory: where the stores are. quick: a tenth of the calls; figures don't matter."""

    store: str
    directory: str
    n_coins: int
    quick: bool


Cases = list[dict[str, Any]]
"""As a document has them."""


def load(job: Job) -> Cases:
    """Make a store, and the chain that it holds."""
    from cdb.chia.bench import round

    return _cases(round.load(_files(job), job["n_coins"]))


def measure(job: Job) -> Cases:
    """All cases of a round, on a store that was loaded and stays as it is."""
    from cdb.chia.bench import round

    return _cases(round.measure(_files(job)))


def live(week: WeekJob) -> Cases:
    """All cases of a week, on a new store."""
    from cdb.chia.bench import life

    return _cases(life.lived(week))


def _cases(making: "Coroutine[Any, Any, list[Case]]") -> Cases:
    return [asdict(case) for case in asyncio.run(making)]


def _files(job: Job) -> "Files":
    from cdb.chia.bench.round import Files

    store, directory = job["store"], Path(job["directory"])
    return Files(store, directory / store, directory / f"{store}.chain", job["quick"])
