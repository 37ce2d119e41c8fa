"""How often this process has asked for its writes to reach the disk.

native/preload/sync_counter.c counts, preloaded into the processes of workloads.
"""

import ctypes
import os
from dataclasses import dataclass

from cdb.extensions.built import built_file

LIBRARY = built_file("bench/_sync_counter.so")
_SANITIZERS = ("libasan", "libtsan", "libubsan", "libclang_rt")


@dataclass(frozen=True, slots=True)
class SyncCalls:
    """Calls since the process began."""

    fsync: int
    fdatasync: int
    sync_file_range: int
    msync: int


def counting_syncs() -> dict[str, str]:
    """What to add to a process's environment so that it counts; nothing where it can't."""
    already = os.environ.get("LD_PRELOAD", "")
    # A sanitizer's runtime wants to be alone, and the loader splits the list at these characters.
    unfit = any(name in already for name in _SANITIZERS) or set(str(LIBRARY)) & set(" :")
    if unfit or not LIBRARY.exists():
        return {}
    return {"LD_PRELOAD": f"{already} {LIBRARY}".strip()}


def sync_calls() -> SyncCalls | None:
    """So far, in all threads; None where this process doesn't count."""
    here = ctypes.CDLL(None)
    try:
        counts = (ctypes.c_ulong * 4).in_dll(here, "cdb_sync_calls")
    except ValueError:
        return None
    return SyncCalls(*counts)
