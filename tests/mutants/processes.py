"""Commands that are ended as a whole: when they take too long, and at Ctrl-C."""

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic

GRACE_SECONDS = 30.0


def run(
    command: Sequence[str | Path],
    directory: Path,
    environment: Mapping[str, str],
    *,
    limit_seconds: float,
) -> tuple[int | None, list[str]]:
    """Run a command; its exit code, None where it was late, and the lines that it wrote."""
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
    clock = threading.Timer(limit_seconds, _end, [process])
    clock.start()
    since = monotonic()
    assert process.stdout is not None
    try:
        lines = [line.rstrip("\n") for line in process.stdout]
        code = process.wait()
    except KeyboardInterrupt:
        _end(process)
        raise
    finally:
        clock.cancel()
        process.stdout.close()
    return (None if monotonic() - since >= limit_seconds else code), lines


def _end(process: subprocess.Popen[str]) -> None:
    """As Ctrl-C does, so that it cleans up; and by force what does not heed that."""
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)
        os.killpg(process.pid, signal.SIGKILL)
