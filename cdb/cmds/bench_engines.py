"""bench_engines: the published key layouts and shapes, below the coin set."""

from collections.abc import Iterable
from typing import Unpack

import click

from cdb.bench.layouts import SHAPES, experiment, needed_bytes, quick_shape
from cdb.bench.versioned.database import (
    AS_PUBLISHED,
    LAYOUTS,
    NATIVE_ENGINES,
    NO_LAYOUTS,
    missing,
)
from cdb.cmds.bench_campaign import run_campaign
from cdb.cmds.bench_options import Where, campaign_options, note
from cdb.cmds.options import quiet_option
from cdb.cmds.runner import run
from cdb.errors import MissingEngineError
from cdb.lab.profile import FAST

DEFAULT_SHAPES = ("canopy-10k", "option-1")
DEFAULT_RUNS = 3
ALL = "all"


@click.command("engines")
@click.option(
    "--shape",
    "shapes",
    type=click.Choice([*SHAPES, ALL]),
    multiple=True,
    help="What is written: so many keys, versions and bytes. May be given several times.  "
    f"[default: {', '.join(DEFAULT_SHAPES)}]",
)
@click.option(
    "--layout",
    "layouts",
    type=click.Choice([*LAYOUTS, *NO_LAYOUTS, *(each + AS_PUBLISHED for each in LAYOUTS)]),
    multiple=True,
    help="Only this one; with reads=published it reads as it was published, which is wrong. May be "
    "given several times.  [default: all that read rightly]",
)
@click.option(
    "--engine",
    "engines",
    type=click.Choice(list(NATIVE_ENGINES)),
    multiple=True,
    help="Only this one. May be given several times.  [default: all]",
)
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Measure everything so often, in turns.  [default: {DEFAULT_RUNS}; 1 with --quick]",
)
@campaign_options("databases")
@click.option("--quick", is_flag=True, help="A tenth of the keys, for a first look in a minute.")
@quiet_option
def bench_engines(
    *,
    shapes: tuple[str, ...],
    layouts: tuple[str, ...],
    engines: tuple[str, ...],
    runs: int | None,
    quick: bool,
    **where: Unpack[Where],
) -> None:
    """Measure the published key layouts in each engine: many versions a key, values of any size.

    A coin has two versions; what was published of layouts has many. So this goes below the coin
    set: keys of 32 bytes, and of each so many versions, of which each is one durable commit. Then
    the newest values are scanned (latest), each key is asked for as of a version (historical), and
    all versions are scanned (archival), as the database was closed and again once it is settled.
    Every answer is held against a model, and a wrong or missing one voids the row.

    \b
    canopy-10k, canopy-100k   10,000 and 100,000 keys, 50 versions, 5 % of the keys rewritten in
                              each, values of 1,024 bytes that repeat themselves each 32 bytes
    canopy-…-random           the same with values that don't
    option-1                  200,000 keys, 4 versions, all rewritten in each, values of 64 bytes
    messages                  5,000 keys, 20 versions, all rewritten in each, values of 400 bytes
    small-values              200,000 keys, 5 versions, all rewritten in each, values of 110 bytes

    The default takes five to ten minutes for two engines, canopy-100k some minutes a round. Each
    run is a file as soon as it is made; after Ctrl-C the same command goes on where it was. cdb
    report shows the results beside the published figures.

    \b
    Examples:
      cdb bench engines --quick && cdb report
      cdb bench engines --shape canopy-100k --runs 1 --dir /mnt/disk
      cdb bench engines --shape canopy-10k --layout mono_space,reads=published --runs 1
    """
    asked = tuple(SHAPES) if ALL in shapes else tuple(dict.fromkeys(shapes)) or DEFAULT_SHAPES
    wanted = {
        f"{each}-quick" if quick else each: quick_shape(SHAPES[each]) if quick else SHAPES[each]
        for each in asked
    }
    names = dict.fromkeys(engines or NATIVE_ENGINES)
    _check_engines(names)
    of = dict.fromkeys(layouts or (*LAYOUTS, *NO_LAYOUTS))
    contestants = [f"{layout}@{engine}" for engine in names for layout in of]
    run_campaign(
        "engines",
        experiment(contestants, wanted),
        runs=runs or (1 if quick else DEFAULT_RUNS),
        profiles=[FAST],
        **where,
        needed_bytes=max(map(needed_bytes, wanted.values())),
    )


def _check_engines(engines: Iterable[str]) -> None:
    """Say which are missing. Raises MissingEngineError where all are."""
    told = [missing(each) for each in sorted(engines)]
    problems = [problem for problem in dict.fromkeys(told) if problem is not None]
    if None not in told:
        raise MissingEngineError("; ".join(problems))
    for problem in problems:
        note(f"not measured: {problem}")


if __name__ == "__main__":
    run(bench_engines)
