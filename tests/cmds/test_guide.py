"""What docs/guides/run-a-node.md says to type works in that order, and prints what it shows."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cdb.stores.coin_log.binding import missing
from tests.conftest import ROOT, Commands

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

TEXT = (ROOT / "docs/guides/run-a-node.md").read_text("utf-8")
FENCES = [fence.splitlines() for fence in re.findall(r"^```\n(.*?)^```$", TEXT, re.M | re.S)]
TYPED = [line for fence in FENCES for line in fence if re.match("cdb [a-z]", line)]
SHOWN = [
    line for fence in FENCES if not re.match("(cdb|chia|mkdir|pip) ", fence[0]) for line in fence
]
ACTIVATE = "cdb migrate --activate NODE_DB"


@pytest.fixture
def type_it(run_command: Commands, tmp_path: Path) -> "Typist":
    """In a directory where a chia can be found, as in a node's environment."""
    (tmp_path / "chia").mkdir()
    metadata = tmp_path / "chia_blockchain-2.7.5.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: chia-blockchain\nVersion: 2.7.5\n")
    return Typist(run_command, tmp_path)


class Typist:
    """Types what the guide says. printed: all lines that came of it."""

    def __init__(self, commands: Commands, directory: Path) -> None:
        self._commands = commands
        self._directory = directory
        self.printed: list[str] = []

    def __call__(self, line: str) -> None:
        line = line.replace("NODE_DB", "node.sqlite").replace("FILE", "node.sqlite")
        _, *words = shlex.split(line.replace("/backup/", ""), comments=True)
        process = self._commands.popen(
            [sys.executable, "-m", "cdb.cmds.main", *words], stderr=subprocess.STDOUT
        )
        told = process.communicate(timeout=60)[0].decode()
        if words != ["doctor"]:  # which finds fault with a disk in memory
            assert process.returncode == 0, (line, told)
        self.printed += told.splitlines()

    def move_away(self) -> None:
        for path in self._directory.glob("node.sqlite*"):
            path.rename(self._directory / f"old-{path.name}")


def alike(line: str, directory: Path) -> str:
    """Without what differs from one machine, or run, to another."""
    for path in (str(directory), "/backup", "/home/me"):
        line = line.replace(f"{path}/", "").replace(path, "")
    if line.endswith(" a sync"):
        return "the disk"
    line = re.sub(r"\b[0-9a-f]{64}\b|\b\d[\d,.:T+-]*", "N", line)
    return re.sub(r" +", " ", line)


def test_the_guide_is_as_it_happens(type_it: Typist, tmp_path: Path) -> None:
    """From an example on; the steps by chia's own commands are left out."""
    type_it("cdb node example NODE_DB")
    for line in TYPED:
        if line.startswith("cdb backup"):
            type_it(ACTIVATE)
        if line.startswith("cdb restore"):
            type_it.move_away()
        type_it(line)
    printed = {alike(line, tmp_path) for line in type_it.printed}
    if any(line.startswith("missing: ") for line in printed):  # other schemas
        printed.add("All schemas are ready.")
    assert len(SHOWN) > 20
    assert [line for line in SHOWN if alike(line, tmp_path) not in printed] == []
