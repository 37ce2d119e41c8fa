"""schemas: what there is, and what is missing and why."""

import click

from cdb.cmds.echo import echo
from cdb.cmds.runner import run
from cdb.cmds.table import table
from cdb.errors import UnknownSchemaError
from cdb.schemas import find_schema, schema_names

NO_KEYS = "-"


@click.command("schemas")
def schemas() -> None:
    """List the schemas: cdb's own and those of installed packages (entry points cdb.schemas).

    Each line has the schema's name; whether it is ready; what to type for databases that find coins
    by puzzle hash, parent and block, too (cdb coins), or - where there are none; what it is.
    """
    echo(table([_row(name) for name in schema_names()], left=frozenset({0, 1, 2, 3})))


def _row(name: str) -> list[str]:
    try:
        schema = find_schema(name)
    except UnknownSchemaError as error:
        return [name, "broken", NO_KEYS, str(error)]
    keys = schema.indexed or NO_KEYS
    if schema.missing is not None:
        return [name, "missing", keys, schema.missing]
    return [name, "ready" if schema.keeps_contract else "meter", keys, schema.description]


if __name__ == "__main__":
    run(schemas)
