"""Coins and blocks as SQLite tables hold them.

Rows are numbered 1, 2, 3, … in chain order, and within a block in canonical order: so a block's
coins lie side by side, and a rewind cuts off the end. What a block spends is kept as row ids. Each
block carries a checksum of its canonical content.
"""

import struct
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from cdb.contract.coins import MAX_U32, Coin, CoinInfo, bytes32, bytes32_unchecked, coin_name
from cdb.contract.packed import Fields


class StoredCoin(NamedTuple):
    """One coin row; the amount has 8 bytes, big endian; spent_index 0 means unspent."""

    row: int
    parent: bytes
    puzzle_hash: bytes
    amount_bytes: bytes
    confirmed_index: int
    spent_index: int

    def name(self) -> bytes32:
        """The coin's name, computed from the row."""
        return coin_name(self.parent, self.puzzle_hash, int.from_bytes(self.amount_bytes, "big"))

    def has_possible_indices(self) -> bool:
        """Whether a coin may be confirmed and spent where this one says: damage shows so at times.

        What a row says otherwise, only its block can tell (cdb.stores.rows.check).
        """
        confirmed, spent = self.confirmed_index, self.spent_index
        if type(confirmed) is not int or type(spent) is not int:
            return False
        return 0 <= confirmed <= MAX_U32 and (spent == 0 or confirmed <= spent <= MAX_U32)

    def confirm(self) -> bytes:
        """The row's coin as cdb.contract.packed has it."""
        return self.parent + self.puzzle_hash + self.amount_bytes

    def fields(self, height: int = MAX_U32) -> Fields:
        """The row as cdb.contract.packed.INFO_FORMAT has it, as of a height where it was there."""
        amount = int.from_bytes(self.amount_bytes, "big")
        spent = self.spent_index if self.spent_index <= height else 0
        return self.parent, self.puzzle_hash, amount, self.confirmed_index, spent

    def coin(self) -> Coin:
        """The row as a Coin."""
        return Coin(
            bytes32_unchecked(self.parent),
            bytes32_unchecked(self.puzzle_hash),
            int.from_bytes(self.amount_bytes, "big"),
        )

    def info(self) -> CoinInfo:
        """The row as a CoinInfo."""
        return CoinInfo(self.coin(), self.confirmed_index, self.spent_index)


class BlockRow(NamedTuple):
    """One row of the block table; the timestamp as SQLite's signed integer."""

    block_index: int
    timestamp: int
    first_row: int
    n_confirms: int
    spent_rows: bytes
    checksum: int

    @classmethod
    def of(cls, columns: Sequence[Any]) -> Self:
        """A row as SQLite gives it. Raises TypeError for what is never stored there."""
        row = cls._make(columns)
        if [type(value) for value in row] != [int, int, int, int, bytes, int]:
            raise TypeError("a block's row has values of other types")
        return row

    def spent(self) -> tuple[int, ...]:
        """The row ids of the coins that the block spends, in the order of their names."""
        return struct.unpack(f"<{len(self.spent_rows) // 8}Q", self.spent_rows)


BLOCK_COLUMNS = ", ".join(BlockRow._fields)


def create_block_table(table: str) -> str:
    """The CREATE statement of a block table."""
    return f"""CREATE TABLE IF NOT EXISTS {table}(
        block_index INTEGER PRIMARY KEY,
        timestamp INTEGER NOT NULL,
        first_row INTEGER NOT NULL,
        n_confirms INTEGER NOT NULL,
        spent_rows BLOB NOT NULL,
        checksum INTEGER NOT NULL)"""


def pack_rows(rows: Sequence[int]) -> bytes:
    """Row ids as BlockRow.spent_rows holds them: 8 bytes each, little endian."""
    return struct.pack(f"<{len(rows)}Q", *rows)


def block_checksum(
    index: int, timestamp: int, spends: bytes | memoryview, confirms: bytes | memoryview
) -> int:
    """CRC-32 of a canonical block in packed form; see cdb.contract.packed."""
    return zlib.crc32(
        confirms, zlib.crc32(spends, zlib.crc32(struct.pack("<QQ", index, timestamp)))
    )
