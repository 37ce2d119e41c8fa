"""Processes of our own. There are three ways to one, each for what the two others can't do.

- Spawn, a new interpreter: it has nothing of this process's memory, caches and threads, which what
  is measured needs. It may join control groups and have a library preloaded before Python begins,
  and outlive this process. output_of() and finished() spawn programs of the system.
- ForkServer, forked from a process that has opened nothing: no start of an interpreter for each of
  thousands of trials, and no thread that a child would lack.
- fork() and fork_and_wait(), from this very process: the child has all that is open, drawn and
  read here, and goes on with it.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import IO, Any, Concatenate, ParamSpec

from cdb.process.termination import end_with

P = ParamSpec("P")
Pipe = Connection
Work = Callable[Concatenate["Pipe[Any, Any]", P], None]
"""What a child does with its end of a pipe: any function that another process can import."""

# The shell joins the groups before it becomes Python, so that all of Python's memory counts.
_JOIN = """
until [ "$1" = -- ]; do
    echo $$ > "$1" || exit
    shift
done
shift
exec "$@"
"""
PASSED_ON = {signal.SIGINT, signal.SIGTERM}
"""What asks a process to end, and with it the child that it waits for."""
_AWAITED = PASSED_ON | {signal.SIGCHLD}
_handling = Lock()  # one thread at a time starts or ends a child of a server


class SilentError(Exception):
    """A child has not answered in time."""

    def __init__(self, seconds: float | None) -> None:
        super().__init__(f"it did not answer within {seconds:.0f} seconds")


class DiedError(Exception):
    """A child ended before it had answered. exit_code: or minus the signal that killed it."""

    def __init__(self, exit_code: int | None) -> None:
        self.exit_code = exit_code
        super().__init__(f"its process ended with {exit_code}")


class Child:
    """A process that does its work, and ends; it is killed with this one. pipe: our end.

    process: of multiprocessing, or as those are.
    """

    def __init__(self, pipe: "Pipe[Any, Any]", process: "BaseProcess | _Spawned") -> None:
        self.pipe = pipe
        self._process = process

    def receive(self, seconds: float | None = None) -> Any:
        """What it sends next. Raises SilentError when nothing comes in time, and DiedError."""
        try:
            if not self.pipe.poll(seconds):
                raise SilentError(seconds)
            return self.pipe.recv()
        except (EOFError, ConnectionError):
            raise DiedError(self.exit_code(seconds)) from None

    def exit_code(self, seconds: float | None = None) -> int | None:
        """Wait for its end: its exit code, or minus the signal that killed it; None if it lives."""
        self._process.join(seconds)
        return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        """Unless it has ended."""
        if self.exit_code(0) is None and self._process.pid is not None:
            with suppress(ProcessLookupError):  # its end was not heard yet
                os.kill(self._process.pid, number)

    def kill(self) -> None:
        """SIGKILL, unless it has ended; it has then."""
        with _handling:
            self._process.kill()
            self._process.join()
        self.pipe.close()


def end_all(children: Sequence[Child], seconds: float) -> None:
    """Ask children to end, and kill what is left of them after so long."""
    deadline = time.monotonic() + seconds
    try:
        for child in children:
            child.send_signal(signal.SIGTERM)
        for child in children:
            child.exit_code(max(0, deadline - time.monotonic()))
    finally:
        for child in children:
            child.kill()


class _Spawned(subprocess.Popen[bytes]):
    """As multiprocessing's processes are. One in a session of its own is killed with all in it."""

    is_apart = False

    @property
    def exitcode(self) -> int | None:
        """None while it lives."""
        return self.poll()

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(timeout)

    def kill(self) -> None:
        """SIGKILL."""
        if self.is_apart:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
        super().kill()


@dataclass(frozen=True, slots=True)
class Spawn:
    """A new interpreter. It prints nothing on standard output, which is this process's own.

    groups: the control groups that it joins, of each its file cgroup.procs. environment: what it
    has besides the variables of this process. said: the file that takes what it prints, where that
    is not standard error. is_apart: Ctrl-C does not reach it, and what it starts is killed with it.
    outlives: it is not killed with this process, but sees its end of the pipe close.
    """

    groups: Sequence[Path] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    said: IO[bytes] | None = None
    is_apart: bool = False
    outlives: bool = False

    def start(self, work: "Work[P]", *args: P.args, **kwargs: P.kwargs) -> Child:
        """Begin work in it."""
        pipe, theirs = multiprocessing.Pipe()
        parent = 0 if self.outlives else os.getpid()
        command = [sys.executable, "-m", __name__, str(theirs.fileno()), str(parent)]
        if self.groups:
            command = ["/bin/sh", "-c", _JOIN, "sh", *map(str, self.groups), "--", *command]
        # It has the same modules as this one, those of the current directory included.
        paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
        said = 2 if self.said is None else self.said.fileno()
        process = _Spawned(
            command,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            env={**os.environ, "PYTHONPATH": paths, **self.environment},
            pass_fds=[theirs.fileno()],
            start_new_session=self.is_apart,
        )
        process.is_apart = self.is_apart
        theirs.close()
        with suppress(ConnectionError):  # whoever receives is told of its end
            pipe.send((work, args, kwargs))
        return Child(pipe, process)


class ForkServer:
    """Forks children that have imported the modules. library: None, or what it has preloaded."""

    def __init__(self, modules: Sequence[str], library: Callable[[], Path | None]) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(list(modules))
        self._library = library

    def start(self, work: "Work[P]", *args: P.args, **kwargs: P.kwargs) -> Child:
        """Begin work in a child; the server begins with the first."""
        pipe, theirs = self._context.Pipe()
        process = self._context.Process(
            target=work, args=(theirs, *args), kwargs=kwargs, daemon=True
        )
        with _handling, _as_the_server_starts(self._library()):
            process.start()
        theirs.close()
        return Child(pipe, process)


@contextmanager
def _as_the_server_starts(library: Path | None) -> Iterator[None]:
    """Have the library preloaded in what starts, and no main module: each child would import that
    anew, and needs nothing of the program here."""
    main, before = sys.modules["__main__"], os.environ.get("LD_PRELOAD")
    sys.modules["__main__"] = ModuleType("__main__")
    if library is not None:
        # A sanitizer, which may be there already, has to come first.
        os.environ["LD_PRELOAD"] = f"{before or ''} {library}".strip()
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        os.environ.pop("LD_PRELOAD", None)
        if before is not None:
            os.environ["LD_PRELOAD"] = before


def fork(work: Callable[[], object]) -> int:
    """Begin work in a child of this process: its id. It ends with 0, or with 1 after an error."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(code)
    return child


def exit_code_of(child: int) -> int:
    """Wait for the end of what fork() gave: its exit code, or minus the signal that killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def fork_and_wait() -> int | None:
    """Fork, and wait for the child: its exit code, or minus the signal that killed it.

    None in the child, which goes on as this process would. What asks this process to end meanwhile
    asks the child. Raises OSError where the system has no process, or no memory for one, to give.
    """
    with _signals_held():
        parent = os.getpid()
        child = os.fork()
        if child:
            return _end_of(child)
    end_with(parent)
    return None


@contextmanager
def _signals_held() -> Iterator[None]:
    """What comes meanwhile waits: none is lost in a hook of the fork, or meets half of the two."""
    held_before = signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    # Where whoever started this process had it ignore SIGCHLD, no child would wait to be asked.
    at_child_before = signal.signal(signal.SIGCHLD, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGCHLD, at_child_before)
        signal.pthread_sigmask(signal.SIG_SETMASK, held_before)


def _end_of(child: int) -> int:
    """How a child ended, by os.waitpid; what asks this process to end meanwhile asks the child.

    The signals are held, so that none is passed on once the child's id is given back.
    """
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        number = signal.sigwait(_AWAITED)
        if number in PASSED_ON:
            os.kill(child, number)


def finished(*command: str) -> "subprocess.CompletedProcess[str]":
    """A program of the system, once it has ended, with what it printed. Raises OSError."""
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)  # noqa: S603 - our own commands


def output_of(*command: str) -> str | None:
    """What a program of the system prints; None where there is none, or it fails."""
    try:
        done = finished(*command)
    except OSError:
        return None
    return None if done.returncode else done.stdout.strip()


def _serve(descriptor: int, parent: int) -> None:
    """Do what the process wants that has spawned this one. parent: its id, 0 to outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the parent says what there is to say
    if parent:
        end_with(parent)
    pipe: Pipe[Any, Any] = Connection(descriptor)
    try:
        work, args, kwargs = pipe.recv()
    except EOFError:  # who wants it was broken off before there was work
        return
    work(pipe, *args, **kwargs)


if __name__ == "__main__":
    _serve(*map(int, sys.argv[1:]))
