"""upgrade: make a database of an earlier format one that this cdb reads."""

from pathlib import Path
from typing import Any

import click

from cdb.cmds.bar import step_bar
from cdb.cmds.echo import echo_json, echo_line, note_line
from cdb.cmds.options import database_arguments, json_option, quiet_option
from cdb.cmds.runner import run
from cdb.schemas import SchemaInfo
from cdb.upgrade import Plan, Upgraded
from cdb.upgrade import upgrade as upgrade_database


@click.command("upgrade")
@database_arguments
@click.option(
    "--remove-old",
    is_flag=True,
    help="Remove the old database once the new one has taken its place.",
)
@json_option
@quiet_option
def upgrade(schema: SchemaInfo, path: Path, *, remove_old: bool, as_json: bool) -> None:
    """Make a database that an earlier cdb wrote one that this cdb reads.

    PATH alone is enough: its FORMAT names the schema. The command reads the old database's blocks
    and makes a new one of them beside it, PATH.upgrade. Then it verifies that one: it has the same
    blocks, byte for byte, and each look-up agrees with them, so that the state digest is the same.
    Only then the two change names, in one step.

    The old database stays as PATH.format1, or of whichever format it is: remove it when you are
    content. With --remove-old it is removed at the end.

    It needs as much free space as the database takes, and an eighth more, and says first what it
    needs and what is free. Nobody may have the database open for writing meanwhile.

    Ctrl-C, kill -9 and a power cut leave a whole database at PATH, the old or the new one. The
    same command clears up and goes on. Upgrading twice does nothing.

    \b
    Examples:
      cdb upgrade my.cdb
      cdb upgrade coin_log --db my.cdb --remove-old
    """
    done = upgrade_database(schema, path, keep_old=not remove_old, tell=_tell, bar=step_bar)
    if as_json:
        echo_json(_object(done))
        return
    if done.summary is None:
        echo_line(f"{done.path} is of the newest format")
    else:
        echo_line(f"{done.path} is upgraded: {done.summary.coins:,} coins")
        echo_line(f"digest {done.summary.digest}")
    if done.kept is not None:
        echo_line(f"the old database is {done.kept}: remove it when you need it no more")


def _object(done: Upgraded) -> dict[str, Any]:
    return {
        "path": str(done.path),
        "was_upgraded": done.summary is not None,
        "coins": None if done.summary is None else done.summary.coins,
        "digest": None if done.summary is None else done.summary.digest,
        "kept": None if done.kept is None else str(done.kept),
    }


def _tell(plan: Plan) -> None:
    needed, free = (f"{n / 1e6:,.0f} MB" for n in (plan.needed_bytes, plan.free_bytes))
    note_line(f"{plan.path} is of format {plan.version}; needed: {needed}, free: {free}")


if __name__ == "__main__":
    run(upgrade)
