"""Cassandra's own tool, which is a class among its jars."""

import subprocess

from cdb.cluster.artifact import jars, java
from cdb.cluster.configuration import FIRST_JMX_PORT, QUIET, class_options
from cdb.cluster.node import Node
from cdb.errors import StorageError

_SECONDS = 300


def nodetool(node: Node, *arguments: str) -> str:
    """What it says of a node. Raises StorageError where it fails."""
    command = [
        *(java(), "-Xmx128m", "-XX:TieredStopAtLevel=1", *class_options(jars())),
        f"-Dcassandra.config={(node.directory / 'cassandra.yaml').as_uri()}",
        f"-Dcassandra.storagedir={node.directory}",
        f"-Dlogback.configurationFile={(node.directory / QUIET).as_uri()}",
        *("org.apache.cassandra.tools.NodeTool", "-h", "127.0.0.1"),
        *("-p", str(FIRST_JMX_PORT + node.number), *arguments),
    ]
    told = subprocess.run(  # noqa: S603
        command, capture_output=True, text=True, check=False, timeout=_SECONDS
    )
    if told.returncode:
        said = " ".join((told.stdout + told.stderr).split())[:300]
        raise StorageError(node.directory, f"nodetool {' '.join(arguments)} fails: {said}")
    return told.stdout
