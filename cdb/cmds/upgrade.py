"""upgrade: make a database of an earlier format one that this cdb reads."""

from pathlib import Path

import click

from cdb.cmds.bar import step_bar
from cdb.cmds.echo import echo_line
from cdb.cmds.options import database_path, db_option, schema_argument
from cdb.cmds.runner import run
from cdb.schemas import SchemaInfo
from cdb.upgrade import Plan
from cdb.upgrade import upgrade as upgrade_database


@click.command("upgrade")
@schema_argument
@db_option
@click.option(
    "--remove-old",
    is_flag=True,
    help="Remove the old database once the new one has taken its place.",
)
def upgrade(schema: SchemaInfo, db: Path | None, remove_old: bool) -> None:
    """Make a database of SCHEMA that an earlier cdb wrote one that this cdb reads.

    A new database, PATH.upgrade, is made beside the old one from its blocks, which are only read.
    Then it is verified: it has the same blocks, byte for byte, and each look-up agrees with them,
    so that the state digest is the same. Only then the two change names, in one step.

    The old database stays as PATH.format1, or of whichever format it is: remove it when you are
    content. With --remove-old it is removed at the end.

    It takes as much free space as the database has, and an eighth more; what is needed and what is
    free is said first. Nobody may have the database open for writing meanwhile.

    Ctrl-C, kill -9 and a power cut leave a whole database at PATH, the old or the new one. The
    same command clears up and goes on. Upgrading twice does nothing.

    \b
    Examples:
      cdb upgrade coin_log --db my.cdb
      cdb upgrade coin_log --db my.cdb --remove-old
    """
    done = upgrade_database(
        schema, database_path(schema, db), keep_old=not remove_old, tell=_tell, bar=step_bar
    )
    if done.summary is None:
        echo_line(f"{done.path} is of the newest format")
    else:
        echo_line(f"{done.path} is upgraded: {done.summary.coins:,} coins")
        echo_line(f"digest {done.summary.digest}")
    if done.kept is not None:
        echo_line(f"the old database is {done.kept}: remove it when you need it no more")


def _tell(plan: Plan) -> None:
    needed, free = (f"{n / 1e6:,.0f} MB" for n in (plan.needed_bytes, plan.free_bytes))
    echo_line(f"{plan.path} is of format {plan.version}; needed: {needed}, free: {free}", err=True)


if __name__ == "__main__":
    run(upgrade)
