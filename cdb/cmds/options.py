"""Arguments and options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from cdb.schemas import SchemaInfo, find_schema, schema_names

F = TypeVar("F", bound=Callable[..., Any])


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


def directory_option(what: str) -> Callable[[F], F]:
    """--dir, as `parent`; what is put there, for its help."""
    return click.option(
        "--dir",
        "parent",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        metavar="DIR",
        default=Path(),
        help=f"{what} for the time being: on the disk that is of interest.  "
        "[default: the current directory]",
    )


def flush_every_option(coins: int, what: str) -> Callable[[F], F]:
    """--flush-every, as `flush_coins`; how many by default, and what it does, for its help."""
    return click.option(
        "--flush-every",
        "flush_coins",
        type=click.IntRange(min=1),
        metavar="COINS",
        default=coins,
        show_default=True,
        help=what,
    )


def database_path(schema: SchemaInfo, path: Path | None) -> Path:
    """Where the command's database is."""
    return Path(schema.default_path) if path is None else path
