"""scripts/fuzz says why it ends, whatever fails."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "fuzz"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A tree whose clang++, whose Python and whose one target are programs that do nothing."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(SCRIPT, tmp_path / "scripts")
    for name in ("bin/clang++", ".venv/bin/python", "build/fuzz/clang/target"):
        program(tmp_path / name, 0)
    return tmp_path


def program(path: Path, code: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\nexit {code}\n")
    path.chmod(0o755)


def run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}"
    command = [str(root / "scripts" / "fuzz"), *arguments]
    return subprocess.run(
        command, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
    )


def test_nothing_fails(root: Path) -> None:
    done = run(root)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_build_fails_without_a_word(root: Path) -> None:
    program(root / ".venv" / "bin" / "python", 3)
    done = run(root)
    assert done.returncode == 3
    assert "pip" in done.stderr


def test_no_target_was_built(root: Path) -> None:
    (root / "build" / "fuzz" / "clang" / "target").unlink()
    done = run(root)
    assert done.returncode == 1
    assert "No target is in" in done.stderr


def test_the_inputs_cannot_be_minimized(root: Path) -> None:
    program(root / "build" / "fuzz" / "clang" / "target", 1)
    done = run(root, "--minimize")
    assert done.returncode == 1
    assert "target: see" in done.stderr
