"""cluster kill: one node ends at once."""

from pathlib import Path

import click

from cdb.cmds.cluster_options import cluster_at, dir_option
from cdb.cmds.echo import echo_done
from cdb.cmds.options import quiet_option
from cdb.cmds.runner import run


@click.command("kill")
@click.argument("number", metavar="NODE", type=click.IntRange(min=1))
@dir_option
@quiet_option
def cluster_kill(number: int, directory: Path | None) -> None:
    """End a node by kill -9; 'cdb cluster start' starts it again.

    \b
    Examples:
      cdb cluster kill 2
    """
    node = cluster_at(directory).node(number)
    there = node.pid is not None
    node.stop(kill=True)
    echo_done(f"node {number} is killed" if there else f"node {number} was stopped")


if __name__ == "__main__":
    run(cluster_kill)
