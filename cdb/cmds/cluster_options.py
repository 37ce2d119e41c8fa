"""What the commands of ``cdb cluster`` share."""

from pathlib import Path

import click

from cdb.cluster.dev_cluster import DevCluster, default_directory
from cdb.cmds.options import PathType
from cdb.errors import MissingEngineError
from cdb.stores.cassandra.cql import missing

dir_option = click.option(
    "--dir",
    "directory",
    type=PathType(file_okay=False),
    metavar="DIR",
    help="Where the cluster's files are.  [default: ~/.local/share/cdb/cluster]",
)


def cluster_at(directory: Path | None) -> DevCluster:
    """The cluster in a directory, or the user's own. Raises MissingEngineError without a driver."""
    problem = missing()
    if problem is not None:
        raise MissingEngineError(problem)
    return DevCluster(directory or default_directory())
