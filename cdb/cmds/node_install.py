"""node install: have `chia start node` start a node with its coins in cdb."""

from pathlib import Path

import click

from cdb.chia import launcher
from cdb.cmds.echo import echo_line
from cdb.cmds.options import PathType
from cdb.cmds.runner import run
from cdb.contract.printable import shell_word


@click.command("install")
@click.argument("directory", metavar="DIR", type=PathType())
def node_install(directory: Path) -> None:
    """Write a script chia_full_node into DIR, which runs cdb_full_node of this environment.

    chia's daemon runs what it finds as chia_full_node on its PATH. So DIR has to come first there
    when the daemon starts. What else is called chia_full_node in DIR is never overwritten.

    Not for chia's frozen installers: their daemon runs its own, whatever PATH says.

    \b
    Examples:
      mkdir ~/node-bin && cdb node install ~/node-bin
      export PATH="$HOME/node-bin:$PATH" && chia stop -d all && chia start node
    """
    path = launcher.install(directory)
    echo_line(f"{path} is made")
    if launcher.found_first() == path:
        echo_line("it comes first on PATH: chia stop -d all, and chia start node with this PATH")
        return
    found = launcher.found_first()
    first = "nothing of its name is" if found is None else f"{found} comes first"
    echo_line(f"note: {first} on PATH, so chia would not run it; before chia starts, say")
    echo_line(f"  export PATH={shell_word(path.parent)}:$PATH")


if __name__ == "__main__":
    run(node_install)
