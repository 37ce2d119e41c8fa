"""Coins by what they have in common, many at a time, without an object for each.

    coins    120 bytes each    see COIN_FORMAT

They come by the block that confirmed them and then by name; or, where the query says so, by the
last block that changed them, which is the one that spent them if there is one, and then by name.
"""

from dataclasses import dataclass
from enum import IntEnum
from itertools import starmap
from pathlib import Path
from struct import calcsize, iter_unpack
from typing import Any

from cdb.contract.blocks import checked_names, plain_integer
from cdb.contract.coins import (
    MAX_U32,
    MAX_U64,
    NAME_BYTES,
    Coin,
    CoinInfo,
    bytes32,
    bytes32_unchecked,
)
from cdb.contract.packed import Packed, checked_packed_names
from cdb.extensions.native import NativeEngine

MAX_INDEX = MAX_U32
"""The highest index that a block may have."""
COIN_FORMAT = "=32s32s32sQIIQ"
"""name, parent, puzzle hash, amount, confirmed index, spent index (0: unspent), timestamp of the
block that confirmed it"""
COIN_BYTES = calcsize(COIN_FORMAT)


_NOTHING = (1, 0)
"""A range of indices without any."""


class CoinKey(IntEnum):
    """What a query's values are."""

    NONE = 0
    """There are none: all coins, by the ranges alone."""
    NAME = 1
    PUZZLE_HASH = 2
    PARENT = 3


@dataclass(frozen=True, slots=True)
class CoinQuery:
    """Which coins are asked for. A coin comes once, whatever is repeated; unknown ones don't.

    values: of 32 bytes each, without gaps. Ranges include both their ends. A coin that is unspent
    has the spent index 0: (0, 0) are the unspent ones, and (1, MAX_INDEX) the spent ones.
    changed_from: only coins whose confirmed or spent index is as high.
    by_change: the order; see the module. limit: the first so many in it; None: all. any_of_block:
    those of a block may come in any order, and of the block that the limit is in any ones may: a
    store need not compute the names of all others in it. It may do as without.
    """

    key: CoinKey = CoinKey.NONE
    values: Packed = b""
    confirmed: tuple[int, int] = (0, MAX_INDEX)
    spent: tuple[int, int] = (0, MAX_INDEX)
    changed_from: int = 0
    least_amount: int = 0
    by_change: bool = False
    limit: int | None = None
    any_of_block: bool = False

    def checked(self) -> "CoinQuery":
        """The same with values that nobody changes and numbers in range.

        Raises ValueError for values that are not bytes, or not 32 each, or that are there without a
        key, for what is no integer, and for a negative limit.
        """
        key = CoinKey(self.key)
        values = checked_packed_names(self.values, "the values of a coin query")
        if key is CoinKey.NONE and values:
            raise ValueError("the values of a coin query are of no key")
        limit = None if self.limit is None else plain_integer(self.limit, "a limit")
        if limit is not None and limit < 0:
            raise ValueError(f"a limit is 0 or more, not {limit}")
        least_amount = plain_integer(self.least_amount, "a least amount")
        return CoinQuery(
            key,
            values,
            _in_range(self.confirmed) if least_amount <= MAX_U64 else _NOTHING,
            _in_range(self.spent),
            _clamped(plain_integer(self.changed_from, "a block's index"), MAX_INDEX + 1),
            _clamped(least_amount, MAX_U64),
            bool(self.by_change),
            None if limit is None else _clamped(limit, MAX_U64 - 1),
            bool(self.any_of_block),
        )

    def separate_values(self) -> set[bytes]:
        """The values, each once."""
        whole = bytes(self.values)
        return {whole[i : i + NAME_BYTES] for i in range(0, len(whole), NAME_BYTES)}


def ask_natively(engine: NativeEngine, path: Path, handle: Any, query: CoinQuery) -> bytearray:
    """The coins that a checked query asks for, by an engine's functions ask and answer_….

    handle: of the database at the path. See native/common/cdb_query.h.
    """
    native = engine.load()
    ffi = native.ffi
    asked = ffi.new("cdb_query *")
    asked.key, asked.by_change = query.key, query.by_change
    asked.first_confirmed, asked.last_confirmed = query.confirmed
    asked.first_spent, asked.last_spent = query.spent
    asked.changed_from, asked.least_amount = query.changed_from, query.least_amount
    asked.limit = MAX_U64 if query.limit is None else query.limit
    asked.any_of_block = query.any_of_block
    values, count = ffi.from_buffer(query.values), ffi.new("size_t *")
    arguments = handle, asked, values, len(query.values) // NAME_BYTES, count
    take, end = (getattr(native.lib, f"{engine.prefix}answer_{step}") for step in ("take", "end"))
    answer = engine.open(path, "ask", *arguments, kind=f"{engine.prefix}answer", close=end)
    try:
        coins = bytearray(COIN_BYTES * count[0])
        take(answer, ffi.from_buffer("cdb_found_coin[]", coins))
    finally:
        end(answer)
    return coins


def unpacked_coins(coins: Packed) -> list[CoinInfo]:
    """The coins of a query as objects, in their order."""
    return list(starmap(_info, iter_unpack(COIN_FORMAT, coins)))


def joined_values(values: list[bytes32]) -> bytes:
    """The values of a query. Raises ValueError for one that is not 32 bytes."""
    return b"".join(checked_names(values, "each of the names and puzzle hashes"))


def _info(
    _: bytes, parent: bytes, puzzle_hash: bytes, amount: int, confirmed: int, spent: int, __: int
) -> CoinInfo:
    coin = Coin(bytes32_unchecked(parent), bytes32_unchecked(puzzle_hash), amount)
    return CoinInfo(coin, confirmed, spent)


def _in_range(bounds: tuple[int, int]) -> tuple[int, int]:
    first, last = (plain_integer(bound, "a block's index") for bound in bounds)
    if first > last or last < 0:
        return _NOTHING
    return (_clamped(first, MAX_INDEX + 1), _clamped(last, MAX_INDEX))


def _clamped(value: int, most: int) -> int:
    return max(0, min(value, most))
