"""bench_run: every schema, every workload, every profile, without anyone watching."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from cdb.bench.campaign import DATABASES, Campaign, Replay
from cdb.bench.comparison import FLOOR_SCHEMA
from cdb.bench.machine import machine_name
from cdb.bench.matrix import Matrix
from cdb.bench.process import WorkloadError
from cdb.bench.profiles import FAST, Profile
from cdb.bench.results import Document, read_results
from cdb.bench.run import AFTERWARDS
from cdb.bench.software import software_versions
from cdb.cmds.bench_options import (
    DEFAULT_RUNS,
    BenchOptions,
    Source,
    check_space,
    command_line,
    common_options,
    machine_option,
    note,
    profile_option,
    results_option,
)
from cdb.cmds.options import SchemaType, find_asked_schema
from cdb.cmds.runner import run
from cdb.errors import UnsupportedError
from cdb.schemas import schema_names
from cdb.termination import end_at_sigterm

DEFAULT_SOURCE = Source(coins=1_000_000)
QUICK_SOURCE = Source(coins=100_000)


@click.command("run")
@click.argument(
    "specs", nargs=-1, metavar="[SCHEMA]...", shell_complete=SchemaType().shell_complete
)
@common_options("1,000,000 coins; 100,000 with --quick", "5; 1 with --quick")
@profile_option("FAST")
@click.option(
    "--workload",
    "workloads",
    type=click.Choice(AFTERWARDS),
    multiple=True,
    help="After the load, which is always measured, only this one. May be given several times.  "
    "[default: all of them]",
)
@results_option
@machine_option
@click.option(
    "--time-limit",
    "time_limit_minutes",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="MINUTES",
    help="A workload that takes longer has failed.",
)
@click.option("--quick", is_flag=True, help="A first look, in some two minutes.")
@click.option("--restart", is_flag=True, help="Don't go on with runs that were interrupted.")
def bench_run(
    specs: tuple[str, ...],
    *,
    profiles: tuple[Profile, ...],
    workloads: tuple[str, ...],
    results: Path,
    machine: str | None,
    time_limit_minutes: float,
    quick: bool,
    restart: bool,
    **common: Any,
) -> None:
    """Measure each SCHEMA (all that there are, unless some are named) in all workloads.

    A run loads the replay into a fresh database, checks what it holds, and then measures it in
    every workload; docs/benchmarks.md says what each is. In each round every schema has a run, and
    so has the floor: what no durable load can do without. What fails is recorded with the reason.

    SLOW is a disk of 16.8 MB/s and 8 GB of memory, SPINNING a disk of 48 MB/s and 120 operations a
    second. The command makes them temporarily, which takes root on Linux; where it can't, it
    leaves them out and says why. A machine that is slow needs none of it: results of
    several machines go into one report.

    Each run is a file as soon as it is made. After Ctrl-C, a kill or a power cut the same command
    goes on where it was. cdb report shows what the results come to.

    \b
    Examples:
      cdb bench run --quick && cdb report
      sudo cdb bench run --profile FAST --profile SLOW
      cdb bench run coin_log my_package.my_schema --heights 800000 --dir /mnt/disk
    """
    options = BenchOptions.of(
        **common,
        default_source=QUICK_SOURCE if quick else DEFAULT_SOURCE,
        default_runs=1 if quick else DEFAULT_RUNS,
    )
    profiles = profiles or (FAST,)
    workloads = tuple(each for each in AFTERWARDS if each in (workloads or AFTERWARDS))
    schemas = _named(dict.fromkeys([FLOOR_SCHEMA, *(specs or schema_names())]))
    settings = {
        "schemas": schemas,
        "sources": [str(source) for source in options.sources],
        "profiles": [asdict(profile) for profile in profiles],
        "workloads": workloads,
        "flush_coins": options.flush_coins,
        "durability": options.durability.value,
        "runs": options.runs,
        "quick": quick,
        "time_limit_minutes": time_limit_minutes,
        "software": software_versions(),
    }
    campaign = Campaign(
        matrix=Matrix.new(command_line(sys.argv, "run"), options.runs, settings),
        schemas=schemas,
        replays=[Replay(str(source), source.replay) for source in options.sources],
        profiles=profiles,
        workloads=workloads,
        flush_coins=options.flush_coins,
        durability=options.durability.value,
        quick=quick,
        time_limit_seconds=60 * time_limit_minutes,
        parent=options.parent,
        results=results,
        machine=machine,
        note=note,
    )
    folder = results / (machine or machine_name())
    if folder.exists() and not restart:
        campaign = _resumed(campaign, read_results([folder]))
    check_space(options, DATABASES)
    end_at_sigterm()
    _run(campaign, folder)


def _resumed(campaign: Campaign, documents: Sequence[Document]) -> Campaign:
    """One that goes on with the newest matrix of the same settings, if that has runs to make."""
    matrix = campaign.matrix.resumed(documents)
    cells = campaign.cells()
    made = sum(map(matrix.is_made, cells))
    if not made or made == len(cells):
        return campaign
    note(f"going on with what was begun at {matrix.id}: {made} of {len(cells)} runs are made")
    return replace(campaign, matrix=matrix)


def _run(campaign: Campaign, folder: Path) -> None:
    """Run it, and say what came of it. Raises WorkloadError when a run failed, or there is none."""
    failed = []
    try:
        for document in campaign.run():
            failed += [f"{document['schema']['name']}: {each}" for each in _failures(document)]
    except (KeyboardInterrupt, SystemExit):
        note(f"interrupted; {_made(campaign)} in {folder}; the same command goes on from there")
        raise
    if not any(map(campaign.matrix.is_made, campaign.cells())):
        raise WorkloadError("nothing could be measured")
    note(f"{_made(campaign)} in {folder}; cdb report shows what they come to")
    if failed:
        raise WorkloadError("; ".join(dict.fromkeys(failed)))


def _made(campaign: Campaign) -> str:
    cells = campaign.cells()
    return f"{sum(map(campaign.matrix.is_made, cells))} of {len(cells)} runs are"


def _failures(document: Document) -> list[str]:
    return [
        f"{case['workload']}: {case['reason']}"
        for case in document["cases"]
        if case["outcome"] in ("wrong", "failed")
    ]


def _named(specs: Iterable[str]) -> dict[str, str]:
    """What finds each schema, by the name that it has in results."""
    named: dict[str, str] = {}
    for spec in specs:
        name = find_asked_schema(spec).name
        if named.setdefault(name, spec) != spec:
            raise UnsupportedError(f"{named[name]} and {spec} would both be {name} in the results")
    return named


if __name__ == "__main__":
    run(bench_run)
