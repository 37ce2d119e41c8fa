"""bench_speed: how fast coin_log is, in one table."""

from typing import Unpack

import click

from cdb.bench.schemas import DATABASE_BYTES_PER_COIN, Schemas
from cdb.bench.speed import CONTESTANTS, WORKLOADS, lines
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

HEADER = ["figure", "median", "least", "greatest"]


@click.command("speed")
@click.option(
    "--coins",
    type=click.IntRange(min=10),
    multiple=True,
    metavar="N",
    help="A replay of so many coins. May be given several times: growth shows.  "
    "[default: 250,000 and 1,000,000]",
)
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    metavar="N",
    help="So many rounds.",
)
@campaign_options("replays and databases")
@click.option("--quick", is_flag=True, help="Ask for less: a first look.")
@quiet_option
def bench_speed(coins: tuple[int, ...], *, runs: int, quick: bool, **where: Unpack[Where]) -> None:
    """Print how fast coin_log is, and how fast the interval layouts load: medians of rounds.

    In each round the floor, coin_log and the layouts load the same replay, and coin_log looks up,
    opens and follows the tip. A ratio is of one round. Memory for a third of the database takes
    root, control groups, and 5,000,000 coins or more: Python alone takes what fewer have.

    \b
    Examples:
      cdb bench speed
      sudo cdb bench speed --coins 13500000 --runs 5 --dir /mnt/disk
    """
    sources = [Source(coins=count) for count in coins or (250_000, 1_000_000)]
    schemas = Schemas(
        named=CONTESTANTS,
        replays=sources,
        workloads=WORKLOADS,
        flush_coins=DEFAULT_FLUSH_COINS,
        durability=Durability.POWER.value,
        quick=quick,
        time_limit_seconds=7_200,
    )
    documents = run_campaign(
        "speed",
        schemas.experiment(),
        runs=runs,
        profiles=[FAST],
        **where,
        needed_bytes=max(source.needed_bytes(DATABASE_BYTES_PER_COIN) for source in sources),
    )
    for source in map(str, sources):
        told = list(lines([each for each in documents if each["data"]["source"] == source]))
        for line in told:
            if not line.values:
                note(f"{source}: {line.label}: not measured: {line.reason}")
        echo(f"{source}, rounds: {runs}")
        echo(table([HEADER, *(line.texts() for line in told)]))


if __name__ == "__main__":
    run(bench_speed)
