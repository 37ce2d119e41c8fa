"""A script is cut short by a kill or a failed fsync, the next process goes on, and the power goes.

Or the first process has the database open at PROCESS, and the second one at POWER.
What the first process left unsynced is read by the second all the same. Nobody may build on it, or
promise it, before it is synced; and after a failed fsync not before it is written again, because
the kernel forgets what it could not write, but gives it to readers until then.
"""

import errno
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from cdb.contract.durability import Durability
from cdb.errors import UnsupportedError
from cdb.testing.faults.calls import calls_of, choose, is_met
from cdb.testing.faults.coverage import Coverage
from cdb.testing.faults.crash_states import NOTHING, crash_state, write_tree
from cdb.testing.faults.disk import Disk, FileSystem
from cdb.testing.faults.oracle import BrokenPromiseError, Case, Oracle, Progress
from cdb.testing.faults.power import WHOLE, Point, after_mark
from cdb.testing.faults.recorder import Kind, Operation, read_trace
from cdb.testing.faults.runs import Request, Run
from cdb.testing.faults.script import most_of
from cdb.testing.faults.shim import KILL, Calls
from cdb.testing.faults.steps import Accept, Rewind, Script
from cdb.testing.faults.trial import DATABASE, new_directory, usable

RANDOM_CUTS = 2
"""Beside those after the second process's first promise and after its last."""


@dataclass(frozen=True)
class End:
    """How the first process ends: at a call of these.

    is_below: at PROCESS, and right behind a step that it has acknowledged.
    """

    about: str
    calls: Calls
    action: int
    is_below: bool = False


ENDS = {
    "kill-reopen": End("SIGKILL, then another process, then a power cut", Calls.CHANGE, KILL),
    "eio-reopen": End("the same, but the n-th fsync fails", Calls.SYNC, errno.EIO),
    "below-reopen": End(
        "SIGKILL behind the n-th step at PROCESS, then a process at POWER, then a power cut",
        Calls.CHANGE,
        KILL,
        is_below=True,
    ),
}


def cut_after_reopening(
    spec: str,
    seed: int,
    directory: Path,
    *,
    trial: str,
    most: int | None = None,
    only: str | None = None,
) -> Coverage:
    """End the seed's script at each call, go on, and cut the power while it goes on. See Trial.

    trial: one of ENDS, only: the number of a call, or of a step.
    """
    end, oracle = ENDS[trial], Oracle(spec, seed)
    if end.is_below and Durability.PROCESS not in usable(spec).spec.durabilities[1:]:
        raise UnsupportedError("it does not offer PROCESS beside POWER")
    root = directory / "root"
    count = calls_of(oracle, Case(trial, spec, seed, "none"), root, end.calls)
    every = _promises_without_more(oracle.script) if end.is_below else range(1, count + 1)
    numbers = [n for n in every if only in (None, str(n))]
    chosen = choose(numbers, most_of(seed, most), seed)
    databases, met = 0, set[int]()
    for number in chosen:
        case = Case(trial, spec, seed, str(number))
        for point in _cuts(case, end, number, oracle, directory):
            place = new_directory(directory / "cut")
            write_tree(point.tree, place)
            try:
                oracle.check(case, place / DATABASE, oracle.after_power_cut(point.progress))
            except BrokenPromiseError as error:
                problem = f"cut at operation {point.name}: {error.problem}"
                raise BrokenPromiseError(case, problem, error.finding) from error
            databases += 1
            met.add(number)
    return Coverage(trial, spec, seed, len(met), len(every), databases)


def _promises_without_more(script: Script) -> Sequence[int]:
    """Steps that make something new durable, with another such step right behind them, which has
    nothing more to do."""
    is_promise = [not isinstance(step, Accept) for step in script.steps]
    is_new = [
        isinstance(step, Rewind) or not is_promise[n - 1] for n, step in enumerate(script.steps)
    ]
    return [
        n for n in range(1, len(is_new)) if is_promise[n - 1] and is_new[n - 1] and is_promise[n]
    ]


def _cuts(case: Case, end: End, number: int, oracle: Oracle, directory: Path) -> Iterator[Point]:
    """None where the first process ends before its call comes."""
    root, copy = new_directory(directory / "root"), directory / "copy"
    first, second = directory / "trace", directory / "trace-again"
    request = Request(case.spec, case.seed, root / DATABASE, trace=first)
    fault = replace(request, calls=end.calls, first=number, last=number, action=end.action)
    if end.is_below:
        fault = replace(request, durability=Durability.PROCESS, dies_at=number)
    ended = Run(fault).listen_to_end()
    if not is_met(case, ended, number, end.action, root):
        return
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(root, copy)
    reached = oracle.reached(case, copy / DATABASE, ended.progress)
    again = Run(replace(request, trace=second, done=reached)).listen_to_end()
    if again.error is not None or again.signal:
        problem = f"opened again, it ends with {again.error or again.signal}"
        raise BrokenPromiseError(case, problem)
    disk = Disk(str(root), FileSystem.STRICT)
    for operation in read_trace(first):
        disk.apply(operation)
    random = Random(f"{case.seed}:{number}")  # noqa: S311 - reproducible, not secret
    # Of one that was written at PROCESS nothing is promised before the second one's first promise.
    n_random = 0 if end.is_below else RANDOM_CUTS
    yield from _points(disk, list(read_trace(second)), ended.progress, random, n_random)


def _points(
    disk: Disk, operations: Sequence[Operation], progress: Progress, random: Random, n_random: int
) -> Iterator[Point]:
    places = range(len(operations))
    chosen = {n: random.choice(WHOLE) for n in random.sample(places, min(len(places), n_random))}
    kept = [n for n in places if _is_promise(operations[n])]
    chosen |= dict.fromkeys(kept[:1] + kept[-1:], NOTHING)
    for n, operation in enumerate(operations):
        disk.apply(operation)
        if operation.kind is Kind.MARK:
            told = after_mark(progress, operation.data)
            progress = Progress(told.kept, max(progress.begun, told.begun))
        if n in chosen:
            yield Point(f"{n}, {chosen[n].name} left", n, progress, crash_state(disk, chosen[n]))


def _is_promise(operation: Operation) -> bool:
    return operation.kind is Kind.MARK and operation.data.startswith(b"kept ")
