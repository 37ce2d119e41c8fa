"""How long work tells what it has done; a command shows it (cdb.cmds.bar)."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

Progress = Callable[[int], object]
"""Is told how much more was done: how many coins, if nothing else is said."""


_MINUTES = 600


class StepBar(Protocol):
    """Gives what is told of a step, while it is entered.

    total: None where nobody knows it. unit: of what is told, as it stands behind a number.
    """

    def __call__(
        self, what: str, total: int | None = None, unit: str = " coins"
    ) -> AbstractContextManager[Progress]:
        """Begin a step."""
        ...


def rough_time(seconds: float) -> str:
    """About so long: ``40 s``, and from ten minutes on ``12 min``."""
    return f"{max(1, seconds):,.0f} s" if seconds < _MINUTES else f"{seconds / 60:,.0f} min"


@contextmanager
def no_bar(what: str, total: int | None = None, unit: str = " coins") -> Iterator[Progress]:
    """A StepBar that shows nothing."""
    yield lambda done: None
