"""schemas: one line for each, with what is missing and what is broken."""

import json
from pathlib import Path

from cdb.schemas import find_schema, schema_names
from cdb.schemas.registry import layout_names
from tests.conftest import Commands


def register(directory: Path, name: str, target: str) -> None:
    """Make an entry point that is found when the directory is on sys.path."""
    info = directory / f"{name}-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[cdb.schemas]\n{name} = {target}\n")


def rows(out: bytes) -> dict[str, tuple[str, str, str, str]]:
    """State, what makes databases with secondary keys, the order of history, and description by
    name."""
    lines = [line.split(None, 4) for line in out.decode().splitlines()]
    return {name: (state, keys, history, text) for name, state, keys, history, text in lines}


def test_every_schema_is_listed(run_command: Commands) -> None:
    result = run_command("schemas").fine()
    assert result.err == ""
    listed = rows(result.out)
    assert [*listed] == [*schema_names(), *layout_names()]
    for name, row in listed.items():
        found = find_schema(name)
        offers = (found.indexed or "-", found.spec.history or "-")
        if found.missing is not None:
            assert row == ("missing", *offers, found.missing)
        else:
            assert row == (
                "ready" if found.spec.keeps_contract else "meter",
                *offers,
                found.description,
            )
    assert listed["null"][:3] == ("meter", "-", "-")
    assert listed["memory"][:3] == ("ready", "memory", "creation")
    assert listed["blockchain_v2"][:3] == ("ready", "blockchain_v2:INDEXED", "creation")


def test_as_json(run_command: Commands) -> None:
    lines = rows(run_command("schemas").fine().out)
    objects = json.loads(run_command("schemas", "--json").fine().out)
    assert [each["name"] for each in objects] == [*lines]
    for each in objects:
        state, keys, history, text = lines[each["name"]]
        assert each["state"] == state
        assert each["indexed"] == (None if keys == "-" else keys)
        assert each["history"] == (None if history == "-" else history)
        assert each["description"] == text


def test_entry_points_that_nobody_can_use_are_listed_last(run_command: Commands) -> None:
    before = run_command("schemas").fine().out.decode().splitlines()
    register(run_command.cwd, "odd", "not a module")
    register(run_command.cwd, "memory", "json")
    after = run_command("schemas").fine().out.decode().splitlines()
    assert len(after) == len(before) + 2
    broken = {tuple(line.split()[:2]) for line in after[len(before) :]}
    assert broken == {("odd", "broken"), ("memory", "broken")}


def test_installed_packages_add_theirs(run_command: Commands) -> None:
    """``python -m`` has the current directory on its path."""
    here = run_command.cwd
    here.joinpath("their_schema.py").write_text(
        "'''Theirs.'''\nfrom cdb.schemas import SchemaSpec\n"
        "from cdb.schemas.memory import MemorySchema\n"
        "SCHEMA = SchemaSpec(MemorySchema, indexed=dict)\n"
    )
    register(here, "theirs", "their_schema:SCHEMA")
    here.joinpath("their_broken_schema.py").write_text("import not_installed_anywhere\n")
    register(here, "broken_one", "their_broken_schema:SCHEMA")
    here.joinpath("their_missing_schema.py").write_text(
        "from cdb.schemas import SchemaSpec\n"
        "SCHEMA = SchemaSpec(dict, missing=lambda: 'no engine; install it')\n"
    )
    register(here, "missing_one", "their_missing_schema:SCHEMA")
    listed = rows(run_command("schemas").fine().out)
    assert set(listed) == {*schema_names(), *layout_names(), "theirs", "broken_one", "missing_one"}
    assert listed["theirs"] == ("ready", "their_schema:INDEXED", "-", "Theirs.")
    assert listed["missing_one"] == ("missing", "-", "-", "no engine; install it")
    state, *_, reason = listed["broken_one"]
    assert state == "broken"
    assert "not_installed_anywhere" in reason
    error = run_command("load_blocks", "missing_one").error()
    assert "no engine; install it" in error
    assert "not_installed_anywhere" in run_command("load_blocks", "broken_one").error()
    run_command("load_blocks", "theirs").fine()


def test_a_package_that_is_broken_in_any_way_spoils_no_other(run_command: Commands) -> None:
    run_command.cwd.joinpath("their_schema.py").write_text("undefined_name\n")
    register(run_command.cwd, "theirs", "their_schema:SCHEMA")
    listed = rows(run_command("schemas").fine().out)
    assert listed["memory"][0] == "ready"
    assert listed["theirs"][0] == "broken"
