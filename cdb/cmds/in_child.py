"""Work in a child process, which may die of what it reads.

A schema that reads through a mapping is killed where the file has lost its end (SIGBUS), and a
library may end the process that meets damage. Whoever asked is told so in one line.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cdb.cmds.echo import note_line
from cdb.cmds.runner import fail
from cdb.contract.location import Location
from cdb.extensions.native import threads_are_used
from cdb.process.termination import end_with

_PASSED_ON = {signal.SIGINT, signal.SIGTERM}
_AWAITED = _PASSED_ON | {signal.SIGCHLD}
_WHY = {
    signal.SIGABRT: "its engine gave up: damage that it can't survive, or too little memory",
    signal.SIGBUS: "a file that is mapped ends too soon, or its disk fails; load a new database",
    signal.SIGKILL: "is there memory enough?",
}

_NOT_APART = "there is no other process to read it in, so what can't be read may end this one"


def in_child(location: Location, work: Callable[[], int]) -> int:
    """Do work in a child process: its exit code. location: of the database that it reads.

    Returns in the child, too, which goes on as this process would. Where a caller of the command
    takes what it prints, or has used a library whose threads a child would lack, or the system has
    no process to give, all is done here.
    """
    sys.stdout.flush()  # a child would print what waits, too
    if sys.stdout is not sys.__stdout__ or threads_are_used():
        return work()
    with _signals_held():
        command = os.getpid()
        child = _forked()
        status = _status_of(child) if child else 0
    if child is None:
        note_line(f"{location}: {_NOT_APART}")
        return work()
    if child == 0:
        end_with(command)
        return work()
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return code
    if -code in _PASSED_ON:
        signal.signal(-code, signal.SIG_DFL)
        signal.raise_signal(-code)
    died = signal.Signals(-code)
    why = _WHY.get(died, "damage that its engine can't survive; load a new database")
    return fail(f"{location}: the process that read it was killed by {died.name}: {why}")


def _forked() -> int | None:
    """What os.fork() gives; None where the system has no process, or no memory for one, to give."""
    try:
        return os.fork()
    except OSError:
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


def _status_of(child: int) -> int:
    """How the child ended, by os.waitpid; what asks this process to end meanwhile asks the child.

    The signals are held, so that none is passed on once the child's id is given back.
    """
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        number = signal.sigwait(_AWAITED)
        if number in _PASSED_ON:
            os.kill(child, number)
