"""docs/adding-an-engine.md adds an engine to a copy of the tree, which then keeps the contract; and
docs/adding-a-layout.md a layout, which does so in that engine."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.mutants.working_copy import files_of

pytestmark = pytest.mark.long

BUILD_SECONDS = 900
TEST_SECONDS = 900
NAMES = {"CDB_SCAN": "OFF", "CDB_ENGINES": "OFF", "CDB_TOY": "AUTO", "CDB_COIN_LOG": "OFF"}
"""What need not be built, and what is."""
PAGE = (ROOT / "docs/adding-an-engine.md").read_text("utf-8")
LAYOUT_PAGE = (ROOT / "docs/adding-a-layout.md").read_text("utf-8")

Run = Callable[..., str]


def block(language: str, beginning: str, page: str = PAGE) -> str:
    """A block of the page."""
    blocks: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    [found] = [each for each in blocks if each.lstrip().startswith(beginning)]
    return found


def insert(path: Path, behind: str, line: str) -> None:
    text = path.read_text("utf-8")
    assert text.count(behind) == 1
    path.write_text(text.replace(behind, behind + line), "utf-8")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs Python in a copy of the tree to which the page has added an engine; gives its output."""
    copy = tmp_path_factory.mktemp("copy")
    for name in files_of(ROOT):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    add_toy(copy)
    add_tagged(copy)
    # Not this environment: it knows of this very tree.
    venv = copy / "build/venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    [packages] = venv.glob("lib/python*/site-packages")
    lent = [sysconfig.get_path("platlib"), str(copy)]
    (packages / "lent.pth").write_text("\n".join(lent) + "\n")

    def run_python(*arguments: str, seconds: float = BUILD_SECONDS) -> str:
        environment = {**os.environ, "PYTHONPATH": str(copy)}
        done = subprocess.run(
            [venv / "bin/python", *arguments],
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
        assert done.returncode == 0, done.stdout[-5_000:] + done.stderr[-5_000:]
        return done.stdout

    options = [f"-Ccmake.define.{name}={value}" for name, value in NAMES.items()]
    run_python("-m", "pip", "wheel", "-q", "--no-deps", "-w", "build", ".", *options)
    [wheel] = (copy / "build").glob("*.whl")
    with zipfile.ZipFile(wheel) as built:
        built.extractall(copy, [name for name in built.namelist() if name.endswith(".so")])
    return run_python


def add_toy(copy: Path) -> None:
    shutil.copy(copy / "tests/toy_engine/toy.cpp", copy / "native/engines/toy.cpp")
    lines = (copy / "native/CMakeLists.txt").read_text("utf-8")
    others = re.findall(r"^cdb_add_engine.*\n", lines, re.MULTILINE)[-1]
    insert(copy / "native/CMakeLists.txt", others, block("cmake", "cdb_add_engine"))
    (copy / "cdb/schemas/toy_kv.py").write_text(block("python", '"""Everything in sorted'), "utf-8")
    toy = block("python", '"""Sorted vectors')
    (copy / "cdb/engines/toy.py").write_text(toy, "utf-8")
    table = copy / "cdb/engines/__init__.py"
    insert(table, "from cdb.engines import ", "toy, ")
    insert(table, "        for engine in (\n", block("text", "toy.ENGINE"))


def add_tagged(copy: Path) -> None:
    shutil.copy(copy / "tests/toy_layout/tagged.h", copy / "native/layouts/tagged.h")
    table = copy / "native/layouts/table.h"
    insert(table, '#include "option_1.h"\n', '#include "tagged.h"\n')
    line = block("cpp", '{"tagged"', LAYOUT_PAGE)
    insert(table, '    {"issue_196", make<Issue196>},\n', line)
    others = "LAYOUTS: Mapping[str, Layout] = {\n"
    insert(
        copy / "cdb/stores/coin_set/layouts.py", others, block("python", '"tagged"', LAYOUT_PAGE)
    )


def test_it_is_found(run: Run) -> None:
    assert "interval@toy" in run("-c", "from cdb.cmds.main import main; main()", "schemas")


def test_it_keeps_the_contract(run: Run) -> None:
    arguments = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly")
    tests = ("test_conformance.py::Test_toy_kv_small", "schemas/test_paths.py", "test_rules.py")
    paths = [f"tests/{each}" for each in tests]
    told = run(*arguments, *paths, "-k", "toy_kv", seconds=TEST_SECONDS)
    assert " passed" in told


def test_a_new_layout_keeps_the_contract_and_history_in_it(run: Run) -> None:
    arguments = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly")
    told = run(
        *arguments,
        "tests/test_layouts.py",
        "-k",
        "tagged_toy and not indexed",
        seconds=TEST_SECONDS,
    )
    assert " passed" in told


@pytest.mark.parametrize("trial", ["kill", "power-strict", "eio-sync", "flip", "truncate"])
def test_it_keeps_its_promises_under_faults(run: Run, trial: str) -> None:
    for spec in ("toy_kv:SMALL", "tagged@toy:SMALL"):
        run("-m", "cdb.testing.faults", trial, spec, "--most", "40", seconds=TEST_SECONDS)
