"""demo: every schema that is ready gets the same replay, and nothing is left behind."""

import json

from cdb.schemas import find_schema
from cdb.schemas.registry import names_at_paths
from tests.conftest import Commands, contents


def test_the_demo_compares_every_schema(run_command: Commands) -> None:
    result = run_command("demo", "--coins", 3_000).fine()
    header, *lines = result.out.decode().splitlines()
    assert header.split() == [
        *("schema", "time", "coins/s", "bytes", "written", "bytes", "per", "coin", "digest"),
    ]
    names = names_at_paths()
    rows = {line.split()[0]: line for line in lines if line.partition(" ")[0] in names}
    assert rows.keys() == {*names}
    for name, line in rows.items():
        missing = find_schema(name).missing
        if missing is not None:
            assert line == f"{name} was left out: {missing}"
        elif name == "null":
            assert line.endswith("keeps nothing")
        else:
            assert line.endswith("✓")
    assert lines[-1].startswith("all digests are ")
    assert len(lines[-1].split()[-1]) == 64
    assert contents(run_command.cwd) == {}


def test_the_demo_uses_the_directory_it_is_told(run_command: Commands) -> None:
    elsewhere = run_command.cwd / "elsewhere"
    elsewhere.mkdir(mode=0o755)
    run_command("demo", "--coins", 1, "--dir", elsewhere).fine()
    assert contents(run_command.cwd) == {"elsewhere": None}


def test_as_json(run_command: Commands) -> None:
    result = run_command("demo", "--coins", 500, "--json", "--quiet").fine()
    assert result.err == ""
    told = {each["schema"]: each for each in json.loads(result.out)}
    assert {each["coins"] for each in told.values()} == {500}
    assert len({each["digest"] for each in told.values()} - {None}) == 1
    assert contents(run_command.cwd) == {}
