"""Work in a child process, which may die of what it reads.

A schema that reads through a mapping is killed where the file has lost its end (SIGBUS), and a
library may end the process that meets damage. Whoever asked is told so in one line.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cdb.cmds.runner import fail

_PASSED_ON = (signal.SIGINT, signal.SIGTERM)
_WHY = {
    signal.SIGBUS: "a file that is mapped ends too soon, or its disk fails; load it anew",
    signal.SIGKILL: "is there memory enough?",
}


def apart(path: Path, work: Callable[[], int]) -> int:
    """Do work in a child process: its exit code. path: the database that it reads.

    Returns in the child, too, which goes on as this process would. Where a caller of the command
    takes what it prints, all is done here.
    """
    sys.stdout.flush()  # a child would print what waits, too
    if sys.stdout is not sys.__stdout__:
        return work()
    child = os.fork()
    if child == 0:
        return work()
    with _signals_to(child):
        _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return code
    if -code in _PASSED_ON:
        signal.signal(-code, signal.SIG_DFL)
        signal.raise_signal(-code)
    died = signal.Signals(-code)
    why = _WHY.get(died, "damage that its engine can't survive; load it anew")
    return fail(f"{path}: the process that read it was killed by {died.name}: {why}")


@contextmanager
def _signals_to(child: int) -> Iterator[None]:
    """What asks this process to end asks the child."""
    before = {
        number: signal.signal(number, lambda number, frame: os.kill(child, number))
        for number in _PASSED_ON
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
