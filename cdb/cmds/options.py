"""Arguments and options that several commands share."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from math import isnan
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

import click
from click.shell_completion import CompletionItem

from cdb.cmds.echo import be_quiet
from cdb.cmds.naming import database_named
from cdb.contract.location import Location, Url, location_of
from cdb.disk.files import SQLITE_MAGIC
from cdb.disk.paths import first_bytes
from cdb.errors import WrongDatabaseError, storage_errors
from cdb.schemas import SchemaInfo, find_schema, schema_names
from cdb.schemas.registry import OWN_SCHEMAS, layout_names

F = TypeVar("F", bound=Callable[..., Any])


def find_asked_schema(spec: str) -> SchemaInfo:
    """What find_schema() finds by a word of the command line, also in the current directory."""
    return find_schema(spec, folder=None if sys.flags.safe_path else Path.cwd())


class SchemaType(click.ParamType[SchemaInfo]):
    """A schema by name, module or module:ATTRIBUTE; completes names."""

    name = "schema"

    def convert(
        self, value: str | SchemaInfo, param: click.Parameter | None, ctx: click.Context | None
    ) -> SchemaInfo:
        """Find the schema. An unknown one is an UnknownSchemaError, with the names like it."""
        return value if isinstance(value, SchemaInfo) else find_asked_schema(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The schema names that begin so."""
        names = (*schema_names(), *layout_names())
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


class PathType(click.Path):
    """Paths, none of them empty: that would be the current directory; and no URLs."""

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
        if isinstance(location := location_of(value), Url):
            self.fail(f"{location} is a URL, and what is wanted is a path; name one", param, ctx)
        return cast(Path, super().convert(value, param, ctx))


class RereadType(PathType):
    """Files that are read more than once: no pipe, and nothing else that can't be."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Path:
        """As PathType does."""
        path = super().convert(value, param, ctx)
        if not path.is_file():
            self.fail(f"{path} is no regular file; it is read twice, so copy it to one", param, ctx)
        return path


class TimeType(click.FloatRange):
    """How long, in any unit: a number above 0."""

    def __init__(self) -> None:
        super().__init__(min=0, max=100_000, min_open=True)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """As click.FloatRange does, which takes nan for a number in any range."""
        number: float = super().convert(value, param, ctx)
        if isnan(number):
            self.fail(f"{value} is no number", param, ctx)
        return number


class NodeFileType(PathType):
    """Paths of a node's database: what is there is an SQLite file, or nothing yet."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Path:
        """As PathType does. Raises WrongDatabaseError for any other file."""
        path = super().convert(value, param, ctx)
        if path.is_file():
            with storage_errors(path):
                head = first_bytes(path.resolve(), len(SQLITE_MAGIC))
            if head not in (b"", SQLITE_MAGIC):
                name = "such as blockchain_v2_mainnet.sqlite"
                raise WrongDatabaseError(path, f"this is no SQLite file; name a node's, {name}")
        return path


class LocationType(click.ParamType[Location]):
    """Where a database is: a path as PathType takes it, or a URL."""

    name = "path"

    def convert(
        self, value: str | Location, param: click.Parameter | None, ctx: click.Context | None
    ) -> Location:
        """Parse it."""
        if isinstance(location := location_of(value), Url):
            return location
        return PathType().convert(cast(str | Path, value), param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Paths."""
        return PathType().shell_complete(ctx, param, incomplete)


class _SchemaOrPath(click.ParamType[str]):
    """What database_arguments takes; completes names of schemas, and paths."""

    name = "schema or path"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Schemas for the first word, and paths."""
        names = (
            [] if ctx.params.get(_WORDS) else SchemaType().shell_complete(ctx, param, incomplete)
        )
        return [*names, CompletionItem(incomplete, type="file")]


_WORDS = "words"
_ENDS_OF_PATHS = (".cdb", ".sqlite")
_LOCATION = LocationType()


def database_arguments(command: F) -> F:
    """Gives a command `schema` and `location`, by [SCHEMA] [PATH] or --db PATH.

    PATH alone names the schema of the database there; SCHEMA alone is at its default path.
    """

    @click.argument(_WORDS, metavar="[SCHEMA] [PATH]", nargs=-1, type=_SchemaOrPath())
    @db_option
    @wraps(command)
    def with_database(*, words: tuple[str, ...], db: Location | None, **others: Any) -> Any:
        schema, location = _database(words, db)
        with database_named(schema, location):
            return command(schema=schema, location=location, **others)

    return cast(F, with_database)


def _database(words: Sequence[str], db: Location | None) -> tuple[SchemaInfo, Location]:
    spec, location = None, db
    words = list(words)
    if words and (len(words) > 1 or db is not None or not _is_path(words[0])):
        spec = words.pop(0)
    if words and db is None:
        location = _LOCATION.convert(words.pop(0), None, click.get_current_context())
    if words:
        raise click.UsageError(f"Got unexpected extra argument ({words[0]})")
    if spec is not None:
        schema = find_asked_schema(spec)
        return schema, schema.location(location)
    if location is None:
        raise click.UsageError("Missing argument 'SCHEMA', or the PATH of a database")
    from cdb.contents.at_path import schema_at  # not in each command that is given a schema

    schema = schema_at(location)
    return schema, location


def _is_path(word: str) -> bool:
    """Whether a word alone is the path of a database, and not a schema."""
    if word in (*schema_names(), *OWN_SCHEMAS, *layout_names()) or word.endswith(".py"):
        return False
    if any(Path(f"{word}{end}").exists() for end in (".py", "/__init__.py")):
        return False
    return os.sep in word or word.endswith(_ENDS_OF_PATHS) or os.path.lexists(word)


db_option = click.option(
    "--db",
    type=_LOCATION,
    metavar="PATH",
    help="The database: a path, or a URL where the schema takes that.  "
    "[default: SCHEMA.cdb in the current directory; for blockchain_v2 "
    "blockchain_v2_mainnet.sqlite]",
)
input_option = click.option(
    "--input",
    "input_path",
    type=PathType(dir_okay=False),
    metavar="FILE",
    help="Read the replay from this file.  [default: standard input]",
)


@contextmanager
def open_replay(path: Path | None) -> Iterator[BinaryIO]:
    """The replay that input_option names, unbuffered: a thread that still reads it at the end of
    the command would keep a buffer's lock. Standard input stays open."""
    if path is not None:
        with path.open("rb", buffering=0) as stream:
            yield stream
    elif sys.stdin is None or sys.stdin.isatty():
        raise click.UsageError("pipe a replay into this command, or name one with --input")
    else:
        with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as stream:
            yield stream


output_option = click.option(
    "--output",
    "output_path",
    type=PathType(dir_okay=False),
    metavar="FILE",
    help="Write the replay to this file, which takes its name when it is whole.  "
    "[default: standard output]",
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one object of JSON to standard output."
)
quiet_option = click.option(
    "--quiet",
    "-q",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=lambda ctx, param, quiet: be_quiet(ctx) if quiet else None,
    help="Print only what was asked for, and errors: no progress, no notes.",
)


class _Heights(click.Option):
    """--heights, which replay commands of old call --max-blocks."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """As click has it, and the old name."""
        super().add_to_parser(parser, ctx)
        parser.add_option(obj=self, opts=["--max-blocks"], dest=self.name, action="store", nargs=1)


def heights_option(what: str, least: int = 0, most: int | None = None) -> Callable[[F], F]:
    """--heights; what it does, for its help, and which numbers it takes."""
    return click.option(
        "--heights",
        cls=_Heights,
        type=click.IntRange(least, most),
        metavar="N",
        help=what,
    )


first_heights_option = heights_option(
    "Take only the first N heights: the blocks with an index below N."
)


def directory_option(what: str) -> Callable[[F], F]:
    """--dir, as `parent`; what is put there, for its help."""
    return click.option(
        "--dir",
        "parent",
        type=PathType(exists=True, file_okay=False),
        metavar="DIR",
        default=Path(),
        help=f"{what} temporarily: choose the disk that is of interest.  "
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
