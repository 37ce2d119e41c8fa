"""Work in a child process, which may die of what it reads.

A schema that reads through a mapping is killed where the file has lost its end (SIGBUS), and a
library may end the process that meets damage. Whoever asked is told so in one line.
"""

import signal
import sys
from collections.abc import Callable

from cdb.cmds.echo import note_line
from cdb.cmds.runner import fail
from cdb.contract.location import Location
from cdb.extensions.native import threads_are_used
from cdb.process.children import PASSED_ON, fork_and_wait

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
    try:
        code = fork_and_wait()
    except OSError:
        note_line(f"{location}: {_NOT_APART}")
        return work()
    if code is None:
        return work()
    if code >= 0:
        return code
    if -code in PASSED_ON:
        signal.signal(-code, signal.SIG_DFL)
        signal.raise_signal(-code)
    died = signal.Signals(-code)
    why = _WHY.get(died, "damage that its engine can't survive; load a new database")
    return fail(f"{location}: the process that read it was killed by {died.name}: {why}")
