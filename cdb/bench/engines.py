"""Layouts and engines below the coin set, in the shapes of the published comparisons.

Each layout in each engine is written, read, settled and read again, each in a fresh process; all
answers are held against a model of what was written (native/versioned/), and a wrong or missing one
voids the row. docs/benchmarks.md has the definitions.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time, thread_time
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from cdb.bench import page_cache
from cdb.bench.document import described
from cdb.bench.figures import Usage, latency_figures, on_disk
from cdb.bench.machine import load_average
from cdb.bench.matrix import timestamp
from cdb.bench.results import ENGINES, VERSION, Document
from cdb.bench.rounds import Note, rotated
from cdb.bench.sync_calls import counting_syncs
from cdb.bench.versioned import (
    CACHE_BYTES,
    NATIVE_ENGINES,
    NO_LAYOUTS,
    Checked,
    Shape,
    Versioned,
    missing,
)
from cdb.bench.workload import Case
from cdb.contract.durability import Durability
from cdb.contract.progress import rough_time
from cdb.lab.places import Place, place
from cdb.lab.process import Limits, WorkloadError, fresh_within
from cdb.lab.profile import FAST
from cdb.process.meter import database_files, peak_rss_bytes

T = TypeVar("T")

_CANOPY_VERSIONS, _CANOPY_VALUE_BYTES, _FIVE_IN_100 = 50, 1024, 50_000
_PERIOD_BYTES = 32
_ALL = 1_000_000
SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        **{
            f"canopy-{keys // 1000}k{name}": Shape(
                keys, _CANOPY_VERSIONS, _CANOPY_VALUE_BYTES, period_bytes, _FIVE_IN_100
            )
            for keys in (10_000, 100_000)
            for name, period_bytes in (("", _PERIOD_BYTES), ("-random", 0))
        },
        "option-1": Shape(200_000, 4, 64, 0, _ALL),
    }
)
"""By name. How long Option 1's values were is not published."""
QUICK_SHARE = 10
"""A quick run has one in so many keys."""
BATCH = 1_000
"""Names in a call, and rows."""
NEWEST, MIDDLE = "the newest version", "the middle version"
CLOSED, SETTLED = "close", "settle"

Job = dict[str, Any]
"""asdict() of a Contestant's database, as JSON can hold it."""


class Contestant(NamedTuple):
    """A layout, which may have options, in an engine."""

    layout: str
    engine: str

    def __str__(self) -> str:
        return f"{self.layout}@{self.engine}"

    def hindrance(self) -> str | None:
        """Why it can't be measured here; None where it can."""
        return NO_LAYOUTS.get(self.layout) or missing(self.engine)


@dataclass(frozen=True, slots=True)
class Setting:
    """Where to measure, and how often. command: what measures the same again."""

    runs: int
    parent: Path
    machine: str | None
    command: str
    note: Note


def quick_shape(shape: Shape) -> Shape:
    """The same with few keys."""
    return shape._replace(keys=shape.keys // QUICK_SHARE)


def needed_bytes(shape: Shape) -> int:
    """What a database of this shape may take while it is settled, in any layout."""
    rows = shape.keys * (1 + (shape.versions - 1) * shape.rewritten_per_million / _ALL)
    return int(8 * rows * (shape.value_bytes + 64)) + (256 << 20)


def compare(
    name: str, shape: Shape, contestants: Sequence[Contestant], setting: Setting
) -> Document:
    """The document of a shape's rounds, in which all contestants are measured in turns."""
    begun, start = timestamp(), perf_counter()
    with place(FAST, setting.parent, needed_bytes(shape)) as there:
        facts = described(FAST, there, setting.machine)
        rounds = [*_rounds(name, shape, contestants, setting, there)]
    there_are = {each.engine for each in contestants if missing(each.engine) is None}
    facts["software"] |= {
        f"{each}_engine": NATIVE_ENGINES[each].version() for each in sorted(there_are)
    }
    return {
        "kind": ENGINES,
        "version": VERSION,
        "command": setting.command,
        "runs": setting.runs,
        "begun": begun,
        "seconds": perf_counter() - start,
        **facts,
        "shape": {"name": name, **shape._asdict()},
        "durability": Durability.POWER.value,
        "cache_bytes": CACHE_BYTES,
        "rounds": rounds,
    }


def _rounds(
    name: str,
    shape: Shape,
    contestants: Sequence[Contestant],
    setting: Setting,
    there: Place,
) -> Iterator[Document]:
    by_name = {str(each): each for each in contestants}
    start, done, n_all = perf_counter(), 0, setting.runs * len(contestants)
    for run in range(setting.runs):
        for each in rotated(list(by_name), run):
            left = (n_all - done) * (perf_counter() - start) / done if done else None
            until_end = "" if left is None else f", {rough_time(left)} left"
            setting.note(f"{name}, run {done + 1} of {n_all}{until_end}: {each}")
            before = load_average()
            cases = _measured(by_name[each], shape, there)
            yield {
                **by_name[each]._asdict(),
                "run": run + 1,
                "load_average_before": before,
                "load_average_after": load_average(),
                "cases": [asdict(case) for case in cases],
            }
            done += 1


def _measured(contestant: Contestant, shape: Shape, there: Place) -> list[Case]:
    """All cases of a contestant in one round, in a directory of their own."""
    hindrance = contestant.hindrance()
    if hindrance is not None:
        return [Case.not_measured("write", {}, hindrance)]
    with TemporaryDirectory(dir=there.directory) as directory:
        job = {**contestant._asdict(), "path": directory, "shape": shape}
        cases: list[Case] = []
        for what, arguments in (
            ("write", ()),
            ("read", (CLOSED,)),
            ("settle", ()),
            ("read", (SETTLED,)),
        ):
            made = _in_a_process(what, job, arguments, there)
            cases += made
            if any(each.outcome == "failed" for each in made):
                break
    return cases


def _in_a_process(what: str, job: Job, arguments: Sequence[str], there: Place) -> list[Case]:
    limits = Limits(there.join, None, counting_syncs())
    try:
        answer = fresh_within(limits, _WORKLOADS[what], job, *arguments)
    except WorkloadError as error:
        return [Case(what, outcome="failed", reason=str(error))]
    return answer


class _Clock:
    """Time of the calls that are timed, and of each."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._cpu_seconds = 0.0

    def time(self, call: Callable[..., T], *arguments: Any) -> T:
        """What the call gives."""
        cpu, wall = process_time(), perf_counter()
        answer = call(*arguments)
        self.seconds.append(perf_counter() - wall)
        self._cpu_seconds += process_time() - cpu
        return answer

    def figures(self) -> dict[str, float | None]:
        """Of all calls together; CPU of all threads while they went on."""
        return {"wall_seconds": sum(self.seconds), "cpu_seconds": self._cpu_seconds}


def write(job: Job) -> list[Case]:
    """All versions into a new database, each one a durable commit, from its opening to its close.

    Making keys and values is not timed. CPU is that of all threads, also between the commits.
    """
    path, shape = Path(job["path"]), Shape(*job["shape"])
    usage, clock, cpu, making_seconds = Usage(path), _Clock(), process_time(), 0.0
    database = clock.time(_open, job, True)
    opening = len(clock.seconds)
    rows = 0
    for version in range(1, shape.versions + 1):
        start = thread_time()
        rows += database.prepare(version)
        making_seconds += thread_time() - start
        clock.time(database.commit)
    commits = clock.seconds[opening:]
    clock.time(database.close)
    figures = {
        **clock.figures(),
        "cpu_seconds": process_time() - cpu - making_seconds,
        "rows": rows,
        **latency_figures("commit", commits),
        **usage.figures(),
        **on_disk(job["path"]),
        "peak_rss_bytes": peak_rss_bytes(),
    }
    syncs = figures["syncs"]
    if syncs is not None and syncs < shape.versions:
        raise WorkloadError(f"{shape.versions} commits asked for {syncs:.0f} syncs: not durable")
    return [Case("write", figures=figures)]


def settle(job: Job) -> list[Case]:
    """All the merging that is owed, from the opening to the close."""
    usage, clock = Usage(Path(job["path"])), _Clock()
    database = clock.time(_open, job, False)
    clock.time(database.settle)
    clock.time(database.close)
    figures = {**clock.figures(), **usage.figures(), **on_disk(job["path"])}
    return [Case("settle", figures=figures)]


def read(job: Job, after: str) -> list[Case]:
    """Every question, with the files in memory: once to warm up, and once timed; both checked."""
    shape = Shape(*job["shape"])
    middle = (shape.versions + 1) // 2
    for file in database_files(Path(job["path"])):
        page_cache.fill(file)
    with _open(job, False) as database:
        versions = {NEWEST: shape.versions, MIDDLE: middle}
        cases = [_scanned("latest", {}, database, shape.versions, shape.keys)]
        for name, as_of in versions.items():
            cases.append(_asked("historical", {"as of": name}, database, as_of, shape.keys))
        cases.append(_asked("absent", {"as of": MIDDLE}, database, middle, shape.keys))
        cases.append(_scanned("state", {"as of": MIDDLE}, database, middle, shape.keys))
        cases.append(_scanned("archival", {}, database, 0, database.count()))
    return [_after(case, after) for case in cases]


_WORKLOADS: Mapping[str, Callable[..., list[Case]]] = {
    "write": write,
    "settle": settle,
    "read": read,
}


def _after(case: Case, after: str) -> Case:
    parameters = {**case.parameters, "after": after}
    return Case(case.workload, parameters, case.outcome, case.reason, case.figures)


def _open(job: Job, create: bool) -> Versioned:
    path, shape = Path(job["path"]), Shape(*job["shape"])
    return Versioned(job["engine"], path, job["layout"], shape, create=create)


def _asked(
    workload: str, parameters: dict[str, str], database: Versioned, as_of: int, n_keys: int
) -> Case:
    """Each key once, or as many that are not there, a batch at a time."""

    def ask(clock: _Clock) -> Iterator[Checked]:
        for first in range(0, n_keys, BATCH):
            n = min(BATCH, n_keys - first)
            database.draw(first, n, are_absent=workload == "absent")
            clock.time(database.get, as_of)
            yield database.check()

    return _case(workload, parameters, n_keys, ask)


def _scanned(
    workload: str, parameters: dict[str, str], database: Versioned, as_of: int, n_rows: int
) -> Case:
    """All rows of a scan, a batch at a time."""

    def scan(clock: _Clock) -> Iterator[Checked]:
        clock.time(database.scan, as_of)
        while clock.time(database.next, BATCH):
            database.check()
        yield database.check()

    return _case(workload, parameters, n_rows, scan)


def _case(
    workload: str,
    parameters: dict[str, str],
    n_rows: int,
    ask: Callable[[_Clock], Iterable[Checked]],
) -> Case:
    for _ in range(2):
        clock = _Clock()
        wrong = _problem([*ask(clock)], n_rows)
        if wrong is not None:
            return Case(workload, parameters, "wrong", wrong)
    figures = {**clock.figures(), "rows": n_rows, **latency_figures("batch", clock.seconds)}
    return Case(workload, parameters, figures=figures)


def _problem(checked: Sequence[Checked], n_rows: int) -> str | None:
    """What is wrong with all answers to a question together; None where nothing is."""
    right, wrong = (sum(getattr(each, name) for each in checked) for name in ("right", "wrong"))
    if wrong:
        first = next(each for each in checked if each.wrong)
        return f"{wrong:,} of {right + wrong:,} answers are wrong: {first.first_wrong}"
    if right != n_rows:
        return f"{n_rows - right:,} of {n_rows:,} rows are missing"
    return None
