"""Somebody's schema over an index of its own needs nothing of cdb but its public names."""

import ast
import inspect
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cdb import building
from tests.conftest import PACKAGE_PARENT

SOURCE = Path(__file__).with_name("their_schema.py")
SECONDS = 250


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A directory with a package that has the schema in it."""
    package = tmp_path / "their_package"
    package.mkdir()
    (package / "__init__.py").touch()
    shutil.copy(SOURCE, package)
    return tmp_path


def imported(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{each.name}" for each in node.names)


def test_it_imports_nothing_but_what_is_there_for_builders() -> None:
    names = {name for name in imported(SOURCE.read_text("utf-8")) if name.startswith("cdb")}
    assert names
    assert names <= {f"cdb.building.{name}" for name in building.__all__}


def test_all_that_is_there_for_builders_is_documented() -> None:
    told = {name for name in building.__all__ if inspect.getdoc(getattr(building, name))}
    assert {*building.__all__} - told <= {"Progress", "EMPTY"}
    listed = {*re.findall(r"\w+", building.__doc__ or "")}
    errors = {name for name in building.__all__ if name.endswith("Error")}
    limits = {name for name in building.__all__ if name.isupper()}
    rest = {"BackendFactory", "IndexFactory", "Watermark", "Store"}
    assert {*building.__all__} - errors - limits - rest <= listed


@pytest.mark.parametrize(
    "chosen",
    [
        # The starter stands for these where time is short: test_adding_a_schema types them.
        pytest.param("not no_fault", marks=pytest.mark.long),
        # Where limits count: SQLite's files without checksums.
        pytest.param("no_fault and not load", marks=pytest.mark.long),
    ],
)
def test_it_keeps_the_contract(theirs: Path, chosen: str) -> None:
    """Its small twin: with the sizes of everyday it is as cdb's own, which are tried so."""
    spec = "their_package.their_schema:SMALL"
    path = os.pathsep.join([str(theirs), str(PACKAGE_PARENT)])
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--cdb-schema", spec]
    done = subprocess.run(
        [*line, "-k", chosen],
        cwd=theirs,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout
