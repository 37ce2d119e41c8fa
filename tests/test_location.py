"""Where a database is: at a path, or at a URL, which reaches the schema unharmed."""

import re
from pathlib import Path

import pytest

from cdb import open_schema
from cdb.contents.at_path import database_info, schema_at
from cdb.contract.location import Url, location_of
from cdb.errors import UnsupportedError, WrongDatabaseError
from cdb.schemas import find_schema
from tests.conftest import Commands, contents

URL = "cassandra://a,b//keyspace?x=%2F"
REMOTE = '''"""Keeps a database at a URL; a file here stands for the cluster."""
from cdb.schemas import SchemaSpec
from cdb.schemas.memory import MemorySchema

def remote(url, *, durability=None, read_only=False):
    with open("asked.txt", "a") as file:
        print(type(url).__name__, url, file=file)
    return MemorySchema("cluster", read_only=read_only)

SCHEMA = SchemaSpec(remote, takes_url=True)
'''


@pytest.mark.parametrize(
    ("given", "parsed"),
    [
        (URL, Url(URL)),
        (Url(URL), Url(URL)),
        ("my.cdb", Path("my.cdb")),
        ("a:b", Path("a:b")),
        ("c://d", Url("c://d")),
        ("./cassandra://a", Path("cassandra:/a")),
        (Path("cassandra:/a"), Path("cassandra:/a")),
    ],
)
def test_what_is_given_is_parsed_once(given: str | Path | Url, parsed: Path | Url) -> None:
    assert location_of(given) == parsed


@pytest.fixture
def remote(run_command: Commands) -> Path:
    run_command.cwd.joinpath("remote.py").write_text(REMOTE)
    return run_command.cwd


@pytest.mark.parametrize("line", [["remote", "--db", URL], ["remote", URL]])
def test_a_url_reaches_the_schema_unharmed(
    remote: Path, run_command: Commands, replay: bytes, line: list[str]
) -> None:
    remote.joinpath("replay.txt").write_bytes(replay)
    loaded = run_command("load_blocks", *line, "--input", "replay.txt").fine()
    assert URL in loaded.err
    for figure in ("bytes written", "size"):  # those of files, which servers have
        assert re.search(rf"^{figure} +n/a$", loaded.err, re.M)
    for command in ("verify", "dump_blocks", "info"):
        run_command(command, *line).fine()
    assert URL in run_command("info", *line).fine().out.decode()
    asked = set((remote / "asked.txt").read_text().splitlines())
    assert asked == {f"str {URL}"}
    assert "cassandra:" not in contents(remote)


def test_what_takes_a_path_refuses_a_url_in_one_line(run_command: Commands) -> None:
    for schema in ("memory", "coin_log"):
        error = run_command("load_blocks", schema, "--db", URL).error()
        problem = f"schema {schema} keeps a database at a path, and {URL} is a URL; name a path"
        assert problem in error
    with pytest.raises(UnsupportedError, match="is a URL; name a path"):
        open_schema("memory", URL)


def test_what_takes_a_url_refuses_a_path_in_one_line(remote: Path, run_command: Commands) -> None:
    error = run_command("load_blocks", "remote", "--db", "my.cdb").error()
    assert "schema remote keeps a database at a URL, and my.cdb is a path; name a URL" in error
    assert "is at no place of its own; name a URL" in run_command("info", "remote").error()


def test_a_url_names_no_schema() -> None:
    with pytest.raises(WrongDatabaseError, match=r"^cassandra://a,b//keyspace.*name it before"):
        schema_at(URL)
    assert find_schema("memory").location() == Path("memory.cdb")
    with pytest.raises(WrongDatabaseError, match="a URL names no schema"):
        database_info(Url(URL))


@pytest.mark.parametrize(
    "arguments",
    [
        ("migrate", URL),
        ("backup", URL, "new"),
        ("backup", "node.sqlite", URL),
        ("restore", "kept", URL),
        ("restore", URL, "node.sqlite"),
        ("node", "status", URL),
        ("node", "install", URL),
        ("node", "remove", URL),
        ("doctor", URL),
        ("load_blocks", "memory", "--input", URL),
    ],
)
def test_what_takes_a_path_refuses_a_url_as_it_was_typed(
    run_command: Commands, arguments: tuple[str, ...]
) -> None:
    error = run_command(*arguments).usage_error()
    assert f"{URL} is a URL, and what is wanted is a path; name one" in error
    assert contents(run_command.cwd) == {}
