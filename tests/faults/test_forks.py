"""Processes that are forked: what they do, how they end, and that the program here is no matter."""

import os
import signal
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cdb.errors import UnsupportedError
from cdb.testing.faults.forks import Fork, Pipe
from cdb.testing.faults.runs import Request, Run
from cdb.testing.faults.shim import LIBRARY, Calls, missing
from cdb.testing.faults.trial import DATABASE
from tests.lab.processes import is_running, soon

preloads = pytest.mark.skipif(missing() is not None, reason=str(missing()))


def tell(pipe: "Pipe[Any, Any]", what: str) -> None:
    """Send it, with what there is here."""
    pipe.send((what, os.getpid(), os.environ.get("LD_PRELOAD", ""), pipe.recv()))


def die(pipe: "Pipe[Any, Any]") -> None:
    """Say who it is, and end as nobody should."""
    pipe.send(os.getpid())
    pipe.recv()
    signal.raise_signal(signal.SIGTERM)


@preloads
def test_a_process_has_the_shim_and_nothing_of_the_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = ModuleType("__main__")
    program.__file__ = str(tmp_path / "program.py")
    Path(program.__file__).write_text("raise AssertionError('it was imported')")
    monkeypatch.setitem(sys.modules, "__main__", program)
    fork = Fork(tell, "this")
    fork.pipe.send("that")
    what, process, preloaded, asked = fork.pipe.recv()
    assert (what, asked) == ("this", "that")
    assert process != os.getpid()
    assert str(LIBRARY) in preloaded
    assert str(LIBRARY) not in os.environ.get("LD_PRELOAD", "")
    assert fork.exit_code() == 0
    fork.kill()


def test_one_that_is_killed_is_told() -> None:
    fork = Fork(die)
    process = fork.pipe.recv()
    assert fork.exit_code(0) is None
    fork.pipe.send("now")
    assert fork.exit_code() == -signal.SIGTERM
    fork.kill()
    assert soon(lambda: not is_running(process))


@preloads
def test_a_run_is_heard_of_and_its_calls_are_counted(tmp_path: Path) -> None:
    request = Request("coin_log:SMALL", 1, tmp_path / DATABASE, calls=Calls.SYNC)
    whole = Run(request).listen_to_end()
    assert (whole.error, whole.signal) == (None, 0)
    assert whole.calls > 0
    assert whole.progress.kept == whole.progress.begun > 0


def test_a_run_that_is_left_is_killed(tmp_path: Path) -> None:
    with Run(Request("memory", 1, tmp_path / DATABASE, length=50)) as run:
        run.listen_until(1)
    assert run.has_ended
    assert run.signal == signal.SIGKILL


def test_a_schema_that_is_not_here_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "absent.py").write_text(ABSENT)
    sys.path.insert(0, str(tmp_path))
    try:
        with pytest.raises(UnsupportedError, match="no such engine"):
            Run(Request("absent", 1, tmp_path / DATABASE))
    finally:
        sys.path.remove(str(tmp_path))


ABSENT = """
from cdb.schemas import SchemaSpec
from cdb.schemas.memory import MemorySchema

SCHEMA = SchemaSpec(MemorySchema, missing=lambda: "no such engine")
"""
