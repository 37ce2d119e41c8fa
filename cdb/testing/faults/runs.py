"""Runs of scripts in processes of their own: watched as they go, limited, and interfered with."""

import json
import os
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

from cdb.contract.durability import Durability
from cdb.errors import CdbError, DatabaseError, UnsupportedError
from cdb.process.children import Pipe
from cdb.schemas import SchemaInfo, find_schema
from cdb.testing.faults.oracle import Progress
from cdb.testing.faults.script import script_of
from cdb.testing.faults.script_run import run
from cdb.testing.faults.shim import SERVER, Calls, Shim, missing
from cdb.testing.faults.trial import DATABASE, LONGEST_SECONDS, scratch, usable

Tell = Callable[[str, object], None]

_READ_BYTES = 65_536


@dataclass(frozen=True)
class Request:
    """A run of a script, see script_of, on the database at `path`.

    durability: the level, if not the schema's strongest. done: how many of its steps are left out.
    dies_at: a step that it is killed at, once it was acknowledged. groups: control groups to join,
    of each its file cgroup.procs. file_bytes: the most that a file may have. open_files: how many
    may be opened beyond those that are open. trace: where to record what it does to the files
    beside `path`. calls, first, last, action: see Shim.arm; these files count.
    """

    spec: str
    seed: int
    path: Path
    length: int = 1
    durability: Durability | None = None
    done: int = 0
    dies_at: int | None = None
    groups: tuple[Path, ...] = ()
    file_bytes: int | None = None
    open_files: int | None = None
    trace: Path | None = None
    calls: int = 0
    first: int = 0
    last: int = 0
    action: int = 0

    @property
    def is_limited(self) -> bool:
        """Whether it may have too little of something."""
        return self.file_bytes is not None or self.open_files is not None

    @property
    def needs_shim(self) -> bool:
        """Whether its calls are recorded or counted."""
        return self.trace is not None or bool(self.calls)


@dataclass(frozen=True)
class ToldError:
    """An error in another process. kind: its class. path: which file it names, if it is a
    DatabaseError; else "".
    """

    kind: str
    text: str
    path: str

    @classmethod
    def of(cls, error: BaseException) -> Self:
        """One of this process."""
        path = str(error.path) if isinstance(error, DatabaseError) else ""
        text = " ".join(str(error).split())
        return cls(type(error).__name__, text, path)

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


class Run:
    """A run, as far as it was heard of; at the end of a `with` it is killed.

    error: what ended it. signal: what killed it, 0 without one. calls: how many calls of the armed
    classes there were; 0 before its end, and if it was killed.
    Raises UnsupportedError where the schema can't be used, or its calls can't be seen.
    """

    def __init__(self, request: Request) -> None:
        usable(request.spec)
        problem = missing() if request.needs_shim else None
        if problem is not None:
            raise UnsupportedError(problem)
        self.progress = Progress(kept=0, begun=0)
        self.error: ToldError | None = None
        self.signal = 0
        self.calls = 0
        self.has_ended = False
        self._rest = b""
        self._child = SERVER.start(_run, request)

    def listen_until(self, step: int) -> None:
        """Wait until it begins a step, or ends."""
        while self.progress.begun < step and not self.has_ended:
            self._listen_long()

    def listen(self) -> None:
        """Take in what it has said so far."""
        while not self.has_ended and self._listen(0):
            pass

    def listen_to_end(self) -> Self:
        """Wait until it ends."""
        while not self.has_ended:
            self._listen_long()
        return self

    def kill(self) -> None:
        """SIGKILL, if it has not ended, and wait for that."""
        self._child.send_signal(signal.SIGKILL)
        self.listen_to_end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()

    def _listen_long(self) -> None:
        """A process that hangs is killed, by SIGALRM so that it can be told."""
        if not self._listen(LONGEST_SECONDS):
            self._child.send_signal(signal.SIGALRM)

    def _listen(self, seconds: float) -> bool:
        if not self._child.pipe.poll(seconds):
            return False
        said = os.read(self._child.pipe.fileno(), _READ_BYTES)
        if not said:
            self._end()
        *lines, self._rest = (self._rest + said).split(b"\n")
        for line in lines:
            word, _, what = line.decode().partition(" ")
            self._hear(word, what)
        return True

    def _end(self) -> None:
        exit_code = self._child.exit_code() or 0
        self._child.kill()
        if exit_code > 0:
            raise CdbError(f"a process that ran a script ended with {exit_code}; see what it said")
        self.signal, self.has_ended = -exit_code, True

    def _hear(self, word: str, what: str) -> None:
        match word:
            case "begun":
                self.progress = Progress(self.progress.kept, int(what))
            case "kept":
                self.progress = Progress(int(what), self.progress.begun)
            case "failed":
                self.error = ToldError(**json.loads(what))
            case "calls":
                self.calls = int(what)


def _run(pipe: "Pipe[Any, Any]", request: Request) -> None:
    """Run a script; it tells on the pipe how it gets on, in lines of two words."""

    def tell(word: str, what: object) -> None:
        os.write(pipe.fileno(), f"{word} {what}\n".encode())

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asks ends it
    shim = None
    try:
        with _telling_errors(tell):
            info, script = find_schema(request.spec), script_of(request.seed, request.length)
            for group in request.groups:
                group.write_text(str(os.getpid()), "ascii")
            if request.is_limited:
                _limit(info, request)
            if request.needs_shim:
                shim = _armed(request, pipe.fileno())
            open_schema = partial(info.open, request.path, durability=request.durability)
            run(script, request.done, open_schema, partial(_tell_or_die, request, tell))
        if shim is not None:
            tell("calls", shim.calls())
    finally:
        os._exit(0)


def _tell_or_die(request: Request, tell: Tell, word: str, step: int) -> None:
    tell(word, step)
    if word == "kept" and step == request.dies_at:
        os.kill(os.getpid(), signal.SIGKILL)


def _limit(info: SchemaInfo, request: Request) -> None:
    # Whatever a schema imports when it is used first comes before: the limits are for its files.
    with scratch() as directory:
        info.open(directory / DATABASE).close()
    if request.file_bytes is not None:
        _set_limit(resource.RLIMIT_FSIZE, request.file_bytes)
    if request.open_files is not None:
        _set_limit(resource.RLIMIT_NOFILE, _first_free_descriptor() + request.open_files)


def _set_limit(what: int, limit: int) -> None:
    resource.setrlimit(what, (limit, limit))


def _first_free_descriptor() -> int:
    descriptor = os.open(os.devnull, os.O_RDONLY)
    os.close(descriptor)
    return descriptor


def _armed(request: Request, pipe: int) -> Shim:
    shim = Shim()
    shim.watch(request.path.parent)
    if request.trace is not None:
        shim.record(os.open(request.trace, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), pipe)
    shim.arm(Calls(request.calls), request.first, request.last, request.action)
    return shim


@contextmanager
def _telling_errors(tell: Tell) -> Iterator[None]:
    """Tell ("failed", the fields of ToldError) of an error, and go on."""
    try:
        yield
    except BaseException as error:
        tell("failed", json.dumps(asdict(ToldError.of(error))))
