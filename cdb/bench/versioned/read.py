"""Every question, with the files in memory: once to warm up, and once timed; both checked."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from cdb.bench import page_cache
from cdb.bench.case import Case
from cdb.bench.figures import latency_figures
from cdb.bench.stopwatch import Stopwatch
from cdb.bench.versioned.database import Checked, Files, Versioned
from cdb.process.meter import database_files

BATCH = 1_000
"""Names in a call, and rows."""
NEWEST, MIDDLE = "the newest version", "the middle version"


def measure(files: Files) -> list[Case]:
    """See the module."""
    shape = files.shape
    middle = (shape.versions + 1) // 2
    for file in database_files(Path(files.path)):
        page_cache.fill(file)
    with files.open() as database:
        versions = {NEWEST: shape.versions, MIDDLE: middle}
        cases = [_scanned("latest", {}, database, shape.versions, shape.keys)]
        for name, as_of in versions.items():
            cases.append(_asked("historical", {"as of": name}, database, as_of, shape.keys))
        cases.append(_asked("absent", {"as of": MIDDLE}, database, middle, shape.keys))
        cases.append(_scanned("state", {"as of": MIDDLE}, database, middle, shape.keys))
        cases.append(_scanned("archival", {}, database, 0, database.count()))
    return [replace(each, parameters={**each.parameters, "after": files.after}) for each in cases]


def _asked(
    workload: str, parameters: dict[str, str], database: Versioned, as_of: int, n_keys: int
) -> Case:
    """Each key once, or as many that are not there, a batch at a time."""

    def ask(clock: Stopwatch) -> Iterator[Checked]:
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

    def scan(clock: Stopwatch) -> Iterator[Checked]:
        clock.time(database.scan, as_of)
        while clock.time(database.next, BATCH):
            database.check()
        yield database.check()

    return _case(workload, parameters, n_rows, scan)


def _case(
    workload: str,
    parameters: dict[str, str],
    n_rows: int,
    ask: Callable[[Stopwatch], Iterable[Checked]],
) -> Case:
    for _ in range(2):
        clock = Stopwatch()
        wrong = _problem([*ask(clock)], n_rows)
        if wrong is not None:
            return Case(workload, parameters, "wrong", wrong)
    figures = {**clock.figures(), "rows": n_rows, **latency_figures("batch", clock.laps)}
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
