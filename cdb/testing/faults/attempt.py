"""One trial in a process of its own, which may die or hang, and nothing but it ends."""

import asyncio
import json
import os
import re
import shlex
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from dataclasses import dataclass

from cdb.testing.faults.coverage import Coverage

COMMAND = "cdb.testing.faults"
EXIT_UNSUPPORTED = 3
"""Of the command: the schema can't be tried so, or not on this machine."""
GRACE_SECONDS = 10.0
"""How long a trial that is broken off may take to delete what it made."""
TOLD_CHARACTERS = 2000
_BROKEN_PROMISE = re.compile(
    r"^Error: (.*?)\n  seed [^\n]*; again: ([^\n]*)", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Failure:
    """The trial did not end well. command: does it again. said: what its process said at last."""

    problem: str
    command: str
    said: str = ""


class BrokenPromise(Failure):
    """That is what the trial found, and what `problem` says."""


@dataclass(frozen=True)
class Untried:
    """The schema can't be tried so."""

    reason: str


Verdict = Coverage | Failure | Untried


@dataclass(frozen=True)
class Attempt:
    """A trial to be made. most: see cdb.testing.faults.catalogue.Trial."""

    trial: str
    spec: str
    seed: int
    most: int | None = None

    @property
    def arguments(self) -> list[str]:
        """Of the command."""
        most = [] if self.most is None else ["--most", str(self.most)]
        return [self.trial, self.spec, "--seed", str(self.seed), *most]

    @property
    def command(self) -> str:
        """A line for the shell that makes it again."""
        return shlex.join(["python", "-m", COMMAND, *self.arguments])

    async def make(self, time_limit_seconds: float) -> Verdict:
        """Make it. When this is cancelled, its processes end."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-X", "faulthandler", "-m", COMMAND, *self.arguments, "--json"),
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            process_group=0,
        )
        said = asyncio.create_task(process.communicate())
        try:
            await asyncio.wait([said], timeout=time_limit_seconds)
            is_late = not said.done()
        finally:
            if not said.done():
                await _end(process, said)
        if is_late:
            return Failure(f"it takes longer than {time_limit_seconds:g} s", self.command)
        out, err = said.result()
        assert process.returncode is not None
        return self._verdict(process.returncode, _text(out), _text(err))

    def _verdict(self, exit_code: int, out: str, err: str) -> Verdict:
        tried_nothing = exit_code == EXIT_UNSUPPORTED and out  # another seed may have something
        if exit_code == 0 or tried_nothing:
            try:
                return Coverage(**json.loads(out.splitlines()[-1]))
            except (IndexError, TypeError, ValueError):
                return Failure("it does not say what it covered", self.command)
        if exit_code == EXIT_UNSUPPORTED:
            return Untried(err.rpartition("Error: ")[2].strip())
        broken = _BROKEN_PROMISE.search(err)
        if broken is not None:
            return BrokenPromise(broken[1].removeprefix(f"{self.spec}: "), broken[2])
        said = err.strip()[-TOLD_CHARACTERS:]
        last_line = said.rpartition("\n")[2]
        if exit_code < 0:
            problem = f"its process was killed by signal {-exit_code}"
        else:
            problem = f"its process ended with exit code {exit_code}: {last_line}"
        return Failure(problem, self.command, said)


async def _end(process: Process, said: asyncio.Task[tuple[bytes, bytes]]) -> None:
    """End a trial as Ctrl-C does, and then all that is left of its processes by force."""
    try:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
        await asyncio.wait([said], timeout=GRACE_SECONDS)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        # What cleans up after a killed trial may still hold its pipes.
        await asyncio.wait([said], timeout=GRACE_SECONDS)
        said.cancel()


def _text(said: bytes) -> str:
    return said.decode(errors="replace")
