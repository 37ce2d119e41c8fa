"""A run: a replay loaded into a fresh database, and then every other workload on that."""

from collections.abc import Iterable
from dataclasses import replace

from cdb.bench.rounds import Note
from cdb.bench.workload import Case, Database, measure
from cdb.bench.workloads import DIGEST, WORKLOADS
from cdb.durability import Durability

LOAD, *AFTERWARDS = WORKLOADS


def run(database: Database, note: Note) -> list[Case]:
    """The cases of all workloads, on a database that is not there yet; its directory is.

    After a workload that failed none is measured: nobody knows what the database holds then. One
    that stores nothing is only loaded. note takes lines about what goes on.
    """
    problem = _hindrance(database)
    if problem is not None:
        return [Case.not_measured(LOAD, {}, problem)]
    note(f"{database.schema}: {LOAD}")
    cases = measure(LOAD, database)
    if not database.info.keeps_contract:
        return cases
    if failure(cases) is None:
        cases = checked(cases, database, note)
    for workload in AFTERWARDS:
        cases += measure_next(workload, database, cases, note)
    return cases


def _hindrance(database: Database) -> str | None:
    """Why the schema can't be measured on this machine, or not so."""
    info = database.info
    if info.keeps_contract and Durability(database.durability) not in info.durabilities:
        return f"it has no durability '{database.durability}'"
    return info.missing


def checked(loads: list[Case], database: Database, note: Note) -> list[Case]:
    """The cases of loads; or what is wrong with the state of the last one."""
    note(f"{database.schema}: {DIGEST}")
    problems = measure(DIGEST, database)
    return [replace(problem, workload=LOAD) for problem in problems] or loads


def measure_next(
    workload: str, database: Database, before: Iterable[Case], note: Note
) -> list[Case]:
    """A workload's cases, unless one before it failed."""
    if failure(before) is not None:
        return [Case.not_measured(workload, {}, "an earlier workload failed")]
    note(f"{database.schema}: {workload}")
    return measure(workload, database)


def failure(cases: Iterable[Case]) -> Case | None:
    """The first of the cases that failed, or gave a wrong answer."""
    return next((case for case in cases if case.outcome in ("wrong", "failed")), None)
