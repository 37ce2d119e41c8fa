"""The one interface between a store of coin rows and what finds a row by its coin's name."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from cdb.contract.durability import Durability
from cdb.errors import CorruptDatabaseError


class Watermark(NamedTuple):
    """How far an index reaches: it holds the names of rows 1 … rows, and no others.

    tie: 32 bytes that tie it to the very rows that it was built from, see tie_to(); empty when rows
    is 0.
    """

    rows: int
    tie: bytes


EMPTY = Watermark(0, b"")
"""That of an index that holds no names."""


class Branch(NamedTuple):
    """What a writer adds to the rows, from its first block or from a rewind until the next branch.

    id: 16 random bytes, so that no two branches of any databases have one. above: the branch's
    first row is the one after this one.
    """

    id: bytes
    above: int


ROOT = Branch(b"", 0)
"""What all rows are of as far as no branch is kept."""


def tie_to(branch_id: bytes, last_name: bytes) -> bytes:
    """The tie of an index that ends with this name, of rows whose newest branch was that one.

    The name alone is none: another branch may have as many rows and the same last name.
    """
    return hashlib.sha256(branch_id + last_name).digest() if branch_id else last_name


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

    def branches(self) -> Iterator[Branch]:
        """The branches that they have come by, newest first, each committed with its rows; ROOT."""
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


def held_twice(rows: Numbered, name: bytes, one: int, other: int) -> CorruptDatabaseError:
    """The error for a coin that has two rows: damage that no rule lets in."""
    return CorruptDatabaseError(
        rows.path, f"coin {name.hex()} is there twice, as row {one} and row {other}"
    )


def branch_of(covered: Watermark, rows: Numbered) -> bytes | None:
    """The id of the branch to which an index is tied that reaches so far; None if to none of these.

    Its rows are all there if no later branch has begun below them.
    """
    if not 0 < covered.rows <= rows.row_count:
        return None
    last_name = name_of(rows, covered.rows)
    for branch in rows.branches():
        if covered.tie == tie_to(branch.id, last_name):
            return branch.id
        if branch.above < covered.rows:
            return None
    return None


def is_of(covered: Watermark, rows: Numbered) -> bool:
    """Whether an index that reaches so far is of these rows."""
    return covered == EMPTY or branch_of(covered, rows) is not None


def written(rows: Numbered, last_row: int, last_name: bytes) -> Watermark:
    """That of an index of these rows as they are, which ends with that one."""
    return Watermark(last_row, tie_to(next(rows.branches()).id, last_name))


def lowered(covered: Watermark, rows: Numbered, last_row: int) -> Watermark:
    """That of an index of these rows which is to end with an earlier one, or 0.

    Of the same branch: so it is of the rows before they are rewound to that row and after that.
    """
    if not last_row:
        return EMPTY
    branch_id = branch_of(covered, rows)
    if branch_id is None:
        raise CorruptDatabaseError(rows.path, "its coins are no longer those of its index")
    return Watermark(last_row, tie_to(branch_id, name_of(rows, last_row)))


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
