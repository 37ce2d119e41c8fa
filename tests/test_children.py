"""The three ways to a process: what a child has, and how it ends."""

import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cdb.process.children import (
    DiedError,
    Pipe,
    SilentError,
    Spawn,
    end_all,
    exit_code_of,
    finished,
    fork,
    output_of,
)
from cdb.process.termination import end_at_sigterm
from cdb.testing.faults.shim import LIBRARY, SERVER, missing
from tests.lab.processes import is_running, soon

preloads = pytest.mark.skipif(missing() is not None, reason=str(missing()))
both = pytest.mark.parametrize("way", [Spawn(), SERVER], ids=["spawn", "server"])


def tell(pipe: "Pipe[Any, Any]", what: str) -> None:
    """Send it, with what there is here."""
    pipe.send((what, os.getpid(), os.environ.get("LD_PRELOAD", ""), pipe.recv()))


def die(pipe: "Pipe[Any, Any]") -> None:
    """Say who it is, and end as nobody should."""
    pipe.send(os.getpid())
    pipe.recv()
    signal.raise_signal(signal.SIGTERM)


def sleep(pipe: "Pipe[Any, Any]") -> None:
    """Start a process that sleeps, and sleep, whatever comes."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    pipe.send((os.getpid(), fork(lambda: time.sleep(600))))
    time.sleep(600)


def clean_up(pipe: "Pipe[Any, Any]", path: Path) -> None:
    """Sleep; once asked to end, say so in a file."""
    end_at_sigterm()
    try:
        pipe.send("asleep")
        time.sleep(600)
    finally:
        path.touch()


def speak(pipe: "Pipe[Any, Any]") -> None:
    """Print on both streams, and wait."""
    sys.stdout.write("one ")
    sys.stdout.flush()
    sys.stderr.write("two")
    pipe.recv()


def doze(pipe: "Pipe[Any, Any]", *, listens: bool) -> None:
    """Sleep, perhaps until the pipe is closed."""
    if listens:
        pipe.poll(600)
    else:
        time.sleep(600)


def spawn_sleeper(pipe: "Pipe[Any, Any]", *, outlives: bool) -> None:
    """Spawn one that sleeps, and wait as well."""
    child = Spawn(outlives=outlives).start(doze, listens=outlives)
    pipe.send(child._process.pid)
    pipe.recv()


@both
def test_a_child_does_what_it_is_told_and_ends(way: Any) -> None:
    child = way.start(tell, "this")
    child.pipe.send("that")
    what, process, _, asked = child.receive()
    assert (what, asked) == ("this", "that")
    assert process != os.getpid()
    assert child.exit_code() == 0
    child.kill()


@preloads
def test_a_child_of_the_server_has_the_shim_and_nothing_of_the_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = ModuleType("__main__")
    program.__file__ = str(tmp_path / "program.py")
    Path(program.__file__).write_text("raise AssertionError('it was imported')")
    monkeypatch.setitem(sys.modules, "__main__", program)
    child = SERVER.start(tell, "this")
    child.pipe.send("that")
    assert str(LIBRARY) in child.receive()[2]
    assert str(LIBRARY) not in os.environ.get("LD_PRELOAD", "")
    child.kill()


@both
def test_one_that_dies_is_told(way: Any) -> None:
    child = way.start(die)
    process = child.receive()
    assert child.exit_code(0) is None
    with pytest.raises(SilentError, match="within 0 seconds"):
        child.receive(0)
    child.pipe.send("now")
    with pytest.raises(DiedError, match=f"its process ended with {-signal.SIGTERM}"):
        child.receive()
    child.kill()
    assert soon(lambda: not is_running(process))


def test_one_that_is_apart_is_killed_with_what_it_has_started() -> None:
    child = Spawn(is_apart=True).start(sleep)
    processes = child.receive()
    end_all([child], 0.1)
    assert child.exit_code() == -signal.SIGKILL
    assert soon(lambda: not any(map(is_running, processes)))


def test_one_that_is_asked_to_end_may_clean_up(tmp_path: Path) -> None:
    child = Spawn(is_apart=True).start(clean_up, tmp_path / "cleaned")
    child.receive()
    end_all([child], 60)
    assert (tmp_path / "cleaned").exists()


def test_what_one_prints_goes_to_the_file() -> None:
    with tempfile.TemporaryFile() as said:
        child = Spawn(said=said).start(speak)
        child.pipe.send(None)
        assert child.exit_code() == 0
        child.kill()
        said.seek(0)
        assert said.read() == b"one two"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends them")
@pytest.mark.parametrize("outlives", [False, True])
def test_one_ends_with_who_started_it_or_once_the_pipe_is_closed(outlives: bool) -> None:
    parent = Spawn().start(spawn_sleeper, outlives=outlives)
    process = parent.receive()
    parent.kill()
    assert soon(lambda: not is_running(process))


def test_one_that_is_broken_off_before_there_is_work_says_nothing() -> None:
    command = (sys.executable, "-m", Spawn.__module__, "3", str(os.getpid()))
    done = finished("/bin/sh", "-c", 'exec "$@" 3</dev/null', "sh", *command)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def _fail() -> None:
    raise KeyError("spends")


@pytest.mark.parametrize(
    ("work", "code"),
    [
        (lambda: None, 0),
        (_fail, 1),
        (lambda: signal.raise_signal(signal.SIGKILL), -signal.SIGKILL),
    ],
)
def test_how_a_fork_ends(work: Callable[[], object], code: int) -> None:
    assert exit_code_of(fork(work)) == code


def test_what_a_program_prints() -> None:
    assert output_of("/bin/sh", "-c", "echo this") == "this"
    assert output_of("/bin/sh", "-c", "echo this; exit 1") is None
    assert output_of("/no/such/program") is None
