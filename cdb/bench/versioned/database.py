"""Many versions of keys in a layout and an engine, below the coin set, and a model of them.

The native side is native/versioned/, behind the contracts of cdb_versioned.h there: a face of each
engine's extension module that is built for the lab only. It makes the keys and values, and checks
the answers.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

from cdb.disk.sharing import Closing
from cdb.engines import ENGINES
from cdb.extensions.native import NativeEngine

CACHE_BYTES = 256 << 20
"""Of decoded blocks, in engines that have a cache of their own."""
LAYOUTS = ("mono_space", "dual_timeline", "option_1", "issue_196")
AS_PUBLISHED = ",reads=published"
"""Behind a layout's name: it reads as it was published, and the answers are wrong."""
NO_LAYOUTS: Mapping[str, str] = MappingProxyType(
    {
        "interval": "it has one row for where a coin begins and one for where it ends: a key with"
        " more than two versions has no place in it",
    }
)
"""Layouts of coins that general values can't be kept in, and why."""
_PREFIX = "cdb_versioned_"
NATIVE_ENGINES: Mapping[str, NativeEngine] = MappingProxyType(
    {name: engine.native(_PREFIX) for name, engine in ENGINES.items()}
)
NOT_BUILT = (
    "layouts without coins are built for the lab only; type make native in a checkout, or install"
    " cdb with pip install -C cmake.define.CDB_LAB=ON"
)
_NO_VERSION = 2**32 - 1


def missing(engine: str) -> str | None:
    """One line on why an engine cannot be measured here and what to do; None where it can."""
    native = NATIVE_ENGINES[engine]
    problem = native.missing()
    if problem is None and not hasattr(native.load().lib, f"{_PREFIX}open"):
        return NOT_BUILT
    return problem


class Shape(NamedTuple):
    """What is written; see cdb_versioned_shape in native/versioned/cdb_versioned.h.

    Version 1 has all keys, and each one behind it so many in a million of them, drawn anew.
    """

    keys: int
    versions: int
    value_bytes: int
    period_bytes: int
    rewritten_per_million: int
    seed: int = 1


class Checked(NamedTuple):
    """Rows that were held against the model; key and versions are those of the first wrong one."""

    right: int
    wrong: int
    key: int
    right_version: int
    found_version: int

    @property
    def first_wrong(self) -> str:
        """What is wrong with it."""
        names = {0: "nothing", _NO_VERSION: "what no version of it has been"}
        right, found = (
            names.get(version, f"version {version:,}")
            for version in (self.right_version, self.found_version)
        )
        if self.right_version == 0:
            return f"a key that is not there gives {found}"
        if self.right_version == self.found_version:
            return f"key {self.key:,} comes twice"
        return f"key {self.key:,} gives {found} instead of {right}"


class Versioned(Closing):
    """The database in a directory, which must exist. One call at a time.

    layout: a name of LAYOUTS, or with AS_PUBLISHED. What is written or asked for is made ready by
    one call and done by the next one, which is the one to be timed; then its answer is checked.
    Raises as NativeEngine.
    """

    def __init__(self, engine: str, path: Path, layout: str, shape: Shape, *, create: bool) -> None:
        self._engine, self._path = NATIVE_ENGINES[engine], path
        ffi = self._ffi = self._engine.load().ffi
        text = ffi.new("char[]", layout.encode())
        options = ffi.new("cdb_versioned_options *", (text, create, CACHE_BYTES))
        sizes = ffi.new("cdb_versioned_shape *", shape._asdict())
        self._handle: Any = self._engine.open(
            path, "open", os.fsencode(path), options, sizes, kind="cdb_versioned", close=self._free
        )

    def count(self) -> int:
        """How many rows all versions have, and one of them."""
        return self._number("uint64_t", "count")

    def prepare(self, version: int) -> int:
        """Make a version's keys and values; how many."""
        return self._number("uint64_t", "prepare", version)

    def commit(self) -> None:
        """Write them in one step, durably."""
        self._call("commit")

    def draw(self, first: int, n: int, *, are_absent: bool = False) -> None:
        """Choose n keys, each once in all calls, or as many that are not there."""
        self._call("draw", first, n, are_absent)

    def get(self, as_of: int) -> None:
        """Get their values as of a version."""
        self._call("get", as_of)

    def scan(self, as_of: int) -> None:
        """Begin a scan of each key's value as of a version; as of 0, of all versions."""
        self._call("scan", as_of)

    def next(self, most: int) -> int:
        """How many rows of it came next: so many, fewer at the end, and then 0."""
        return self._number("uint32_t", "next", most)

    def check(self) -> Checked:
        """Hold what came last against the model; of all of the question's or scan's rows."""
        checked = self._ffi.new("cdb_versioned_checked *")
        self._call("check", checked)
        return Checked(*(getattr(checked, field) for field in Checked._fields))

    def checkpoint(self) -> None:
        """Leave nothing for the next opening."""
        self._call("checkpoint")

    def settle(self) -> None:
        """Do all the merging that is owed."""
        self._call("settle")

    def close(self) -> None:
        """Release all, also when it fails."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._free(handle)

    def _free(self, handle: Any) -> None:
        self._engine.call(self._path, "close", handle)

    def _number(self, kind: str, function: str, *arguments: int) -> int:
        number = self._ffi.new(f"{kind} *")
        self._call(function, *arguments, number)
        return int(number[0])

    def _call(self, function: str, *arguments: Any) -> None:
        self._engine.call(self._path, function, self._handle, *arguments)


CLOSED, SETTLED = "close", "settle"


@dataclass(frozen=True, slots=True)
class Files:
    """A database's directory, and what is in it. after: what was done last before it is read."""

    WORKLOADS: ClassVar = "cdb.bench.versioned"

    layout: str
    engine: str
    path: str
    shape: Shape
    after: str = CLOSED

    def open(self, *, create: bool = False) -> Versioned:
        """Open it."""
        return Versioned(self.engine, Path(self.path), self.layout, self.shape, create=create)
