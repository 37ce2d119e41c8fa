"""The group ``cdb node``: a full node whose coins are in cdb."""

import click

from cdb.cmds.lazy_group import LazyGroup
from cdb.cmds.runner import run

SECTIONS = {
    "Commands": {
        "install": "Have chia start a node on cdb.",
        "remove": "Have chia start its own node again.",
        "status": "Show peak, coins and whether they fit.",
        "example": "Make a small database to practise on.",
    }
}


@click.group("node", cls=LazyGroup, sections=SECTIONS, prefix="node_")
def node() -> None:
    """Run a full node with its coins in cdb, and see how it is.

    Each command also runs as a module: python -m cdb.cmds.node_install, node_remove, node_status,
    node_example.

    \b
    Examples:
      cdb node install ~/node-bin
      cdb node status ~/.chia/mainnet/db/blockchain_v2_mainnet.sqlite
    """


if __name__ == "__main__":
    run(node)
