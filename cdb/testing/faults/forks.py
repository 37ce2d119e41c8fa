"""Processes that are forked, so that none costs the start of an interpreter.

They come from a server that opened no database, and so has no thread that they would lack. The shim
is preloaded in it, where there is one; it does nothing until it is armed.
"""

import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from threading import Lock
from types import ModuleType
from typing import Any, Concatenate, ParamSpec

from cdb.schemas.registry import OWN_SCHEMAS
from cdb.testing.faults.shim import LIBRARY, missing

P = ParamSpec("P")
Pipe = Connection

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(
    [str(__package__), *(f"cdb.schemas.{name}" for name in OWN_SCHEMAS)]
)
_handling = Lock()  # one thread at a time starts or ends a process


class Fork:
    """A process that does function(its end of a pipe, …), and ends; it is killed with this one.

    function: any that another process can import. pipe: our end.
    """

    def __init__(
        self,
        function: "Callable[Concatenate[Pipe[Any, Any], P], None]",
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> None:
        self.pipe, theirs = _context.Pipe()
        self._process = _context.Process(
            target=function, args=(theirs, *args), kwargs=kwargs, daemon=True
        )
        with _handling, _no_main_module():
            _have_server()
            self._process.start()
        theirs.close()

    def exit_code(self, seconds: float | None = None) -> int | None:
        """Wait for its end: its exit code, or minus the signal that killed it; None if it lives."""
        self._process.join(seconds)
        return self._process.exitcode

    def kill(self) -> None:
        """SIGKILL, unless it has ended; it has then."""
        with _handling:
            self._process.kill()
            self._process.join()
        self.pipe.close()


def _have_server() -> None:
    """Start it, unless it runs: else multiprocessing would, without the shim."""
    before = os.environ.get("LD_PRELOAD")
    try:
        if missing() is None:
            # A sanitizer, which may be there already, has to come first.
            os.environ["LD_PRELOAD"] = f"{before or ''} {LIBRARY}".strip()
        forkserver.ensure_running()
    finally:
        os.environ.pop("LD_PRELOAD", None)
        if before is not None:
            os.environ["LD_PRELOAD"] = before


@contextmanager
def _no_main_module() -> Iterator[None]:
    """Have none: each process would import it anew, and needs nothing of the program here."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
