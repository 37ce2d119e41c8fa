"""Schemas are found by name, module and attribute, and what can't be had says why."""

import importlib
import re
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cdb import open_schema
from cdb.contract.durability import Durability
from cdb.contract.packed import PackedBlocks
from cdb.contract.spec import ALL_DURABILITIES
from cdb.errors import (
    CdbError,
    MissingEngineError,
    SchemaError,
    UnknownSchemaError,
    UnsupportedError,
)
from cdb.schemas import SchemaInfo, SchemaSpec, find_schema, schema_names
from cdb.schemas.memory import MemorySchema
from cdb.schemas.null import NullSchema
from cdb.schemas.registry import OWN_SCHEMAS, known_schema, unusable_entry_points
from cdb.stores.node_table.opening import blockchain_v2
from cdb.testing.chains import block_at
from tests.conftest import PACKAGE_PARENT, contents
from tests.engines import OTHER

MakeModule = Callable[..., str]
MakeEntryPoint = Callable[..., None]


@pytest.fixture
def make_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeModule]:
    """Writes an importable module, and returns its name."""
    monkeypatch.syspath_prepend(tmp_path)
    known = set(sys.modules)

    def make(source: str, name: str = "") -> str:
        name = name or f"theirs_{uuid.uuid4().hex}"
        path = tmp_path.joinpath(*name.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
        return name

    yield make
    for name in set(sys.modules) - known:
        del sys.modules[name]


@pytest.fixture
def make_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeEntryPoint:
    """Registers an object as a schema, as an installed package does."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)

    def make(name: str, target: str, package: str = "") -> None:
        package = package or name
        info = site / f"{package}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
        (info / "entry_points.txt").write_text(f"[cdb.schemas]\n{name} = {target}\n")

    return make


THEIRS = '''"""Somebody's schema, in one line.

And more.
"""
from cdb.schemas.memory import MemorySchema

class Theirs(MemorySchema):
    """A class."""

SCHEMA = Theirs
NUMBER = 7
'''
READY = """
from cdb.schemas import SchemaSpec
SCHEMA = SchemaSpec(Theirs, missing=lambda: None)
"""


# By name, module and attribute


@pytest.mark.parametrize("name", schema_names())
def test_every_own_schema_is_found_and_described(name: str) -> None:
    found = find_schema(name)
    assert found.name == name
    assert found.description.endswith(".")
    assert "\n" not in found.description
    assert len(found.spec.durabilities) >= 1
    assert found.missing is None or ("\n" not in found.missing and "install" in found.missing)


@pytest.mark.parametrize("name", OWN_SCHEMAS)
@pytest.mark.parametrize("form", ["cdb.schemas.{}", "cdb.schemas.{}:REPLAY", "{}:REPLAY"])
def test_modules_and_replay_mean_the_same_as_the_name(name: str, form: str) -> None:
    assert find_schema(form.format(name)) == find_schema(name)


def test_default_paths() -> None:
    paths = {name: find_schema(name).default_path for name in OWN_SCHEMAS}
    assert paths.pop("cassandra") == ""
    assert paths.pop("blockchain_v2") == "blockchain_v2_mainnet.sqlite"
    assert paths == {name: f"{name}.cdb" for name in paths}


def test_a_module_and_an_attribute() -> None:
    assert find_schema("memory").spec.factory is MemorySchema
    assert find_schema("cdb.schemas.memory:MemorySchema") == find_schema("memory")
    assert find_schema("memory:SCHEMA") == find_schema("memory")
    assert find_schema("blockchain_v2").spec.factory is blockchain_v2
    node = find_schema("cdb.schemas.blockchain_v2:NODE")
    assert node.spec.factory is not blockchain_v2
    assert (node.name, node.missing) == ("blockchain_v2", None)


def test_anybodys_module(make_module: MakeModule, tmp_path: Path) -> None:
    module = make_module(THEIRS)
    found = find_schema(module)
    assert found.name == module
    assert found.description == "Somebody's schema, in one line."
    assert found.default_path == f"{module}.cdb"
    assert found.spec.durabilities == ALL_DURABILITIES
    assert found.spec.keeps_contract
    assert find_schema(f"{module}:Theirs") == found == find_schema(f"{module}:REPLAY")
    with found.open(tmp_path / "db") as schema:
        assert type(schema).__name__ == "Theirs"


def test_anybodys_module_says_more(make_module: MakeModule) -> None:
    more = (
        "from cdb.contract.durability import Durability\nfrom cdb.schemas import SchemaSpec\n"
        "SCHEMA = SchemaSpec(\n"
        "    Theirs, default_path='my.data', durabilities=(Durability.PROCESS,),\n"
        "    keeps_contract=False, missing=lambda: 'no engine; make one',\n)\n"
    )
    found = find_schema(make_module(THEIRS + more, "a_package.a_schema"))
    assert found.name == "a_schema"
    assert found.default_path == "my.data"
    assert found.spec.durabilities == (Durability.PROCESS,)
    assert not found.spec.keeps_contract
    assert found.missing == "no engine; make one"


def test_a_module_that_is_ready_has_nothing_missing(make_module: MakeModule) -> None:
    assert find_schema(make_module(THEIRS + READY)).missing is None


# By layout and engine


def test_a_layout_in_an_engine_may_have_two_names() -> None:
    found = find_schema("interval@rocksdb")
    assert found == find_schema("rocks_kv") == find_schema("interval@rocksdb:SCHEMA")
    assert found == find_schema("cdb.schemas.interval@rocksdb:REPLAY")
    assert found.name == "interval@rocksdb"
    assert [
        name for name in schema_names() if find_schema(name).spec.factory is found.spec.factory
    ] == ["interval@rocksdb"]


def test_options_go_to_the_factory_and_into_the_name(make_module: MakeModule) -> None:
    module = make_module(f"{THEIRS}\ndef SCHEMA(path, **options): return options\n")
    with pytest.raises(UnknownSchemaError, match="has no option 'a', nor any other"):
        find_schema(f"{module},a=1")
    module = make_module(
        f"{THEIRS}\nfrom cdb.schemas import SchemaSpec\n"
        "SCHEMA = SchemaSpec(dict, options={'a': int, 'b': str})\n"
    )
    found = find_schema(f"{module},b=x,a=7")
    assert found.name == f"{module},a=7,b=x"
    assert found.spec.factory(()) == {"a": 7, "b": "x"}  # type: ignore[arg-type, comparison-overlap]


def test_an_engine_takes_options(tmp_path: Path) -> None:
    if (problem := find_schema("interval@rocksdb").missing) is not None:
        pytest.skip(problem)
    with open_schema("interval@rocksdb,commit_entries=1,cache_mb=1", tmp_path / "db") as schema:
        schema.accept_block(block_at(1, timestamp=2))
    with open_schema("rocks_kv", tmp_path / "db", read_only=True) as schema:
        assert schema.last_block_index == 1


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("other@rocksdb", "no layout 'other'; there is dual_timeline, interval, "),
        ("interval@other", "no engine 'other' for interval; there is rocksdb"),
        ("interval@", "no engine '' for interval; there is rocksdb"),
        ("@rocksdb", "no layout ''; there is dual_timeline, interval, "),
        ("interval@rocksdb,", "schema interval@rocksdb has no option ''; it has cache_mb, "),
        ("rocks_kv,cash_mb=1", "schema interval@rocksdb has no option 'cash_mb'; it has cache_mb"),
        ("rocks_kv,cache_mb", "option cache_mb of schema interval@rocksdb has no value; write"),
        ("rocks_kv,cache_mb=1,cache_mb=1", "option cache_mb of schema interval@rocksdb is there"),
        ("rocks_kv,cache_mb=0", "option cache_mb of schema interval@rocksdb: '0' is no whole"),
        ("rocks_kv,cache_mb=1e3", "option cache_mb of schema interval@rocksdb: '1e3' is no whole"),
        ("memory,a=1", "schema memory has no option 'a', nor any other"),
    ],
)
def test_an_unknown_layout_engine_or_option(spec: str, problem: str) -> None:
    with pytest.raises(UnknownSchemaError) as caught:
        find_schema(spec)
    assert str(caught.value).startswith(problem)


# What isn't there


@pytest.mark.parametrize(
    ("spec", "near"),
    [
        ("rock", ["rocks"]),
        ("Rocks", ["rocks"]),
        ("sqlite", ["sqlite_v3", "sqlite_row"]),
        ("flatfile", ["flat_file"]),
        ("memroy", ["memory"]),
        ("rockskv", ["rocks_kv"]),
        ("interval", ["interval@"]),
        ("blockchain", ["blockchain_v2"]),
        ("cdb.schemas.rock", ["rocks"]),
        ("cdb.schemas.rock:REPLAY", ["rocks"]),
        ("elsewhere.rock", ["rocks"]),
    ],
)
def test_near_names_are_offered(spec: str, near: list[str]) -> None:
    with pytest.raises(UnknownSchemaError) as caught:
        find_schema(spec)
    head, _, hint = str(caught.value).partition("; ")
    assert head == f"no schema '{spec}'"
    assert hint.startswith("did you mean ")
    for name in near:
        assert name in hint


def test_all_names_are_offered_where_none_is_near() -> None:
    with pytest.raises(UnknownSchemaError) as caught:
        find_schema("xyzzy")
    assert str(caught.value) == f"no schema 'xyzzy'; there are {', '.join(schema_names())}"


@pytest.mark.parametrize(
    "spec",
    [
        "",
        ":",
        ":REPLAY",
        ".",
        ".rocks",
        "..rocks",
        "./rocks.py",
        "../x",
        "a/b",
        "/rocks",
        "x..y",
        "é",
    ],
)
def test_what_can_be_no_module_is_an_unknown_schema(spec: str) -> None:
    with pytest.raises(UnknownSchemaError):
        find_schema(spec)


@pytest.mark.parametrize("attribute", ["Nobody", "NUMBER", "REPLAY:SCHEMA"])
def test_an_attribute_that_opens_nothing(make_module: MakeModule, attribute: str) -> None:
    module = make_module(THEIRS)
    with pytest.raises(UnknownSchemaError, match=f"{module} has no .* {attribute} that opens"):
        find_schema(f"{module}:{attribute}")


def test_a_module_without_a_schema(make_module: MakeModule) -> None:
    module = make_module("'''Nothing.'''\n")
    with pytest.raises(UnknownSchemaError, match=f"{module} has no class or function SCHEMA"):
        find_schema(module)
    with pytest.raises(UnknownSchemaError, match="SCHEMA"):
        find_schema(f"{module}:REPLAY")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import not_installed_anywhere\n", "not_installed_anywhere"),
        ("from cdb.contract.coins import no_such_name\n", "no_such_name"),
        ("raise ImportError('needs a library')\n", "needs a library"),
        ("def broken(:\n", "line 1"),
        ("undefined_name\n", "undefined_name"),
        ("raise OSError('cannot load library x.so')\n", "x.so"),
        ("import sys\nsys.exit(3)\n", "SystemExit: 3"),
        ("def __getattr__(name):\n    raise ValueError('no')\n", "ValueError: no"),
    ],
)
def test_a_broken_module_says_what_is_broken(
    make_module: MakeModule, source: str, reason: str
) -> None:
    module = make_module(source)
    with pytest.raises(UnknownSchemaError) as caught:
        find_schema(module)
    assert module in str(caught.value)
    assert "can't be imported" in str(caught.value)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_package_that_lacks_the_module_is_not_called_broken(make_module: MakeModule) -> None:
    make_module("", "half_a_package.present")
    with pytest.raises(UnknownSchemaError, match=r"^no schema 'half_a_package\.absent'; "):
        find_schema("half_a_package.absent")


# Entry points


def test_an_entry_point_is_a_name(
    make_module: MakeModule, make_entry_point: MakeEntryPoint, tmp_path: Path
) -> None:
    module, own = make_module(THEIRS), schema_names()
    make_entry_point("theirs", f"{module}:Theirs")
    assert schema_names() == [*own, "theirs"]
    assert find_schema("theirs").spec.factory.__name__ == "Theirs"  # type: ignore[attr-defined]
    with open_schema("theirs", tmp_path / "db") as schema:
        assert isinstance(schema, MemorySchema)
    assert find_schema("theirs:SCHEMA").spec.factory is find_schema("theirs").spec.factory
    with pytest.raises(UnknownSchemaError, match="did you mean theirs"):
        find_schema("their")


def test_an_entry_point_may_name_only_the_module(
    make_module: MakeModule, make_entry_point: MakeEntryPoint
) -> None:
    module = make_module(THEIRS)
    make_entry_point("theirs", module)
    assert find_schema("theirs") == find_schema(module)


def test_an_entry_point_does_not_take_an_own_name(
    make_module: MakeModule, make_entry_point: MakeEntryPoint
) -> None:
    own = schema_names()
    make_entry_point("memory", f"{make_module(THEIRS)}:Theirs")
    make_entry_point("rocks_kv", f"{make_module(THEIRS)}:Theirs")
    assert schema_names() == own
    assert find_schema("memory").spec.factory is MemorySchema


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("a/b", "json", "an entry point's name"),
        ("a b", "json", "an entry point's name"),
        ("memory", "json", "cdb has a schema of this name"),
        (f"interval@{OTHER}", "json", "an entry point's name"),
        ("odd", "not a module", "names no MODULE"),
        ("-", "json", "an entry point's name"),
        ("..", "json", "an entry point's name"),
        ("--help", "json", "an entry point's name"),
        ("interval", "json", "a part of schemas' names"),
        (OTHER, "json", "a part of schemas' names"),
    ],
)
def test_an_entry_point_that_nobody_can_use_spoils_no_other(
    make_module: MakeModule, tmp_path: Path, name: str, value: str, problem: str
) -> None:
    info = tmp_path / "odd-1.dist-info"
    make_module("")  # its directory is on the path
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1\n")
    before = schema_names()
    (info / "entry_points.txt").write_text(f"[cdb.schemas]\n{name} = {value}\n")
    importlib.invalidate_caches()
    assert schema_names() == before
    assert problem in unusable_entry_points()[name]
    assert (known_schema(name) is None) == (name not in {"memory", f"interval@{OTHER}"})


def test_of_two_entry_points_of_a_name_the_one_that_can_be_used_counts(
    make_module: MakeModule, make_entry_point: MakeEntryPoint
) -> None:
    own = schema_names()
    make_entry_point("theirs", "not a module", "a")
    make_entry_point("theirs", f"{make_module(THEIRS)}:Theirs", "b")
    make_entry_point("theirs", "not a module", "c")
    assert schema_names() == [*own, "theirs"]
    assert "theirs" not in unusable_entry_points()
    assert find_schema("theirs").spec.factory.__name__ == "Theirs"  # type: ignore[attr-defined]


def test_a_name_that_two_packages_register_alike_is_there_once(
    make_module: MakeModule, make_entry_point: MakeEntryPoint
) -> None:
    own, module = schema_names(), make_module(THEIRS)
    make_entry_point("theirs", module, "a")
    make_entry_point("theirs", module, "b")
    assert schema_names() == [*own, "theirs"]
    assert find_schema("theirs") == find_schema(module)


def test_a_name_that_two_packages_register_otherwise_is_refused(
    make_module: MakeModule, make_entry_point: MakeEntryPoint
) -> None:
    own, module = schema_names(), make_module(THEIRS)
    make_entry_point("theirs", f"{module}:Theirs", "a")
    make_entry_point("theirs", "json:loads", "b")
    assert schema_names() == own
    problem = f"packages register it as json:loads and as {module}:Theirs; uninstall all but one"
    assert unusable_entry_points()["theirs"].startswith(problem)
    with pytest.raises(UnknownSchemaError, match=f"^schema theirs: {problem}"):
        find_schema("theirs")


def test_an_entry_point_may_be_named_as_its_module(
    make_module: MakeModule, make_entry_point: MakeEntryPoint
) -> None:
    module = make_module(THEIRS)
    make_entry_point(module, module)
    assert find_schema(module).description == "Somebody's schema, in one line."


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("os:system", "it opens no database: it is of Python's own library"),
        ("{}:none", "it opens no database: its factory can't be called with a path"),
        ("{}:absent", "has no class or function absent that opens a database"),
    ],
)
def test_an_entry_point_that_opens_no_database_is_told_by_its_name(
    make_module: MakeModule, make_entry_point: MakeEntryPoint, value: str, problem: str
) -> None:
    value = value.format(make_module("def none(): pass\n"))
    make_entry_point("theirs", value)
    with pytest.raises(
        UnknownSchemaError, match=f"^schema theirs, which is {value}: .*{re.escape(problem)}"
    ):
        find_schema("theirs")


@pytest.mark.parametrize(
    ("factory", "problem"),
    [
        ("lambda path: None", "gives NoneType"),
        ("lambda: None", "can't be called with a path"),
        ("lambda path: type('Half', (), {'accept_block': print})()", r"has no __enter__\(\)"),
        ("print", "gives NoneType"),
    ],
)
def test_a_factory_that_opens_nothing(
    make_module: MakeModule, tmp_path: Path, factory: str, problem: str
) -> None:
    module = make_module(f"SCHEMA = {factory}\n")
    with pytest.raises(UnsupportedError, match=problem):
        open_schema(module, tmp_path / "db")


def test_functions_of_a_spec_that_fail_are_told_in_one_line(
    make_module: MakeModule, tmp_path: Path
) -> None:
    source = """from cdb.building import SchemaSpec
SCHEMA = SchemaSpec(open, versions=lambda: 1 / 0, check=lambda path, progress: 1 / 0)
"""
    schema = find_schema(make_module(source))
    with pytest.raises(UnsupportedError, match=r"versions\(\) fails: ZeroDivisionError"):
        schema.versions()
    with pytest.raises(UnsupportedError, match=r"check\(\) fails: ZeroDivisionError"):
        list(schema.check(tmp_path, lambda done: None))


def test_a_broken_entry_point_says_so_and_spoils_no_other(
    make_module: MakeModule, make_entry_point: MakeEntryPoint
) -> None:
    make_entry_point("broken", make_module("import not_installed_anywhere\n"))
    assert "broken" in schema_names()
    assert find_schema("memory").spec.factory is MemorySchema
    with pytest.raises(UnknownSchemaError, match=r"can't be imported.*not_installed_anywhere"):
        find_schema("broken")


def test_an_entry_point_whose_module_is_gone_does_not_suggest_itself(
    make_entry_point: MakeEntryPoint,
) -> None:
    make_entry_point("gone", "not_installed_anywhere.schema")
    with pytest.raises(UnknownSchemaError) as caught:
        find_schema("gone")
    assert "not_installed_anywhere" in str(caught.value)
    assert "did you mean gone" not in str(caught.value)


# Opening


def factory_that_notes(calls: list[dict[str, object]]) -> Callable[..., NullSchema]:
    def open_it(
        path: Path, *, durability: Durability = Durability.POWER, read_only: bool = False
    ) -> NullSchema:
        calls.append({"path": path, "durability": durability, "read_only": read_only})
        return NullSchema(path)

    return open_it


def info(
    factory: Callable[..., NullSchema],
    durabilities: tuple[Durability, ...] = ALL_DURABILITIES,
    missing: str | None = None,
) -> SchemaInfo:
    spec = SchemaSpec(factory, durabilities=durabilities)
    return SchemaInfo("test", spec, "", "test.cdb", missing)


def test_options_reach_the_factory() -> None:
    calls: list[dict[str, object]] = []
    schema = info(factory_that_notes(calls))
    schema.open()
    schema.open("here", durability=Durability.NONE, read_only=True)
    assert calls == [
        {"path": "test.cdb", "durability": Durability.POWER, "read_only": False},
        {"path": "here", "durability": Durability.NONE, "read_only": True},
    ]


def test_the_default_durability_is_the_strongest_offered() -> None:
    calls: list[dict[str, object]] = []
    offered = (Durability.PROCESS, Durability.NONE)
    info(factory_that_notes(calls), durabilities=offered).open()
    assert calls[0]["durability"] == Durability.PROCESS


def test_a_durability_that_is_not_offered() -> None:
    calls: list[dict[str, object]] = []
    offered = (Durability.PROCESS, Durability.NONE)
    problem = "^schema test has no durability 'power'; it offers process, none$"
    with pytest.raises(UnsupportedError, match=problem):
        info(factory_that_notes(calls), durabilities=offered).open(durability=Durability.POWER)
    assert calls == []
    with pytest.raises(UnsupportedError, match="schema null has no durability 'power'"):
        open_schema("null", durability=Durability.POWER)


def test_a_missing_engine() -> None:
    calls: list[dict[str, object]] = []
    with pytest.raises(MissingEngineError, match=r"^schema test: no engine; install one$"):
        info(factory_that_notes(calls), missing="no engine; install one").open("x")
    assert calls == []


def test_a_factory_that_takes_only_a_path() -> None:
    paths: list[object] = []

    def simple(path: object) -> NullSchema:
        paths.append(path)
        return NullSchema()

    info(simple).open("one")
    info(simple).open("two", read_only=True)
    assert paths == ["one", "two"]


def test_a_factory_that_takes_anything() -> None:
    taken: dict[str, object] = {}

    def anything(path: object, **options: object) -> NullSchema:
        taken.update(options)
        return NullSchema()

    info(anything).open("x", read_only=True)
    assert taken == {"durability": Durability.POWER, "read_only": True}


def test_only_what_keeps_the_contract_can_be_read() -> None:
    find_schema("memory").check_keeps_contract()
    with pytest.raises(UnsupportedError, match="schema null keeps nothing"):
        find_schema("null").check_keeps_contract()


def test_null_takes_an_empty_pack() -> None:
    schema = NullSchema()
    schema.accept_packed(PackedBlocks.of([]))
    assert schema.last_block_index is None


def test_a_strangers_first_schema_loads_blocks(make_module: MakeModule, tmp_path: Path) -> None:
    source = (
        "from cdb.schemas.memory import MemorySchema\ndef SCHEMA(path): return MemorySchema(path)\n"
    )
    with open_schema(make_module(source), tmp_path / "db") as schema:
        schema.accept_block(block_at(1, timestamp=2))
        assert schema.last_block_index == 1


def test_schema_errors_are_cdb_errors() -> None:
    for kind in (UnknownSchemaError, MissingEngineError, UnsupportedError):
        assert issubclass(kind, SchemaError)
        assert issubclass(kind, CdbError)


# Importing


AUDIT = """
import os, sys
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate", "os.link",
           "os.symlink", "sqlite3.connect", "subprocess.Popen", "socket.connect"}
def hook(event, args):
    if event in CHANGES or event == "open" and isinstance(args[2], int) and args[2] & WRITES:
        print(event, args, flush=True)
sys.addaudithook(hook)
from cdb.schemas import find_schema, schema_names
for name in schema_names():
    find_schema(name)
print("done")
"""


def test_finding_every_schema_touches_no_disk(tmp_path: Path) -> None:
    env = {"PYTHONPATH": str(PACKAGE_PARENT), "PYTHONDONTWRITEBYTECODE": "1", "PATH": "/nowhere"}
    line = [sys.executable, "-c", AUDIT]
    out = subprocess.run(line, cwd=tmp_path, env=env, check=True, capture_output=True, text=True)
    assert out.stdout == "done\n"
    assert contents(tmp_path) == {}


def test_importing_cdb_imports_no_schema() -> None:
    script = (
        "import cdb.schemas, sys; print([m for m in sys.modules if m.startswith('cdb.schemas.')])"
    )
    env = {"PYTHONPATH": str(PACKAGE_PARENT)}
    line = [sys.executable, "-c", script]
    out = subprocess.run(line, env=env, check=True, capture_output=True, text=True)
    assert out.stdout == "['cdb.schemas.registry']\n"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ("None", "factory"),
        ("SchemaSpec", "factory"),
        ("SchemaSpec(open)", "factory"),
        ("open, durabilities=()", "durabilities"),
        ("open, durabilities=None", "durabilities"),
        ('open, durabilities=("power",)', "durabilities"),
        ('open, missing="text"', "missing"),
        ("open, versions=[]", "versions"),
        ("open, check=5", "check"),
        ('open, options={"a": None}', "options"),
        ("open, options=5", "options"),
        ("open, default_path=7", "default_path"),
        ("open, indexed=5", "indexed"),
        ("open, history=5", "history"),
        ("open, description=5", "description"),
        ('open, takes_url="yes"', "takes_url"),
    ],
)
def test_a_field_of_another_kind_is_told_in_one_line(
    make_module: MakeModule, arguments: str, field: str
) -> None:
    module = make_module(f"from cdb.building import SchemaSpec\nSCHEMA = SchemaSpec({arguments})\n")
    told = rf"^{module} can't be imported: TypeError: SchemaSpec's {field} "
    with pytest.raises(UnknownSchemaError, match=told):
        find_schema(module)


def test_a_schema_that_fails_to_say_what_it_misses_is_missing(make_module: MakeModule) -> None:
    code = "from cdb.building import SchemaSpec\nSCHEMA = SchemaSpec(open, missing=lambda: 1 / 0)\n"
    missing = find_schema(make_module(code)).missing
    assert missing is not None
    assert "ZeroDivisionError" in missing


@pytest.mark.parametrize(
    ("field", "function", "problem"),
    [
        ("versions", "lambda: sys.exit(0)", "versions() fails: SystemExit: 0"),
        ("versions", "lambda: [1, 2]", "it gives no list of texts"),
        ("versions", "lambda: 'RocksDB 7'", "it gives no list of texts"),
        ("check", "lambda path, progress: sys.exit(0)", "check() fails: SystemExit: 0"),
        ("check", "lambda path, progress: ['broken']", "it gives str, which is no Damage"),
        ("repair", "lambda path, damages, progress: 1 / 0", "repair() fails: ZeroDivision"),
        ("repair", "lambda path, damages, progress: sys.exit(0)", "repair() fails: SystemExit: 0"),
    ],
)
def test_what_a_spec_answers_ends_no_command(
    make_module: MakeModule, tmp_path: Path, field: str, function: str, problem: str
) -> None:
    source = f"import sys\nfrom cdb.building import SchemaSpec\nSCHEMA = SchemaSpec(open, {field}="
    schema = find_schema(make_module(f"{source}{function})\n"))
    asked: dict[str, Callable[[], object]] = {
        "versions": schema.versions,
        "check": lambda: list(schema.check(tmp_path, lambda done: None)),
        "repair": lambda: schema.repair(tmp_path, [], lambda done: None),
    }
    with pytest.raises(UnsupportedError, match=re.escape(problem)):
        asked[field]()


@pytest.mark.parametrize(
    ("missing", "told"),
    [
        ("lambda: sys.exit(0)", "not to be told: SystemExit: 0"),
        ("lambda: 5", "not to be told: missing() gives int"),
        ("lambda: False", "not to be told: missing() gives bool"),
    ],
)
def test_whether_it_is_missing_is_told_whatever_it_says(
    make_module: MakeModule, missing: str, told: str
) -> None:
    source = "import sys\nfrom cdb.building import SchemaSpec\nSCHEMA = SchemaSpec(open, missing="
    found = find_schema(make_module(f"{source}{missing})\n")).missing
    assert found is not None
    assert told in found


def test_a_factory_that_ends_the_process_does_not(make_module: MakeModule, tmp_path: Path) -> None:
    module = make_module("def SCHEMA(path):\n    raise SystemExit(0)\n")
    with pytest.raises(UnsupportedError, match="ends the process"):
        open_schema(module, tmp_path / "db")


def test_an_error_without_words_is_told(make_module: MakeModule) -> None:
    source = "class Mute(Exception):\n    def __str__(self):\n        raise KeyError\nraise Mute\n"
    with pytest.raises(UnknownSchemaError, match="can't be imported: Mute"):
        find_schema(make_module(source))


def test_a_description_is_one_line(make_module: MakeModule) -> None:
    source = "from cdb.building import SchemaSpec\nSCHEMA = SchemaSpec(open, description='x\\ny')\n"
    assert find_schema(make_module(source)).description == "x"


def test_what_a_library_says_forges_no_line(make_module: MakeModule) -> None:
    source = "from cdb.building import SchemaSpec\nSCHEMA = SchemaSpec(open, versions=lambda: "
    schema = find_schema(make_module(f"{source}['SQLite 1\\nAll is well'])\n"))
    assert schema.versions() == ["SQLite 1 All is well"]
