"""Packed coins, each as a tuple of its fields, and which field is what."""

from collections.abc import Iterator
from struct import iter_unpack
from typing import Final

from cdb.contract.coin_query import COIN_FORMAT
from cdb.contract.packed import Packed

Row = tuple[bytes, bytes, bytes, int, int, int, int]
"""The fields of COIN_FORMAT."""
NAME: Final = 0
PARENT: Final = 1
PUZZLE_HASH: Final = 2
AMOUNT: Final = 3
CONFIRMED: Final = 4
SPENT: Final = 5


def coin_rows(coins: Packed) -> Iterator[Row]:
    """The coins of a query, in their order."""
    return iter_unpack(COIN_FORMAT, coins)


def changed_at(row: Row) -> int:
    """The height of the newest block that changed a coin."""
    return max(row[CONFIRMED], row[SPENT])
