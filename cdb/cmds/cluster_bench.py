"""cluster bench: the schema cassandra beside a plain client."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from cdb.bench.cluster.compare import Figure, compare
from cdb.bench.machine import machine_name
from cdb.bench.software import software_versions
from cdb.cluster.artifact import CASSANDRA
from cdb.cmds.cluster_options import cluster_at, dir_option
from cdb.cmds.echo import echo, note
from cdb.cmds.options import PathType
from cdb.cmds.runner import run
from cdb.cmds.table import table
from cdb.disk.files import write_output


@click.command("bench")
@click.option(
    "--coins",
    type=click.IntRange(min=1_000),
    default=50_000,
    show_default=True,
    help="Load so many.",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of blocks.")
@click.option("--report", type=PathType(dir_okay=False), metavar="FILE", help="Write JSON, too.")
@dir_option
def cluster_bench(coins: int, seed: int, report: Path | None, directory: Path | None) -> None:
    """Measure the schema cassandra and a plain client, one after the other, on a started cluster.

    The plain client is what one would write first: prepared statements, one a row, 32 in flight,
    one block a commit.

    \b
    Examples:
      cdb cluster bench --coins 20000
    """
    cluster = cluster_at(directory)
    hosts = ",".join(node.address for node in cluster.nodes) or "127.0.0.1"
    figures = compare(hosts, coins, seed, lambda what: note(f"{what} …"))
    echo(_table(figures))
    if report is not None:
        told = {
            "cluster_bench": 1,
            "machine": machine_name(),
            "commit": software_versions()["git_commit"],
            "cassandra": CASSANDRA,
            "nodes": len(cluster.nodes),
            "coins": coins,
            "seed": seed,
            "figures": [
                {**asdict(each), "per_second": each.per_second, "ratio": each.ratio}
                for each in figures
            ],
        }
        write_output(report, f"{json.dumps(told, indent=2)}\n".encode())


def _table(figures: list[Figure]) -> str:
    rows = [["", "seconds", "a second", "plain client", "ratio"]]
    for each in figures:
        rate = f"{each.per_second:,.0f} {each.units}"
        times = f"{each.seconds:.2f}", rate, f"{each.plain_seconds:.2f} s"
        rows.append([each.what, *times, f"{each.ratio:.1f}"])
    return table(rows)


if __name__ == "__main__":
    run(cluster_bench)
