"""bench_run: every schema, every workload, every profile, without anyone watching."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Unpack

import click
from click.shell_completion import CompletionItem

from cdb.bench.schemas import (
    AFTERWARDS,
    DATABASE_BYTES_PER_COIN,
    FLOOR_SPEC,
    Contestant,
    Schemas,
)
from cdb.cmds.bench_campaign import run_campaign
from cdb.cmds.bench_options import (
    DEFAULT_RUNS,
    Where,
    campaign_options,
    profile_option,
)
from cdb.cmds.bench_sources import Source, source_options, sources_of
from cdb.cmds.options import (
    SchemaType,
    TimeType,
    find_asked_schema,
    flush_every_option,
    quiet_option,
)
from cdb.cmds.runner import run
from cdb.contents.loader import DEFAULT_FLUSH_COINS
from cdb.contract.durability import Durability
from cdb.errors import MissingEngineError, UnsupportedError
from cdb.lab.profile import FAST, Profile
from cdb.report.model import FLOOR
from cdb.schemas import find_schema
from cdb.schemas.registry import BY_ENGINE, layout_names, names_at_paths

DEFAULT_SOURCE = Source(coins=1_000_000)
QUICK_SOURCE = Source(coins=100_000)
LAYOUTS, ENGINES = "layouts", "engines"
INLINE = ("interval@rocksdb,payload=inline", "mono_space@rocksdb,payload=inline")
"""With coins in their rows: what that gains a scan of both rows of a coin, and of versions."""
ONE_THREAD = {f"{FLOOR}, 1 thread": Contestant(FLOOR_SPEC, threads=1)}


def _words(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Names of schemas, and the words that may stand in their place."""
    words = [word for word in (FLOOR, LAYOUTS, ENGINES) if word.startswith(incomplete)]
    names = SchemaType().shell_complete(context, parameter, incomplete)
    return [*map(CompletionItem, words), *names]


@click.command("run")
@click.argument("specs", nargs=-1, metavar="[SCHEMA]...", shell_complete=_words)
@source_options
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Measure everything so often.  [default: {DEFAULT_RUNS}; 1 with --quick]",
)
@flush_every_option(
    DEFAULT_FLUSH_COINS,
    "Flush each time so many coins have come, by default as load_blocks does; all do, the floor "
    "included.",
)
@click.option(
    "--durability",
    type=click.Choice([level.value for level in Durability]),
    default=Durability.POWER.value,
    show_default=True,
    help="What a flush survives, the same for all; the floor syncs for power only.",
)
@campaign_options("replays and databases")
@profile_option("FAST")
@click.option(
    "--workload",
    "workloads",
    type=click.Choice(AFTERWARDS),
    multiple=True,
    help="After the load, which is always measured, only this one. May be given several times.  "
    "[default: all of them]",
)
@click.option(
    "--loads-only",
    is_flag=True,
    help="Only the loads, of the floor also with one thread: so that a round is a matter of "
    "minutes, and a ratio to its floor is of these.",
)
@click.option(
    "--time-limit",
    "time_limit_minutes",
    type=TimeType(),
    default=60.0,
    show_default=True,
    metavar="MINUTES",
    help="A run, all its workloads together, ends then; how far it came is its result.",
)
@click.option("--quick", is_flag=True, help="A first look, in some two minutes.")
@quiet_option
def bench_run(
    specs: tuple[str, ...],
    *,
    inputs: tuple[Path, ...],
    coins: tuple[int, ...],
    heights: tuple[int, ...],
    runs: int | None,
    flush_coins: int,
    durability: str,
    profiles: tuple[Profile, ...],
    workloads: tuple[str, ...],
    loads_only: bool,
    time_limit_minutes: float,
    quick: bool,
    **where: Unpack[Where],
) -> None:
    """Measure each SCHEMA in all workloads; unless some are named, cdb's own and registered ones.

    In place of a SCHEMA, layouts stands for all layouts of coin sets on all engines that are there
    (interval@rocksdb, mono_space@rocksdb, …), which are not all measured otherwise,
    and for some with coins in their rows (mono_space@rocksdb,payload=inline).
    A layout may have options: interval@rocksdb,payload=inline. engines stands for the layout
    interval on all engines that are there, also those that make engines has built.

    A run loads the replay into a fresh database, checks what it holds, and then measures it in
    every workload; docs/benchmarks.md says what each is. In each round every schema has a run, and
    so has the floor, a reference that appends 80 bytes of each coin; as a SCHEMA, floor is that
    alone. What fails is recorded with the reason.

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
      cdb bench run layouts coin_log
      cdb bench run engines --coins 1000000 --coins 4000000 --runs 3 --time-limit 20
      cdb bench run flat_file --loads-only --coins 1000000 --heights 800000
      cdb bench run floor --loads-only && cdb report --format terminal
    """
    if loads_only and workloads:
        raise click.UsageError("--loads-only goes with no --workload")
    sources = sources_of(inputs, coins, heights) or [QUICK_SOURCE if quick else DEFAULT_SOURCE]
    wanted = () if loads_only else workloads or AFTERWARDS
    workloads = tuple(each for each in AFTERWARDS if each in wanted)
    contestants = _named(_spelled_out(specs) or names_at_paths()) | (
        ONE_THREAD if loads_only else {}
    )
    schemas = Schemas(
        named=contestants,
        replays=sources,
        workloads=workloads,
        flush_coins=flush_coins,
        durability=durability,
        quick=quick,
        time_limit_seconds=60 * time_limit_minutes,
    )
    run_campaign(
        "run",
        schemas.experiment(),
        runs=runs or (1 if quick else DEFAULT_RUNS),
        profiles=profiles or (FAST,),
        **where,
        needed_bytes=max(source.needed_bytes(DATABASE_BYTES_PER_COIN) for source in sources),
    )


def _spelled_out(specs: Sequence[str]) -> list[str]:
    """With all that a word stands for in its place. Raises MissingEngineError without any."""
    words = {LAYOUTS: (*BY_ENGINE, *layout_names(), *INLINE), ENGINES: tuple(BY_ENGINE)}
    spelled_out = []
    for spec in specs:
        spelled_out += _that_are_there(spec, words[spec]) if spec in words else [spec]
    return list(dict.fromkeys(spelled_out))


def _that_are_there(word: str, names: Sequence[str]) -> list[str]:
    missing = {name: find_schema(name).missing for name in names}
    there = [name for name in names if missing[name] is None]
    if not there:
        raise MissingEngineError(f"no engine of {word} is there: {missing[names[0]]}")
    return there


def _named(specs: Iterable[str]) -> dict[str, Contestant]:
    """The floor, and each schema, by the name that it has in results."""
    named = {FLOOR: Contestant(FLOOR_SPEC)}
    for spec in specs:
        if spec != FLOOR:
            name, contestant = find_asked_schema(spec).name, Contestant(spec)
            first = named.setdefault(name, contestant)
            if first != contestant:
                problem = f"{first.spec} and {spec} would both be {name} in the results"
                raise UnsupportedError(problem)
    return named


if __name__ == "__main__":
    run(bench_run)
