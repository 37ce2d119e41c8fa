"""The comparison: in each round the floor and every schema load once; then what each can do."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from cdb.bench.plan import Plan
from cdb.bench.rounds import Note, rotated
from cdb.bench.run import AFTERWARDS, LOAD, checked, failure, measure_next
from cdb.bench.truth import Truth
from cdb.bench.workload import Case, Database, measure

FLOOR_SCHEMA = "cdb.bench.floor"
FLOOR = "floor, 2 threads"
FLOORS = {FLOOR: 2, "floor, 1 thread": 1}  # their numbers of threads

Cases = dict[str, list[Case]]
"""By contestant: those of all its runs, the loads first."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of one. A contestant that failed has one case, which says so."""

    truth: Truth
    cases: Cases

    def loads(self, name: str) -> list[Case]:
        """The loads of a contestant."""
        return [case for case in self.cases[name] if case.workload == LOAD]


def compare(plan: Plan, truth: Truth, note: Note) -> Comparison:
    """Load the floor and all schemas; then measure the schemas, if the plan says so."""
    schemas = {spec: _database(plan, truth, spec) for spec in plan.schemas}
    results = _loads(plan, _floors(plan, truth) | schemas, note)
    for spec, database in schemas.items():
        cases = results[spec]
        if failure(cases) is None and database.info.keeps_contract:
            results[spec] = checked(cases, database, note)
            if plan.afterwards and failure(results[spec]) is None:
                results[spec] += _afterwards(plan, database, note)
    return Comparison(truth, results)


def _floors(plan: Plan, truth: Truth) -> dict[str, Database]:
    return {name: _database(plan, truth, FLOOR_SCHEMA, threads) for name, threads in FLOORS.items()}


def _database(plan: Plan, truth: Truth, spec: str, threads: int = 2) -> Database:
    home = plan.directory / f"of-{spec.replace(':', '-')}"
    return Database(
        schema=spec,
        path=str(home / "db"),
        durability=plan.durability.value,
        flush_coins=plan.flush_coins,
        replay=str(plan.replay),
        truth=truth,
        threads=threads,
    )


def _loads(plan: Plan, contestants: dict[str, Database], note: Note) -> Cases:
    """Load each once a round; one that failed has only that case."""
    results: Cases = {name: [] for name in contestants}
    start, made, total = perf_counter(), 0, plan.runs * len(contestants)
    for each in range(plan.runs):
        for name in rotated(list(contestants), each):
            seconds = (perf_counter() - start) / max(made, 1) * (total - made)
            note(f"load {made + 1} of {total}: {name}" + (f"; {seconds:,.0f} s left" * (made > 0)))
            if failure(results[name]) is None:
                results[name] += _load_anew(contestants[name])
            made += 1
    return {name: _unless_failed(cases) for name, cases in results.items()}


def _load_anew(database: Database) -> list[Case]:
    home = Path(database.path).parent
    if home.exists():
        shutil.rmtree(home)
    home.mkdir()
    return measure(LOAD, database)


def _unless_failed(cases: list[Case]) -> list[Case]:
    failed = failure(cases)
    return cases if failed is None else [failed]


def _afterwards(plan: Plan, database: Database, note: Note) -> list[Case]:
    cases: list[Case] = []
    for workload in AFTERWARDS:
        before = list(cases)
        for _ in range(plan.runs):
            made = measure_next(workload, database, failure(before), note)
            cases += made
            if failure([*before, *made]) is not None:
                break
    return cases
