"""restore: put a backup of a node's database in place."""

from dataclasses import asdict
from pathlib import Path

import click

from cdb.cmds.bar import step_bar
from cdb.cmds.echo import echo_done, echo_json
from cdb.cmds.in_child import in_child
from cdb.cmds.options import PathType, json_option, quiet_option
from cdb.cmds.runner import run
from cdb.node.backup.restore import restore as restore_backup


@click.command("restore")
@click.argument("directory", metavar="DIR", type=PathType())
@click.argument("node_db", metavar="NODE_DB", type=PathType(dir_okay=False))
@json_option
@quiet_option
def restore(directory: Path, node_db: Path, *, as_json: bool) -> int:
    """Verify the backup in DIR, and put a copy of it at NODE_DB and NODE_DB.cdb. Stop the node
    first.

    The command checks the files, each coin, and that both fit together, before it copies anything.
    It touches nothing that is there: move that away first. It takes as much room as the backup.

    It makes the copies in NODE_DB.restore; they take their names when they are whole. Ctrl-C leaves
    what was there before. After kill -9 or a power cut the same command starts again, or finishes.

    \b
    Examples:
      cdb restore /backup/2026-11-23 ~/.chia/mainnet/db/blockchain_v2_mainnet.sqlite
    """
    return in_child(directory, lambda: _restore(directory, node_db, as_json=as_json))


def _restore(directory: Path, node_db: Path, *, as_json: bool) -> int:
    made = restore_backup(directory, node_db, step_bar)
    if as_json:
        echo_json({"path": str(node_db), **asdict(made)})
    else:
        echo_done(f"{node_db} is restored up to block {made.height}: {made}")
    return 0


if __name__ == "__main__":
    run(restore)
