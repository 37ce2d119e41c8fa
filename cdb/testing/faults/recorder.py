"""Reads the trace that the shim writes: what a process did to files, in order."""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

_HEADER = struct.Struct("=iiqqiIQ")


class Kind(IntEnum):
    """What was done, as native/preload/fault_shim.c numbers it."""

    OPEN = 1
    CLOSE = 2
    DUPLICATE = 3
    WRITE = 4
    TRUNCATE = 5
    ALLOCATE = 6
    RENAME = 7
    UNLINK = 8
    MKDIR = 9
    RMDIR = 10
    LINK = 11
    SYNC = 12
    DATA_SYNC = 13
    UNSEEN = 14
    MARK = 15
    SYNC_FAILED = 16


@dataclass(frozen=True, slots=True)
class Operation:
    """One call. path and, for names, data are absolute paths.

    descriptor: -1 where the path says which file. at: an offset, a size, open's flags, or the new
    descriptor of a duplicate. flags: fallocate's mode.
    """

    kind: Kind
    descriptor: int
    at: int
    length: int
    flags: int
    path: str
    data: bytes


def read_trace(path: Path) -> Iterator[Operation]:
    """The operations, in the order in which they happened."""
    trace = path.read_bytes()
    at = 0
    while at < len(trace):
        kind, descriptor, offset, length, flags, path_bytes, data_bytes = _HEADER.unpack_from(
            trace, at
        )
        names = at + _HEADER.size
        data = names + path_bytes
        at = data + data_bytes
        yield Operation(
            Kind(kind),
            descriptor,
            offset,
            length,
            flags,
            os.fsdecode(trace[names:data]),
            trace[data:at],
        )
