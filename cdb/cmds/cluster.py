"""The group ``cdb cluster``: Apache Cassandra on this machine, for development and tests."""

import click

from cdb.cmds.lazy_group import LazyGroup
from cdb.cmds.runner import run

SECTIONS = {
    "Commands": {
        "start": "Start the nodes, and wait until they are ready.",
        "status": "Show each node.",
        "kill": "End a node by kill -9.",
        "stop": "End all nodes in order.",
        "wipe": "Remove all that they hold.",
        "bench": "Measure it beside a plain client.",
        "trials": "Kill nodes and writers, and see what is lost.",
    }
}


@click.group("cluster", cls=LazyGroup, sections=SECTIONS, prefix="cluster_")
def cluster() -> None:
    """Run Apache Cassandra on this machine: 127.0.0.1, 127.0.0.2, …, for the schema cassandra.

    It needs Java 17 and Maven, which fetches Cassandra once, and 'coinset_db[cassandra]'. A node
    takes 1 GB of memory. It is for development: it asks for no password.

    Each command also runs as a module: python -m cdb.cmds.cluster_start, cluster_status,
    cluster_kill, cluster_stop, cluster_wipe, cluster_bench, cluster_trials.

    \b
    Examples:
      cdb cluster start
      cdb load_blocks cassandra --db cassandra://127.0.0.1/mychain --input replay.txt
      cdb cluster kill 2
      cdb cluster start
      cdb cluster stop
    """


if __name__ == "__main__":
    run(cluster)
