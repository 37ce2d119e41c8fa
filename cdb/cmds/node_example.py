"""node example: make a small node's database to practise on."""

from pathlib import Path

import click

from cdb.cmds.bar import step_bar
from cdb.cmds.echo import echo_done
from cdb.cmds.options import PathType, quiet_option
from cdb.cmds.runner import run
from cdb.contract.printable import shell_word
from cdb.disk.paths import located
from cdb.node.example import make_example
from cdb.text.mainnet_shape import mainnet_shaped_blocks

COINS = 30_000


@click.command("example")
@click.argument("node_db", metavar="NODE_DB", type=PathType(dir_okay=False))
@click.option(
    "--coins",
    type=click.IntRange(min=1),
    metavar="N",
    default=COINS,
    show_default=True,
    help="How many coins it has.",
)
@quiet_option
def node_example(node_db: Path, *, coins: int) -> None:
    """Make a small node's database at the new path NODE_DB, to practise on.

    It has made-up coins in chia's own table, and a peak. What moves a node's coins, backs them up
    or reads them takes it: migrate, node status, backup, restore, dump_blocks, verify. It has no
    blocks of chia's, so chia can't run on it.

    \b
    Examples:
      cdb node example node.sqlite
      cdb migrate node.sqlite && cdb node status node.sqlite
    """
    path = located(node_db, read_only=False)
    with step_bar(str(node_db), coins) as progress:
        make_example(path, mainnet_shaped_blocks(coins=coins), progress)
    echo_done(
        f"{node_db} is a node's database with {coins:,} made-up coins",
        f"next: cdb migrate {shell_word(node_db)}",
    )


if __name__ == "__main__":
    run(node_example)
