"""Whether an object that writes can still be used."""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike

from cdb.errors import DatabaseClosedError


class Guard:
    """Closed is closed, and a failed write is final: only opening the database again helps.

    A write that fails midway leaves memory and disk at odds. After a failed fsync the kernel may
    have dropped what it could not write, and a second try would report a success that is none.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = path
        self._problem: str | None = None
        self._end = "it is closed; open it again"
        self.closed = False

    @property
    def failed(self) -> bool:
        """A write failed."""
        return self._problem is not None

    def check(self) -> None:
        """Raise DatabaseClosedError unless the object can be used."""
        if self.closed:
            raise DatabaseClosedError(self.path, self._end)
        if self._problem is not None:
            problem = f"a write failed ({self._problem}); open it again"
            raise DatabaseClosedError(self.path, problem)

    def disown(self) -> None:
        """The object is a copy of one of the process that this one was forked from."""
        self.closed = True
        self._end = "the process that this one was forked from has it open; open it here"

    @contextmanager
    def write(self) -> Iterator[None]:
        """Run a write; if it raises anything at all, the object has failed.

        It has from the first, and until all is done: a signal handler that raises, too, may cut
        short whatever would say so later.
        """
        self.check()
        self._problem = "it was interrupted"
        try:
            yield
        except BaseException as error:
            self._problem = str(error) or type(error).__name__
            raise
        self._problem = None
