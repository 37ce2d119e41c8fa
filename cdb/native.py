"""The extension modules of native/: each is optional, and speaks C that cffi made from a header."""

import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from cdb.errors import DatabaseError, MissingEngineError, SchemaError, UnsupportedError, advice_on

Problems = Mapping[str, tuple[type[Exception], str]]


class NativeModule:
    """An extension module that is imported when it is used first.

    module: its full name; what: what it is to a user; install: what helps where it is missing.
    """

    def __init__(self, module: str, what: str, install: str) -> None:
        self._module = module
        self._what = what
        self._install = install

    def load(self) -> ModuleType:
        """The module, with cffi's ffi and lib. Raises MissingEngineError."""
        # Looked up here first, because this is called for every block, and importing looks longer.
        module = sys.modules.get(self._module)
        if module is not None:
            return module
        try:
            return import_module(self._module)
        except ImportError as error:
            problem = f"{self._what} is missing ({error}); install {self._install}"
            raise MissingEngineError(f"{problem}, then install cdb again") from error

    def missing(self) -> str | None:
        """One line on why it cannot be used here and what to do; None when it can."""
        try:
            self.load()
        except SchemaError as error:
            return str(error)
        return None


native_scanner = NativeModule(
    "cdb._scan",
    "the native scanner of replays",
    "OpenSSL's headers (Debian, Ubuntu: libssl-dev, with g++ and python3-dev; Homebrew: openssl)",
)
native_missing = native_scanner.missing
"""Of the scanner, which also goes over the coins of packed blocks."""


class NativeEngine(NativeModule):
    """An extension module whose functions return a status, 0 for success, and give an error's text.

    prefix: of those functions' names; free: the function that frees a text.
    problems: by a status's name, the error that it stands for and what that says about the
    text, {}. Any other status is a ValueError: the caller broke the contract of the header.
    names_files: texts read "FILE<tab>PROBLEM", with a file in the database's directory or none.
    with_threads: the library that it is made of, where that keeps threads of its own. A child that
    fork() makes of a process that has used it has not got them, and would wait for them for ever.
    """

    def __init__(
        self,
        module: str,
        what: str,
        install: str,
        *,
        prefix: str,
        free: str,
        problems: Problems,
        names_files: bool = False,
        with_threads: str = "",
    ) -> None:
        super().__init__(module, what, install)
        self._with_threads = with_threads
        self._prefix = prefix
        self._free = free
        self._problems = problems
        self._names_files = names_files

    def load(self) -> ModuleType:
        """See NativeModule. Raises UnsupportedError in a child that has not got its threads."""
        if self._with_threads in _threads_lost:
            problem = f"the process that this one was forked from has used {self._with_threads}"
            advice = "its threads are not here; start a new process (multiprocessing: 'forkserver')"
            raise UnsupportedError(f"{problem}, and {advice}")
        return super().load()

    def version(self) -> str:
        """The library in use, such as ``RocksDB 7.8.3``. Raises MissingEngineError."""
        native = self.load()
        return _text(native, getattr(native.lib, f"{self._prefix}version")())

    def call(self, path: Path, function: str, *arguments: Any) -> None:
        """Call a function about the database at a path, and raise what its status stands for."""
        native = self.load()
        if self._with_threads:
            _threads_used.add(self._with_threads)
        error = native.ffi.new("char **")
        status = getattr(native.lib, self._prefix + function)(*arguments, error)
        if status == 0:
            return
        text = _text(native, error[0])
        getattr(native.lib, self._free)(error[0])
        if self._names_files:
            file, _, text = text.rpartition("\t")
            path /= file
        for name, (exception, problem) in self._problems.items():
            if status == getattr(native.lib, name):
                raise _error(exception, path, problem.format(text, advice=advice_on(text)))
        raise ValueError(f"{path}: {text}")

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


_threads_used: set[str] = set()
_threads_lost: set[str] = set()
"""Libraries with threads: those that were called here, and in the process that was forked."""

os.register_at_fork(after_in_child=lambda: _threads_lost.update(_threads_used))


def threads_are_used() -> bool:
    """Whether a child made by fork() would lack what native engines need."""
    return bool(_threads_used)


def _error(exception: type[Exception], path: Path, problem: str) -> Exception:
    if issubclass(exception, DatabaseError):
        return exception(path, problem)
    return exception(f"{path}: {problem}")


def _text(native: ModuleType, chars: Any) -> str:
    raw: bytes = native.ffi.string(chars) if chars else b"out of memory"
    return raw.decode("utf-8", "replace")
