"""The group ``cdb``: every command under one name."""

import click

from cdb.cmds.lazy_group import LazyGroup
from cdb.cmds.runner import run
from cdb.extensions import DISTRIBUTION

SECTIONS = {
    "Use a database": {
        "load_blocks": "Load a replay into a database.",
        "info": "Show whose database a path is, and its newest block.",
        "coins": "Find coins by puzzle hash, parent, block or height.",
        "verify": "Check every block and coin, and repair an index.",
        "dump_blocks": "Write a database as replay text.",
        "make_replay": "Write a replay in the shape of mainnet.",
    },
    "Run a full node": {
        "migrate": "Move a node's coins into cdb, and back.",
        "node": "Start a node on cdb, and see how it is.",
        "backup": "Copy a node's file and coins while it runs.",
        "restore": "Check a backup, and put it in place.",
    },
    "Compare and develop": {
        "schemas": "List the schemas, and what is missing for some.",
        "doctor": "Show libraries, what is missing, and the disk.",
        "demo": "Load all schemas with made blocks, and compare.",
        "bench": "Measure what schemas cost.",
        "report": "Draw results of cdb bench as a page.",
        "cluster": "Run a cluster of Cassandra on this machine.",
        "new_schema": "Write a schema of your own to begin with.",
        "hash_reuse": "Count puzzle hashes that come again.",
        "soak": "Put schemas under faults for hours.",
    },
}


@click.group(
    "cdb",
    cls=LazyGroup,
    sections=SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name=DISTRIBUTION, prog_name="cdb")
def cdb() -> None:
    """Storage schemas for a coin-set blockchain, held to one contract and compared.

    Each command also runs as a module: python -m cdb.cmds.NAME.

    \b
    Examples:
      cdb make_replay --coins 100000 | cdb load_blocks coin_log
      cdb info coin_log.cdb
      cdb verify coin_log.cdb
    """


def main() -> None:
    """The console script."""
    run(cdb)


if __name__ == "__main__":
    main()
