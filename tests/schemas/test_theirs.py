"""Somebody's schema over an index of its own needs nothing of cdb but its public names."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

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


def test_it_imports_public_names_alone() -> None:
    names = [name for name in imported(SOURCE.read_text("utf-8")) if name.startswith("cdb")]
    assert names
    assert not [name for name in names if any(part.startswith("_") for part in name.split("."))]


def test_it_keeps_the_contract(theirs: Path) -> None:
    """Its small twin: with the sizes of everyday it is as cdb's own, which are tried so."""
    spec = "their_package.their_schema:SMALL"
    path = os.pathsep.join([str(theirs), str(PACKAGE_PARENT)])
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--cdb-schema", spec]
    done = subprocess.run(
        [*line, "-k", "not no_fault"],
        cwd=theirs,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout
