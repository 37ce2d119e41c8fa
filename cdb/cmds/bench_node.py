"""bench_node: chia's coin store beside cdb's, as a node uses them."""

import sys
from pathlib import Path

import click

from cdb.bench.results import write_result
from cdb.chia.bench.comparison import BYTES_A_COIN, MORE_BYTES, Comparison
from cdb.chia.bench.measuring import Setting
from cdb.chia.full_node import check_installed
from cdb.cmds.bench_options import (
    DEFAULT_RUNS,
    check_free,
    command_line,
    machine_option,
    note,
    profile_option,
    results_option,
)
from cdb.cmds.options import directory_option
from cdb.cmds.runner import run
from cdb.lab.profile import FAST, Profile
from cdb.termination import end_at_sigterm


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
@directory_option("Put the stores below this directory")
@profile_option("FAST")
@results_option
@machine_option
@click.option("--quick", is_flag=True, help="A tenth of the calls, for a first look.")
def bench_node(
    *,
    coins: int,
    runs: int | None,
    parent: Path,
    profiles: tuple[Profile, ...],
    results: Path,
    machine: str | None,
    quick: bool,
) -> None:
    """Compare chia's own coin store of a full node with cdb's.

    Both are loaded with the same chain, and measured in turns: the calls that a node lives by, with
    files in memory (warm) and not (cold), and how late the event loop is while blocks arrive. Both
    have to answer the same. It needs chia-blockchain: pip install '.[chia,bench]' in a checkout.

    Each profile makes a file, which holds no figure of a comparison that failed. cdb report shows
    what they come to. With 1,000,000 coins it takes some minutes, and more on a slow disk.

    \b
    Examples:
      cdb bench node --coins 50000 --quick && cdb report
      sudo cdb bench node --profile FAST --profile SLOW
      cdb bench node --coins 5000000 --runs 3 --dir /mnt/disk
    """
    check_installed()
    check_free(parent, BYTES_A_COIN * coins + MORE_BYTES)
    end_at_sigterm()
    for profile in profiles or (FAST,):
        setting = Setting(
            runs=runs or (1 if quick else DEFAULT_RUNS),
            profile=profile,
            parent=parent,
            machine=machine,
            command=command_line(sys.argv, "node"),
            note=note,
        )
        document = Comparison(coins, quick, setting).run()
        note(f"{write_result(results, document)}; cdb report shows what it comes to")


if __name__ == "__main__":
    run(bench_node)
