"""The one interface between a store of coin rows and what finds a row by its coin's name."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from cdb.contract.durability import Durability


class Watermark(NamedTuple):
    """How far an index reaches: it holds the names of rows 1 … rows, and no others.

    tie: 32 bytes that tie it to the very rows that it was built from, see written_tie() and
    lowered_tie(); empty when rows is 0.
    """

    rows: int
    tie: bytes


EMPTY = Watermark(0, b"")
"""That of an index that holds no names."""


def written_tie(last_name: bytes, rewinds: int) -> bytes:
    """That of names written when the rows had been rewound so often; last_name: of row ``rows``.

    Another branch may have as many rows and the same last name. Without a rewind it is the name.
    """
    return _tie(b"written", last_name, rewinds) if rewinds else last_name


def lowered_tie(last_name: bytes, rewinds: int) -> bytes:
    """That of an index which was rewound ahead of the rows, whose rewind is to be of that number.

    So it is of the rows before that and after it.
    """
    return _tie(b"lowered", last_name, rewinds)


def _tie(what: bytes, last_name: bytes, rewinds: int) -> bytes:
    return hashlib.sha256(what + rewinds.to_bytes(4, "little") + last_name).digest()


class NameIndex(Protocol):
    """Maps names (32 bytes, unique) to row ids (1, 2, 3, … in the order they were added).

    An index is derived data: the store writes an entry only after its row is durable, keeps
    newer entries in its own memtable, and adds what a crash has cost from the rows. So a write may
    get lost in a crash, but only with all later ones, and the watermark must tell.
    """

    @property
    def covered(self) -> Watermark:
        """The rows that the index holds, now and (as far as durable) after a crash."""
        ...

    def find(self, names: Sequence[bytes]) -> list[int | None]:
        """The row id of each name, None where it is absent, in the order asked.

        Raises CorruptDatabaseError where damage is found.
        """
        ...

    def write(self, names: Sequence[bytes], covered: Watermark) -> None:
        """Add the names of the rows up to covered.rows, in the rows' order.

        The first one's row is the one after the watermark's. In one atomic step with the new one.
        """
        ...

    def rewind(self, covered: Watermark, dropped: Iterator[bytes]) -> None:
        """Forget every row above covered.rows, durably. dropped yields those rows' names."""
        ...

    def settle(self) -> None:
        """Do all the compaction that is owed, durably. An index that owes nothing does nothing."""
        ...

    def check(self) -> None:
        """Hold all of it against its own checksums, as far as finding every name does not.

        Raises CorruptDatabaseError.
        """
        ...

    def close(self) -> None:
        """Make everything durable and release files. Called once, also after errors."""
        ...


class ReadsNames(Protocol):
    """Reads what an index is made from."""

    def names_between(self, first_row: int, last_row: int, /) -> Iterator[bytes]:
        """The names of rows first_row … last_row, both included, in that order."""
        ...


class Numbered(Protocol):
    """Rows with names, numbered 1, 2, 3, … in the file at a path."""

    @property
    def path(self) -> Path:
        """Of that file."""
        ...

    @property
    def row_count(self) -> int:
        """How many there are."""
        ...

    @property
    def rewinds(self) -> int:
        """How many rewinds took rows that their index held; kept with the rows."""
        ...

    def sync(self) -> None:
        """Make what was committed survive power loss, unless nothing is promised at all."""
        ...

    @property
    def read(self) -> ReadsNames:
        """What reads them."""
        ...


def name_of(rows: Numbered, row: int) -> bytes:
    """The name of one of the rows."""
    (name,) = rows.read.names_between(row, row)
    return name


def is_of(covered: Watermark, rows: Numbered) -> bool:
    """Whether an index that reaches so far is of these rows."""
    if not 0 < covered.rows <= rows.row_count:
        return covered == EMPTY
    last_name = name_of(rows, covered.rows)
    return covered.tie in (
        written_tie(last_name, rows.rewinds),
        lowered_tie(last_name, rows.rewinds),
        lowered_tie(last_name, rows.rewinds + 1),
    )


@runtime_checkable
class KnowsIfSettled(Protocol):
    """A NameIndex that can say so."""

    @property
    def is_settled(self) -> bool:
        """Whether settle() would have nothing to do."""
        ...


class IndexFactory(Protocol):
    """Opens an index in a directory of its own, which it creates where it is missing."""

    def __call__(self, path: Path, *, durability: Durability, read_only: bool) -> NameIndex:
        """Open the index; read_only changes no byte on disk."""
        ...
