"""A database's blocks before its first damage: verify counts them, and dump_blocks writes them."""

from collections.abc import Iterator

from cdb.contract.blocks import BlockSpendInfo
from cdb.errors import CorruptDatabaseError, StorageError
from cdb.schemas import Schema


class ReadableBlocks:
    """Iterates over all blocks of a database, once, and ends where they can't be read any further.

    n_blocks, newest: how many were given so far, and the index of the last one, if any.
    damage: what ended them; None if nothing did, or nothing has yet.
    """

    def __init__(self, database: Schema) -> None:
        self.n_blocks = 0
        self.newest: int | None = None
        self.damage: CorruptDatabaseError | StorageError | None = None
        self._database = database

    def __iter__(self) -> Iterator[BlockSpendInfo]:
        try:
            for block in self._database.blocks():
                self.n_blocks += 1
                self.newest = block.index
                yield block
        except (CorruptDatabaseError, StorageError) as error:
            self.damage = error

    def __str__(self) -> str:
        return f"{self.n_blocks:,} blocks up to {self.newest}"
