"""A run as one flat file. All numbers are little-endian; all checksums are zlib.crc32.

    offset                  bytes    content
    0                       4096     header page
      0                     8        magic: "cdb-run" and a zero byte
      8                     4        version: 2
      12                    4        page size: 4096
      16                    8        number of the run
      24                    8        first row
      32                    8        count of records: of the rows first row … first row + count - 1
      40                    4        checksum of bytes 0 … 39
      44                    4052     zeros
    4096 * (1 + i)          4096     record page i = 0 … P-1; P is count / 102, rounded up
      0                     4        checksum of bytes 4 … 4095, seeded with the header's
      4                     4        records in the page: 102, in the last page the rest
      8                     8        i
      16                    40       first record: name (32 bytes), row id (8)
      56                    40       second record, and so on; zeros after the last one
    4096 * (1 + P)          8*P      first keys: of each page, the first 8 bytes of its first name
      + 8*P                 2*count  filter (see filter.py)
      + 8*P + 2*count       4        checksum of first keys and filter, seeded with the header's

Records are sorted by name through the whole file. The seed ties a page to its run and the page
number ties it to its place, so that stale and swapped pages are found as flipped bits are. A page
of zeros has a wrong count.
"""

import os
import struct
import zlib
from array import array
from collections.abc import Iterable
from pathlib import Path

from cdb.disk.paths import own
from cdb.errors import (
    CorruptDatabaseError,
    DatabaseNotFoundError,
    storage_error,
    storage_errors,
    wrong_version,
)
from cdb.stores.rows.lsm.filter import Filter, FilterBuilder, filter_bytes
from cdb.stores.rows.lsm.manifest import RunEntry
from cdb.stores.rows.lsm.search import (
    KEY_BYTES,
    RECORD_BYTES,
    RunFormat,
    first_key,
    packed_keys,
    paged,
    unpacked_keys,
)

MAGIC = b"cdb-run\0"
VERSION = 2
PAGE_BYTES = 4096
_HEADER = struct.Struct("<8sIIQQQ")
_CHECKSUM = struct.Struct("<I")
_PAGE_HEAD = struct.Struct("<IIQ")
PAGE_RECORDS = (PAGE_BYTES - _PAGE_HEAD.size) // RECORD_BYTES
_WRITE_BUFFER_BYTES = 2**20


class FlatRun:
    """A sealed run, open for reading. See search.Run."""

    def __init__(self, path: Path, entry: RunEntry) -> None:
        self.path = path
        self._count = entry.count
        header = _header(entry)
        self._seed = zlib.crc32(header)
        try:
            self._file = os.fdopen(own(path, os.O_RDONLY), "rb", buffering=0)
        except FileNotFoundError as error:
            raise DatabaseNotFoundError(path, "the run is missing") from error
        except OSError as error:
            raise storage_error(path, error) from error
        self._descriptor = self._file.fileno()
        try:
            self._check_header(header)
            self._read_tail()
        except BaseException:
            self._file.close()
            raise

    def read_page(self, number: int) -> bytes:
        """See search.Run."""
        page = self._read((1 + number) * PAGE_BYTES, PAGE_BYTES)
        checksum, length, place = _PAGE_HEAD.unpack_from(page)
        if checksum != zlib.crc32(page[_CHECKSUM.size :], self._seed) or place != number:
            raise CorruptDatabaseError(self.path, f"page {number} is damaged")
        return page[_PAGE_HEAD.size : _PAGE_HEAD.size + length * RECORD_BYTES]

    def close(self) -> None:
        """See search.Run."""
        self._file.close()

    def _read(self, offset: int, size: int) -> bytes:
        try:
            data = os.pread(self._descriptor, size, offset)
            while len(data) < size:
                more = os.pread(self._descriptor, size - len(data), offset + len(data))
                if not more:
                    problem = f"the file ends at byte {offset + len(data)}"
                    raise CorruptDatabaseError(self.path, problem)
                data += more
        except OSError as error:
            raise storage_error(self.path, error) from error
        return data

    def _check_header(self, header: bytes) -> None:
        found = self._read(0, PAGE_BYTES)
        magic, version, *_ = _HEADER.unpack_from(found)
        checksum = _CHECKSUM.pack(zlib.crc32(found[: _HEADER.size]))
        if magic == MAGIC and version != VERSION and found.startswith(checksum, _HEADER.size):
            raise wrong_version(self.path, f"run {version}", f"run {VERSION}")
        if found != _header_page(header):
            raise CorruptDatabaseError(self.path, "the header is damaged, or it is another run's")

    def _read_tail(self) -> None:
        pages = -(-self._count // PAGE_RECORDS)
        start = (1 + pages) * PAGE_BYTES
        keys_size = pages * KEY_BYTES
        size = keys_size + filter_bytes(self._count)
        with storage_errors(self.path):
            length = os.fstat(self._descriptor).st_size
        if length != start + size + _CHECKSUM.size:
            problem = f"it has {length} bytes, which is not what its header says"
            raise CorruptDatabaseError(self.path, problem)
        tail = self._read(start, size)
        if self._read(start + size, _CHECKSUM.size) != _CHECKSUM.pack(zlib.crc32(tail, self._seed)):
            raise CorruptDatabaseError(self.path, "its first keys or its filter are damaged")
        self.first_keys = unpacked_keys(tail[:keys_size])
        self.filter = Filter(tail[keys_size:])


def write_flat_run(path: Path, entry: RunEntry, records: Iterable[bytes]) -> None:
    """See search.RunFormat."""
    header = _header(entry)
    seed = zlib.crc32(header)
    bloom = FilterBuilder(entry.count)
    first_keys = array("Q")
    with storage_errors(path), open(path, "wb", _WRITE_BUFFER_BYTES, opener=own) as file:
        file.write(_header_page(header))
        for number, page in enumerate(paged(records, PAGE_RECORDS)):
            file.write(_record_page(page, number, seed))
            first_keys.append(first_key(page))
            bloom.add(page)
        tail = packed_keys(first_keys) + bloom.bits
        file.write(tail)
        file.write(_CHECKSUM.pack(zlib.crc32(tail, seed)))


def _header(entry: RunEntry) -> bytes:
    return _HEADER.pack(MAGIC, VERSION, PAGE_BYTES, entry.number, entry.first_row, entry.count)


def _header_page(header: bytes) -> bytes:
    return (header + _CHECKSUM.pack(zlib.crc32(header))).ljust(PAGE_BYTES, b"\0")


def _record_page(records: bytes, number: int, seed: int) -> bytes:
    length = len(records) // RECORD_BYTES
    head = _PAGE_HEAD.pack(0, length, number)[_CHECKSUM.size :]
    body = (head + records).ljust(PAGE_BYTES - _CHECKSUM.size, b"\0")
    return _CHECKSUM.pack(zlib.crc32(body, seed)) + body


FLAT = RunFormat("flat", write_flat_run, FlatRun)
