"""What is at a path: which schema's database, how far it has come, and what its bytes are."""

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from cdb.contract.facts import Facts
from cdb.contract.location import Location, Url, location_of
from cdb.contract.printable import shell_word
from cdb.disk.home import FORMAT_FILE, LOCK_FILE, Format, format_at
from cdb.disk.paths import located
from cdb.errors import CdbError, UnknownSchemaError, WrongDatabaseError, storage_errors
from cdb.process.meter import database_files
from cdb.schemas import SchemaInfo, find_schema, known_schema, offer_of, schema_names

_numbers = re.compile("[0-9]{3,}")


@dataclass(slots=True)
class FileKind:
    """Files whose names differ in nothing but numbers: how many, and the bytes of all."""

    count: int = 0
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class DatabaseInfo:
    """What is known of a database without reading all of it.

    schema: what find_schema() found; of its durabilities the first is the default.
    format: None where its files don't say. files: by kind, such as "log" or "derived/run-*".
    versions: the libraries beneath it. newest_index: None without a block.
    has_keys: whether it finds coins by puzzle hash, parent and block, too.
    problem: why it can't be opened, and then nothing is known that opening tells; or None.
    """

    location: Location
    schema: SchemaInfo
    format: Format | None
    files: dict[str, FileKind]
    versions: list[str]
    newest_index: int | None = None
    facts: Facts = Facts()  # noqa: RUF009 - it never changes
    has_keys: bool | None = None
    problem: str | None = None

    @property
    def size_bytes(self) -> int | None:
        """Of all its files; None where it has none of its own, at a URL."""
        if isinstance(self.location, Url):
            return None
        return sum(kind.size_bytes for kind in self.files.values())


def database_info(
    path: str | PathLike[str] | Url, schema: SchemaInfo | None = None
) -> DatabaseInfo:
    """Look at a database, also beside its writer. Nothing is created, and no byte changes.

    schema: whose it is; by default what schema_at() finds, and raises. Raises StorageError where
    its files can't be looked at. What else is wrong with it is its `problem`.
    """
    place = _place(path)
    schema = schema_at(place) if schema is None else schema
    info = DatabaseInfo(place, schema, None, {}, [])
    if isinstance(place, Path):
        info = replace(info, files=_files(place))
    try:
        if isinstance(place, Path):
            info = replace(info, format=_format(place, schema))
        info = replace(info, versions=schema.versions())
        with schema.open(place, read_only=True) as database:
            offer = offer_of(database)
            return replace(
                info,
                newest_index=database.last_block_index,
                facts=Facts() if offer.tells_facts is None else offer.tells_facts.facts(),
                has_keys=offer.indexed is not None,
            )
    except CdbError as error:
        return replace(info, problem=str(error))


def _place(path: str | PathLike[str] | Url) -> Location:
    if isinstance(path, Url):
        return path
    location = location_of(path)
    return location if isinstance(location, Url) else located(path, read_only=True)


def schema_at(path: str | PathLike[str] | Url) -> SchemaInfo:
    """The schema whose database is at a path, by its FORMAT or by a file's head.

    It is one of cdb's own or of an installed package: no module is imported because a file names
    it. Raises DatabaseNotFoundError, WrongDatabaseError where nobody knows what is there, as of any
    URL, or CorruptDatabaseError for a damaged FORMAT.
    """
    place = _place(path)
    if isinstance(place, Url):
        raise WrongDatabaseError(str(place), "a URL names no schema; name it before the URL")
    with storage_errors(place):
        is_directory = place.is_dir()
    if is_directory:
        return _by_format(place)
    for name in schema_names():
        with suppress(UnknownSchemaError):  # somebody's, and broken
            schema = find_schema(name)
            if schema.spec.format_of is not None and schema.spec.format_of(place) is not None:
                return schema
    raise WrongDatabaseError(place, "no schema knows this file; name the schema before the path")


def _by_format(place: Path) -> SchemaInfo:
    found = format_at(place)
    if found is None:
        if not (place / LOCK_FILE).exists():
            raise WrongDatabaseError(place, "this directory holds no cdb database")
        problem = f"its {FORMAT_FILE} is missing, which says whose database this is"
        command = f"cdb verify SCHEMA --db {shell_word(place)} --repair"
        advice = f"'{command}', with its schema's name, makes it again"
        raise WrongDatabaseError(place, problem, advice)
    try:
        schema = known_schema(found.schema)
    except UnknownSchemaError as error:
        problem = f"this is a database of {found.schema}, which this cdb can't read: {error}"
        raise WrongDatabaseError(place, problem, "load its blocks again") from error
    if schema is None:
        problem = f"this is a database of {found.schema}, and no schema of that name is installed"
        raise WrongDatabaseError(place, f"{problem}; name its module before the path")
    return schema


def _format(place: Path, schema: SchemaInfo) -> Format | None:
    if place.is_dir():
        return format_at(place)
    return None if schema.spec.format_of is None else schema.spec.format_of(place)


def _files(place: Path) -> dict[str, FileKind]:
    """The files of a database by kind. A writer may remove one meanwhile."""
    kinds: dict[str, FileKind] = {}
    with storage_errors(place):
        is_directory = place.is_dir()
        for file in sorted(database_files(place)):
            with suppress(FileNotFoundError):
                size_bytes = file.stat().st_size
                name = file.name
                if is_directory:
                    name = _numbers.sub("*", file.relative_to(place).as_posix())
                kind = kinds.setdefault(name, FileKind())
                kind.count += 1
                kind.size_bytes += size_bytes
    return kinds
