"""cluster trials: nodes and writers are killed, and nothing acknowledged may be lost."""

import json
import time
from collections.abc import Sequence
from itertools import count, cycle
from pathlib import Path
from typing import Any

import click

from cdb.bench.machine import machine_name
from cdb.bench.software import software_versions
from cdb.cluster.dev_cluster import DevCluster
from cdb.cmds.cluster_options import cluster_at, dir_option
from cdb.cmds.cluster_report import document, markdown
from cdb.cmds.echo import echo, note
from cdb.cmds.options import PathType, TimeType
from cdb.cmds.runner import EXIT_ERROR, run
from cdb.disk.files import write_output
from cdb.report.units import duration
from cdb.testing.cluster.apart import go_apart
from cdb.testing.cluster.trials import TRIALS, Outcome, run_trial


@click.command("trials")
@click.option(
    "--minutes",
    type=TimeType(),
    default=30.0,
    show_default=True,
    help="Begin no trial after so long.",
)
@click.option(
    "--trial",
    "names",
    type=click.Choice(tuple(TRIALS)),
    multiple=True,
    metavar="TRIAL",
    help=f"Only this one of {', '.join(TRIALS)}. May be given several times.  [default: all]",
)
@click.option("--count", "most", type=click.IntRange(min=1), metavar="N", help="Make only so many.")
@click.option("--seed", type=click.IntRange(min=1), default=1, show_default=True, help="The first.")
@click.option(
    "--report",
    type=PathType(dir_okay=False),
    metavar="FILE",
    help="Write what came of it as JSON, and beside it as Markdown (.md).",
)
@dir_option
def cluster_trials(
    minutes: float,
    names: tuple[str, ...],
    most: int | None,
    seed: int,
    report: Path | None,
    directory: Path | None,
) -> int:
    """Try a cluster of three nodes: kill, stop and restore them, and their writers.

    Each trial loads a chain of its own, with rewinds, and an oracle outside compares what is left
    with what was acknowledged. Its nodes are stopped before and after, because as root it all is in
    a network namespace of its own, in which links are cut.

    \b
    Exits with
      0  nothing that was acknowledged was lost, and no answer was wrong
      1  anything else

    \b
    Examples:
      cdb cluster trials --minutes 30 --seed 2
    """
    cluster = cluster_at(directory)
    cluster.make(3)
    cluster.stop()  # what is started from now on is apart
    problem = go_apart()
    if problem is not None:
        note(f"cut-a-link is left out: {problem}")
    try:
        return _try(cluster, names or tuple(TRIALS), minutes, most, seed, report)
    finally:
        cluster.stop()


def _try(
    cluster: DevCluster,
    chosen: Sequence[str],
    minutes: float,
    most: int | None,
    seed: int,
    report: Path | None,
) -> int:
    begun = time.monotonic()
    outcomes: list[Outcome] = []
    for number, name in zip(count(), cycle(chosen)):
        passed = (time.monotonic() - begun) / 60
        if passed > minutes or number == most:
            break
        outcome = run_trial(cluster, name, seed + number // len(chosen))
        outcomes.append(outcome)
        echo(_line(outcome))
        if report is not None:
            _write(report, outcomes, (time.monotonic() - begun) / 60)
    passed = (time.monotonic() - begun) / 60
    echo(markdown(outcomes, passed, _about()))
    return 0 if all(outcome.is_fine for outcome in outcomes) else EXIT_ERROR


def _line(outcome: Outcome) -> str:
    if outcome.untried:
        return f"{outcome.trial} {outcome.seed}: not tried: {outcome.untried}"
    told = "fine" if outcome.is_fine else "; ".join([*outcome.wrong, *outcome.errors]) or "lost"
    counts = f"{outcome.acknowledged} commits, {outcome.lost_coins} coins lost"
    slowest = f"slowest {duration(outcome.slowest_seconds)}"
    line = f"{outcome.trial} {outcome.seed}: {told}; {counts}, {slowest}"
    return f"{line}, {outcome.seconds:.0f} s; {outcome.note}"


def _write(report: Path, outcomes: list[Outcome], minutes: float) -> None:
    told = json.dumps(document(outcomes, minutes, _about()), indent=2)
    write_output(report, f"{told}\n".encode())
    write_output(report.with_suffix(".md"), markdown(outcomes, minutes, _about()).encode())


def _about() -> dict[str, Any]:
    return {"machine": machine_name(), "commit": software_versions()["git_commit"]}


if __name__ == "__main__":
    run(cluster_trials)
