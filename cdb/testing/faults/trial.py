"""Runs scripts in processes of their own, in which files are recorded and calls made to fail."""

import atexit
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from cdb.errors import CdbError, UnsupportedError
from cdb.schemas import SchemaInfo, find_schema
from cdb.testing.faults.oracle import Progress, error_text
from cdb.testing.faults.shim import LIBRARY, missing

DATABASE = "db"
SERVER = "cdb.testing.faults.server"
LONGEST_SECONDS = 60.0
"""How long a script may be silent."""
MEMORY = Path("/dev/shm")  # noqa: S108 - where Linux has a file system in memory


@dataclass(frozen=True)
class Request:
    """One trial. root: an empty directory, in which the database is made, and where files count.

    trace: where to record. calls, first, last, action: see Shim.arm. done: how many steps of the
    script are done already, in a database that is there.
    """

    seed: int
    root: str
    trace: str | None = None
    calls: int = 0
    first: int = 0
    last: int = 0
    action: int = 0
    done: int = 0


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


@cache
def trials_of(spec: str) -> "Trials":
    """The server of a schema, until this process ends: its start costs more than many trials."""
    trials = Trials(spec)
    atexit.register(trials.close)
    return trials


class Trials:
    """A server of trials of one schema.

    Raises UnsupportedError where faults can't be made, or the schema can't be used.
    """

    def __init__(self, spec: str) -> None:
        problem = missing()
        if problem is not None:
            raise UnsupportedError(problem)
        usable(spec)
        self.spec = spec
        command = [sys.executable, "-m", SERVER, spec]
        already = os.environ.get("LD_PRELOAD", "")  # a sanitizer, which has to come first
        self._process = subprocess.Popen(  # noqa: S603
            command,
            env=os.environ | {"LD_PRELOAD": f"{already} {LIBRARY}".strip()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, request: Request) -> Outcome:
        """Run one, to its end. Raises CdbError when the server has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(request)) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            trials_of.cache_clear()
            raise CdbError(f"the process that tries {self.spec} ended; see what it printed")
        return Outcome(**json.loads(answer))

    def close(self) -> None:
        """End the server."""
        self._process.communicate()


def usable(spec: str) -> SchemaInfo:
    """Find a schema. Raises UnsupportedError when it can't be used on this machine."""
    info = find_schema(spec)
    if info.missing is not None:
        raise UnsupportedError(info.missing)
    return info


def length(most: int | None, only: str | None, whole: int) -> int:
    """How many points a trial has of which each needs those before it; only names the last one."""
    return int(only) if only is not None and only.isdigit() else most or whole


@contextmanager
def telling_errors(tell: Callable[[str, object], None]) -> Iterator[None]:
    """Tell ("failed", text) of a CdbError, ("raised", text) of any other error, and go on."""
    try:
        yield
    except CdbError as error:
        tell("failed", _line(error))
    except BaseException as error:
        tell("raised", _line(error))


@contextmanager
def scratch(*, on_disk: bool = False) -> Iterator[Path]:
    """A directory for trials, in memory where there is such a thing: they sync a lot."""
    memory = MEMORY if MEMORY.is_dir() and not on_disk else None
    with TemporaryDirectory(prefix="cdb-faults-", dir=memory) as directory:
        yield Path(directory)


def new_directory(path: Path) -> Path:
    """Make an empty directory, instead of what is there; its parent must exist."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    return path


def _line(error: BaseException) -> str:
    return " ".join(error_text(error).split())
