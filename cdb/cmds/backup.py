"""backup: copy a node's database whose coins are in cdb, beside the running node."""

from dataclasses import asdict
from pathlib import Path

import click

from cdb.cmds.bar import step_bar
from cdb.cmds.echo import echo_done, echo_json
from cdb.cmds.options import NodeFileType, PathType, json_option, quiet_option
from cdb.cmds.runner import run
from cdb.node.backup.making import back_up


@click.command("backup")
@click.argument("node_db", metavar="NODE_DB", type=NodeFileType())
@click.argument("directory", metavar="DIR", type=PathType())
@json_option
@quiet_option
def backup(node_db: Path, directory: Path, *, as_json: bool) -> None:
    """Copy the node's file NODE_DB and its coins, NODE_DB.cdb, to the new directory DIR.

    The copy is of one moment, and the node may run meanwhile. The command only reads its files. DIR
    takes as much room as they do, and is called DIR.partial until it is whole. cdb restore puts it
    in place.

    Until the copy is done the node keeps in its file what it does to its coins, and the -wal grows
    by what it writes: little at the tip of the chain, and much while it syncs.

    Ctrl-C removes what was made. After kill -9 or a power cut the same command starts again.

    \b
    Examples:
      cdb backup ~/.chia/mainnet/db/blockchain_v2_mainnet.sqlite /backup/2026-11-23
      cdb backup blockchain_v2_mainnet.sqlite /backup/new && cdb verify \\
          /backup/new/node.sqlite.cdb
    """
    made = back_up(node_db, directory, step_bar)
    if as_json:
        echo_json({"path": str(directory), **asdict(made)})
    else:
        echo_done(f"{directory} is a backup up to block {made.height}: {made}")


if __name__ == "__main__":
    run(backup)
