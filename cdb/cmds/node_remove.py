"""node remove: take away what node install made."""

from pathlib import Path

import click

from cdb.chia import launcher
from cdb.cmds.echo import echo_line
from cdb.cmds.options import PathType
from cdb.cmds.runner import run


@click.command("remove")
@click.argument("directory", metavar="DIR", type=PathType())
def node_remove(directory: Path) -> None:
    """Remove the script chia_full_node from DIR, if cdb node install made it.

    chia's daemon runs chia's own full node again from its next start on. That does not start on a
    database whose coins are in cdb.

    \b
    Example:
      cdb node remove ~/node-bin
    """
    echo_line(f"{launcher.remove(directory)} is removed")


if __name__ == "__main__":
    run(node_remove)
