"""The floor: what any durable load costs. Read, parse, name, append 80 bytes a coin, sync.

80 bytes are a coin (72) and the 8 of its name by which it could be found: about what a store that
forgets nothing has to write. Nothing is checked, and nothing can be looked up.
"""

import ctypes
import os
from collections.abc import Callable
from pathlib import Path

from cdb.ahead import ahead
from cdb.bench import page_cache
from cdb.bench.load import LoadFigures
from cdb.durability import Durability
from cdb.meter import Meter, peak_rss_bytes
from cdb.packed import PackedBlocks
from cdb.scanner import scan_packed

KEY_BYTES = 8
WRITE_BACK_BYTES = 8 << 20
_SYNC_FILE_RANGE_WRITE = 2


def floor(replay: str, path: str, threads: int, flush_coins: int, durability: str) -> LoadFigures:
    """Write a replay's coins to a new file; with two threads, one reads, parses and names."""
    page_cache.fill(Path(replay))
    meter = Meter()
    blocks = spends = 0
    newest_index = None
    with Path(replay).open("rb", buffering=0) as stream:
        packs = scan_packed(stream)
        sink = _Sink(path, flush_coins, durable=durability == Durability.POWER.value)
        for packed in ahead(packs) if threads == 2 else packs:
            sink.append(packed)
            blocks += len(packed)
            spends += packed.n_spends
            newest_index = packed.indices[-1]
        sink.close()
        return LoadFigures(
            blocks=blocks,
            coins=sink.coins,
            spends=spends,
            newest_index=newest_index,
            wall_seconds=meter.seconds(),
            cpu_seconds=meter.cpu_seconds(),
            bytes_written=meter.bytes_written(),
            size_bytes=Path(path).stat().st_size,
            peak_rss_bytes=peak_rss_bytes(),
        )


class _Sink:
    """A file that takes 80 bytes a coin, and is durable each flush_coins and when it is closed."""

    def __init__(self, path: str, flush_coins: int, *, durable: bool) -> None:
        self.coins = 0
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        self._flush_coins = flush_coins
        self._durable = durable
        self._unflushed_coins = 0
        self._bytes = 0
        self._begun_bytes = 0

    def append(self, packed: PackedBlocks) -> None:
        """Write some blocks' coins."""
        keys = memoryview(packed.names)[: KEY_BYTES * packed.n_confirms]
        self._bytes += os.writev(self._file, [packed.confirms, keys])
        self.coins += packed.n_confirms
        self._unflushed_coins += packed.n_confirms
        if self._unflushed_coins >= self._flush_coins:
            self._sync()
        elif self._durable and self._bytes - self._begun_bytes >= WRITE_BACK_BYTES:
            self._begin_write_back()

    def close(self) -> None:
        """Make it durable."""
        self._sync()
        os.close(self._file)

    def _sync(self) -> None:
        if self._durable:
            os.fsync(self._file)
        self._unflushed_coins = 0
        self._begun_bytes = self._bytes

    def _begin_write_back(self) -> None:
        """Let the disk work before the sync waits for it: a tenth to a third of the wall time."""
        if _sync_file_range is not None:
            n_bytes = self._bytes - self._begun_bytes
            _sync_file_range(self._file, self._begun_bytes, n_bytes, _SYNC_FILE_RANGE_WRITE)
            self._begun_bytes = self._bytes


def _find_sync_file_range() -> Callable[[int, int, int, int], int] | None:
    function = getattr(ctypes.CDLL(None), "sync_file_range", None)
    if function is not None:
        function.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint]
    return function


_sync_file_range = _find_sync_file_range()
