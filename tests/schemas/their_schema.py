"""Coins in SQLite rows; one file that is replaced at each write lists the names of the rows.

A stranger's schema, as docs/adding-a-schema.md tells to make one: test_theirs.py puts it into a
package of its own, and holds it to the contract.

    index/names    SHA-256 of what follows it (32 bytes), and the rows' names in their order
"""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from cdb.building import (
    EMPTY,
    CorruptDatabaseError,
    DatabaseNotFoundError,
    Durability,
    Limit,
    Watermark,
    make_dir,
    read_own,
    replace_file,
    rows_spec,
    storage_errors,
)

_DIGEST_BYTES = 32
_NAME_BYTES = 32


class NameList:
    """See cdb.building.NameIndex for the methods."""

    def __init__(self, path: Path, *, durability: Durability, read_only: bool) -> None:
        self._file = path / "names"
        self._durable = durability is not Durability.NONE
        if not read_only:
            make_dir(path, durable=self._durable)
        with storage_errors(self._file):
            data = read_own(self._file)
        if data is None and read_only:
            raise DatabaseNotFoundError(self._file, "there is no list of names")
        self._names: list[bytes] = []
        if data is None:
            self._save()
        else:
            self._load(data)
        self._rows = {name: row for row, name in enumerate(self._names, 1)}

    @property
    def covered(self) -> Watermark:
        """See NameIndex."""
        return Watermark(len(self._names), self._names[-1]) if self._names else EMPTY

    def find(self, names: Sequence[bytes]) -> list[int | None]:
        """See NameIndex."""
        return [self._rows.get(name) for name in names]

    def write(self, names: Sequence[bytes], covered: Watermark) -> None:
        """See NameIndex."""
        self._rows.update(zip(names, range(len(self._names) + 1, covered.rows + 1), strict=True))
        self._names += names
        self._save()

    def rewind(self, covered: Watermark, dropped: Iterator[bytes]) -> None:
        """See NameIndex."""
        for name in dropped:
            del self._rows[name]
        del self._names[covered.rows :]
        self._save()

    def settle(self) -> None:
        """Nothing is owed."""

    def check(self) -> None:
        """Nothing: the checksum is looked at when it is opened."""

    def close(self) -> None:
        """Nothing is open."""

    def _load(self, data: bytes) -> None:
        listed = data[_DIGEST_BYTES:]
        if hashlib.sha256(listed).digest() != data[:_DIGEST_BYTES]:
            raise CorruptDatabaseError(self._file, "it does not match its checksum")
        self._names = [listed[at : at + _NAME_BYTES] for at in range(0, len(listed), _NAME_BYTES)]

    def _save(self) -> None:
        listed = b"".join(self._names)
        replace_file(self._file, hashlib.sha256(listed).digest() + listed, durable=self._durable)


SCHEMA = rows_spec(
    "their_schema",
    NameList,
    checksummed="db/(FORMAT|index/names)",
    limits=(
        Limit(
            "stale",
            ("overlooked",),
            "an older list covers less, and the rest comes from the rows",
            file="db/index/names",
            change="whole*",
        ),
    ),
)
