"""Progress bars, on a terminal and unless --quiet was given. Elsewhere there is none, and its
library is not even imported."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cdb.cmds.echo import is_quiet
from cdb.contract.progress import Progress


class Bar:
    """How much is done; show: tells of more, None where nobody sees it."""

    def __init__(self, show: Callable[[int], object] | None = None) -> None:
        self.is_shown = show is not None
        self._show = show
        self._done = 0

    def update(self, more: int) -> None:
        """So much more is done."""
        self._done += more
        if self._show is not None:
            self._show(more)

    def update_to(self, done: int) -> None:
        """So much is done in all."""
        self.update(done - self._done)


@contextmanager
def progress_bar(
    *,
    total: int | None,
    unit: str,
    what: str | None = None,
    leave: bool = True,
    hidden: bool = False,
) -> Iterator[Bar]:
    """A bar on standard error, if that is a terminal and nobody wants it hidden.

    total: None if nobody knows; leave: keep it on the screen at the end.
    """
    if hidden or is_quiet() or not sys.stderr.isatty():
        yield Bar()
        return
    from tqdm import tqdm  # its import takes a quarter of what a short command does

    with tqdm(desc=what, total=total, unit=unit, unit_scale=True, leave=leave) as shown:
        yield Bar(shown.update)


@contextmanager
def step_bar(what: str, total: int | None = None, unit: str = " coins") -> Iterator[Progress]:
    """See StepBar; shown while the step goes on."""
    with progress_bar(total=total, unit=unit, what=what, leave=False) as bar:
        yield bar.update
