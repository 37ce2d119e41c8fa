"""Names to look up, coins that are found, and blocks: as objects on one side, packed on the other.

native/objects/ does this, or Python where that is missing: then a coin takes three times as long.
"""

from array import array
from collections.abc import Sequence
from functools import cache
from itertools import compress
from struct import iter_unpack
from typing import Protocol

from cdb.contract.blocks import BlockSpendInfo, checked_names, with_plain_fields
from cdb.contract.coins import NAME_BYTES, Coin, CoinInfo, bytes32, bytes32_unchecked
from cdb.contract.packed import AMOUNT_BYTES, CONFIRM_BYTES, INFO_FORMAT, Packed, PackedBlocks
from cdb.contract.packed_state import names_of
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


def packed_block(block: BlockSpendInfo) -> PackedBlocks | None:
    """A block, packed in canonical order; None when a field is out of its range.

    Raises ValueError as with_plain_fields().
    """
    packed = _made().packed(block.spends, block.confirms)
    if packed is None or type(block.index) is not int or type(block.timestamp) is not int:
        block = with_plain_fields(block)
        packed = _packed(block)
    try:
        index, timestamp = array("Q", [block.index]), array("Q", [block.timestamp])
    except OverflowError:
        return None
    if packed is None:
        return None
    spends, confirms = packed
    n_spends, n_confirms = len(spends) // NAME_BYTES, len(confirms) // CONFIRM_BYTES
    ends = array("Q", [n_spends]), array("Q", [n_confirms])
    return PackedBlocks(index, timestamp, *ends, spends, confirms, names_of(confirms))


def _packed(block: BlockSpendInfo) -> tuple[bytes, bytes] | None:
    """Spends and confirms of a block with plain fields; None when one is out of its range."""
    try:
        confirms = [
            coin.parent_coin_name + coin.puzzle_hash + coin.amount.to_bytes(AMOUNT_BYTES, "big")
            for coin in block.confirms
        ]
    except OverflowError:
        return None
    lengths = {len(coin.parent_coin_name) for coin in block.confirms}
    lengths.update([len(coin.puzzle_hash) for coin in block.confirms])
    lengths.update(map(len, block.spends))
    if not lengths <= {NAME_BYTES}:
        return None
    return b"".join(sorted(block.spends)), b"".join(sorted(confirms))


class _Coins(Protocol):
    def joined(self, names: Sequence[bytes32], /) -> bytes | None:
        """The names without gaps; None where somebody else is to say what is wrong with them."""
        ...

    def unpacked(self, infos: Packed, found: Packed, /) -> list[CoinInfo]:
        """See unpacked_infos()."""
        ...

    def packed(self, spends: list[bytes32], confirms: list[Coin], /) -> tuple[bytes, bytes] | None:
        """A block's spends and confirms in canonical order, packed; None unless all fields are
        plain and in their range."""
        ...


class PlainCoins:
    """What native/objects/ makes, in Python; all else is left to who calls."""

    def joined(self, names: Sequence[bytes32]) -> None:
        """See _Coins."""

    def packed(self, spends: list[bytes32], confirms: list[Coin]) -> None:
        """See _Coins."""

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
