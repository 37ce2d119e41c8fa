"""The experiment of schemas: a replay loaded into a fresh database, and all workloads on that."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Protocol

from cdb.bench.campaign import Data, Experiment, Note
from cdb.bench.case import ENDED, NO_LIMITS, Case, failure, measure
from cdb.bench.database import Database
from cdb.bench.page_cache import drop
from cdb.bench.results import Document, Kind
from cdb.bench.truth import Truth, find_truth
from cdb.bench.workloads import DIGEST, workloads
from cdb.contract.durability import Durability
from cdb.contract.progress import rough_time
from cdb.lab.places import Place
from cdb.lab.process import Limits, fresh
from cdb.process.meter import database_files
from cdb.schemas import find_schema

LOAD, *AFTERWARDS = workloads()
FLOOR_SPEC = "cdb.bench.floor"
# Of the largest schema, dual_timeline in a B-tree; four at once: a workload's second one, and what
# a compaction needs.
DATABASE_BYTES_PER_COIN = 4 * 310
MORE_BYTES = 512 << 20
TRUTH_BYTES_PER_SECOND = 20e6  # of text, by a processor of 2.5 GHz


class Replay(Protocol):
    """A replay; str() says in words what it is."""

    def text(self, directory: Path) -> Path:
        """Where its text is; made in the directory, unless it is there."""

    def identity(self) -> list[object]:
        """What tells it from another one of the same words."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """spec: what finds the schema. threads: of its loads, see Database. workloads, flush_coins:
    instead of those of all."""

    spec: str
    threads: int = 2
    workloads: Sequence[str] | None = None
    flush_coins: int | None = None


@dataclass(frozen=True, slots=True)
class Schemas:
    """named: by the names that results have for them. workloads: those after the load.

    time_limit_seconds: of each run, all its workloads together.
    """

    named: Mapping[str, Contestant]
    replays: Sequence[Replay]
    workloads: Sequence[str]
    flush_coins: int
    durability: str
    quick: bool
    time_limit_seconds: float

    def experiment(self, kind: Kind = Kind.SCHEMAS) -> Experiment:
        """Loads of all replays. kind: what the contestants are to each other."""
        found = {name: find_schema(each.spec) for name, each in self.named.items()}
        return Experiment(
            kind=kind,
            contestants={
                name: {"description": info.description, "keeps_contract": info.spec.keeps_contract}
                for name, info in found.items()
            },
            conditions={
                name: {"flush_coins": each.flush_coins}
                for name, each in self.named.items()
                if each.flush_coins is not None
            },
            sources={str(replay): partial(self._data, replay) for replay in self.replays},
            settings=asdict(replace(self, replays=()))
            | {"identities": [replay.identity() for replay in self.replays]},
        )

    def _data(self, replay: Replay, directory: Path, note: Note) -> Data:
        """Raises WorkloadError for a replay that is of no use."""
        note(f"replay: {replay}")
        path = replay.text(directory)
        about = rough_time(path.stat().st_size / TRUTH_BYTES_PER_SECOND)
        note(f"reading what the replay says, some {about}")
        place = directory / "truth"
        place.mkdir()
        truth = fresh(find_truth, str(path), str(place))
        told = ("blocks", "coins", "spends", "newest_index", "digest")
        facts = {
            "data": {"source": str(replay)} | {name: getattr(truth, name) for name in told},
            "durability": self.durability,
            "flush_coins": self.flush_coins,
        }
        size_bytes = DATABASE_BYTES_PER_COIN * truth.coins + MORE_BYTES
        return Data(facts, size_bytes, partial(self._run, path, truth))

    def _run(
        self,
        path: Path,
        truth: Truth,
        contestant: str,
        there: Place,
        before: Sequence[Document],
        note: Note,
    ) -> list[Case]:
        """In a fresh directory."""
        named, limits = self.named[contestant], Limits(there.join, self.time_limit_seconds)
        with TemporaryDirectory(dir=there.directory) as directory:
            database = Database(
                schema=named.spec,
                path=str(Path(directory, "db")),
                durability=self.durability,
                flush_coins=named.flush_coins or self.flush_coins,
                replay=str(path),
                truth=truth,
                threads=named.threads,
                quick=self.quick,
            )
            workloads = self.workloads if named.workloads is None else named.workloads
            return run(database, workloads, note, limits)


def run(
    database: Database, workloads: Sequence[str], note: Note, limits: Limits = NO_LIMITS
) -> list[Case]:
    """The cases of the load, and then of workloads, in that order.

    The database is not there yet; its directory is. One that stores nothing is only loaded. After
    a workload that failed the others are measured only if the database still holds the whole
    replay; after the time limit, which is that of all together, none is.
    """
    clock = _Clock(limits)

    def measured(workload: str, why: str = "") -> list[Case]:
        note(f"{workload}{why}")
        return clock.measure(workload, database)

    problem = _hindrance(database)
    if problem is not None:
        return [Case.not_measured(LOAD, {}, problem)]
    cases = measured(LOAD)
    if not database.info.spec.keeps_contract:
        return cases
    if failure(cases) is None:
        # What is wrong with the state that it left.
        samples = cases[0].samples
        cases = [_of_the_load(each, samples) for each in measured(DIGEST)] or cases
    in_doubt = failure(cases)
    for workload in workloads:
        if in_doubt is not None:
            cases.append(Case.not_measured(workload, {}, _why_not_after(in_doubt)))
            continue
        made = measured(workload)
        failed = failure(made)
        # Then nobody knows what the database holds, unless that can be told.
        if failed is not None and (
            failed.outcome in ("wrong", ENDED) or measured(DIGEST, f", as {workload} failed")
        ):
            in_doubt = failed
        cases += made
    return cases


class _Clock:
    """Measures as long as there is time."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        seconds = limits.time_seconds
        self._end = None if seconds is None else monotonic() + seconds
        self._reason = "" if seconds is None else f"ended at the limit of {seconds / 60:g} minutes"

    def measure(self, workload: str, database: Database) -> list[Case]:
        """A workload's cases in the time that is left."""
        left = None if self._end is None else max(self._end - monotonic(), 0.0)
        limits = replace(self._limits, time_seconds=left)
        made = (
            _without_groups(workload, database, limits)
            if workload == DIGEST
            else measure(workload, database, limits)
        )
        return [
            replace(each, reason=self._reason) if each.outcome == ENDED else each for each in made
        ]


def _without_groups(workload: str, database: Database, limits: Limits) -> list[Case]:
    """The cases of what has no figures: on a slow disk and with little memory it would only take
    long. What it has read is dropped, or it would be memory beyond the limit."""
    made = measure(workload, database, replace(limits, groups=()))
    if limits.groups:
        drop(database_files(Path(database.path)))
    return made


def _of_the_load(check: Case, samples: Sequence[tuple[int, float]]) -> Case:
    """What came of its check; one that had no time to end leaves how far the load came."""
    is_ended = check.outcome == ENDED
    return replace(check, workload=LOAD, samples=samples if is_ended else check.samples)


def _why_not_after(failed: Case) -> str:
    ended = failed.reason if failed.outcome == ENDED else None
    return ended or "an earlier workload failed"


def _hindrance(database: Database) -> str | None:
    """Why the schema can't be measured on this machine, or not so."""
    info = database.info
    if info.spec.keeps_contract and Durability(database.durability) not in info.spec.durabilities:
        return f"it has no durability '{database.durability}'"
    return info.missing
