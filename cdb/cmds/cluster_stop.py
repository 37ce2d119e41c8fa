"""cluster stop: all nodes end."""

from pathlib import Path

import click

from cdb.cmds.cluster_options import cluster_at, dir_option
from cdb.cmds.echo import echo_done
from cdb.cmds.options import quiet_option
from cdb.cmds.runner import run


@click.command("stop")
@dir_option
@quiet_option
def cluster_stop(directory: Path | None) -> None:
    """End all nodes in order. What they hold stays, and so do their logs.

    \b
    Examples:
      cdb cluster stop
    """
    stopped = cluster_at(directory).stop()
    echo_done(f"{stopped} nodes are stopped" if stopped else "no node was up")


if __name__ == "__main__":
    run(cluster_stop)
