"""Arguments and options that several commands share."""

from pathlib import Path

import click
from click.shell_completion import CompletionItem

from cdb.schemas import SchemaInfo, find_schema, schema_names


class SchemaType(click.ParamType[SchemaInfo]):
    """A schema by name, module or module:ATTRIBUTE; completes names."""

    name = "schema"

    def convert(
        self, value: str | SchemaInfo, param: click.Parameter | None, ctx: click.Context | None
    ) -> SchemaInfo:
        """Find the schema. An unknown one is an UnknownSchemaError, with the names like it."""
        return value if isinstance(value, SchemaInfo) else find_schema(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The schema names that begin so."""
        return [CompletionItem(name) for name in schema_names() if name.startswith(incomplete)]


schema_argument = click.argument("schema", type=SchemaType())
db_option = click.option(
    "--db",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="The database.  [default: SCHEMA.cdb in the current directory; for blockchain_v2 "
    "blockchain_v2_mainnet.sqlite]",
)
max_blocks_option = click.option(
    "--max-blocks",
    type=click.IntRange(min=0),
    metavar="N",
    help="Only the blocks with an index below N: the first N heights.",
)


def database_path(schema: SchemaInfo, path: Path | None) -> Path:
    """Where the command's database is."""
    return Path(schema.default_path) if path is None else path
