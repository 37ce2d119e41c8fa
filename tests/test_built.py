"""In a checkout whose package pip has installed elsewhere, what was compiled is found there."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest

from cdb.contract.blocks import BlockSpendInfo
from cdb.extensions import DISTRIBUTION
from cdb.extensions.built import SOURCES
from cdb.schemas import find_schema
from cdb.schemas.registry import OWN_SCHEMAS
from tests.conftest import PACKAGE_PARENT, ROOT, Commands, digest_of, ready_schemas, text_of
from tests.engines import OTHER
from tests.mutants.working_copy import files_of

Done = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Checkout:
    """A checkout without anything compiled, and where pip would have put what was made of it."""

    path: Path
    installed: Path

    def run(self, *line: str, input: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
        """Run a module of it where it lies. -S leaves out what makes this environment's own cdb
        importable."""
        places = [str(self.installed), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(places)}
        return subprocess.run(
            [sys.executable, "-S", "-m", *line],
            cwd=self.path,
            env=environment,
            input=input,
            capture_output=True,
            timeout=120,
        )

    def install(self, version: str) -> None:
        """As pip would, of what the package under test was built to."""
        package, checkout = self.installed / "cdb", PACKAGE_PARENT / "cdb"
        for file in checkout.rglob("*.so"):
            place = package / file.relative_to(checkout)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(file)
        native = self.path / "native"
        listed = sorted(str(file.relative_to(native)) for file in native.rglob("*.*"))
        lines = [f"{sha256((native / each).read_bytes()).hexdigest()}  {each}\n" for each in listed]
        (package / SOURCES).write_text("".join(lines))
        facts = self.installed / f"coinset_db-{version}.dist-info"
        facts.mkdir()
        told = f"Metadata-Version: 2.1\nName: {DISTRIBUTION}\nVersion: {version}\n"
        (facts / "METADATA").write_text(told)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A copy of the sources, and an empty place."""
    made = Checkout(tmp_path / "checkout", tmp_path / "installed")
    made.installed.mkdir()
    for name in files_of(ROOT):
        if name.startswith(("cdb/", "native/", "pyproject.toml")):
            (made.path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, made.path / name)
    return made


def version() -> str:
    found = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text("utf-8"), re.M)
    assert found is not None
    return found[1]


def test_every_schema_is_there_as_where_it_is_installed(
    checkout: Checkout, run_command: Commands, blocks: tuple[BlockSpendInfo, ...]
) -> None:
    checkout.install(version())
    listed = checkout.run("cdb.cmds.schemas", "--json")
    assert listed.stdout == run_command("schemas", "--json").fine().out, listed.stderr
    some = blocks[:20]
    specs = [f"cdb.schemas.{name}:REPLAY" for name in OWN_SCHEMAS if name in ready_schemas()]
    for number, spec in enumerate([*specs, f"mono_space@{OTHER}"]):
        line = ("cdb.cmds.load_blocks", spec, "--max-blocks=3000000", f"--db={number}.cdb")
        done = checkout.run(*line, input=text_of(some))
        assert (done.returncode, done.stdout) == (0, b""), (spec, done.stderr)
        assert f" {digest_of(some)}\n".encode() in done.stderr
    trial = checkout.run("cdb.testing.faults", "kill", "coin_log", "--most", "1")
    assert trial.returncode == 0, trial.stderr


def test_what_is_compiled_nowhere_is_missing(checkout: Checkout) -> None:
    done = checkout.run("cdb.cmds.load_blocks", "coin_log")
    assert done.returncode == 1
    assert done.stderr.startswith(
        b"error: schema coin_log: the coin log is missing (No module named"
    )


def test_another_version_is_one_line(checkout: Checkout) -> None:
    checkout.install("0.0.9")
    done = checkout.run("cdb.cmds.load_blocks", "coin_log")
    assert done.returncode == 1
    theirs = f"cdb 0.0.9 is installed, and this checkout is cdb {version()}"
    again = f"type 'pip install .' in {checkout.path}"
    assert done.stderr.decode() == f"error: schema coin_log: {theirs}; {again}\n"


@pytest.mark.parametrize("is_new", [False, True])
def test_other_sources_are_one_line(checkout: Checkout, *, is_new: bool) -> None:
    """Of a checkout that has gone on since, where a file has changed or is gone."""
    checkout.install(version())
    source = checkout.path / "native/coin_log/cdb_coin_log.h"
    source.unlink() if is_new else source.write_text(source.read_text() + "\n")
    done = checkout.run("cdb.cmds.load_blocks", "coin_log")
    assert done.returncode == 1
    theirs = "the cdb that is installed was built from other sources than this checkout's"
    again = f"type 'pip install .' in {checkout.path}"
    assert done.stderr.decode() == f"error: schema coin_log: {theirs}; {again}\n"


README = (ROOT / "README.md").read_text("utf-8")
USE_IT = [
    line.partition(" #")[0].strip()
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    if not language
    for line in block.splitlines()
]
NODE_LINES = ("cdb dump_blocks blockchain_v2 ", "pv ")
COMPLAINTS = re.compile(r"error|warning|missing|traceback|not found|no such", re.I)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_the_readmes_lines_as_typed_in_a_fresh_clone(tmp_path: Path) -> None:
    """With fewer coins. All that is said is read: nothing in it complains."""
    here, programs = tmp_path / "here", tmp_path / "programs"
    for name in files_of(ROOT):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, here / name)
    programs.mkdir()
    (programs / "python3").symlink_to(Path(sys.base_prefix) / "bin/python3")
    (programs / "pv").write_text('#!/bin/sh\nfor file; do :; done\nexec cat "$file"\n')
    (programs / "pv").chmod(0o755)
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    environment = {"HOME": str(tmp_path), "PATH": path, "LANG": "C.UTF-8"}

    def type_it(line: str, seconds: float = 120) -> str:
        activate = ". ~/cdb/bin/activate; " if (tmp_path / "cdb").exists() else ""
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", activate + line],
            cwd=here,
            env=environment,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
        said = done.stdout + done.stderr
        assert done.returncode == 0, (line, said)
        return said

    snippet = re.search(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    assert snippet is not None
    (here / "snippet.py").write_text(snippet[1])
    for line in USE_IT:
        if line.startswith(NODE_LINES[0]):
            type_it("cdb load_blocks blockchain_v2 --input replay.txt")
        said = type_it(line.replace("1000000", "3000"), 3000 if line.startswith("pip ") else 120)
        assert line.startswith("pip ") or not COMPLAINTS.search(said), (line, said)
    assert "confirmed_index=" in type_it("python snippet.py")
    plain = [name for name in ready_schemas() if not find_schema(name).spec.is_asked_for]
    ready = [*plain, f"mono_space@{OTHER}"]
    assert type_it("cdb schemas") == type_it("python -m cdb.cmds.schemas")
    for name in ready:
        spec = f"cdb.schemas.{name}:REPLAY" if name in OWN_SCHEMAS else name
        load = "python -m cdb.cmds.load_blocks"
        said = type_it(f"pv replay.txt | {load} {spec} --max-blocks=3000000 --db {name}.new")
        assert not COMPLAINTS.search(said), said
        assert "digest  " in said


def test_builds_without_isolation_have_what_others_fetch() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert {*project["build-system"]["requires"]} < {*project["dependency-groups"]["build"]}
