"""How a command ends that is asked to.

A command's process imports this before all else, so it imports next to nothing.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import NoReturn

    Handler = Callable[[int, FrameType | None], object] | signal.Handlers

EXIT_TERMINATED = 128 + signal.SIGTERM
_PR_SET_PDEATHSIG = 1  # of Linux


def end_at_sigterm() -> None:
    """End at SIGTERM as after Ctrl-C, so that nothing is left behind."""

    def terminate(number: int, frame: object) -> NoReturn:
        sys.exit(EXIT_TERMINATED)

    signal.signal(signal.SIGTERM, terminate)


def end_at_interrupts() -> None:
    """From now on Ctrl-C ends the process at once, and says nothing."""
    at_interrupts(signal.SIG_DFL)


def raise_interrupts() -> None:
    """From now on Ctrl-C is a KeyboardInterrupt."""
    at_interrupts(signal.default_int_handler)


def at_interrupts(handler: Handler) -> None:
    """Say what Ctrl-C does; not in a process that ignores it, whose terminal is another one's."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, handler)


def end_with(parent: int) -> None:
    """Be killed when the process that started this one ends: nobody else would end it.

    parent: its id. Later than this call only Linux tells, when the thread ends that did so.
    """
    import ctypes  # not above: a command doesn't wait for it

    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it has ended already
        signal.raise_signal(signal.SIGKILL)
