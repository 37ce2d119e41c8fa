"""new_schema: a file that keeps the contract, and the commands that try it."""

import importlib.util
from pathlib import Path

import pytest

from cdb.building import starter
from cdb.contents.state import verify
from cdb.disk.home import schema_at
from cdb.engines import ENGINES
from cdb.testing.base import accept_all, expected_state
from cdb.testing.chains import sample_chain
from tests.conftest import Commands, contents, file_limit


def test_it_writes_a_schema_of_that_name(run_command: Commands, tmp_path: Path) -> None:
    result = run_command("new_schema", "my_idea").fine()
    assert result.err == ""
    assert contents(tmp_path).keys() == {"my_idea.py"}
    spec = importlib.util.spec_from_file_location("my_idea", tmp_path / "my_idea.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    blocks = sample_chain(10).blocks
    with module.SCHEMA.factory(tmp_path / "db") as schema:
        accept_all(schema, blocks)
    assert schema_at(tmp_path / "db") == ("my_idea", 1)
    with module.SCHEMA.factory(tmp_path / "db", read_only=True) as schema:
        assert verify(schema) == expected_state(blocks)


def test_it_says_what_to_type(run_command: Commands, tmp_path: Path) -> None:
    out = run_command("new_schema", "my_idea").fine().out.decode()
    lines = [line.strip() for line in out.splitlines() if line.startswith("  ")]
    assert len(lines) == 3
    assert all("my_idea" in line for line in lines)
    test, load, bench = lines
    assert "--cdb-schema my_idea" in test
    assert "load_blocks my_idea" in load
    assert "bench run" in bench


@pytest.mark.parametrize("there", ["file", "link", "directory"])
def test_nothing_that_is_there_is_overwritten(
    run_command: Commands, tmp_path: Path, there: str
) -> None:
    path = tmp_path / "my_idea.py"
    if there == "file":
        path.write_text("mine\n")
    elif there == "link":
        path.symlink_to("nowhere")
    else:
        path.mkdir()
    before = contents(tmp_path)
    error = run_command("new_schema", "my_idea").error()
    assert error == "my_idea.py is there already; choose another name"
    assert contents(tmp_path) == before
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("name", ["interval", *ENGINES])
def test_a_part_of_schemas_names_is_taken(run_command: Commands, tmp_path: Path, name: str) -> None:
    assert "choose another name" in run_command("new_schema", name).error()
    assert contents(tmp_path) == {}


@pytest.mark.parametrize(
    "name",
    [
        "",
        "My",
        "my-idea",
        "1st",
        "_mine",
        "a.b",
        "a/b",
        "class",
        "match",
        "idée",
        "a b",
        "x\n",
    ],
)
def test_a_name_that_can_not_be_imported_is_a_usage_error(
    run_command: Commands, tmp_path: Path, name: str
) -> None:
    assert "a-z, 0-9 and _" in run_command("new_schema", name).usage_error()
    assert contents(tmp_path) == {}


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("memory", "schema"),
        ("rocks_kv", "schema"),
        ("json", "Python module"),
        ("cdb", "Python"),
        ("pytest", "Python module"),
        ("usercustomize", "Python module"),
        ("winreg", "Python module"),
        ("print", "name of Python's own"),
    ],
)
def test_a_name_that_is_taken_is_refused(
    run_command: Commands, tmp_path: Path, name: str, what: str
) -> None:
    error = run_command("new_schema", name).error()
    assert error.startswith(f"{name} is a {what}")
    assert contents(tmp_path) == {}


@pytest.mark.parametrize("name", ["conftest", "test_x", "my_test"])
def test_what_pytest_would_collect_is_refused(
    run_command: Commands, tmp_path: Path, name: str
) -> None:
    error = run_command("new_schema", name).error()
    assert error == f"{name} is what pytest takes for tests; choose another name"
    assert contents(tmp_path) == {}


def test_a_directory_that_takes_no_file_is_one_line(run_command: Commands, tmp_path: Path) -> None:
    assert "my_idea" * 40 in run_command("new_schema", "my_idea" * 40).error()
    assert contents(tmp_path) == {}


def test_a_full_disk_leaves_nothing(run_command: Commands, tmp_path: Path) -> None:
    size = Path(starter.__file__).stat().st_size // 2
    error = run_command("new_schema", "my_idea", **file_limit(size)).error()
    assert "my_idea.py" in error
    assert contents(tmp_path) == {}
