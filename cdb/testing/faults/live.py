"""Runs scripts in processes of their own, which can be watched as they go. Nothing is preloaded."""

import json
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Self

from cdb.errors import CdbError
from cdb.testing.faults.oracle import Progress
from cdb.testing.faults.trial import LONGEST_SECONDS, usable

RUNNER = "cdb.testing.faults.runner"
_READ_BYTES = 65_536


@dataclass(frozen=True)
class Request:
    """A run of a script, see script_of, on the database at `path`.

    first: how many of its steps are left out. groups: control groups to join, of each its file
    cgroup.procs. file_bytes: the most that a file may have. open_files: how many may be opened
    beyond those that are open.
    """

    seed: int
    path: str
    length: int = 1
    first: int = 0
    groups: tuple[str, ...] = ()
    file_bytes: int | None = None
    open_files: int | None = None

    @property
    def is_limited(self) -> bool:
        """Whether it may have too little of something."""
        return self.file_bytes is not None or self.open_files is not None


class Run:
    """A run, as far as it was heard of.

    error: what ended it, and whether that is a CdbError. signal: what killed it, 0 without one.
    """

    def __init__(self, pipe: int) -> None:
        self.progress = Progress(kept=0, begun=0)
        self.error: str | None = None
        self.is_ours = False
        self.signal = 0
        self.has_ended = False
        self._process = 0
        self._pipe = pipe
        self._rest = b""

    def listen_until(self, step: int) -> None:
        """Wait until it begins a step, or ends."""
        while self.progress.begun < step and not self.has_ended:
            self._listen_long()

    def listen(self) -> None:
        """Take in what it has said so far."""
        while not self.has_ended and self._listen(0):
            pass

    def listen_to_end(self) -> None:
        """Wait until it ends."""
        while not self.has_ended:
            self._listen_long()

    def kill(self) -> None:
        """SIGKILL, if it has not ended, and wait for that."""
        if self._process and not self.has_ended:
            with suppress(ProcessLookupError):  # its end was not heard yet
                os.kill(self._process, signal.SIGKILL)
        self.listen_to_end()

    def _listen_long(self) -> None:
        """A process that hangs is killed, by SIGALRM so that it can be told."""
        if not self._listen(LONGEST_SECONDS):
            if not self._process:
                raise CdbError("no process that runs scripts can be started")
            os.kill(self._process, signal.SIGALRM)

    def _listen(self, seconds: float) -> bool:
        if not select.select([self._pipe], [], [], seconds)[0]:
            return False
        said = os.read(self._pipe, _READ_BYTES)
        if not said:
            raise CdbError("the process that runs scripts ended; see what it printed")
        *lines, self._rest = (self._rest + said).split(b"\n")
        for line in lines:
            word, _, what = line.decode().partition(" ")
            self._hear(word, what)
        return True

    def _hear(self, word: str, what: str) -> None:
        match word:
            case "process":
                self._process = int(what)
            case "begun":
                self.progress = Progress(self.progress.kept, int(what))
            case "kept":
                self.progress = Progress(int(what), self.progress.begun)
            case "failed" | "raised":
                self.error, self.is_ours = what, word == "failed"
            case "ended":
                self.signal, self.has_ended = int(what), True


class Runs:
    """Runs of one schema, one at a time. Use it in a `with`.

    Raises UnsupportedError where the schema can't be used.
    """

    def __init__(self, spec: str) -> None:
        usable(spec)
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-m", RUNNER, spec], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def start(self, request: Request) -> Run:
        """Start one; the one before must have ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(request)).encode() + b"\n")
        self._process.stdin.flush()
        return Run(self._process.stdout.fileno())

    def run(self, request: Request) -> Run:
        """Run one to its end."""
        run = self.start(request)
        run.listen_to_end()
        return run

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.communicate()
