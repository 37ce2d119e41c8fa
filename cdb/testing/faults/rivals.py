"""Two writers of one database: the second is refused at once, and a killed one leaves no lock."""

import signal
import subprocess
import sys
from pathlib import Path

from cdb.errors import DatabaseLockedError
from cdb.schemas import find_schema
from cdb.testing.faults.coverage import Coverage
from cdb.testing.faults.oracle import BrokenPromiseError, Case
from cdb.testing.faults.trial import DATABASE

TRIAL = "rivals"
HOLDER = "cdb.testing.faults.holder"


def rivals(spec: str, directory: Path) -> Coverage:
    """Open beside another process that has it open, then after that one was killed.

    Raises BrokenPromiseError.
    """
    info = find_schema(spec)
    path = directory / DATABASE
    command = [sys.executable, "-m", HOLDER, spec, str(path)]
    with subprocess.Popen(  # noqa: S603
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        try:
            info.open(path).close()
        except DatabaseLockedError as error:
            refusal = str(error)
        else:
            problem = "a second process opens it for writing"
            raise BrokenPromiseError(Case(TRIAL, spec, 0, "held"), problem)
        finally:
            holder.send_signal(signal.SIGKILL)
    if str(path) not in refusal:
        raise BrokenPromiseError(Case(TRIAL, spec, 0, "held"), f"no path in '{refusal}'")
    try:
        info.open(path).close()
    except Exception as error:
        problem = f"after its writer was killed: {error}"
        raise BrokenPromiseError(Case(TRIAL, spec, 0, "killed"), problem) from error
    return Coverage(TRIAL, spec, 0, 2, 2, 2)
