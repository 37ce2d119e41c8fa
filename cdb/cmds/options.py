"""Arguments and options that several commands share."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

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


class PathType(click.Path):
    """Paths, none of them empty: that would be the current directory."""

    def __init__(self, **options: Any) -> None:
        super().__init__(path_type=Path, **options)

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Path:
        """As click.Path does. An empty one is mostly a shell's variable without a value."""
        if not os.fspath(value):
            self.fail("the path is empty; name one, or . for the current directory", param, ctx)
        return cast(Path, super().convert(value, param, ctx))


schema_argument = click.argument("schema", type=SchemaType())
db_option = click.option(
    "--db",
    type=PathType(),
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
        type=PathType(exists=True, file_okay=False),
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
