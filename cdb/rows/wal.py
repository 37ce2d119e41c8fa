"""Whether an SQLite -wal file holds a committed transaction, by SQLite's documented WAL format."""

import struct
from collections.abc import Iterable
from pathlib import Path

from cdb.disk.own import own

_HEADER = struct.Struct(">8I")
_FRAME_BYTES = 24
_MAGIC = 0x377F0682  # its last bit tells the byte order of the checksums


def has_commit(path: Path) -> bool:
    """Whether the file begins with a transaction that SQLite would take for committed.

    Reads up to the end of that transaction. Raises OSError.
    """
    with open(path, "rb", opener=own) as file:
        header = file.read(_HEADER.size)
        if len(header) < _HEADER.size:
            return False
        magic, _, page_bytes, _, *_ = _HEADER.unpack(header)
        if magic & ~1 != _MAGIC:
            return False
        order = ">" if magic & 1 else "<"
        sums = _checksum((0, 0), header[:24], order)
        salts = header[16:24]
        if sums != struct.unpack(">2I", header[24:]):
            return False
        while len(frame := file.read(_FRAME_BYTES + page_bytes)) == _FRAME_BYTES + page_bytes:
            sums = _checksum(sums, frame[:8] + frame[_FRAME_BYTES:], order)
            if frame[8:16] != salts or sums != struct.unpack(">2I", frame[16:24]):
                return False
            if frame[4:8] != bytes(4):  # the size of the database after the commit
                return True
    return False


def _checksum(sums: tuple[int, int], data: bytes, order: str) -> tuple[int, int]:
    a, b = sums
    words: Iterable[tuple[int, int]] = struct.iter_unpack(f"{order}2I", data)
    for x, y in words:
        a = (a + x + b) & 0xFFFFFFFF
        b = (b + y + a) & 0xFFFFFFFF
    return a, b
