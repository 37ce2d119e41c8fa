"""A schema's module in the current directory is found by the commands and by pytest, and last."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cdb.errors import UnknownSchemaError
from cdb.schemas import find_schema
from tests.conftest import PACKAGE_PARENT, Commands

MINE = '''"""Mine, in one line."""
from helper import BASE
class Mine(BASE):
    """A class."""
SCHEMA = Mine
'''
HELPER = "from cdb.schemas.memory import MemorySchema as BASE\n"
# As the scripts that pip makes: the current directory is not on the path.
SCRIPTS = {
    "cdb": "import sys; from cdb.cmds.main import main; sys.argv[0] = 'cdb'; main()",
    "pytest": "import sys, pytest; sys.exit(pytest.console_main())",
}


@pytest.fixture
def here(run_command: Commands) -> Path:
    """The current directory of commands, with a schema and what that imports."""
    run_command.cwd.joinpath("mine.py").write_text(MINE)
    run_command.cwd.joinpath("helper.py").write_text(HELPER)
    return run_command.cwd


def run_script(
    directory: Path, name: str, *line: str, options: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run a console script in a directory, from elsewhere."""
    scripts = directory.parent / f"{directory.name}-bin"
    scripts.mkdir(exist_ok=True)
    script = scripts / name
    script.write_text(SCRIPTS[name])
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE_PARENT)}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    return subprocess.run(
        [sys.executable, *options, str(script), *line],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_script_finds_it(here: Path, replay: bytes) -> None:
    here.joinpath("replay.txt").write_bytes(replay)
    done = run_script(here, "cdb", "load_blocks", "mine", "--input", "replay.txt", "--json")
    assert done.returncode == 0, done.stderr
    assert here.joinpath("mine.cdb").exists()
    assert run_script(here, "cdb", "dump_blocks", "mine:Mine").stdout.encode() == replay


def test_a_database_of_its_name_does_not_hide_it(here: Path) -> None:
    here.joinpath("mine").mkdir()
    done = run_script(here, "cdb", "dump_blocks", "mine")
    assert "mine.cdb: no database is here" in done.stderr


@pytest.mark.parametrize(
    ("typed", "hint"),
    [("mien", "did you mean mine"), ("Mine", "did you mean mine"), ("mine.py", "name its module")],
)
def test_a_name_that_is_typed_wrong_is_near_it(here: Path, typed: str, hint: str) -> None:
    done = run_script(here, "cdb", "load_blocks", typed)
    assert done.returncode == 1
    assert hint in done.stderr
    assert "mine" in done.stderr
    assert done.stderr.count("\n") == 1


def test_no_file_takes_the_place_of_an_installed_module(here: Path) -> None:
    for name in ("json", "tqdm", "memory", "sortedcontainers"):
        here.joinpath(f"{name}.py").write_text("raise AssertionError('it was imported')\n")
    done = run_script(here, "cdb", "load_blocks", "mine", "--input", "/dev/null")
    assert done.returncode == 0, done.stderr
    for name in ("json", "tqdm"):
        done = run_script(here, "cdb", "load_blocks", name, "--input", "/dev/null")
        assert f"module {name} has no class or function SCHEMA" in done.stderr
    done = run_script(here, "cdb", "load_blocks", "memory", "--input", "/dev/null")
    assert done.returncode == 0, done.stderr


def test_listing_imports_nothing_that_lies_here(here: Path) -> None:
    here.joinpath("mine.py").write_text("raise AssertionError('it was imported')\n")
    done = run_script(here, "cdb", "schemas")
    assert done.returncode == 0, done.stderr
    assert "mine" not in done.stdout


def test_python_may_be_told_not_to_look_here(here: Path) -> None:
    done = run_script(here, "cdb", "load_blocks", "mine", options=("-P",))
    assert "no schema 'mine'" in done.stderr


def test_a_program_does_not_look_here(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(here)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path not in ("", str(here))])
    with pytest.raises(UnknownSchemaError):
        find_schema("mine")


def test_pytest_finds_it(here: Path) -> None:
    line = ("-q", "-p", "no:cacheprovider", "--cdb-schema=mine")
    done = run_script(here, "pytest", *line, "-k", "test_an_empty_database_has_no_blocks")
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
    done = run_script(here, "pytest", *line[:-1], "--cdb-schema=mien")
    assert done.returncode == 4
    assert "no schema 'mien'; did you mean mine" in done.stderr
