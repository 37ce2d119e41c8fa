"""bench_pairs: options, each beside its default."""

from collections.abc import Sequence
from typing import Unpack

import click

from cdb.bench.pairs import (
    MEASURED_AT,
    OPTION,
    PAIRS,
    ROUNDS,
    WORKLOADS,
    Pair,
    contestants,
    pairs_in,
)
from cdb.bench.results import Kind
from cdb.bench.schemas import DATABASE_BYTES_PER_COIN, Schemas
from cdb.cmds.bench_campaign import run_campaign
from cdb.cmds.bench_options import Where, campaign_options
from cdb.cmds.bench_sources import Source
from cdb.cmds.echo import echo, note
from cdb.cmds.options import quiet_option
from cdb.cmds.runner import run
from cdb.cmds.table import table
from cdb.contents.loader import DEFAULT_FLUSH_COINS
from cdb.contract.durability import Durability
from cdb.lab.profile import FAST
from cdb.schemas import find_schema

TIME_LIMIT_SECONDS = 1_200


@click.command("pairs")
@click.argument("options", nargs=-1, metavar="[OPTION]...")
@click.option(
    "--coins",
    type=click.IntRange(min=10),
    default=1_000_000,
    show_default=True,
    metavar="N",
    help="A replay of so many coins.",
)
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    default=ROUNDS,
    show_default=True,
    metavar="N",
    help="So many rounds.",
)
@campaign_options("replays and databases")
@quiet_option
def bench_pairs(options: tuple[str, ...], *, coins: int, runs: int, **where: Unpack[Where]) -> None:
    """Measure options, each beside its default: how many times as good a figure is with it.

    OPTION is a name such as payload; without one, all that cdb has. In each round both run one
    after the other. There is no difference unless all rounds lie on one side of 1.0.

    \b
    Examples:
      cdb bench pairs payload
      cdb bench pairs --dir /mnt/disk
    """
    chosen = _chosen(options)
    there = [each for each in chosen if find_schema(each.base).missing is None]
    for each in chosen:
        if each not in there:
            note(f"{each.other} is left out: {find_schema(each.base).missing}")
    source = Source(coins=coins)
    schemas = Schemas(
        named=contestants(there),
        replays=[source],
        workloads=WORKLOADS,
        flush_coins=DEFAULT_FLUSH_COINS,
        durability=Durability.POWER.value,
        quick=False,
        time_limit_seconds=TIME_LIMIT_SECONDS,
    )
    documents = run_campaign(
        "pairs",
        schemas.experiment(Kind.PAIRS),
        runs=runs,
        profiles=[FAST],
        **where,
        needed_bytes=source.needed_bytes(DATABASE_BYTES_PER_COIN),
    )
    for pair, found in pairs_in(documents):
        echo(f"{pair.base} with {pair.option}, rounds: {runs}")
        echo(table([["figure", "times as good"], *([v.measure.label, v.text] for v in found)]))


def _chosen(options: Sequence[str]) -> list[Pair]:
    here = {each.name for each in PAIRS if each.became == OPTION}
    if gone := sorted({each.name for each in PAIRS}.intersection(options) - here):
        raise click.UsageError(
            f"option {gone[0]} was measured and is no longer there; commit {MEASURED_AT} has it"
        )
    if unknown := sorted({*options} - here):
        raise click.UsageError(f"no option '{unknown[0]}'; there is {', '.join(sorted(here))}")
    return [each for each in PAIRS if each.name in (options or here)]


if __name__ == "__main__":
    run(bench_pairs)
