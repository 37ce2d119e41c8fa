"""What Ctrl-C does before, in and after a command, and what becomes of what a command returns."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import cdb
from cdb.cmds.interrupt import DeferredInterrupt
from cdb.cmds.runner import run
from cdb.process.termination import at_interrupts

# As it is while Python imports what "python -m cdb.cmds.NAME" names.
BEFORE_A_COMMAND = """
import os, signal, sys
sys.argv = ["-m"]
import cdb.cmds
late = {"click", "cdb.contract.blocks", "cdb.schemas", "typing", "contextlib"}
print(*late & sys.modules.keys(), flush=True)
os.kill(os.getpid(), signal.SIGINT)
"""


@pytest.fixture
def _interrupts() -> Iterator[None]:
    """Puts back what Ctrl-C does."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_before_a_command_ends_it_at_once() -> None:
    """That is so before anything is imported that takes a while."""
    command = [sys.executable, "-S", "-c", BEFORE_A_COMMAND]  # -S: nothing that is installed
    here = Path(cdb.__file__).parents[1]
    ended = subprocess.run(command, capture_output=True, cwd=here, check=False, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGINT, b"\n", b"")


@pytest.mark.usefixtures("_interrupts")
@pytest.mark.parametrize("before", [signal.SIG_DFL, signal.default_int_handler])
def test_an_interrupt_in_a_command_is_an_exception_and_after_it_the_end(
    monkeypatch: pytest.MonkeyPatch, before: signal.Handlers
) -> None:
    @click.command()
    def command() -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(sys, "argv", ["command"])
    signal.signal(signal.SIGINT, before)
    with pytest.raises(SystemExit) as ended:
        run(command)
    assert ended.value.code == 130
    assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL


@pytest.mark.usefixtures("_interrupts")
def test_who_ignores_interrupts_goes_on_doing_so() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    at_interrupts(signal.SIG_DFL)
    with DeferredInterrupt():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@pytest.mark.usefixtures("_interrupts")
@pytest.mark.parametrize("told", [(), ("my.cdb: out of memory",)])
def test_too_little_memory_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], told: tuple[str, ...]
) -> None:
    @click.command()
    def command() -> None:
        raise MemoryError(*told)

    monkeypatch.setattr(sys, "argv", ["command"])
    with pytest.raises(SystemExit) as ended:
        run(command)
    assert ended.value.code == 1
    what = "".join(told) or "out of memory"
    assert capsys.readouterr().err == f"error: {what}; free some, or allow more (ulimit -v)\n"
