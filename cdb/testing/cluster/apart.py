"""A network namespace of one's own, in which links between nodes are cut."""

import ctypes
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from cdb.cluster.configuration import STORAGE_PORT
from cdb.errors import UnsupportedError
from cdb.process.children import finished

_NEW_NET = 0x40000000
_TABLE = ("inet", "cdb_trials")
_is_apart = False


def go_apart() -> str | None:
    """Have this process, and all that it starts from now on, in a network namespace of its own,
    with its own loopback. Why that can't be; None where it is. Call it before any thread starts."""
    global _is_apart
    if sys.platform != "linux" or os.geteuid() != 0:
        return "a network namespace of one's own takes root, on Linux"
    if shutil.which("nft") is None or shutil.which("ip") is None:
        return "links are cut by nft (Debian: nftables, iproute2)"
    if ctypes.CDLL(None, use_errno=True).unshare(_NEW_NET):
        return f"the kernel gives no network namespace: {os.strerror(ctypes.get_errno())}"
    finished("ip", "link", "set", "lo", "up").check_returncode()
    _is_apart = True
    return None


@contextmanager
def cut(one: str, other: str) -> Iterator[None]:
    """Cut the link between two addresses. Raises UnsupportedError where go_apart() was not."""
    if not _is_apart:
        raise UnsupportedError("links are cut in a network namespace of one's own only")
    _nft("add", "table", *_TABLE)
    try:
        _nft("add", "chain", *_TABLE, "in", "{ type filter hook input priority 0 ; }")
        for source, target in ((one, other), (other, one)):
            for port in ("dport", "sport"):
                ends = ("ip", "saddr", source, "ip", "daddr", target)
                _nft("add", "rule", *_TABLE, "in", *ends, "tcp", port, str(STORAGE_PORT), "drop")
        yield
    finally:
        _nft("delete", "table", *_TABLE)


def _nft(*arguments: str) -> None:
    finished("nft", *arguments).check_returncode()
