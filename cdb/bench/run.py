"""A run: a replay loaded into a fresh database, and then every other workload on that."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from cdb.bench.rounds import Note
from cdb.bench.truth import Truth, find_truth
from cdb.bench.workload import Case, Database, measure
from cdb.bench.workloads import DIGEST, WORKLOADS
from cdb.contract.durability import Durability
from cdb.lab.process import fresh

LOAD, *AFTERWARDS = WORKLOADS


def truth_of(replay: Path, directory: Path, note: Note) -> Truth:
    """What a replay says; its files go to truth/ in the directory.

    Raises WorkloadError for a replay that is of no use.
    """
    note("reading what the replay says")
    place = directory / "truth"
    place.mkdir()
    return fresh(find_truth, str(replay), str(place))


def run(database: Database, workloads: Sequence[str], note: Note) -> list[Case]:
    """The cases of the load, and then of workloads of AFTERWARDS, in that order.

    The database is not there yet; its directory is. One that stores nothing is only loaded. After
    a workload that failed the others are measured only if the database still holds the whole
    replay. note takes lines about what goes on.
    """
    problem = _hindrance(database)
    if problem is not None:
        return [Case.not_measured(LOAD, {}, problem)]
    note(f"{database.schema}: {LOAD}")
    cases = measure(LOAD, database)
    if not database.info.spec.keeps_contract:
        return cases
    if failure(cases) is None:
        cases = _checked(cases, database, note)
    doubt = failure(cases)
    for workload in workloads:
        made = _measure_next(workload, database, doubt, note)
        doubt = doubt or _doubt(made, database, note)
        cases += made
    return cases


def _doubt(made: list[Case], database: Database, note: Note) -> Case | None:
    """The case after which nobody knows what the database holds, if there is one."""
    failed = failure(made)
    if failed is None or failed.outcome == "wrong":
        return failed
    note(f"{database.schema}: {DIGEST}, as {failed.workload} failed")
    return failed if measure(DIGEST, database) else None


def _hindrance(database: Database) -> str | None:
    """Why the schema can't be measured on this machine, or not so."""
    info = database.info
    if info.spec.keeps_contract and Durability(database.durability) not in info.spec.durabilities:
        return f"it has no durability '{database.durability}'"
    return info.missing


def _checked(load: list[Case], database: Database, note: Note) -> list[Case]:
    """The cases of a load; or what is wrong with the state that it left."""
    note(f"{database.schema}: {DIGEST}")
    problems = measure(DIGEST, database)
    return [replace(problem, workload=LOAD) for problem in problems] or load


def _measure_next(workload: str, database: Database, doubt: Case | None, note: Note) -> list[Case]:
    """A workload's cases, unless a case before it leaves doubt about the database."""
    if doubt is not None:
        return [Case.not_measured(workload, {}, "an earlier workload failed")]
    note(f"{database.schema}: {workload}")
    return measure(workload, database)


def failure(cases: Iterable[Case]) -> Case | None:
    """The first of the cases that failed, or gave a wrong answer."""
    return next((case for case in cases if case.outcome in ("wrong", "failed")), None)
