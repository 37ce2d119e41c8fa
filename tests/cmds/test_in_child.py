"""Work in a child process: what asks the command to end ends both, whenever it comes.

Each command is a child of the test's own, and its hooks of a fork send the signals.
"""

import errno
import gc
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from cdb.cmds.in_child import in_child
from cdb.cmds.runner import EXIT_INTERRUPT
from cdb.extensions import native
from cdb.process.termination import end_with

LIMIT_SECONDS = 30
ENDINGS = [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, EXIT_INTERRUPT)]


class Command:
    """A process that does work apart, after it did what comes before it."""

    def __init__(self, work: Callable[[], int], before: Callable[[], object]) -> None:
        self._output, output = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.dup2(output, 1)
            _run(work, before)
        os.close(output)

    def begun(self) -> bool:
        """Whether the work says so."""
        return self._read() == b"begun"

    def ended(self) -> int:
        """Its exit code, once nobody has its output open any more."""
        while self._read():
            pass
        os.close(self._output)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def _read(self) -> bytes:
        assert select.select([self._output], [], [], LIMIT_SECONDS)[0], "one of the two runs on"
        return os.read(self._output, 100)


def _run(work: Callable[[], int], before: Callable[[], object]) -> NoReturn:
    code = 99
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(2 * LIMIT_SECONDS)  # no test leaves it behind
    gc.disable()  # other tests have it call functions, in which a KeyboardInterrupt is ignored
    try:
        sys.stdout = sys.__stdout__
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        native._threads_used.clear()  # of tests before this one: all would be done here
        before()
        code = in_child(Path("db"), work)
    except KeyboardInterrupt:
        code = EXIT_INTERRUPT
    finally:
        os._exit(code)


def nothing() -> None:
    pass


def last_long() -> int:
    os.write(1, b"begun")
    time.sleep(2 * LIMIT_SECONDS)
    return 0


def answer() -> int:
    return 7


def send(number: int) -> None:
    """Not by raise_signal, which lets Python answer at once."""
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("where", ["after_in_parent", "after_in_child"])
@pytest.mark.parametrize(("number", "code"), ENDINGS)
def test_a_signal_right_after_the_fork_ends_both(where: str, number: int, code: int) -> None:
    hook = {where: lambda: send(number)}
    assert Command(last_long, lambda: os.register_at_fork(**hook)).ended() == code


@pytest.mark.parametrize(("number", "code"), ENDINGS)
def test_a_signal_to_the_command_ends_both(number: int, code: int) -> None:
    command = Command(last_long, nothing)
    assert command.begun()
    os.kill(command.pid, number)
    assert command.ended() == code


@pytest.mark.parametrize(("number", "code"), ENDINGS)
def test_a_signal_after_the_childs_end_ends_the_command(number: int, code: int) -> None:
    """It asks nobody else: the child's id may be another process's by now."""
    wait = os.waitpid

    def wait_and_send(pid: int, options: int) -> tuple[int, int]:
        ended = wait(pid, options)
        if ended[0]:
            send(number)
        return ended

    def before() -> None:
        os.waitpid = wait_and_send

    assert Command(answer, before).ended() == code


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends it")
def test_a_child_ends_with_its_command() -> None:
    command = Command(last_long, nothing)
    assert command.begun()
    os.kill(command.pid, signal.SIGKILL)
    assert command.ended() == -signal.SIGKILL


def test_whose_parent_has_ended_before_ends_at_once() -> None:
    here = os.getpid()
    assert Command(answer, lambda: end_with(here)).ended() == 7
    assert Command(answer, lambda: end_with(os.getpid())).ended() == -signal.SIGKILL


def test_the_code_of_the_work_where_children_are_ignored() -> None:
    ignore = lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # noqa: E731
    assert Command(answer, ignore).ended() == 7


def test_where_a_child_would_lack_threads_all_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", sys.__stdout__)
    monkeypatch.setattr(native, "_threads_used", {"RocksDB"})
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("it forks"))
    assert in_child(Path("db"), answer) == 7


def test_where_there_is_no_process_all_is_done_here(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> int:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(sys, "stdout", sys.__stdout__)
    monkeypatch.setattr(native, "_threads_used", set())
    monkeypatch.setattr(os, "fork", refuse)
    assert in_child(Path("db"), answer) == 7
    assert "db: there is no other process to read it in" in capfd.readouterr().err
