"""bench_node: chia's coin store beside cdb's, as a node uses them."""

import sys
import tempfile
from pathlib import Path
from typing import Unpack

import click

from cdb.chia.bench.comparison import BYTES_A_COIN, MORE_BYTES, experiment
from cdb.chia.full_node import check_installed
from cdb.cmds.bench_campaign import run_campaign
from cdb.cmds.bench_options import (
    DEFAULT_RUNS,
    Where,
    campaign_options,
    profile_option,
)
from cdb.cmds.echo import echo_line
from cdb.cmds.runner import run
from cdb.lab.profile import FAST, Profile
from cdb.process.termination import end_at_sigterm


@click.command("node")
@click.option(
    "--coins",
    type=click.IntRange(min=10_000),
    default=1_000_000,
    show_default=True,
    metavar="N",
    help="How many coins both stores hold.",
)
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Measure each store so often, in turns.  [default: {DEFAULT_RUNS}; 1 with --quick]",
)
@campaign_options("the stores")
@profile_option("FAST")
@click.option("--quick", is_flag=True, help="A tenth of the calls, for a first look.")
@click.option(
    "--growth",
    is_flag=True,
    help="Instead, ask each method about 1, 10 and 100 times as much, and print what that costs.",
)
def bench_node(
    *,
    coins: int,
    runs: int | None,
    profiles: tuple[Profile, ...],
    quick: bool,
    growth: bool,
    **where: Unpack[Where],
) -> None:
    """Compare chia's own coin store of a full node with cdb's.

    Both are loaded with the same chain, and measured in turns: the calls that a node lives by, with
    files in memory (warm) and not (cold), and how late the event loop is while blocks arrive. Both
    have to answer the same. It needs chia-blockchain: pip install '.[chia,bench]' in a checkout.

    Each run is a file as soon as it is made; after Ctrl-C the same command goes on where it was.
    A run that answers otherwise than one before it is void. cdb report shows what they come to.
    With 1,000,000 coins it takes some minutes, and more on a slow disk.

    --growth takes no other option but --dir. For each method it prints microseconds of processor
    time a call of either store, and their ratio, for 100, 1,000 and 10,000 coins; and then what a
    block takes, by the clock, beside 20 calls. The exit code is 1 where a ratio more than doubles,
    to more than 1. It takes some minutes.

    \b
    Examples:
      cdb bench node --coins 50000 --quick && cdb report
      sudo cdb bench node --profile FAST --profile SLOW
      cdb bench node --coins 5000000 --runs 3 --dir /mnt/disk
      cdb bench node --growth
    """
    check_installed()
    if growth:
        sys.exit(_print_growth(where["parent"]))
    run_campaign(
        "node",
        experiment(coins, quick=quick),
        runs=runs or (1 if quick else DEFAULT_RUNS),
        profiles=profiles or (FAST,),
        **where,
        needed_bytes=BYTES_A_COIN * coins + MORE_BYTES,
    )


def _print_growth(parent: Path) -> int:
    """Whether something grows where chia's does not."""
    from cdb.chia.bench.growth import heading, lines

    end_at_sigterm()
    grows = False
    with tempfile.TemporaryDirectory(prefix="cdb-growth-", dir=parent) as directory:
        echo_line(heading())
        for line in lines(Path(directory)):
            echo_line(str(line))
            grows |= line.grows
    return int(grows)


if __name__ == "__main__":
    run(bench_node)
