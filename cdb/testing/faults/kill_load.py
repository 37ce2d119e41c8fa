"""Kills (SIGKILL) a load at random moments, in the middle of calls and of background work.

Then the opening after it is killed too.
"""

import signal
from dataclasses import replace
from pathlib import Path
from time import sleep

from cdb.testing.faults.coverage import Coverage
from cdb.testing.faults.oracle import BrokenPromiseError, Case, Oracle
from cdb.testing.faults.real_cuts import moments
from cdb.testing.faults.runs import Request, Run
from cdb.testing.faults.trial import DATABASE, new_directory

TRIAL = "kill-load"
KILLS = 50
LENGTH = 8


def kill_load(
    spec: str, seed: int, directory: Path, *, most: int | None = None, only: str | None = None
) -> Coverage:
    """Kill at moments of the seed's choice, each time with a new database.

    See Trial; most: KILLS if None, only: a moment, at which the same happens as far as chance lets.
    """
    oracle = Oracle(spec, seed, LENGTH)
    last = len(oracle.script.steps)
    chosen = moments(last, seed, most or KILLS, only)
    hits = 0
    for moment in chosen:
        path = new_directory(directory / "root") / DATABASE
        case = Case(TRIAL, spec, seed, moment.name)
        load = Request(spec, seed, path, LENGTH)
        run = Run(load)
        run.listen_until(moment.step)
        hits += _kill(case, run, moment.wait_us)
        # The last step closes: all that is left to do is to open.
        opening = Run(replace(load, done=last - 1))
        opening.listen_until(last)
        _kill(case, opening, moment.opening_us)
        oracle.check(case, path, run.progress)
    return Coverage(TRIAL, spec, seed, hits, len(chosen), len(chosen))


def _kill(case: Case, run: Run, wait_us: int) -> bool:
    """Kill a run after so many microseconds. Returns whether it still ran."""
    sleep(wait_us / 1e6)
    run.kill()
    if run.error is not None or run.signal not in (0, signal.SIGKILL):
        problem = f"before it is killed, it ends with {run.error or f'signal {run.signal}'}"
        raise BrokenPromiseError(case, problem)
    return bool(run.signal)
