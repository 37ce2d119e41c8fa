"""The extension modules of native/: each is optional, and speaks C that cffi made from a header."""

import os
import sys
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from cdb.errors import (
    CorruptDatabaseError,
    DatabaseClosedError,
    DatabaseError,
    DatabaseLockedError,
    DatabaseNotFoundError,
    MissingEngineError,
    SchemaError,
    StorageError,
    UnsupportedError,
    WrongDatabaseError,
    advice_on,
    known_path,
)

AGAIN = "install cdb again"


class NativeModule:
    """An extension module that is imported when it is used first.

    module: its full name; what: what it is to a user; install, then: what helps where it is
    missing.
    """

    def __init__(self, module: str, what: str, install: str, then: str = AGAIN) -> None:
        self._module = module
        self._what = what
        self._install = install
        self._then = then

    def load(self) -> ModuleType:
        """The module, with cffi's ffi and lib. Raises MissingEngineError."""
        # Looked up here first, because this is called for every block, and importing looks longer.
        module = sys.modules.get(self._module)
        if module is not None:
            return module
        try:
            return _imported(self._module)
        except ImportError as error:
            problem = f"{self._what} is missing ({error}); install {self._install}"
            raise MissingEngineError(f"{problem}, then {self._then}") from error

    def missing(self) -> str | None:
        """One line on why it cannot be used here and what to do; None when it can."""
        try:
            self.load()
        except SchemaError as error:
            return str(error)
        return None


def _imported(name: str) -> ModuleType:
    """An extension module, also where cdb is imported from a checkout that pip has installed."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        # It takes long to import, and is seldom needed.
        from cdb.extensions.built import built_module

        module = built_module(name)
        if module is None:
            raise
        return sys.modules.setdefault(name, module)


native_scanner = NativeModule(
    "cdb.extensions._scan",
    "the native scanner of replays",
    "OpenSSL's headers (Debian, Ubuntu: libssl-dev, with g++ and python3-dev; Homebrew: openssl)",
)
native_missing = native_scanner.missing
"""Of the scanner, which also goes over the coins of packed blocks."""


class TakenBackError(Exception):
    """Blocks that were accepted on trust are gone; who made the call knows how to say which."""


class UnverifiedError(Exception):
    """What was accepted on trust has to be verified before anything is read."""


_EXCEPTIONS: Mapping[str, type[Exception]] = {
    "CDB_NOT_FOUND": DatabaseNotFoundError,
    "CDB_FOREIGN": WrongDatabaseError,
    "CDB_LOCKED": DatabaseLockedError,
    "CDB_CORRUPT": CorruptDatabaseError,
    "CDB_NO_SPACE": StorageError,
    "CDB_IO": StorageError,
    "CDB_TAKEN_BACK": TakenBackError,
    "CDB_UNVERIFIED": UnverifiedError,
    "CDB_CLOSED": DatabaseClosedError,
    "CDB_REWOUND": DatabaseClosedError,
    "CDB_LIMIT": UnsupportedError,
    "CDB_INVALID": ValueError,
    "CDB_NO_MEMORY": MemoryError,
    "CDB_FAILED": StorageError,
}
"""What each status of native/common/cdb_error.h stands for."""


@dataclass(frozen=True, slots=True)
class NativeError:
    """A cdb_error. file: "" where none is at fault; offset: -1 where no place is."""

    status: str
    file: str
    offset: int
    what: str
    advice: str

    @classmethod
    def of(cls, native: ModuleType, error: Any) -> "NativeError":
        """The fields of a C struct."""
        text = native.ffi.string
        status = text(native.ffi.cast("cdb_status", error.status))
        advice = _text(text(error.advice))
        if not advice and status in ("CDB_IO", "CDB_NO_SPACE"):
            advice = f"{advice_on(error.system_errno)}, then try again"
        file, what = os.fsdecode(text(error.file)), _text(text(error.what))
        return cls(status, file, error.offset, what, advice)

    @property
    def problem(self) -> str:
        """What is wrong, and where in the file."""
        return self.what if self.offset < 0 else f"{self.what} at byte {self.offset}"

    def exception(
        self, directory: Path, on_damage: Callable[[Path, str], str] = lambda directory, file: ""
    ) -> Exception:
        """What is to be raised; directory: where the database is. on_damage: see NativeEngine."""
        kind, path = _EXCEPTIONS[self.status], directory / self.file
        if issubclass(kind, DatabaseError):
            is_damage = issubclass(kind, CorruptDatabaseError)
            advice = self.advice or (on_damage(directory, self.file) if is_damage else "")
            return kind(path, self.problem, advice)
        told = f"{self.problem}; {self.advice}" if self.advice else self.problem
        return kind(f"{known_path(path)}: {told}")


class NativeEngine(NativeModule):
    """An extension module whose functions return a cdb_status, and tell failures in a cdb_error.

    prefix: of those functions' names.
    with_threads: the library that it is made of, where that keeps threads of its own. A child that
    fork() makes of a process that has used it has not got them, and would wait for them for ever.
    is_loaded_late: whether it is not part of the module, but loaded by its first call, and has its
    threads from then on.
    makes_own_calls, is_asked_for: see SchemaSpec.
    folders: what it calls directories in its own, see cdb.disk.paths.check_directory().
    on_damage: what to do about damage to a file of the database in a directory; "": what helps with
    any.
    """

    def __init__(
        self,
        module: str,
        what: str,
        install: str,
        *,
        prefix: str,
        with_threads: str = "",
        is_loaded_late: bool = False,
        makes_own_calls: bool = False,
        is_asked_for: bool = False,
        folders: str = "",
        on_damage: Callable[[Path, str], str] = lambda directory, file: "",
        then: str = AGAIN,
    ) -> None:
        super().__init__(module, what, install, then)
        self.prefix = prefix
        self.makes_own_calls = makes_own_calls
        self.is_asked_for = is_asked_for
        self.folders = folders
        self._is_loaded_late = is_loaded_late
        self._on_damage = on_damage
        self._with_threads = with_threads
        self._functions: dict[str, Callable[..., int]] = {}  # by their names
        self._errors: list[Any] = []  # that no call has: to make one takes as long as a short call

    def load(self) -> ModuleType:
        """See NativeModule. Raises UnsupportedError in a child that has not got its threads."""
        if self._with_threads in _threads_lost:
            problem = f"the process that this one was forked from has used {self._with_threads}"
            lost = "its threads or locks are not here"
            advice = "start a new process (multiprocessing: 'forkserver')"
            raise UnsupportedError(f"{problem}, and {lost}; {advice}")
        return super().load()

    def version(self) -> str:
        """The library in use, such as ``RocksDB 7.8.3``. Raises MissingEngineError."""
        native = self.load()
        if self._is_loaded_late:
            _threads_used.add(self._with_threads)
        return _text(native.ffi.string(getattr(native.lib, f"{self.prefix}version")()))

    def call(self, path: Path, function: str, *arguments: Any) -> None:
        """Call a function about the database at a path, and raise what its error stands for."""
        if self._with_threads or function not in self._functions:
            self._find(function)
        try:
            error = self._errors.pop()
        except IndexError:
            error = self.load().ffi.new("cdb_error *")
        if self._functions[function](*arguments, error):
            raise NativeError.of(self.load(), error).exception(path, self._on_damage)
        self._errors.append(error)

    def _find(self, function: str) -> None:
        """Have a function in _functions, unless this is a child that has not got its threads."""
        native = self.load()
        if self._with_threads:
            _threads_used.add(self._with_threads)
        if self.makes_own_calls:
            _own_calls.add(self.prefix)
        self._functions[function] = getattr(native.lib, self.prefix + function)

    def open(
        self, path: Path, function: str, *arguments: Any, kind: str, close: Callable[[Any], object]
    ) -> Any:
        """Call a function that fills in a handle, and return that.

        kind: its C type; close: what releases it, where a signal's handler raises before it is
        anybody's.
        """
        handle = self.load().ffi.new(f"{kind} **")
        try:
            self.call(path, function, *arguments, handle)
        except BaseException:
            if handle[0]:
                close(handle[0])
            raise
        return handle[0]


class Ended:
    """Handles that nobody has any more, of what reads from an open handle.

    Finalizers add them, in any order and any thread, and free none: that takes locks. The next call
    does, or the end of the handle that they read from.
    """

    def __init__(self, free: Callable[[Any], object]) -> None:
        self._free = free
        self._handles: deque[Any] = deque()
        self._is_over = False

    def add(self, handle: Any) -> None:
        """Have it freed."""
        self._handles.append(handle)
        if self._is_over:
            self.free()

    def __len__(self) -> int:
        return len(self._handles)

    def free(self) -> None:
        """Free those that there are."""
        while self._handles:
            try:
                handle = self._handles.popleft()
            except IndexError:  # another thread was faster
                return
            self._free(handle)

    def end_with(self, release: Callable[[Any], object], handle: Any) -> None:
        """Release what they read from, which was closed, so that no lock is waited for any more.

        A reader and what it reads from may be garbage together; then they end in any order.
        """
        self._is_over = True
        self.free()
        release(handle)


_own_calls: set[str] = set()
"""Prefixes of what was called here and makes system calls itself."""
_threads_used: set[str] = set()
_threads_lost: set[str] = set()
"""Libraries with threads: those that were called here, and in the process that was forked."""

os.register_at_fork(after_in_child=lambda: _threads_lost.update(_threads_used))


def unseen_calls_are_made() -> bool:
    """Whether a native engine here makes system calls that the C library knows nothing of."""
    return bool(_own_calls)


def threads_are_used() -> bool:
    """Whether a child made by fork() would lack what native engines need."""
    return bool(_threads_used)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
