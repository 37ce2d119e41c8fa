"""Read, parse, name, append 80 bytes a coin, sync: a reference, to hold loads against.

It is loaded like a schema, and is none: nothing is checked, and nothing can be looked up. 80 bytes
are a coin (72) and 8 of its name, by which it could be found. On a slow disk a schema that writes
fewer bytes is faster.
"""

import ctypes
import os
from collections.abc import Callable
from os import PathLike

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.durability import Durability
from cdb.contract.packed import PackedBlocks
from cdb.contract.spec import SchemaSpec
from cdb.schemas.null import NullSchema

KEY_BYTES = 8
WRITE_BACK_BYTES = 8 << 20
_SYNC_FILE_RANGE_WRITE = 2


class Floor(NullSchema):
    """A reference: it reads, parses and names coins, appends 80 bytes of each, and syncs."""

    def __init__(
        self, path: str | PathLike[str], *, durability: Durability = Durability.POWER
    ) -> None:
        super().__init__(path)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        self._durable = durability is Durability.POWER
        self._bytes = 0
        self._begun_bytes = 0
        self._synced_bytes = 0

    def accept_block(self, block_spend_info: BlockSpendInfo) -> None:
        """Write a block's coins."""
        self.accept_packed(PackedBlocks.of([block_spend_info]))

    def accept_packed(self, packed: PackedBlocks) -> None:
        """Write some blocks' coins."""
        keys = memoryview(packed.names)[: KEY_BYTES * packed.n_confirms]
        self._bytes += os.writev(self._file, [packed.confirms, keys])
        self.last_block_index = packed.indices[-1]
        if self._durable and self._bytes - self._begun_bytes >= WRITE_BACK_BYTES:
            self._begin_write_back()

    def flush(self) -> None:
        """Make it durable."""
        if self._durable and self._bytes > self._synced_bytes:
            os.fsync(self._file)
        self._begun_bytes = self._synced_bytes = self._bytes

    def close(self) -> None:
        """Make it durable, and release the file."""
        self.flush()
        os.close(self._file)

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

SCHEMA = SchemaSpec(Floor, keeps_contract=False)  # type: ignore[arg-type]
