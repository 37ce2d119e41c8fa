"""The preloaded library (native/preload/fault_shim.c): its switches, and the server that has it."""

import ctypes
import errno
import sys
from enum import IntFlag
from pathlib import Path

from cdb.extensions.built import built_file
from cdb.process.children import ForkServer
from cdb.schemas.registry import OWN_SCHEMAS

LIBRARY = built_file("testing/faults/_shim.so")

KILL = -1
CUT_SHORT = -2
HOLD = -3
FOREVER = 2**62


class Calls(IntFlag):
    """Classes of calls, as the library numbers them. THREAD: see allow_threads()."""

    OPEN = 1
    WRITE = 2
    SYNC = 4
    NAME = 8
    SIZE = 16
    READ = 32
    THREAD = 64
    SYNC_NAMES = 128  # of a directory; SYNC has these, too
    BEGIN = 256  # a transaction that no system call begins; only to be held
    CHANGE = WRITE | SYNC | NAME | SIZE


def missing() -> str | None:
    """Why faults can't be made on this machine; None when they can."""
    if sys.platform != "linux":
        return "faults are made by a preloaded library, which is for Linux"
    if not LIBRARY.exists():
        return "cdb was built without a C compiler: install one, then run make native"
    return None


SERVER = ForkServer(
    [str(__package__), *(f"cdb.schemas.{name}" for name in OWN_SCHEMAS)],
    lambda: None if missing() else LIBRARY,
)
"""Forks the processes of trials. The library does nothing in them until it is armed."""


class Shim:
    """The library in this process, which must have been started with it preloaded."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)
        self._library.cdb_fault_arm.argtypes = [
            ctypes.c_uint, ctypes.c_long, ctypes.c_long, ctypes.c_int,
        ]  # fmt: skip
        self._library.cdb_fault_calls.restype = ctypes.c_long

    def watch(self, directory: Path) -> None:
        """Only files below it count. An absolute path without links."""
        self._library.cdb_fault_watch(str(directory).encode())

    def record(self, trace_descriptor: int, mark_descriptor: int) -> None:
        """Record to an open file, with what is written to the other descriptor as marks."""
        self._library.cdb_fault_record(trace_descriptor, mark_descriptor)

    def arm(self, calls: Calls, first: int, last: int, action: int) -> None:
        """Let the calls first to last (from 1) fail: an errno, KILL or CUT_SHORT; or HOLD
        them, one at a time, until let_go(). 0 only counts."""
        self._library.cdb_fault_arm(calls, first, last, action)

    def allow_threads(self, most: int) -> None:
        """Let at most so many threads, of any code, be alive beside those that are."""
        self.arm(Calls.THREAD, most + 1, FOREVER, errno.EAGAIN)

    def is_held(self) -> bool:
        """Whether a call waits to be let go."""
        return bool(self._library.cdb_fault_is_held())

    def let_go(self) -> None:
        """Have the call that waits go on."""
        self._library.cdb_fault_let_go()

    def calls(self) -> int:
        """How many calls there were since arm()."""
        return int(self._library.cdb_fault_calls())
