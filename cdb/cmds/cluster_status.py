"""cluster status: how each node is."""

from pathlib import Path

import click

from cdb.cmds.cluster_options import cluster_at, dir_option
from cdb.cmds.echo import echo, echo_json
from cdb.cmds.options import json_option
from cdb.cmds.runner import run
from cdb.cmds.table import table
from cdb.errors import DatabaseNotFoundError


@click.command("status")
@dir_option
@json_option
def cluster_status(directory: Path | None, *, as_json: bool) -> int:
    """Show each node: "ready", "up" as long as it does not know all others, or "stopped".

    Exits with 0 if all nodes are ready, and else with 1.

    \b
    Examples:
      cdb cluster status
      cdb cluster status --json
    """
    cluster = cluster_at(directory)
    nodes = cluster.status()
    if not nodes:
        problem = "there is no cluster; 'cdb cluster start' makes one"
        raise DatabaseNotFoundError(cluster.directory, problem)
    if as_json:
        echo_json(
            [
                {
                    "node": node.number,
                    "address": node.address,
                    "state": node.state,
                    "pid": node.pid,
                    "memory_bytes": node.memory_bytes,
                    "log": str(node.log),
                }
                for node in nodes
            ]
        )
    else:
        rows = [["node", "address", "state", "pid", "MB", "log"]]
        for node in nodes:
            memory = "" if node.memory_bytes is None else f"{node.memory_bytes / 1e6:,.0f}"
            cells = [str(node.number), node.address, node.state, str(node.pid or ""), memory]
            rows.append([*cells, str(node.log)])
        echo(table(rows, left=frozenset({1, 2, 5})))
    return 0 if all(node.state == "ready" for node in nodes) else 1


if __name__ == "__main__":
    run(cluster_status)
