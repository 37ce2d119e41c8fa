"""What docs/adding-a-schema.md says works as typed, in an empty directory."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cdb import building
from cdb.cmds.new_schema import TRIAL_COINS
from tests.conftest import PACKAGE_PARENT, ROOT

TEXT = (ROOT / "docs/adding-a-schema.md").read_text("utf-8")
INSTALL, *LINES = TEXT.partition("```\n")[2].partition("```")[0].splitlines()
NEW, TEST, LOAD, BENCH = LINES
SECONDS = 280

Type = Callable[[str], "subprocess.CompletedProcess[str]"]


@pytest.fixture
def type_it(tmp_path: Path) -> Type:
    """Runs a line in a shell where cdb and pytest are those under test, as pip installs them."""
    programs, here = tmp_path / "bin", tmp_path / "here"
    programs.mkdir()
    here.mkdir()
    for name, begin in {"cdb": "cdb.cmds.main import main", "pytest": "pytest import main"}.items():
        (programs / name).write_text(
            f"#!{sys.executable}\nimport sys\nfrom {begin}\n"
            'if __name__ == "__main__":\n    sys.exit(main())\n'
        )
        (programs / name).chmod(0o755)
    path = os.pathsep.join([str(programs), os.environ["PATH"]])

    def run(line: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["sh", "-c", line],
            cwd=here,
            env={**os.environ, "PATH": path, "PYTHONPATH": str(PACKAGE_PARENT)},
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )

    return run


def test_what_is_to_be_typed_is_what_new_schema_says(type_it: Type) -> None:
    said = type_it(NEW).stdout
    assert [line.strip() for line in said.splitlines() if line.startswith("  ")] == LINES[1:]


@pytest.mark.parametrize(
    "chosen", ["-k 'empty or read_only or stale'", pytest.param("", marks=pytest.mark.long)]
)
def test_a_new_schema_is_held_to_the_contract_as_typed(type_it: Type, chosen: str) -> None:
    assert type_it(NEW).returncode == 0
    done = type_it(f"{TEST} {chosen}")
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
    assert "xfailed" not in done.stdout


def test_what_is_skipped_is_told_as_the_document_quotes_it(type_it: Type) -> None:
    (quoted,) = re.findall('"skipped: (.*?)" is no failure', TEXT)
    assert type_it(NEW).returncode == 0
    told = type_it(f"{TEST} -k it_offers_what_its_module_declares -rs").stdout
    assert re.search(rf"^SKIPPED .*: {re.escape(quoted)}$", told, re.MULTILINE), told


def test_a_new_schema_is_loaded_as_typed(type_it: Type, tmp_path: Path) -> None:
    assert type_it(NEW).returncode == 0
    done = type_it(LOAD.replace(str(TRIAL_COINS), "3000"))
    assert done.returncode == 0, done.stderr
    assert "digest" in done.stderr
    assert (tmp_path / "here" / "my_idea.cdb" / "FORMAT").read_text() == "cdb my_idea 1\n"


@pytest.mark.long
def test_a_new_schema_is_measured_as_typed(type_it: Type) -> None:
    assert type_it(NEW).returncode == 0
    done = type_it(f"{BENCH} --coins 3000")
    assert done.returncode == 0, done.stderr
    assert "cdb report shows" in done.stderr


def test_pip_installs_what_the_tests_need() -> None:
    assert INSTALL.startswith("pip install '.[testing,bench]'")
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    extra = re.findall(r'"([^"]+)"', re.findall(r"^testing = \[(.*)\]$", project, re.MULTILINE)[0])
    tools = ("hypothesis", "pytest")
    assert [each.split()[0] for each in extra] == [*tools]


def test_python_in_the_document_uses_what_is_there() -> None:
    imported = re.findall(r"^from cdb\.building import (.*)$", TEXT, re.MULTILINE)
    assert imported
    assert {name.strip() for line in imported for name in line.split(",")} <= {*building.__all__}
    for link in re.findall(r"\]\((\.\./[^)#]+)", TEXT):
        assert (ROOT / "docs" / link).exists(), link
