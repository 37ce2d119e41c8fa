"""Finds schemas by name, lazily: nothing is imported before it is asked for.

A schema is one module with a constant SCHEMA: a SchemaSpec (cdb.contract.spec), or just a class
or a function that opens a database. It is found

- by name: ``rocks`` (cdb's own, or an entry point of the group ``cdb.schemas``);
- by module: ``cdb.schemas.rocks``, ``my_package.my_schema``;
- by module and attribute: ``my_package.my_schema:MySchema``, where the module's SCHEMA says the
  rest; ``rocks:SMALL`` and ``coin_log:INDEXED`` are what SCHEMA has as small and indexed. The
  attribute REPLAY of older replay commands means SCHEMA.

Options may follow, where a module has some: ``interval@rocksdb,cache_mb=256``.
"""

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from os import PathLike
from pathlib import Path
from pkgutil import iter_modules
from types import BuiltinFunctionType, BuiltinMethodType, ModuleType
from typing import TYPE_CHECKING, cast

from cdb.contract.durability import Durability
from cdb.contract.location import Location, Url, location_of
from cdb.contract.printable import plain
from cdb.contract.progress import Progress
from cdb.contract.schema import (
    HISTORY_METHODS,
    HistorySchema,
    Schema,
    SchemaFactory,
    offer_of,
)
from cdb.contract.spec import SchemaSpec
from cdb.disk.damage import Damage
from cdb.engines import ENGINES
from cdb.errors import CdbError, MissingEngineError, UnknownSchemaError, UnsupportedError
from cdb.stores.coin_set.layouts import LAYOUTS
from cdb.stores.coin_set.tuning import TUNING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINT_GROUP = "cdb.schemas"
_is_name = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*").fullmatch
_NO_SCHEMAS = {"protocol", "registry", "spec"}
OWN_SCHEMAS = tuple(
    sorted({each.name for each in iter_modules([str(Path(__file__).parent)])} - _NO_SCHEMAS)
)
"""The modules beside this one."""

BY_ENGINE = {f"interval@{name}": engine.schema for name, engine in ENGINES.items()}
"""Coin sets over ordered keys, as LAYOUT@ENGINE, and the modules that are theirs."""
_NAMES = {module: name for name, module in BY_ENGINE.items()}


def layout_names() -> list[str]:
    """Coin sets over ordered keys by other layouts than interval, as LAYOUT@ENGINE."""
    names = (f"{layout}@{engine}" for layout in LAYOUTS for engine in ENGINES)
    return [name for name in names if name not in BY_ENGINE]


@dataclass(frozen=True)
class SchemaInfo:
    """A schema that was found.

    spec: what its module says; of its options those that were given are in its factory. missing:
    what spec.missing() said. small, indexed: the names by which spec.small and spec.indexed are
    found.
    """

    name: str
    spec: SchemaSpec
    description: str
    default_path: str
    missing: str | None = None
    small: str | None = None
    indexed: str | None = None

    def open(
        self,
        path: str | PathLike[str] | Url | None = None,
        *,
        durability: Durability | None = None,
        read_only: bool = False,
        progress: Progress | None = None,
    ) -> Schema:
        """Open or create a database; by default at default_path, with the strongest durability.

        path: or a URL, where the schema takes that. progress: is told of the coins that opening has
        to go over, where the schema tells it. Raises MissingEngineError, UnsupportedError or a
        DatabaseError.
        """
        location = self.location(path)
        if self.missing is not None:
            raise MissingEngineError(f"schema {self.name}: {self.missing}")
        levels = self.spec.durabilities
        level = levels[0] if durability is None else durability
        if level not in levels:
            offered = ", ".join(each.value for each in levels)
            problem = f"has no durability '{level.value}'; it offers {offered}"
            raise UnsupportedError(f"schema {self.name} {problem}")
        options = {"durability": level, "read_only": read_only}
        if progress is not None:
            options["progress"] = progress
        taken = {key: value for key, value in options.items() if takes(self.spec.factory, key)}
        where: str | PathLike[str]
        if isinstance(location, Url):
            where = location.text
        else:
            where = str(location) if path is None else cast("str | PathLike[str]", path)
        refused = _refused_call(self.spec.factory, where, taken)
        if refused is not None:
            raise UnsupportedError(f"schema {self.name}: {refused}")
        try:
            opened = self.spec.factory(where, **taken)  # type: ignore[arg-type]
        except SystemExit as error:
            problem = f"schema {self.name}: its factory ends the process"
            raise UnsupportedError(problem) from error
        for method in ("accept_block", "__enter__", "__exit__"):
            if not callable(getattr(opened, method, None)):
                problem = f"its factory gives {type(opened).__name__}, which has no {method}()"
                raise UnsupportedError(f"schema {self.name}: {problem}")
        return opened

    def versions(self) -> list[str]:
        """What spec.versions() says. Raises UnsupportedError where it fails: it is anybody's."""
        if self.spec.versions is None:
            return []
        with self._told("versions"):
            said = self.spec.versions()
            if not isinstance(said, list) or not all(isinstance(each, str) for each in said):
                raise TypeError("it gives no list of texts")
            return [plain(each) for each in said]

    def check(self, path: Path, progress: Progress) -> Iterator[Damage]:
        """What spec.check() finds; nothing where there is none. Raises what it may, and
        UnsupportedError where it fails otherwise."""
        if self.spec.check is not None:
            with self._told("check"):
                for damage in self.spec.check(path, progress):
                    if not isinstance(damage, Damage):
                        raise TypeError(f"it gives {type(damage).__name__}, which is no Damage")
                    yield damage

    def repair(self, path: Path, damages: Sequence[Damage], progress: Progress) -> None:
        """What spec.repair() does; nothing where there is none. Raises as check() does."""
        if self.spec.repair is not None:
            with self._told("repair"):
                self.spec.repair(path, damages, progress)

    @contextmanager
    def _told(self, function: str) -> Iterator[None]:
        try:
            yield
        except (CdbError, OSError, MemoryError):
            raise
        except (Exception, SystemExit) as error:
            problem = f"its {function}() fails: {_reason(error)}"
            raise UnsupportedError(f"schema {self.name}: {problem}") from error

    def location(self, given: str | PathLike[str] | Url | None = None) -> Location:
        """Where a database is: what was given, or the default.

        Raises UnsupportedError for a URL where the schema takes a path, and the other way round.
        """
        if given is None and not self.default_path:
            raise UnsupportedError(f"schema {self.name} is at no place of its own; name a URL")
        location = location_of(self.default_path if given is None else given)
        if isinstance(location, Url) and not self.spec.takes_url:
            problem = f"keeps a database at a path, and {location} is a URL; name a path"
            raise UnsupportedError(f"schema {self.name} {problem}")
        if isinstance(location, Path) and self.spec.takes_url:
            problem = f"keeps a database at a URL, and {location} is a path; name a URL"
            raise UnsupportedError(f"schema {self.name} {problem}")
        return location

    def check_keeps_contract(self) -> None:
        """Raise UnsupportedError for a schema that stores nothing."""
        if not self.spec.keeps_contract:
            raise UnsupportedError(f"schema {self.name} keeps nothing that could be read")


def schema_names() -> list[str]:
    """The names of cdb's own schemas, and of those that installed packages register."""
    return [*(_NAMES.get(module, module) for module in OWN_SCHEMAS), *_registered()[0]]


def names_at_paths(names: Iterable[str] | None = None) -> list[str]:
    """Those of these schemas, or of schema_names(), whose databases are at paths, not at URLs."""
    return [
        name
        for name in (schema_names() if names is None else names)
        if not find_schema(name).spec.takes_url
    ]


def unusable_entry_points() -> dict[str, str]:
    """Names that installed packages register and nobody can use, and why."""
    return _registered()[1]


def _problem_of(entry: "EntryPoint") -> str | None:
    """Why nobody can use an entry point; None where one can."""
    if not _is_name(entry.name):
        return "an entry point's name is of letters, digits, _, - and ., and begins with neither"
    if entry.name in (*OWN_SCHEMAS, *BY_ENGINE):
        return f"{entry.value} is not used: cdb has a schema of this name"
    if entry.name in (*LAYOUTS, *ENGINES):
        return f"{entry.value} is not used: it is a part of schemas' names (LAYOUT@ENGINE)"
    if not entry.pattern.match(entry.value):
        return "its entry point names no MODULE or MODULE:ATTRIBUTE"
    return None


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
        module_name = module_name.removeprefix("cdb.schemas.")  # as of those that have a module
        if module_name in layout_names() or _has_layout_options(module_name, options):
            in_layout = module_name
        module_name = _module_by_engine(module_name)
    elif module_name not in OWN_SCHEMAS:
        usable, problems = _registered()
        if module_name in problems:
            raise UnknownSchemaError(f"schema {plain(module_name)}: {problems[module_name]}")
        if module_name in usable:
            schema = _registered_schema(usable[module_name], attribute, folder)
            return _with_options(schema, options)
    if module_name in OWN_SCHEMAS:
        module_name = f"cdb.schemas.{module_name}"
    module = _import(module_name, spec, folder)
    own_name, own = _own_name(module), _declared(module, "SCHEMA")
    if in_layout is not None and own is not None and own.in_layout is not None:
        given = {name: value for name, _, value in (each.partition("=") for each in options)}
        own_name, own = in_layout, own.in_layout(own, in_layout, given)
    return _with_options(_schema_in(module, own_name, own, attribute), options)


def _own_name(module: ModuleType) -> str:
    return module.__name__.removeprefix("cdb.schemas.")


def _schema_in(
    module: ModuleType, own_name: str, own: SchemaSpec | None, attribute: str
) -> SchemaInfo:
    """own: what the module's SCHEMA says."""
    if attribute in ("", "REPLAY"):
        attribute = "SCHEMA"
    said = own if attribute == "SCHEMA" else _by_attribute(module, own, attribute)
    if said is None:
        problem = f"has no class or function {attribute} that opens a database"
        raise UnknownSchemaError(f"module {module.__name__} {problem}")
    return _described(own_name, said, own)


def _has_layout_options(name: str, options: Sequence[str]) -> bool:
    layout = LAYOUTS.get(name.partition("@")[0])
    given = {option.partition("=")[0] for option in options}
    return (
        name in BY_ENGINE
        and layout is not None
        and not given.isdisjoint({*layout.options, *TUNING})
    )


def _module_by_engine(name: str) -> str:
    layout, _, engine = name.partition("@")
    layouts = sorted(LAYOUTS)
    if layout not in layouts:
        raise UnknownSchemaError(f"no layout '{layout}'; there is {', '.join(layouts)}")
    if engine in ENGINES:
        return ENGINES[engine].schema
    raise UnknownSchemaError(f"no engine '{engine}' for {layout}; there is {', '.join(ENGINES)}")


def _with_options(schema: SchemaInfo, options: Sequence[str]) -> SchemaInfo:
    """The same with ``NAME=VALUE`` each, which its name says, too."""
    known = schema.spec.options
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
    opened: Callable[..., Schema] = schema.spec.factory
    factory = cast(SchemaFactory, partial(opened, **values))
    name = ",".join([schema.name, *sorted(options)])
    indexed = None if schema.indexed is None else ",".join([schema.indexed, *sorted(options)])
    spec = replace(schema.spec, factory=factory)
    return replace(schema, name=name, indexed=indexed, spec=spec)


def _registered() -> tuple[dict[str, "EntryPoint"], dict[str, str]]:
    """The entry points that can be used, by name; and why there is none, by other names."""
    from importlib.metadata import entry_points  # takes a sixth of what a short command does

    found: dict[str, dict[str, EntryPoint]] = {}
    problems: dict[str, str] = {}
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        problem = _problem_of(entry)
        if problem is None:
            found.setdefault(entry.name, {})[entry.value] = entry
        else:
            problems[entry.name] = problem
    for name, by_value in found.items():
        problems.pop(name, None)
        if len(by_value) > 1:
            values = " and as ".join(sorted(by_value))
            problems[name] = f"packages register it as {values}; uninstall all but one of them"
    usable = {
        name: next(iter(by_value.values()))
        for name, by_value in found.items()
        if name not in problems
    }
    return usable, problems


def _registered_schema(entry: "EntryPoint", attribute: str, folder: Path | None) -> SchemaInfo:
    """The schema of an entry point, or another attribute of its module.

    Raises UnknownSchemaError, which says what was registered, also where it opens no database.
    """
    registered = f"{entry.name}, which is {entry.value}"
    try:
        module = _import(entry.module, registered, folder)
        own = _declared(module, "SCHEMA")
        schema = _schema_in(module, _own_name(module), own, attribute or entry.attr or "")
    except UnknownSchemaError as error:
        if registered in str(error):
            raise
        raise UnknownSchemaError(f"schema {registered}: {error}") from error
    problem = _no_factory(schema.spec.factory)
    if problem is not None:
        raise UnknownSchemaError(f"schema {registered}: it opens no database: {problem}")
    return schema


def _no_factory(factory: SchemaFactory) -> str | None:
    """Why a factory opens no database, as far as can be told without a call of it."""
    if isinstance(factory, BuiltinFunctionType | BuiltinMethodType):
        package = (factory.__module__ or "").partition(".")[0]
        if package in sys.stdlib_module_names:
            return "it is of Python's own library"
    return _refused_call(factory, "", {})


def _refused_call(
    factory: SchemaFactory, where: object, options: Mapping[str, object]
) -> str | None:
    """Why a factory can't be called with a path; None where it can, or nothing tells."""
    with suppress(ValueError):  # one that is built in may have no signature
        signature = inspect.signature(factory)
        try:
            signature.bind(where, **options)
        except TypeError as error:
            return f"its factory can't be called with a path: {error}"
    return None


def open_schema(
    spec: str,
    path: str | PathLike[str] | Url | None = None,
    *,
    durability: Durability | None = None,
    read_only: bool = False,
) -> Schema:
    """Open or create a database: find_schema(spec).open(path, …)."""
    return find_schema(spec).open(path, durability=durability, read_only=read_only)


def history_of(schema: Schema, name: str | None = None) -> HistorySchema:
    """An open schema as one that keeps history; see offer_of().

    name: of the schema, for messages. Raises UnsupportedError where it keeps none, and TypeError
    where it has some of the methods, but not all.
    """
    history = offer_of(schema).history
    if history is not None:
        return history
    name = name or type(schema).__name__
    missing = [each for each in HISTORY_METHODS if not callable(getattr(schema, each, None))]
    if len(missing) < len(HISTORY_METHODS):
        raise TypeError(f"schema {name} keeps half a history: it has no {', '.join(missing)}")
    keeping = ", ".join(each for each in schema_names() if _keeps_history(each))
    raise UnsupportedError(f"schema {name} keeps no history; {keeping} do")


def _keeps_history(name: str) -> bool:
    with suppress(UnknownSchemaError):
        return find_schema(name).spec.history is not None
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
    except (Exception, SystemExit) as error:
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


def _broken(module_name: str, error: BaseException) -> UnknownSchemaError:
    return UnknownSchemaError(f"{module_name} can't be imported: {_reason(error)}")


def _reason(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:  # its own __str__ fails
        text = ""
    return plain(f"{type(error).__name__}: {text}")


def _missing(said: SchemaSpec) -> str | None:
    try:
        told = None if said.missing is None else said.missing()
    except (Exception, SystemExit) as error:  # somebody's code, too
        return f"whether it can be used is not to be told: {_reason(error)}"

    if told is None or isinstance(told, str):
        return told
    return f"whether it can be used is not to be told: missing() gives {type(told).__name__}"


def _declared(module: ModuleType, attribute: str) -> SchemaSpec | None:
    """What an attribute says. All that opens a database is a schema that says nothing more."""
    try:
        found = getattr(module, attribute, None)
    except (Exception, SystemExit) as error:  # of its __getattr__
        raise _broken(module.__name__, error) from error
    said = (
        found if isinstance(found, SchemaSpec) else SchemaSpec(found) if callable(found) else None
    )
    if said is None or said.description:
        return said
    return replace(said, description=(inspect.getdoc(module) or "").partition("\n")[0])


def _by_attribute(module: ModuleType, own: SchemaSpec | None, attribute: str) -> SchemaSpec | None:
    """What a module's own SCHEMA says, of another factory."""
    found = _declared(module, attribute)
    if own is None or isinstance(getattr(module, attribute, None), SchemaSpec):
        return found
    twins = {"SMALL": own.small, "INDEXED": own.indexed}
    factory = twins.get(attribute) if found is None else found.factory
    return None if factory is None else replace(own, factory=factory)


def _described(own_name: str, said: SchemaSpec, own: SchemaSpec | None) -> SchemaInfo:
    name = own_name.rpartition(".")[2]
    has_all_keys = own is not None and own.indexed is own.factory
    indexed = own_name if has_all_keys else f"{own_name}:INDEXED"
    return SchemaInfo(
        name=_NAMES.get(own_name, name),
        spec=said,
        description=plain(said.description.partition("\n")[0]),
        default_path=said.default_path or ("" if said.takes_url else f"{name}.cdb"),
        missing=_missing(said),
        small=None if said.small is None else f"{own_name}:SMALL",
        indexed=None if said.indexed is None else indexed,
    )


def takes(factory: SchemaFactory, option: str) -> bool:
    """Whether a factory knows an option: somebody's first schema may take nothing but a path."""
    try:
        parameters = inspect.signature(factory).parameters.values()
    except ValueError:  # one that is built in may have no signature
        return False
    return any(each.name == option or each.kind is each.VAR_KEYWORD for each in parameters)
