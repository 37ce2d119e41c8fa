"""Names to look up and coins that are found, as objects on one side and packed on the other.

native/objects/ does this, or Python where that is missing: then a coin takes three times as long.
"""

from collections.abc import Sequence
from functools import cache
from itertools import compress
from struct import iter_unpack
from typing import Protocol

from cdb.contract.blocks import checked_names
from cdb.contract.coins import Coin, CoinInfo, bytes32, bytes32_unchecked
from cdb.contract.packed import INFO_FORMAT, Packed
from cdb.errors import MissingEngineError
from cdb.extensions.native import NativeModule

_native = NativeModule(
    "cdb.extensions._objects", "the maker of coins", "a C compiler (Debian: gcc and python3-dev)"
)


def joined_names(names: Sequence[bytes32]) -> bytes:
    """The names to look up, without gaps. Raises ValueError as checked_names()."""
    joined = _made().joined(names)
    return b"".join(checked_names(names)) if joined is None else joined


def unpacked_infos(infos: Packed, found: Packed) -> list[CoinInfo]:
    """The coins that a look-up has found, in the order of their names."""
    return _made().unpacked(infos, found)


class _Coins(Protocol):
    def joined(self, names: Sequence[bytes32], /) -> bytes | None:
        """The names without gaps; None where somebody else is to say what is wrong with them."""
        ...

    def unpacked(self, infos: Packed, found: Packed, /) -> list[CoinInfo]:
        """See unpacked_infos()."""
        ...


class PlainCoins:
    """The same as native/objects/, in Python."""

    def joined(self, names: Sequence[bytes32]) -> bytes | None:
        """See _Coins."""
        return b"".join(checked_names(names))

    def unpacked(self, infos: Packed, found: Packed) -> list[CoinInfo]:
        """See unpacked_infos()."""
        make = bytes32_unchecked
        return [
            CoinInfo(Coin(make(parent), make(puzzle_hash), amount), confirmed, spent)
            for parent, puzzle_hash, amount, confirmed, spent in compress(
                iter_unpack(INFO_FORMAT, infos), found
            )
        ]


@cache
def _made() -> _Coins:
    try:
        made: _Coins = _native.load().Coins(CoinInfo, Coin, bytes32)
    except MissingEngineError:
        return PlainCoins()
    return made
