"""verify: find what is damaged in a database, mend what can be, and compare two databases."""

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from cdb.cmds.bar import step_bar
from cdb.cmds.echo import echo, echo_json, echo_line, note_line
from cdb.cmds.in_child import in_child
from cdb.cmds.naming import database_named
from cdb.cmds.options import (
    LocationType,
    SchemaType,
    database_arguments,
    json_option,
    quiet_option,
)
from cdb.cmds.readable import ReadableBlocks
from cdb.cmds.runner import EXIT_REPAIRABLE, fail, run
from cdb.cmds.table import table
from cdb.contents.state import StateSummary, compare
from cdb.contents.state import verify as verify_state
from cdb.contract.location import Location, Url
from cdb.contract.printable import printable, shell_word
from cdb.disk.damage import Damage
from cdb.errors import CdbError, CorruptDatabaseError, DatabaseLockedError, InvariantError
from cdb.node.status import help_with_log
from cdb.schemas import SchemaInfo, offer_of

SHOWN_DAMAGES = 20
_LEFT = "it could be rebuilt, and is left as it is beside damage beyond repair"


@click.command("verify")
@database_arguments
@click.option(
    "--repair",
    is_flag=True,
    help="Rebuild damaged indexes and other derived files from the coins and blocks, which are "
    "never touched. Nothing is changed while any damage that was found is beyond repair.",
)
@click.option("--against", type=SchemaType(), metavar="SCHEMA2", help="A second database's schema.")
@click.option("--db2", type=LocationType(), metavar="PATH2", help="The second database.")
@json_option
@quiet_option
def verify(
    schema: SchemaInfo,
    location: Location,
    *,
    repair: bool,
    against: SchemaInfo | None,
    db2: Location | None,
    as_json: bool,
) -> int:
    """Check a database, say what is damaged, and print its state digest if nothing is.

    PATH alone is enough where a database's files name its schema.

    The command checks the files first, also of a database that can't be opened: each damage is a
    line that names the file and says what can be done. Then it checks all that they hold: it reads
    each block, looks each coin up, and holds each spend against the coin that it spends. Without
    --repair not a byte changes.

    With --against the command checks a second database, too, and names the first block in which the
    two differ. Databases that hold the same coins have the same digest, whatever their schemas.

    \b
    Exits with
      0  all is well, perhaps after --repair
      1  damage that --repair can't mend, databases that differ, or another error
      3  damage, and --repair mends all of it

    \b
    Examples:
      cdb verify my.cdb
      cdb verify coin_log --db my.cdb --repair
      cdb verify rocks --against blockchain_v2 --db2 blockchain_v2_mainnet.sqlite
    """
    if db2 is not None and against is None:
        raise click.UsageError("--db2 needs --against, the schema of that database")
    if repair and against is not None:
        raise click.UsageError("--repair mends one database: leave out --against")
    told = _Json() if as_json else _Lines()
    if against is None:
        return in_child(location, lambda: told.end(_verify(schema, location, told, repair=repair)))
    location2 = against.location(db2)
    return in_child(
        location, lambda: told.end(_verify_both(schema, location, against, location2, told))
    )


class _Lines:
    """Tells what comes of it as lines, as it comes."""

    def damaged(self, damages: list[Damage]) -> None:
        """That was found."""
        can_mend = _are_repairable(damages)
        for damage in damages[:SHOWN_DAMAGES]:
            is_left = damage.repairable_from is not None and not can_mend
            told = f"{damage.path}: {damage.problem}; {_LEFT}" if is_left else damage
            echo_line(f"damaged  {told}")
        if len(damages) > SHOWN_DAMAGES:
            echo(f"damaged  … {len(damages) - SHOWN_DAMAGES} more places")

    def repaired(self, damages: list[Damage]) -> None:
        """That was mended."""
        for damage in damages:
            echo_line(f"repaired  {damage.path}")

    def sound(self, schema: SchemaInfo, location: Location, summary: StateSummary) -> None:
        """Nothing is damaged."""
        rows = [
            ["database", printable(f"{location} ({schema.name})")],
            ["blocks", f"{summary.blocks:,}"],
            ["coins", f"{summary.coins:,}"],
            ["spends", f"{summary.spends:,}"],
            ["newest block", "none" if summary.newest_index is None else str(summary.newest_index)],
            ["digest", summary.digest],
        ]
        echo(table(rows, left=frozenset({0, 1})))

    def same(self, location: Location, location2: Location) -> None:
        """Both hold the same."""
        echo_line(f"{location} and {location2} hold the same blocks and coins")

    def end(self, code: int) -> int:
        """All is told; the exit code."""
        return code


class _Json(_Lines):
    """Tells it as one object, at the end."""

    def __init__(self) -> None:
        self._told: dict[str, Any] = {
            "databases": [],
            "damaged": [],
            "repaired": [],
            "are_the_same": None,
        }

    def damaged(self, damages: list[Damage]) -> None:
        """See _Lines."""
        self._told["damaged"] += [
            {
                "path": str(damage.path),
                "problem": damage.problem,
                "is_repairable": damage.repairable_from is not None,
            }
            for damage in damages
        ]

    def repaired(self, damages: list[Damage]) -> None:
        """See _Lines."""
        self._told["repaired"] += [str(damage.path) for damage in damages]

    def sound(self, schema: SchemaInfo, location: Location, summary: StateSummary) -> None:
        """See _Lines."""
        found = {"path": str(location), "schema": schema.name, **asdict(summary)}
        self._told["databases"].append(found)

    def same(self, location: Location, location2: Location) -> None:
        """See _Lines."""
        self._told["are_the_same"] = True

    def end(self, code: int) -> int:
        """See _Lines."""
        echo_json(self._told)
        return code


def _verify_both(
    schema: SchemaInfo, location: Location, against: SchemaInfo, location2: Location, told: _Lines
) -> int:
    code = _verify(schema, location, told)
    with database_named(against, location2):
        code = code or _verify(against, location2, told)
    if not code:
        _compare(schema, location, against, location2)
        told.same(location, location2)
    return code


def _verify(schema: SchemaInfo, location: Location, told: _Lines, *, repair: bool = False) -> int:
    schema.check_keeps_contract()
    damages = _check_files(schema, location, told, repair=repair)
    can_mend = schema.spec.repair is not None and _are_repairable(damages)
    if repair and can_mend and isinstance(location, Path):
        with step_bar(f"{location}: repair") as progress:
            schema.repair(location, damages, progress)
        told.repaired(damages)
        damages = _check_files(schema, location, told, repair=repair)
    if not damages:
        state = _check_state(schema, location)
        if isinstance(state, StateSummary):
            told.sound(schema, location, state)
            return 0
        damages = [state]
        told.damaged(damages)
    return _explain(schema, location, damages)


def _check_files(
    schema: SchemaInfo, location: Location, told: _Lines, *, repair: bool
) -> list[Damage]:
    """Tell and return all damage to the files, as far as the schema can tell."""
    if schema.spec.check is None or isinstance(location, Url):
        return []
    damages: list[Damage] = []
    try:
        with step_bar(f"{location}: files") as progress:
            damages.extend(schema.check(location, progress))
    except CorruptDatabaseError as error:
        damages.append(Damage.of(error))
    except DatabaseLockedError:
        if repair:
            raise
        note_line(f"note: {location} is being written to: verified as any reader sees it")
    told.damaged(damages)
    return damages


def _check_state(schema: SchemaInfo, location: Location) -> StateSummary | Damage:
    try:
        with schema.open(location, read_only=True) as database:
            tells = offer_of(database).tells_facts
            coins = None if tells is None else tells.facts().coins
            with step_bar(str(location), coins) as progress:
                return verify_state(database, progress)
    except (CorruptDatabaseError, InvariantError) as error:
        if isinstance(location, Url):
            raise
        if isinstance(error, InvariantError):  # it names no file
            return Damage(location, str(error))
        return Damage.of(error)


def _explain(schema: SchemaInfo, location: Location, damages: list[Damage]) -> int:
    """Say what can be done; the exit code."""
    if _are_repairable(damages):
        fail(f"{location}: damaged; --repair mends all of it")
        return EXIT_REPAIRABLE
    told = _readable(schema, location)
    helps = help_with_log(location) if isinstance(location, Path) else None
    return fail(f"{location}: damaged beyond repair; {told}; {helps or 'load a new database'}")


def _are_repairable(damages: list[Damage]) -> bool:
    return bool(damages) and all(each.repairable_from is not None for each in damages)


def _readable(schema: SchemaInfo, location: Location) -> str:
    """What can be read before the first damage, and what to type for it."""
    none = "no block can be read"
    with ExitStack() as opened:
        try:
            database = opened.enter_context(schema.open(location, read_only=True))
        except CdbError:
            return none
        progress = opened.enter_context(step_bar(f"{location}: what can be read"))
        blocks = ReadableBlocks(database)
        for block in blocks:
            progress(len(block.confirms))
    if not blocks.n_blocks:
        return none
    command = f"cdb dump_blocks {schema.name} --db {shell_word(str(location))} --output FILE"
    return f"{blocks} can be read, and '{command}' writes them"


def _compare(
    schema: SchemaInfo, location: Location, against: SchemaInfo, location2: Location
) -> None:
    with (
        schema.open(location, read_only=True) as one,
        against.open(location2, read_only=True) as other,
        step_bar("compare") as progress,
    ):
        compare(one, other, progress)


if __name__ == "__main__":
    run(verify)
