"""The comparison: in each round the floor and every schema load once; then what each can do."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

from cdb.bench.floor import floor
from cdb.bench.load import LoadFigures
from cdb.bench.plan import Plan
from cdb.bench.process import WorkloadError, fresh
from cdb.bench.rounds import Note, Samples, in_rounds
from cdb.bench.subject import Subject
from cdb.bench.truth import Truth, find_truth
from cdb.schemas import find_schema

FLOOR = "floor, 2 threads"
FLOORS = {FLOOR: 2, "floor, 1 thread": 1}  # their numbers of threads


@dataclass(frozen=True, slots=True)
class Comparison:
    """The figures of the floor's and the schemas' loads, and of each schema's workloads."""

    truth: Truth
    loads: dict[str, Samples[LoadFigures]]
    afterwards: dict[str, dict[str, Samples[Any]]]


def compare(plan: Plan, note: Note) -> Comparison:
    """Run it all; note takes lines about what goes on. Raises WorkloadError for a useless replay.

    A schema that fails, or holds a wrong state, has no figures but the reason.
    """
    note("reading what the replay says")
    (plan.directory / "truth").mkdir()
    truth = fresh(find_truth, str(plan.replay), str(plan.directory / "truth"))
    subjects = [Subject(plan, truth, spec) for spec in plan.schemas]
    loads = _loads(plan, {subject.spec: subject.load for subject in subjects}, note)
    afterwards = {}
    for subject in subjects:
        samples = loads[subject.spec]
        if samples.complete and find_schema(subject.spec).keeps_contract:
            note(f"{subject.spec}: digest")
            try:
                subject.check_digest()
            except WorkloadError as error:
                samples.fail(str(error))
            else:
                if plan.afterwards:
                    afterwards[subject.spec] = _afterwards(plan, subject, samples, note)
    return Comparison(truth, loads, afterwards)


def floors(plan: Plan, note: Note) -> dict[str, Samples[LoadFigures]]:
    """The loads of the floor alone."""
    return _loads(plan, {}, note)


def _loads(
    plan: Plan, schemas: Mapping[str, Callable[[], LoadFigures]], note: Note
) -> dict[str, Samples[LoadFigures]]:
    contestants: dict[str, Callable[[], LoadFigures]] = {
        **{name: partial(_floor, plan, threads) for name, threads in FLOORS.items()},
        **schemas,
    }
    start, total = perf_counter(), plan.runs * len(contestants)

    def begin(made: int, name: str) -> None:
        left = (
            "" if not made else f"; {(perf_counter() - start) / made * (total - made):,.0f} s left"
        )
        note(f"load {made + 1} of {total}: {name}{left}")

    return in_rounds(contestants, plan.runs, begin)


def _floor(plan: Plan, threads: int) -> LoadFigures:
    path = plan.directory / "floor"
    os.sync()
    try:
        return fresh(
            floor, str(plan.replay), str(path), threads, plan.flush_coins, plan.durability.value
        )
    finally:
        path.unlink(missing_ok=True)


def _afterwards(
    plan: Plan, subject: Subject, loads: Samples[LoadFigures], note: Note
) -> dict[str, Samples[Any]]:
    """Each workload's runs. An error ends it: nobody knows what the database holds then."""
    all_samples: dict[str, Samples[Any]] = {}
    failed = False
    for name, run in subject.workloads(loads.runs[-1].size_bytes).items():
        samples = all_samples[name] = Samples[Any]()
        if failed:
            samples.not_measured = "an earlier workload failed"
        for each in range(plan.runs):
            if samples.complete:
                note(f"{subject.spec}: {name}, run {each + 1} of {plan.runs}")
                samples.add(run)
        failed = failed or samples.error is not None
    return all_samples
