"""Programs that run with the library preloaded which makes and records faults."""

import os
import sys
from pathlib import Path

from cdb.testing.faults.shim import LIBRARY, Shim, missing


def start_preloaded(module: str) -> None:
    """Start this program again with the library, unless it is there. Ends it where none is."""
    if missing() is not None:
        sys.stderr.write(f"{missing()}\n")
        raise SystemExit(2)
    if str(LIBRARY) not in os.environ.get("LD_PRELOAD", ""):
        line = [sys.executable, "-m", module, *sys.argv[1:]]
        os.execve(sys.executable, line, os.environ | {"LD_PRELOAD": str(LIBRARY)})  # noqa: S606


def record(shim: Shim, trace: Path) -> int:
    """Write what is done to files, from now on, to a trace; the descriptor for marks in it."""
    descriptor = os.open(trace, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    marks = os.open(os.devnull, os.O_WRONLY)
    shim.record(descriptor, marks)
    return marks
