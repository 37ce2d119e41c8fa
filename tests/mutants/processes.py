"""Commands that are ended as a whole: when they take too long, and at Ctrl-C."""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic

GRACE_SECONDS = 30.0
_stopping = threading.Event()
_alive: set[subprocess.Popen[str]] = set()


class StoppedError(Exception):
    """stop_all() was called."""


def stop_all() -> None:
    """End all commands that run; no more begin."""
    _stopping.set()
    for process in list(_alive):
        _end(process)


def run(
    command: Sequence[str | Path],
    directory: Path,
    environment: Mapping[str, str],
    *,
    limit_seconds: float,
    is_enough: Callable[[str], bool] = lambda line: False,
) -> tuple[int | None, list[str]]:
    """Run a command; its exit code and the lines that it wrote. Raises StoppedError.

    The code is None where it was ended: limit_seconds were over, or a line of it was enough.
    """
    if _stopping.is_set():
        raise StoppedError
    process = subprocess.Popen(
        command,
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    _alive.add(process)
    clock = threading.Timer(limit_seconds, _end, [process])
    clock.start()
    since = monotonic()
    lines = []
    was_enough = False
    try:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if not was_enough and is_enough(lines[-1]):
                was_enough = True
                process.send_signal(signal.SIGINT)
        code = process.wait()
    finally:
        clock.cancel()
        _alive.discard(process)
    if _stopping.is_set():
        raise StoppedError
    is_late = monotonic() - since >= limit_seconds
    return (None if was_enough or is_late else code), lines


def _end(process: subprocess.Popen[str]) -> None:
    """As Ctrl-C does, so that it cleans up; and by force what does not heed that."""
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)
        os.killpg(process.pid, signal.SIGKILL)
