"""Ctrl-C that waits for the end of what must not be broken off."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Self

from cdb.process.termination import at_interrupts


class DeferredInterrupt:
    """While it is entered, an interrupt inside of uninterrupted() is raised at that block's end.

    Anywhere else KeyboardInterrupt comes at once, so that waiting for input can be broken off. A
    second interrupt does not wait either.
    """

    def __init__(self) -> None:
        self._busy = False
        self._pending = False

    def __enter__(self) -> Self:
        self._previous = signal.getsignal(signal.SIGINT)
        at_interrupts(self._on_signal)
        return self

    def __exit__(self, *error: object) -> None:
        signal.signal(signal.SIGINT, self._previous)

    @contextmanager
    def uninterrupted(self) -> Iterator[None]:
        """Hold an interrupt back until the end of the block. Blocks may nest."""
        outermost = not self._busy
        self._busy = True
        pending = False
        try:
            yield
        finally:
            if outermost:
                self._busy = False
                pending, self._pending = self._pending, False
        if pending:
            raise KeyboardInterrupt

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._busy and not self._pending:
            self._pending = True
            return
        self._pending = False
        raise KeyboardInterrupt
