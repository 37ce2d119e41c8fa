"""cluster start: Cassandra on this machine."""

import time
from pathlib import Path

import click

from cdb.cluster.configuration import SYNCS
from cdb.cluster.dev_cluster import MOST_NODES
from cdb.cmds.cluster_options import cluster_at, dir_option
from cdb.cmds.echo import echo_done, echo_status
from cdb.cmds.options import quiet_option
from cdb.cmds.runner import run


@click.command("start")
@click.option(
    "--nodes",
    "n_nodes",
    type=click.IntRange(1, MOST_NODES),
    metavar="N",
    help="How many.  [default: as many as there were, or 3]",
)
@click.option(
    "--sync",
    type=click.Choice(SYNCS),
    help="The nodes' commitlog_sync: periodic promises nothing at a power cut.  [default: as it"
    f" was, or {SYNCS[0]}]",
)
@click.option(
    "--tls",
    is_flag=True,
    help="Offer TLS from now on, too: add ?tls=DIR/tls.pem, a certificate of its own, to URLs.",
)
@dir_option
@quiet_option
def cluster_start(
    n_nodes: int | None, sync: str | None, *, tls: bool, directory: Path | None
) -> None:
    """Start all nodes that don't live, and wait until each knows the others and the same tables.

    The first start fetches Cassandra, 70 MB. After kill -9 a node first goes over its commit log.

    \b
    Examples:
      cdb cluster start
      cdb cluster start --nodes 1
    """
    cluster = cluster_at(directory)
    cluster.make(n_nodes or len(cluster.nodes) or 3, sync, tls=tls)
    begun = time.monotonic()

    def told(what: str) -> None:
        echo_status(f"{time.monotonic() - begun:4.0f} s  {what}")

    try:
        seconds = cluster.start(told)
    finally:
        echo_status("")
    hosts = ",".join(node.address for node in cluster.nodes)
    echo_done(
        f"{len(cluster.nodes)} nodes are ready after {seconds:.0f} s, in {cluster.directory}",
        f"use them with --db cassandra://{hosts}/NAME",
    )


if __name__ == "__main__":
    run(cluster_start)
