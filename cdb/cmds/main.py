"""The group ``cdb``: every command under one name."""

import click

from cdb.cmds.lazy_group import LazyGroup
from cdb.cmds.runner import run
from cdb.extensions import DISTRIBUTION

COMMANDS = (
    *("backup", "bench", "coins", "demo", "doctor", "dump_blocks", "info", "load_blocks"),
    *("make_replay", "migrate", "new_schema", "node", "report", "restore", "schemas", "soak"),
    "verify",
)


@click.group(
    "cdb",
    cls=LazyGroup,
    lazy={name: name for name in COMMANDS},
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
