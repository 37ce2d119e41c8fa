"""schemas: what there is, and what is missing and why."""

import click

from cdb.cmds.echo import echo, echo_json
from cdb.cmds.options import json_option
from cdb.cmds.runner import run
from cdb.cmds.table import table
from cdb.contract.printable import shell_word
from cdb.errors import UnknownSchemaError
from cdb.schemas import find_schema, schema_names
from cdb.schemas.registry import layout_names, unusable_entry_points

NONE = "-"
_FIELDS = ("name", "state", "indexed", "history", "description")


@click.command("schemas")
@json_option
def schemas(*, as_json: bool) -> None:
    """List the schemas: cdb's own and those of installed packages (entry points cdb.schemas).

    Each line has the schema's name; whether it is ready; what to type for databases that find coins
    by puzzle hash, parent and block, too (cdb coins), or - where there are none; by what it orders
    coins as of a height, or - where it keeps no history; what it is. With --json they are a list of
    objects.

    \b
    Examples:
      cdb schemas
      cdb schemas --json | jq -r '.[] | select(.state == "ready") | .name'
    """
    rows = [_row(name) for name in (*schema_names(), *layout_names())]
    for name, problem in unusable_entry_points().items():
        rows.append([shell_word(name), "broken", NONE, NONE, problem])
    if as_json:
        objects = [dict(zip(_FIELDS, row, strict=True)) for row in rows]
        known = ("indexed", "history")
        echo_json([each | {name: _known(each[name]) for name in known} for each in objects])
    else:
        echo(table(rows, left=frozenset(range(len(_FIELDS)))))


def _known(cell: str) -> str | None:
    return None if cell == NONE else cell


def _row(name: str) -> list[str]:
    try:
        schema = find_schema(name)
    except UnknownSchemaError as error:
        return [name, "broken", NONE, NONE, str(error)]
    offers = [schema.indexed or NONE, schema.spec.history or NONE]
    if schema.missing is not None:
        return [name, "missing", *offers, schema.missing]
    return [name, "ready" if schema.spec.keeps_contract else "meter", *offers, schema.description]


if __name__ == "__main__":
    run(schemas)
