"""info: whose database is at a path, and what is known of it; nothing is made or changed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cdb.contents.at_path import database_info, schema_at
from cdb.contract.blocks import BlockSpendInfo
from cdb.errors import WrongDatabaseError
from cdb.schemas import SchemaInfo, find_schema
from tests.conftest import Commands, closed, contents, load_all, set_version
from tests.node.made import MadeNode

Blocks = tuple[BlockSpendInfo, ...]
Loaded = Callable[[str], Path]


def told(run_command: Commands, *line: object) -> dict[str, Any]:
    """What info --json prints."""
    found: dict[str, Any] = json.loads(run_command("info", *line, "--json").fine().out)
    return found


def test_what_is_at_a_path(
    run_command: Commands, own_schema: SchemaInfo, loaded: Loaded, blocks: Blocks
) -> None:
    path = loaded(own_schema.name)
    before = closed(run_command.cwd)
    found = told(run_command, path)
    assert (found["path"], found["schema"]) == (str(path), own_schema.name)
    assert found["durabilities"] == [level.value for level in own_schema.spec.durabilities]
    assert found["newest_index"] == blocks[-1].index
    assert found["coins"] in (2_000, None)
    assert found["format_version"] >= 1
    assert found["has_secondary_keys"] == (own_schema.name == "memory")
    files = found["files"].values()
    assert found["size_bytes"] == sum(each["size_bytes"] for each in files)
    assert found["size_bytes"] == sum(
        len(data) for data in contents(run_command.cwd).values() if data is not None
    )
    assert found["problem"] is None
    assert closed(run_command.cwd) == before


def test_as_lines(run_command: Commands, loaded: Loaded, blocks: Blocks) -> None:
    result = run_command("info", loaded("flat_file")).fine()
    lines = [line.split(None, 1) for line in result.out.decode().splitlines()]
    assert ["schema", "flat_file"] in lines
    assert ["coins", "2,000"] in lines
    assert ["settled", "yes"] in lines
    assert ["newest", f"block      {blocks[-1].index}"] in lines
    assert any(line[0] == "index/run-*.flat:" for line in lines)
    assert result.err == ""


def test_secondary_keys_are_told(run_command: Commands) -> None:
    for spec in ("coin_log:INDEXED", "blockchain_v2:INDEXED"):
        find_schema(spec).open(run_command.cwd / spec.replace(":", "-")).close()
        assert told(run_command, spec.replace(":", "-"))["has_secondary_keys"]


def test_beside_a_writer(run_command: Commands, own_schema: SchemaInfo, blocks: Blocks) -> None:
    with own_schema.open(run_command.cwd / "db") as database:
        load_all(database, blocks[:30])
        assert told(run_command, "db")["newest_index"] == blocks[29].index
        load_all(database, blocks)
    assert told(run_command, "db")["newest_index"] == blocks[-1].index


def test_a_nodes_own_file(run_command: Commands, blocks: Blocks) -> None:
    MadeNode(run_command.cwd / "node.sqlite", blocks).close()
    before = contents(run_command.cwd)
    found = told(run_command, "node.sqlite")
    assert (found["schema"], found["format_extra"]) == ("blockchain_v2", "made_by=node")
    assert found["newest_index"] == blocks[-1].index
    assert contents(run_command.cwd) == before


@pytest.mark.parametrize("name", ["memory", "coin_log", "blockchain_v2"])
def test_what_cannot_be_opened_is_told_as_far_as_it_is_known(
    run_command: Commands, loaded: Loaded, name: str
) -> None:
    path = loaded(name)
    set_version(path, 99)
    result = run_command("info", path)
    assert result.code == 1
    assert name in result.out.decode()
    assert result.err.startswith(f"error: {path}")
    assert result.err.count("\n") == 1


def lost_format(path: Path) -> None:
    path.mkdir()
    (path / "LOCK").touch()


def test_damage_is_told_with_an_advice_that_helps(run_command: Commands, loaded: Loaded) -> None:
    """memory repairs nothing; a coin log, all but its log."""
    path = loaded("memory")
    path.write_bytes(path.read_bytes() + b"y")
    for command in ("info", "dump_blocks"):
        told = run_command(command, path).err
        assert told.endswith(f"; cdb verify memory --db {path} says what can still be read\n")
    path = loaded("coin_log")
    data = bytearray((path / "log").read_bytes())
    data[len(data) // 2] ^= 1
    (path / "log").write_bytes(data)
    told = run_command("info", path).err
    assert told.endswith(f"; cdb verify coin_log --db {path} says what can still be read\n")


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda path: None, "no database is here"),
        (Path.mkdir, "this directory holds no cdb database"),
        (lost_format, "db: its FORMAT is missing, which says whose database this is; 'cdb verify"),
        (Path.touch, "no schema knows this file"),
        (lambda path: path.write_bytes(b"\xff" * 5000), "no schema knows this file"),
    ],
)
def test_what_is_no_database(
    run_command: Commands, make: Callable[[Path], None], problem: str
) -> None:
    make(run_command.cwd / "db")
    before = contents(run_command.cwd)
    for command in ("info", "verify", "dump_blocks"):
        assert problem in run_command(command, "./db").error()
    assert contents(run_command.cwd) == before


def test_no_module_is_imported_because_a_file_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.py").write_text("raise AssertionError('it was imported')\n")
    (tmp_path / "db").mkdir()
    (tmp_path / "db" / "FORMAT").write_text("cdb evil 1\n")
    with pytest.raises(WrongDatabaseError, match="no schema of that name is installed"):
        schema_at(tmp_path / "db")


def test_options_that_no_schema_has_any_more(run_command: Commands) -> None:
    (run_command.cwd / "db").mkdir()
    (run_command.cwd / "db" / "FORMAT").write_text("cdb mono_space@rocksdb,name32=yes 4\n")
    for command in ("info", "verify", "dump_blocks"):
        problem = run_command(command, "./db").error()
        assert "db: this is a database of mono_space@rocksdb,name32=yes, which this cdb" in problem
        assert "has no option 'name32'" in problem
        assert problem.endswith("; load its blocks again")


def test_for_who_asks_in_python(loaded: Loaded, blocks: Blocks) -> None:
    found = database_info(loaded("sqlite_v3"))
    assert found.schema == find_schema("sqlite_v3")
    assert (found.newest_index, found.facts.coins) == (blocks[-1].index, 2_000)
    assert {"coins.sqlite", "index/lookup.sqlite", "FORMAT"} <= found.files.keys()
    assert found.versions[0].startswith("SQLite 3.")
