"""What tests wait for: that something becomes so, and that a process has ended."""

import os
import time
from collections.abc import Callable
from pathlib import Path

WAIT_SECONDS = 60


def soon(is_so: Callable[[], bool]) -> bool:
    """Whether it becomes so within a minute."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.02)
    return is_so()


def is_running(pid: int) -> bool:
    """Whether there is such a process; one that has ended and that nobody asked about is none."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat")
        return not state.exists() or state.read_text("ascii").rpartition(") ")[2][0] not in "ZX"
    except (ProcessLookupError, FileNotFoundError):
        return False
