"""Finds schemas by name, lazily: nothing is imported before it is asked for.

A schema is one module with a constant SCHEMA: a class or a function that opens a database. It is
found

- by name: ``rocks`` (cdb's own, or an entry point of the group ``cdb.schemas``);
- by module: ``cdb.schemas.rocks``, ``my_package.my_schema``;
- by module and attribute: ``my_package.my_schema:MySchema``. The attribute REPLAY of older replay
  commands means SCHEMA.

Options may follow, where a module has some: ``interval@rocksdb,cache_mb=256``.

A module may also have

- DEFAULT_PATH (str): where its database is when nobody says; ``NAME.cdb`` otherwise;
- DURABILITIES (tuple of Durability, the strongest first): all levels otherwise;
- SMALL: what SCHEMA is, with sizes so small that short tests reach what lies behind them;
- INDEXED: what SCHEMA is, and a database that it makes offers IndexedSchema; SCHEMA itself, where
  each of its databases does;
- HISTORY (str): its databases offer HistorySchema, and state_at() and unspent() give coins in the
  order of this: "creation" or "name";
- OPTIONS: by name, what reads the value of an option (a ValueError says what is wrong with it); it
  goes to the factory by that name;
- KEEPS_CONTRACT = False: it measures something, and stores nothing;
- missing() -> str | None: why it can't be used on this machine, and what to do; None when it can;
- versions() -> list[str]: the libraries beneath it, such as "RocksDB 7.8.3";
- format_of(path) -> Format | None: see FormatOf in cdb.schemas.protocol; only where a database is
  no directory with a FORMAT file;
- check(path, progress) and repair(path, damages, progress): see Check and Repair in
  cdb.schemas.protocol;
- LIMITS (tuple of cdb.limits.Limit): what its engine can't do, however it is used; faults and
  soaks try it all the same, and report it as known when it fails so.

In these three the database is called db: ``db/index/run-1``, or ``db`` and ``db-wal`` of one file.

- NOT_DURABLE (tuple of patterns, as of fnmatch): its files whose contents count for nothing, such
  as a lock that the engine maps or a log for people; power cuts may do with them what they like;
- CHECKSUMMED (a regular expression of whole names): its files in which verify finds any change;
- MANY (int): how many coins tests make where they make masses, and names where they ask for many;
  fewer than they would by themselves, where each takes long.
"""

import importlib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from os import PathLike
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING, cast

from cdb.coin_set.layouts import LAYOUTS
from cdb.durability import Durability
from cdb.errors import MissingEngineError, UnknownSchemaError, UnsupportedError
from cdb.limits import Limit
from cdb.progress import Progress
from cdb.schemas.protocol import (
    Check,
    FormatOf,
    HistorySchema,
    Repair,
    Schema,
    SchemaFactory,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

ENTRY_POINT_GROUP = "cdb.schemas"
_NO_SCHEMAS = {"protocol", "registry"}
OWN_SCHEMAS = tuple(
    sorted({each.name for each in iter_modules([str(Path(__file__).parent)])} - _NO_SCHEMAS)
)
"""The modules beside this one."""

BY_ENGINE = {
    "interval@rocksdb": "rocks_kv",
    "interval@lmdb": "lmdb_kv",
}
"""Coin sets over ordered keys, as LAYOUT@ENGINE, and the modules that are theirs."""
_NAMES = {module: name for name, module in BY_ENGINE.items()}


def layout_names() -> list[str]:
    """Coin sets over ordered keys by other layouts than interval, as LAYOUT@ENGINE."""
    engines = [name.partition("@")[2] for name in BY_ENGINE]
    return [
        name
        for layout in LAYOUTS
        for engine in engines
        if (name := f"{layout}@{engine}") not in BY_ENGINE
    ]


ALL_DURABILITIES = (Durability.POWER, Durability.PROCESS, Durability.NONE)


@dataclass(frozen=True)
class SchemaInfo:
    """A schema that was found.

    durabilities: the levels it offers, the strongest first. small: the spec of its small twin.
    indexed: the spec of what makes databases with secondary keys. history: the order in which a
    database with history gives its coins. limits, not_durable, checksummed, many: what tests have
    to know of its engine; see above.
    """

    name: str
    factory: SchemaFactory
    description: str
    default_path: str
    durabilities: tuple[Durability, ...]
    keeps_contract: bool
    missing: str | None
    check: Check | None = None
    repair: Repair | None = None
    small: str | None = None
    indexed: str | None = None
    history: str | None = None
    limits: tuple[Limit, ...] = ()
    not_durable: tuple[str, ...] = ()
    checksummed: str = ""
    many: int | None = None
    versions: Callable[[], list[str]] | None = None
    format_of: FormatOf | None = None

    def open(
        self,
        path: str | PathLike[str] | None = None,
        *,
        durability: Durability | None = None,
        read_only: bool = False,
        progress: Progress | None = None,
    ) -> Schema:
        """Open or create a database; by default at default_path, with the strongest durability.

        progress: is told of the coins that opening has to go over, where the schema tells it.
        Raises MissingEngineError, UnsupportedError or a DatabaseError.
        """
        if self.missing is not None:
            raise MissingEngineError(f"schema {self.name}: {self.missing}")
        level = self.durabilities[0] if durability is None else durability
        if level not in self.durabilities:
            offered = ", ".join(each.value for each in self.durabilities)
            problem = f"has no durability '{level.value}'; it offers {offered}"
            raise UnsupportedError(f"schema {self.name} {problem}")
        options = {"durability": level, "read_only": read_only}
        if progress is not None:
            options["progress"] = progress
        taken = {key: value for key, value in options.items() if takes(self.factory, key)}
        return self.factory(self.default_path if path is None else path, **taken)  # type: ignore[arg-type]

    def check_keeps_contract(self) -> None:
        """Raise UnsupportedError for a schema that stores nothing."""
        if not self.keeps_contract:
            raise UnsupportedError(f"schema {self.name} keeps nothing that could be read")


def schema_names() -> list[str]:
    """The names of cdb's own schemas, and of those that installed packages register."""
    own = [_NAMES.get(module, module) for module in OWN_SCHEMAS]
    taken = {*own, *OWN_SCHEMAS}
    return own + [each.name for each in _registered() if each.name not in taken]


def known_schema(name: str) -> SchemaInfo | None:
    """The schema of this very name, of cdb's own or of an installed package; None where there is
    none. A name from a file comes here: no other module is imported for it."""
    known = {*schema_names(), *OWN_SCHEMAS, *layout_names()}
    return find_schema(name) if name.partition(",")[0] in known else None


def find_schema(spec: str, *, folder: Path | None = None) -> SchemaInfo:
    """The schema that a name, a module or ``module:ATTRIBUTE`` stands for, with its options.

    folder: where the module is looked for that is found nowhere else. Python imports from there, at
    last, from then on: a file in it takes no other module's place. The commands give the current
    directory, unless Python was told not to look there (-P, PYTHONSAFEPATH).

    Raises UnknownSchemaError, which lists names like it, or options that there are.
    """
    spec, *options = spec.split(",")
    module_name, _, attribute = spec.partition(":")
    in_layout = None
    if "@" in module_name:
        if module_name in layout_names() or _has_layout_options(module_name, options):
            in_layout = module_name
        module_name = _module_by_engine(module_name)
    if module_name in OWN_SCHEMAS:
        module_name = f"cdb.schemas.{module_name}"
    else:
        for entry in _registered().select(name=module_name):
            module_name, attribute = entry.module, attribute or entry.attr or ""
            spec = f"{spec}, which is {entry.value}"
    module = _import(module_name, spec, folder)
    if in_layout is not None:
        from cdb.coin_set.in_layout import schema_of  # what the module has imported by now

        given = {name: value for name, _, value in (each.partition("=") for each in options)}
        module = schema_of(in_layout, module, given)
    if attribute in ("", "REPLAY"):
        attribute = "SCHEMA"
    factory = getattr(module, attribute, None)
    if not callable(factory):
        problem = f"module {module_name} has no class or function {attribute} that opens a database"
        raise UnknownSchemaError(problem)
    return _with_options(_describe(module, factory), getattr(module, "OPTIONS", {}), options)


def _has_layout_options(name: str, options: Sequence[str]) -> bool:
    layout = LAYOUTS.get(name.partition("@")[0])
    given = {option.partition("=")[0] for option in options}
    return name in BY_ENGINE and layout is not None and not given.isdisjoint(layout.options)


def _module_by_engine(name: str) -> str:
    if name in BY_ENGINE:
        return BY_ENGINE[name]
    layout, _, engine = name.partition("@")
    layouts = sorted(LAYOUTS)
    if layout not in layouts:
        raise UnknownSchemaError(f"no layout '{layout}'; there is {', '.join(layouts)}")
    if layout != "interval" and f"interval@{engine}" in BY_ENGINE:
        return BY_ENGINE[f"interval@{engine}"]
    engines = [each.partition("@")[2] for each in BY_ENGINE]
    raise UnknownSchemaError(f"no engine '{engine}' for {layout}; there is {', '.join(engines)}")


def _with_options(
    schema: SchemaInfo, known: Mapping[str, Callable[[str], object]], options: Sequence[str]
) -> SchemaInfo:
    """The same with ``NAME=VALUE`` each, which its name says, too."""
    values: dict[str, object] = {}
    for option in options:
        name, equals, value = option.partition("=")
        problem = f"schema {schema.name} has no option '{name}'"
        if not known:
            raise UnknownSchemaError(f"{problem}, nor any other")
        if name not in known:
            raise UnknownSchemaError(f"{problem}; it has {', '.join(known)}")
        if not equals or name in values:
            problem = "is there twice" if name in values else f"has no value; write {name}=VALUE"
            raise UnknownSchemaError(f"option {name} of schema {schema.name} {problem}")
        try:
            values[name] = known[name](value)
        except ValueError as error:
            problem = f"option {name} of schema {schema.name}: {error}"
            raise UnknownSchemaError(problem) from error
    if not values:
        return schema
    factory: Callable[..., Schema] = schema.factory
    factory = cast(SchemaFactory, partial(factory, **values))
    name = ",".join([schema.name, *sorted(options)])
    indexed = None if schema.indexed is None else ",".join([schema.indexed, *sorted(options)])
    return replace(schema, name=name, indexed=indexed, factory=factory)


def _registered() -> "EntryPoints":
    from importlib.metadata import entry_points  # takes a sixth of what a short command does

    return entry_points(group=ENTRY_POINT_GROUP)


def open_schema(
    spec: str,
    path: str | PathLike[str] | None = None,
    *,
    durability: Durability | None = None,
    read_only: bool = False,
) -> Schema:
    """Open or create a database: find_schema(spec).open(path, …)."""
    return find_schema(spec).open(path, durability=durability, read_only=read_only)


HISTORY_METHODS = ("coin_infos_as_of", "state_at", "unspent", "versions")


def history_of(schema: Schema, name: str | None = None) -> HistorySchema:
    """An open schema as one that keeps history: the only way to that.

    name: of the schema, for messages. Raises UnsupportedError where it keeps none, and TypeError
    where it has some of the methods, but not all.
    """
    missing = [each for each in HISTORY_METHODS if not callable(getattr(schema, each, None))]
    if not missing:
        return cast(HistorySchema, schema)
    name = name or type(schema).__name__
    if len(missing) < len(HISTORY_METHODS):
        raise TypeError(f"schema {name} keeps half a history: it has no {', '.join(missing)}")
    keeping = ", ".join(each for each in schema_names() if _keeps_history(each))
    raise UnsupportedError(f"schema {name} keeps no history; {keeping} do")


def _keeps_history(name: str) -> bool:
    with suppress(UnknownSchemaError):
        return find_schema(name).history is not None
    return False


def _import(module_name: str, spec: str, folder: Path | None) -> ModuleType:
    if not all(part.isidentifier() for part in module_name.split(".")):
        raise _unknown(spec, folder)
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if not f"{module_name}.".startswith(f"{error.name}."):
            raise _broken(module_name, error) from error
        if folder is None or not _has_module(folder, module_name):
            raise _unknown(spec, folder) from error
    except Exception as error:
        # It is somebody's code, so it may fail in any way.
        raise _broken(module_name, error) from error
    sys.path.append(str(folder))
    importlib.invalidate_caches()
    return _import(module_name, spec, None)


def _has_module(folder: Path, module_name: str) -> bool:
    path = folder.joinpath(*module_name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def _unknown(spec: str, folder: Path | None) -> UnknownSchemaError:
    problem = f"no schema '{spec}'"
    package, _, wanted = spec.removesuffix(".py").partition(":")[0].rpartition(".")
    if spec.endswith(".py") or "/" in spec:
        name = Path(spec).name.removesuffix(".py")
        return UnknownSchemaError(f"{problem}; name its module, without path and .py: {name}")
    names = schema_names()
    known = {_plain_name(name): name for name in [*_NAMES, *names]}
    for module in _modules_in(folder, package):
        known[_plain_name(module.rpartition(".")[2])] = module
    near = [known[name] for name in get_close_matches(_plain_name(wanted), known)]
    near = [name for name in dict.fromkeys(near) if name != spec]
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(names)}"
    return UnknownSchemaError(f"{problem}; {hint}")


def _plain_name(name: str) -> str:
    """Rocks-KV and rocks_kv have the same."""
    return name.lower().replace("-", "_")


def _modules_in(folder: Path | None, package: str) -> list[str]:
    """The modules of a package that lies in the folder, or of the folder itself."""
    if folder is None:
        return []
    files = folder.joinpath(*package.split(".")).glob("*.py")
    names = [path.stem for path in files if path.stem.isidentifier()]
    return [f"{package}.{name}" if package else name for name in names]


def _broken(module_name: str, error: Exception) -> UnknownSchemaError:
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    return UnknownSchemaError(f"{module_name} can't be imported: {reason}")


def _describe(module: ModuleType, factory: SchemaFactory) -> SchemaInfo:
    name = module.__name__.rpartition(".")[2]
    own_name = module.__name__.removeprefix("cdb.schemas.")
    missing = getattr(module, "missing", None)
    indexed = getattr(module, "INDEXED", None)
    indexed_spec = own_name if indexed is module.__dict__.get("SCHEMA") else f"{own_name}:INDEXED"
    return SchemaInfo(
        name=_NAMES.get(own_name, name),
        factory=factory,
        description=(inspect.getdoc(module) or "").partition("\n")[0],
        default_path=getattr(module, "DEFAULT_PATH", f"{name}.cdb"),
        durabilities=getattr(module, "DURABILITIES", ALL_DURABILITIES),
        keeps_contract=getattr(module, "KEEPS_CONTRACT", True),
        missing=None if missing is None else missing(),
        check=getattr(module, "check", None),
        repair=getattr(module, "repair", None),
        small=f"{own_name}:SMALL" if hasattr(module, "SMALL") else None,
        indexed=None if indexed is None else indexed_spec,
        history=getattr(module, "HISTORY", None),
        limits=getattr(module, "LIMITS", ()),
        not_durable=getattr(module, "NOT_DURABLE", ()),
        checksummed=getattr(module, "CHECKSUMMED", ""),
        many=getattr(module, "MANY", None),
        versions=getattr(module, "versions", None),
        format_of=getattr(module, "format_of", None),
    )


def takes(factory: SchemaFactory, option: str) -> bool:
    """Whether a factory knows an option: somebody's first schema may take nothing but a path."""
    parameters = inspect.signature(factory).parameters.values()
    return any(each.name == option or each.kind is each.VAR_KEYWORD for each in parameters)
