"""Reads that stay open, each held against the model as it was at its call, whatever came since."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Any
from unittest.mock import patch

from cdb.contract.coins import MAX_U32
from cdb.contract.history import Page, unpacked_page
from cdb.contract.schema import HISTORY_METHODS, Schema
from cdb.errors import DatabaseClosedError, StorageError

TAKEN_AWAY = (DatabaseClosedError, StorageError)
TOLD = re.compile("rewound|removed|replaced|began to write|a writer that came later")
"""How a read-only opening says that others have changed what it showed."""
_PAGES = (
    "cdb.stores.coin_log.binding._READ_CONFIRMS",
    "cdb.stores.coin_set.backend.BATCH_ENTRIES",
    "cdb.stores.coin_set.binding.PAGE_ROWS",
    "cdb.front.store.PACK_ENTRIES",
    "cdb.front.store.READ_ENTRIES",
    "cdb.front.history.PAGE_ROWS",
    "cdb.front.snapshots.PAGE_ROWS",
    "cdb.contract.history.PAGE_ROWS",
)
_IN_ORDER = ("blocks", "versions")
"""All schemas give these in the model's order."""
_PACKED = "_packed"
_HEIGHTS = {"state_at": 1, "versions": 2}


@dataclass(frozen=True)
class Ask:
    """A call that gives an iterator. method: of Schema or HistorySchema, or its packed form."""

    method: str
    heights: tuple[int, ...] = ()

    @property
    def plain(self) -> "Ask":
        """The same in objects, as every schema has it."""
        return Ask(self.method.removesuffix(_PACKED), self.heights)

    @property
    def is_ordered(self) -> bool:
        """Whether the rows come in the model's order."""
        return self.plain.method in _IN_ORDER

    def of(self, schema: Schema) -> Iterator[Any]:
        """The rows, as objects."""
        given = getattr(schema, self.method)(*self.heights)
        if not self.method.endswith(_PACKED):
            return iter(given)
        if self.plain.method == "blocks":
            return (packed.block(n) for packed in given for n in range(len(packed)))
        return (info for page in given for info in unpacked_page(Page(*page)))


def random_ask(methods: Sequence[str], newest: int, random: Random) -> Ask:
    """One of the methods, for any heights."""
    method = random.choice(methods)
    n_heights = _HEIGHTS.get(Ask(method).plain.method, 0)
    near = [random.randint(-1, newest + 1) for _ in range(n_heights)]
    if random.random() < 0.3:
        return Ask(method, (-1, MAX_U32)[-n_heights:] if n_heights else ())
    return Ask(method, tuple(sorted(near)))


def asks_of(schema: Schema) -> list[str]:
    """The methods of a schema that give iterators."""
    plain = ["blocks", *(each for each in HISTORY_METHODS if each != "coin_infos_as_of")]
    named = [name for each in plain for name in (each, each + _PACKED)]
    return [name for name in named if hasattr(schema, name)]


class Held:
    """One iterator, and the rows that it has to give. read: gives its next n rows."""

    def __init__(self, ask: Ask, read: Callable[[int], list[Any]], expected: list[Any]) -> None:
        self._ask = ask
        self._read = read
        self._expected = expected
        self._left = Counter() if ask.is_ordered else Counter(expected)
        self._seen = 0
        self._has_failed = False

    @classmethod
    def of(cls, ask: Ask, schema: Schema, truth: Schema) -> "Held":
        """Ask a schema. truth: the model, which is asked the same, or what answers rightly now."""
        rows = ask.of(schema)
        return cls(ask, lambda n: list(islice(rows, n)), list(ask.plain.of(truth)))

    def read(self, n: int) -> bool:
        """Read n rows more, and hold them against those of its call. Returns whether there may be
        more of them: not after an error. Raises AssertionError, and what the schema raises."""
        if self._has_failed:
            return False
        self._has_failed = True
        rows = self._read(n)
        self._has_failed = False
        seen, self._seen = self._seen, self._seen + len(rows)
        if self._ask.is_ordered:
            assert rows == self._expected[seen : self._seen], f"{self._ask} is of two moments"
        else:
            self._left.subtract(rows)
            assert all(self._left[row] >= 0 for row in rows), f"{self._ask} is of two moments"
        if len(rows) < n:
            assert self._seen == len(self._expected), f"{self._ask} lacks what was there"
        return len(rows) == n

    def read_all(self) -> None:
        """Read to the end."""
        while self.read(_MOST):
            pass


@contextmanager
def small_pages(n: int) -> Iterator[None]:
    """Have schemas read so few rows, blocks or coins at a time: an iterator that is begun still has
    most to read."""
    with ExitStack() as stack:
        for each in _PAGES:
            stack.enter_context(patch(each, n))
        yield


def use_small_pages(schema: Schema, n: int) -> None:
    """In a reader's own process: the same, to its end."""
    small_pages(n).__enter__()


_MOST = 1000
_held_here: list[Iterator[Any]] = []


def begin_here(schema: Schema, ask: Ask) -> int:
    """In a reader's own process: ask, and keep the iterator under a number."""
    _held_here.append(ask.of(schema))
    return len(_held_here) - 1


def read_here(schema: Schema, number: int, n: int) -> list[Any]:
    """The next n rows of an iterator that is kept."""
    return list(islice(_held_here[number], n))
