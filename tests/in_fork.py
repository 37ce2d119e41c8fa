"""Work in a fork of this process, so that it may be killed, or die at a step of its own."""

import os
import sys
from collections.abc import Callable, Collection
from types import FrameType
from typing import Any

from cdb.process.children import exit_code_of, fork

_DIED = 9
_CHANGES = {"os.mkdir", "os.remove", "os.rename", "os.rmdir"}


def exit_code(work: Callable[[], object]) -> int:
    """Do work in a process; how that ended."""
    return exit_code_of(fork(work))


def dies_at(n: int, work: Callable[[], object], files: Collection[str | None]) -> bool:
    """Do work in a process that dies where the n-th step would be. Whether it died.

    A step is a line of these files, or a change that Python is about to make to a directory.
    os._exit() runs nothing more, as kill -9 does.
    """
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1
        if steps == n:
            os._exit(_DIED)

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename not in files:
            return None
        if event == "line":
            step()
        return trace

    def traced() -> None:
        sys.addaudithook(lambda event, arguments: step() if event in _CHANGES else None)
        sys.settrace(trace)
        work()

    code = exit_code(traced)
    assert code in (0, _DIED)
    return code == _DIED
