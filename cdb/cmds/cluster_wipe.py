"""cluster wipe: the cluster's files are removed."""

from pathlib import Path

import click

from cdb.cmds.cluster_options import cluster_at, dir_option
from cdb.cmds.echo import echo_done
from cdb.cmds.options import quiet_option
from cdb.cmds.runner import run


@click.command("wipe")
@dir_option
@quiet_option
def cluster_wipe(directory: Path | None) -> None:
    """Remove all that the nodes hold, and their logs. They have to be stopped.

    Of DIR nothing else is removed; Cassandra itself stays in ~/.cache/cdb.

    \b
    Examples:
      cdb cluster stop && cdb cluster wipe
    """
    cluster = cluster_at(directory)
    cluster.wipe()
    echo_done(f"{cluster.directory} holds no cluster any more")


if __name__ == "__main__":
    run(cluster_wipe)
