"""A copy of the checkout with a .venv of its own, in which one fault after the other is put.

What is not in a commit yet is copied, too; what git ignores is not. Native code is built in place,
by ninja, so a fault costs the files that it is in.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.mutants import processes
from tests.mutants.draw import Mutant

_NATIVE = "native"  # an editable install builds where the sources are
_BUILD_LIMIT_SECONDS = 1800.0
_NOT_COPIED = ("reports/mutants",)
"""No test that is run there looks at these, and a change of them changes no verdict."""
_FIGURES = ("results/", "reports/")
"""What was measured. Another campaign changes no verdict, either."""


class BuildError(Exception):
    """A copy can't be made, or not be built with a fault in it."""


class WorkingCopy:
    """Made, or made anew from the checkout as it is, by refresh()."""

    def __init__(self, checkout: Path, path: Path, *defines: str) -> None:
        """defines: of CMake, NAME=VALUE."""
        self.path = path
        self._checkout = checkout
        self._defines = [f"-Ccmake.define.{each}" for each in defines]
        self.python = path / ".venv/bin/python"
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if name not in ("PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV")
        }

    def _link_shared(self) -> None:
        """Have beside it what tests look for beside the checkout, or skip without."""
        shared, link = self._checkout.parent / "shared", self.path.parent / "shared"
        if shared.exists() and not link.exists():
            link.symlink_to(shared)

    def refresh(self) -> None:
        """Make it what the checkout is, built. Raises BuildError."""
        wanted = files_of(self._checkout)
        self.path.mkdir(parents=True, exist_ok=True)
        self._link_shared()
        listed = self.path / "build/copied"
        before = listed.read_text().splitlines() if listed.exists() else []
        for name in {*before} - {*wanted}:
            (self.path / name).unlink(missing_ok=True)
        for name in wanted:
            data = (self._checkout / name).read_bytes()
            target = self.path / name
            if not target.exists() or target.read_bytes() != data:
                target.parent.mkdir(parents=True, exist_ok=True)
                _write(target, data)
                shutil.copymode(self._checkout / name, target)
        # Tests ask git for the files of the checkout.
        for command in (("init", "-q"), ("add", "--all")):
            subprocess.run(["git", *command], cwd=self.path, check=True)
        listed.parent.mkdir(exist_ok=True)
        listed.write_text("\n".join(wanted))
        if not (self.path / ".venv/made").exists():
            self._make_venv()
        self.build()

    @contextmanager
    def with_faults(self, mutants: Sequence[Mutant]) -> Iterator[None]:
        """Have faults in it, no two of one line, to be built."""
        texts = {name: (self.path / name).read_text("utf-8") for name in {m.file for m in mutants}}
        # From below, as one may be of several lines or none.
        faulty = dict(texts)
        for mutant in sorted(mutants, key=lambda each: -each.line):
            faulty[mutant.file] = mutant.mutated(faulty[mutant.file])
        for name, text in faulty.items():
            _write(self.path / name, text.encode())
        try:
            yield
        finally:
            for name, text in texts.items():
                _write(self.path / name, text.encode())

    def build(self) -> None:
        """Bring native code up to date. Raises BuildError, as compilers do."""
        self._succeed("-m", "ninja", "-C", _NATIVE)

    def built(self) -> str:
        """A digest of all that was compiled, which two sources share that compile to the same."""
        digest = hashlib.sha256()
        for path in sorted((self.path / "cdb").rglob("*.so")):
            digest.update(path.read_bytes())
        return digest.hexdigest()

    def run_python(
        self, *arguments: str, limit_seconds: float = _BUILD_LIMIT_SECONDS, **variables: str
    ) -> tuple[int | None, list[str]]:
        """Run the copy's Python in the copy, with these variables, too; see processes.run()."""
        environment = self.environment | variables
        command: list[str | Path] = [self.python, *arguments]
        return processes.run(command, self.path, environment, limit_seconds=limit_seconds)

    def _make_venv(self) -> None:
        shutil.rmtree(self.path / ".venv", ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", self.path / ".venv"], check=True)
        pip = ("-m", "pip", "--disable-pip-version-check", "--quiet", "install")
        self._succeed(*pip, "--upgrade", "pip>=25.1")
        self._succeed(*pip, "--group", "build")
        this = ("--no-build-isolation", "--editable", ".", "--group", "test", "--group", "lint")
        self._succeed(*pip, *this, *self._defines)
        (self.path / ".venv/made").touch()

    def _succeed(self, *arguments: str) -> list[str]:
        code, lines = self.run_python(*arguments)
        if code != 0:
            raise BuildError("\n".join(lines[-20:]))
        return lines


def files_of(checkout: Path) -> list[str]:
    """The files of a checkout that are committed, or could be."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.check_output(command, cwd=checkout, text=True).split("\0")
    return sorted(
        name
        for name in {*names} - {""}
        if (checkout / name).is_file() and not name.startswith(_NOT_COPIED)
    )


def fingerprint(checkout: Path) -> str:
    """Of all that a copy of it holds and a verdict may depend on."""
    digest = hashlib.sha256()
    for name in files_of(checkout):
        if name.endswith(".md") or name.startswith(_FIGURES):
            continue
        digest.update(
            f"{name}\0".encode() + hashlib.sha256((checkout / name).read_bytes()).digest()
        )
    return digest.hexdigest()[:16]


def _write(path: Path, data: bytes) -> None:
    """Python takes a source of the same size and second for the one that it has compiled."""
    if path.exists():
        while int(path.stat().st_mtime) == int(time.time()):
            time.sleep(0.05)
        if path.is_symlink():
            path.unlink()
    path.write_bytes(data)
