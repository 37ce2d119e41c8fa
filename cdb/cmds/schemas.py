"""schemas: what there is, and what is missing and why."""

import click

from cdb.cmds.echo import echo
from cdb.cmds.runner import run
from cdb.cmds.table import table
from cdb.errors import UnknownSchemaError
from cdb.schemas import find_schema, schema_names


@click.command("schemas")
def schemas() -> None:
    """List the schemas: cdb's own and those of installed packages (entry points cdb.schemas)."""
    echo(table([_row(name) for name in schema_names()], left=frozenset({0, 1, 2})))


def _row(name: str) -> list[str]:
    try:
        schema = find_schema(name)
    except UnknownSchemaError as error:
        return [name, "broken", str(error)]
    if schema.missing is not None:
        return [name, "missing", schema.missing]
    return [name, "ready" if schema.keeps_contract else "meter", schema.description]


if __name__ == "__main__":
    run(schemas)
