"""Runs scripts in processes of their own, in which files are recorded and calls made to fail."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

from cdb.errors import UnsupportedError
from cdb.schemas import find_schema
from cdb.testing.faults.oracle import Progress
from cdb.testing.faults.shim import LIBRARY, missing

DATABASE = "db"
SERVER = "cdb.testing.faults.server"
MEMORY = Path("/dev/shm")  # noqa: S108 - where Linux has a file system in memory


@dataclass(frozen=True)
class Request:
    """One trial. root: an empty directory, in which the database is made, and where files count.

    trace: where to record. calls, first, last, action: see Shim.arm.
    """

    seed: int
    root: str
    trace: str | None = None
    calls: int = 0
    first: int = 0
    last: int = 0
    action: int = 0


@dataclass(frozen=True)
class Outcome:
    """How a trial ended. error: the error that ended it. signal: that killed it, 0 without one.

    calls: how many calls of the armed classes there were; 0 if it was killed.
    """

    kept: int
    begun: int
    calls: int
    error: str | None
    is_ours: bool
    signal: int

    @property
    def progress(self) -> Progress:
        """How far it got."""
        return Progress(self.kept, self.begun)


class Trials:
    """A server of trials of one schema. Use it in a `with`.

    Raises UnsupportedError where faults can't be made, or the schema can't be used.
    """

    def __init__(self, spec: str) -> None:
        problem = missing() or find_schema(spec).missing
        if problem is not None:
            raise UnsupportedError(problem)
        self.spec = spec
        command = [sys.executable, "-m", SERVER, spec]
        self._process = subprocess.Popen(  # noqa: S603
            command,
            env=os.environ | {"LD_PRELOAD": str(LIBRARY)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, request: Request) -> Outcome:
        """Run one, to its end. Raises UnsupportedError when that can't be done."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(request)) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise UnsupportedError(f"the process that tries {self.spec} ended; see what it printed")
        return Outcome(**json.loads(answer))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.communicate()


def scratch() -> TemporaryDirectory[str]:
    """A directory for trials, in memory where there is such a thing: they sync a lot."""
    return TemporaryDirectory(prefix="cdb-faults-", dir=MEMORY if MEMORY.is_dir() else None)


def new_directory(path: Path) -> Path:
    """Make an empty directory, instead of what is there; its parent must exist."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    return path
