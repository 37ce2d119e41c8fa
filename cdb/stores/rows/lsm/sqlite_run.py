"""A run as one SQLite file.

    hashes  hash (32 bytes), hash_index (row id); sorted by hash, so that rowid - 1 is the position,
            and no index is needed: 16 consecutive rows are a page, as search.py has it
    meta    one row: what the file is, its first keys, its filter (see filter.py), and checksums

SQLite itself serves most flipped bits as if nothing had happened, so each page has a checksum:
zlib.crc32 of its records in the form of search.py. ``checksums`` holds them one after the other, 4
bytes each, little-endian, and ``checksum`` covers the other columns of meta. Later versions keep
the columns of meta.

A sealed file never changes, so it is read with immutable=1. It is written without a journal: until
the manifest names it, nobody needs it.
"""

import struct
import zlib
from array import array
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from cdb.errors import CorruptDatabaseError, wrong_version
from cdb.stores.rows.lsm.filter import Filter, FilterBuilder
from cdb.stores.rows.lsm.manifest import RunEntry
from cdb.stores.rows.lsm.search import (
    RECORD,
    RunFormat,
    first_key,
    packed_keys,
    paged,
    unpacked_keys,
)
from cdb.stores.rows.sqlite import check_tables, open_uri, sqlite_errors, stored_data

VERSION = 2
PAGE_RECORDS = 16
_CHECKSUM = struct.Struct("<I")
_IDENTITY = struct.Struct("<4Q")
_TABLES = {"hashes": None, "meta": None}
_CREATE = """
    PRAGMA journal_mode=OFF;
    PRAGMA synchronous=OFF;
    BEGIN;
    CREATE TABLE hashes (hash BLOB, hash_index INTEGER);
    CREATE TABLE meta (version INTEGER, number INTEGER, first_row INTEGER, count INTEGER,
                       first_keys BLOB, filter BLOB, checksums BLOB, checksum INTEGER);
"""


class SqliteRun:
    """A sealed run, open for reading. See search.Run."""

    def __init__(self, path: Path, entry: RunEntry) -> None:
        self.path = path
        self._connection = open_uri(path, "mode=ro&immutable=1")
        try:
            with stored_data(path):
                check_tables(self._connection, path, _TABLES)
                # A damaged row may claim to be text, which need not decode.
                self._connection.text_factory = bytes
                self._connection.execute("PRAGMA cell_size_check=ON")
                self._read_meta(entry)
        except BaseException:
            self._connection.close()
            raise

    def read_page(self, number: int) -> bytes:
        """See search.Run."""
        first = number * PAGE_RECORDS + 1
        with stored_data(self.path):
            rows = self._connection.execute(
                "SELECT hash, hash_index FROM hashes WHERE rowid BETWEEN ? AND ?",
                (first, first + PAGE_RECORDS - 1),
            )
            page = b"".join([RECORD.pack(name, row) for name, row in rows])
            (checksum,) = _CHECKSUM.unpack_from(self._checksums, number * _CHECKSUM.size)
        if checksum != zlib.crc32(page):
            raise CorruptDatabaseError(self.path, f"rows {first} and following are damaged")
        return page

    def close(self) -> None:
        """See search.Run."""
        self._connection.close()

    def _read_meta(self, entry: RunEntry) -> None:
        rows = self._connection.execute("SELECT * FROM meta").fetchall()
        if len(rows) != 1:
            raise CorruptDatabaseError(self.path, f"meta has {len(rows)} rows")
        *identity, keys, bits, checksums, checksum = rows[0]
        if checksum != _meta_checksum(identity, keys, bits, checksums):
            raise CorruptDatabaseError(self.path, "meta is damaged")
        if identity[0] != VERSION:
            raise wrong_version(self.path, f"run {identity[0]}", f"run {VERSION}")
        if identity != _identity(entry):
            raise CorruptDatabaseError(self.path, "it is another run")
        self.first_keys = unpacked_keys(keys)
        self.filter = Filter(bits)
        self._checksums = checksums


def write_sqlite_run(path: Path, entry: RunEntry, records: Iterable[bytes]) -> None:
    """See search.RunFormat."""
    bloom = FilterBuilder(entry.count)
    first_keys = array("Q")
    checksums = bytearray()

    def rows() -> Iterator[tuple[Any, ...]]:
        for page in paged(records, PAGE_RECORDS):
            first_keys.append(first_key(page))
            bloom.add(page)
            checksums.extend(_CHECKSUM.pack(zlib.crc32(page)))
            yield from RECORD.iter_unpack(page)

    with closing(open_uri(path, "mode=rwc")) as connection, sqlite_errors(path):
        connection.executescript(_CREATE)
        connection.executemany("INSERT INTO hashes VALUES (?, ?)", rows())
        blobs = (packed_keys(first_keys), bloom.bits, checksums)
        meta = (*_identity(entry), *blobs, _meta_checksum(_identity(entry), *blobs))
        connection.execute("INSERT INTO meta VALUES (?, ?, ?, ?, ?, ?, ?, ?)", meta)
        connection.execute("COMMIT")


def _identity(entry: RunEntry) -> list[int]:
    return [VERSION, entry.number, entry.first_row, entry.count]


def _meta_checksum(identity: Iterable[int], *blobs: bytes | bytearray) -> int:
    checksum = zlib.crc32(_IDENTITY.pack(*identity))
    for blob in blobs:
        checksum = zlib.crc32(blob, checksum)
    return checksum


SQLITE = RunFormat("sqlite", write_sqlite_run, SqliteRun)
