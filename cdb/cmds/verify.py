"""verify: find what is damaged in a database, mend what can be, and compare two databases."""

from contextlib import suppress
from pathlib import Path

import click

from cdb.cmds.apart import apart
from cdb.cmds.bar import step_bar
from cdb.cmds.echo import echo, echo_line
from cdb.cmds.options import PathType, SchemaType, database_path, db_option, schema_argument
from cdb.cmds.runner import EXIT_REPAIRABLE, fail, run
from cdb.cmds.table import table
from cdb.damage import Damage
from cdb.errors import CdbError, CorruptDatabaseError, DatabaseLockedError, InvariantError
from cdb.plain import printable
from cdb.schemas import SchemaInfo
from cdb.state import StateSummary, compare
from cdb.state import verify as verify_state

SHOWN_DAMAGES = 20


@click.command("verify")
@schema_argument
@db_option
@click.option(
    "--repair",
    is_flag=True,
    help="Rebuild damaged indexes and other derived files from the coins and blocks, which are "
    "never touched. Nothing is changed while any damage that was found is beyond repair.",
)
@click.option("--against", type=SchemaType(), metavar="SCHEMA2", help="A second database's schema.")
@click.option("--db2", type=PathType(), metavar="PATH2", help="The second database.")
def verify(
    schema: SchemaInfo,
    db: Path | None,
    repair: bool,
    against: SchemaInfo | None,
    db2: Path | None,
) -> int:
    """Check a database of SCHEMA, say what is damaged, and print its state digest if nothing is.

    First the files, also of a database that can't be opened: each damage is a line that names the
    file and says what can be done. Then all that they hold: each block is read, each coin looked
    up, each spend held against the coin that it spends. Without --repair not a byte changes.

    With --against a second database is checked too, and the first block is named in which they
    differ. Databases that hold the same coins have the same digest, whatever their schemas.

    \b
    Exits with
      0  all is well, perhaps after --repair
      1  damage that --repair can't mend, databases that differ, or another error
      3  damage, and --repair mends all of it
    """
    if db2 is not None and against is None:
        raise click.UsageError("--db2 needs --against, the schema of that database")
    if repair and against is not None:
        raise click.UsageError("--repair mends one database: leave out --against")
    path = database_path(schema, db)
    if against is None:
        return apart(path, lambda: _verify(schema, path, repair))
    path2 = database_path(against, db2)
    return apart(path, lambda: _verify_both(schema, path, against, path2))


def _verify_both(schema: SchemaInfo, path: Path, against: SchemaInfo, path2: Path) -> int:
    code = _verify(schema, path, repair=False) or _verify(against, path2, repair=False)
    if not code:
        _compare(schema, path, against, path2)
    return code


def _verify(schema: SchemaInfo, path: Path, repair: bool) -> int:
    schema.check_keeps_contract()
    damages = _check_files(schema, path, repair)
    if repair and damages and _are_repairable(damages) and schema.repair is not None:
        with step_bar(f"{path}: repair") as progress:
            schema.repair(path, damages, progress)
        for damage in damages:
            echo_line(f"repaired  {damage.path}")
        damages = _check_files(schema, path, repair)
    if not damages:
        state = _check_state(schema, path)
        if isinstance(state, StateSummary):
            echo(_report(schema, path, state))
            return 0
        damages = [state]
        _show(damages)
    return _explain(schema, path, damages)


def _check_files(schema: SchemaInfo, path: Path, repair: bool) -> list[Damage]:
    """Print and return all damage to the files, as far as the schema can tell."""
    if schema.check is None:
        return []
    damages: list[Damage] = []
    try:
        with step_bar(f"{path}: files") as progress:
            damages.extend(schema.check(path, progress))
    except CorruptDatabaseError as error:
        damages.append(Damage.of(error))
    except DatabaseLockedError:
        if repair:
            raise
        echo_line(f"note: {path} is being written to: verified as any reader sees it", err=True)
    _show(damages)
    return damages


def _show(damages: list[Damage]) -> None:
    for damage in damages[:SHOWN_DAMAGES]:
        echo_line(f"damaged  {damage}")
    if len(damages) > SHOWN_DAMAGES:
        echo(f"damaged  … {len(damages) - SHOWN_DAMAGES} more places")


def _check_state(schema: SchemaInfo, path: Path) -> StateSummary | Damage:
    try:
        with schema.open(path, read_only=True) as database, step_bar(str(path)) as progress:
            return verify_state(database, progress)
    except CorruptDatabaseError as error:
        return Damage.of(error)
    except InvariantError as error:
        return Damage(path, str(error))


def _explain(schema: SchemaInfo, path: Path, damages: list[Damage]) -> int:
    """Say what can be done; the exit code."""
    if _are_repairable(damages):
        fail(f"{path}: damaged; --repair mends all of it")
        return EXIT_REPAIRABLE
    blocks, newest = _readable(schema, path)
    readable = "no block can be read"
    if newest is not None:
        readable = f"{blocks:,} blocks up to {newest} can be read, and dump_blocks writes them"
    return fail(f"{path}: damaged beyond repair; {readable}; load it anew")


def _are_repairable(damages: list[Damage]) -> bool:
    return all(damage.repairable_from is not None for damage in damages)


def _readable(schema: SchemaInfo, path: Path) -> tuple[int, int | None]:
    """How many blocks can be read before the first damage, and the newest of them."""
    blocks, newest = 0, None
    with (
        suppress(CdbError),
        schema.open(path, read_only=True) as database,
        step_bar(f"{path}: what can be read") as progress,
    ):
        for block in database.blocks():
            blocks, newest = blocks + 1, block.index
            progress(len(block.confirms))
    return blocks, newest


def _compare(schema: SchemaInfo, path: Path, against: SchemaInfo, path2: Path) -> None:
    with (
        schema.open(path, read_only=True) as one,
        against.open(path2, read_only=True) as other,
        step_bar("compare") as progress,
    ):
        compare(one, other, progress)
    echo_line(f"{path} and {path2} hold the same blocks and coins")


def _report(schema: SchemaInfo, path: Path, summary: StateSummary) -> str:
    return table(
        [
            ["database", printable(f"{path} ({schema.name})")],
            ["blocks", f"{summary.blocks:,}"],
            ["coins", f"{summary.coins:,}"],
            ["spends", f"{summary.spends:,}"],
            ["newest block", str(summary.newest_index)],
            ["digest", summary.digest],
        ],
        left=frozenset({0, 1}),
    )


if __name__ == "__main__":
    run(verify)
