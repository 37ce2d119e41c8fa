"""info: what is at a path."""

from dataclasses import replace
from typing import Any

import click

from cdb.cmds.echo import echo, echo_json
from cdb.cmds.naming import named
from cdb.cmds.options import database_arguments, json_option, quiet_option
from cdb.cmds.runner import fail, run
from cdb.cmds.table import table
from cdb.contents.at_path import DatabaseInfo, database_info
from cdb.contract.location import Location
from cdb.contract.printable import printable
from cdb.report.units import size
from cdb.schemas import SchemaInfo

UNKNOWN = "not known"


@click.command("info")
@database_arguments
@json_option
@quiet_option
def info(schema: SchemaInfo, location: Location, *, as_json: bool) -> int:
    """Show what is at PATH: whose database, how far it has come, and what its bytes are.

    SCHEMA is needed only where a database's files don't name it. The command reads as little as
    opening takes, changes nothing and creates nothing; another process may write meanwhile. What
    would need a full scan is shown as "not known": 'cdb verify PATH' counts coins. Sizes are those
    of the files.

    \b
    Exits with
      0  the database can be opened
      1  it can't: the last line says why, on standard error

    \b
    Examples:
      cdb info my.cdb
      cdb info ~/.chia/mainnet/db/blockchain_v2_mainnet.sqlite
      cdb info my.cdb --json | jq .newest_index
    """
    found = database_info(location, schema)
    if found.problem is not None:
        found = replace(found, problem=named(found.problem, schema, location))
    if as_json:
        echo_json(_object(found))
    else:
        echo(table(_rows(found), left=frozenset({0, 1})))
    return 0 if found.problem is None else fail(found.problem)


def _object(found: DatabaseInfo) -> dict[str, Any]:
    format = found.format
    return {
        "path": str(found.location),
        "schema": found.schema.name,
        "format_version": None if format is None else format.version,
        "format_extra": None if format is None else format.extra or None,
        "durabilities": [level.value for level in found.schema.spec.durabilities],
        "newest_index": found.newest_index,
        "coins": found.facts.coins,
        "has_secondary_keys": found.has_keys,
        "is_settled": found.facts.is_settled,
        "size_bytes": found.size_bytes,
        "files": {
            kind: {"count": files.count, "size_bytes": files.size_bytes}
            for kind, files in found.files.items()
        },
        "versions": found.versions,
        "problem": found.problem,
    }


def _rows(found: DatabaseInfo) -> list[list[str]]:
    levels = [level.value for level in found.schema.spec.durabilities]
    others = f"; {' or '.join(levels[1:])} if asked for" if levels[1:] else ""
    newest = "none" if found.newest_index is None else str(found.newest_index)
    coins = found.facts.coins
    return [
        ["database", printable(str(found.location))],
        ["schema", found.schema.name],
        ["format", _format(found)],
        ["a flush survives", f"{_SURVIVES[levels[0]]}{others}"],
        ["newest block", newest if found.problem is None else UNKNOWN],
        ["coins", UNKNOWN if coins is None else f"{coins:,}"],
        ["secondary keys", _yes_or_no(found.has_keys)],
        ["settled", _yes_or_no(found.facts.is_settled)],
        ["size", size(found.size_bytes)],
        *(
            ["", f"{_files_text(kind, files.count)}: {size(files.size_bytes)}"]
            for kind, files in found.files.items()
        ),
        ["made of", ", ".join(found.versions) or "cdb alone"],
    ]


_SURVIVES = {"power": "power loss", "process": "the death of the process", "none": "nothing"}


def _format(found: DatabaseInfo) -> str:
    if found.format is None:
        return UNKNOWN
    extra = f", {found.format.extra}" if found.format.extra else ""
    return f"version {found.format.version}{extra}"


def _files_text(kind: str, count: int) -> str:
    return printable(kind) if count == 1 else f"{printable(kind)} ({count:,} files)"


def _yes_or_no(answer: bool | None) -> str:
    return UNKNOWN if answer is None else "yes" if answer else "no"


if __name__ == "__main__":
    run(info)
