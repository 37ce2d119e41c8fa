"""The rows of a closed coin set in RocksDB, read and changed by RocksDB's own C library."""

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_ubyte, c_void_p
from ctypes.util import find_library
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

SPACES = ("default", "rows", "unused", "blocks", "hashes", "parents")


def _library() -> Any:
    name = find_library("rocksdb")
    if name is None:
        pytest.skip("RocksDB's C library is not here")
    library = ctypes.CDLL(name)
    for function in (
        "options_create",
        "readoptions_create",
        "writeoptions_create",
        "open_column_families",
        "create_iterator_cf",
    ):
        getattr(library, f"rocksdb_{function}").restype = c_void_p
    library.rocksdb_iter_valid.restype = c_ubyte
    for function in ("iter_key", "iter_value"):
        getattr(library, f"rocksdb_{function}").restype = POINTER(ctypes.c_char)
    return library


class Families:
    """The column families of a database, by default of interval's with secondary keys."""

    def __init__(self, path: Path, spaces: Sequence[str] = SPACES) -> None:
        self._library = _library()
        self._spaces = spaces
        options = c_void_p(self._library.rocksdb_options_create())
        n = len(spaces)
        names = (c_char_p * n)(*(name.encode() for name in spaces))
        self._handles = (c_void_p * n)()
        each_options = (c_void_p * n)(*[options.value] * n)
        error = c_char_p()
        self._db = c_void_p(
            self._library.rocksdb_open_column_families(
                options, bytes(path), n, names, each_options, self._handles, byref(error)
            )
        )
        assert error.value is None, error.value
        self._reading = c_void_p(self._library.rocksdb_readoptions_create())
        self._writing = c_void_p(self._library.rocksdb_writeoptions_create())

    def rows(self, space: str) -> list[tuple[bytes, bytes]]:
        """Keys and values, in their order."""
        library, length = self._library, c_size_t()
        rows = []
        at = c_void_p(library.rocksdb_create_iterator_cf(self._db, self._reading, self._of(space)))
        library.rocksdb_iter_seek_to_first(at)
        while library.rocksdb_iter_valid(at):
            key = library.rocksdb_iter_key(at, byref(length))[: length.value]
            value = library.rocksdb_iter_value(at, byref(length))[: length.value]
            rows.append((key, value))
            library.rocksdb_iter_next(at)
        library.rocksdb_iter_destroy(at)
        return rows

    def put(self, space: str, key: bytes, value: bytes) -> None:
        """Write a row."""
        lengths = c_size_t(len(key)), c_size_t(len(value))
        self._call("put_cf", self._of(space), key, lengths[0], value, lengths[1])

    def delete(self, space: str, key: bytes) -> None:
        """Remove a row."""
        self._call("delete_cf", self._of(space), key, c_size_t(len(key)))

    def _of(self, space: str) -> c_void_p:
        return c_void_p(self._handles[self._spaces.index(space)])

    def _call(self, function: str, *arguments: Any) -> None:
        error = c_char_p()
        call = getattr(self._library, f"rocksdb_{function}")
        call.restype = c_int
        call(self._db, self._writing, *arguments, byref(error))
        assert error.value is None, error.value

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for handle in self._handles:
            self._library.rocksdb_column_family_handle_destroy(c_void_p(handle))
        self._library.rocksdb_close(self._db)
