"""Lookups in native code: packed names in, packed infos out, and objects made from those."""

from abc import abstractmethod
from collections.abc import Sequence
from itertools import compress
from struct import calcsize, iter_unpack

from cdb.blocks import NamedBlock, check_against_state, checked_names
from cdb.coins import NAME_BYTES, Coin, CoinInfo, bytes32, bytes32_unchecked
from cdb.disk.shared import Shared, reading
from cdb.packed import held_bytes

INFO_FORMAT = "=32s32sQII"
"""parent, puzzle hash, amount, confirmed index, spent index (0: unspent)"""
INFO_BYTES = calcsize(INFO_FORMAT)


class PackedLookups(Shared):
    """Looks coins up by _lookup(); see cdb.schemas.Schema for the methods."""

    @abstractmethod
    def _lookup(self, coin_names: bytes | memoryview) -> tuple[bytearray, bytearray]:
        """For each name an info, zeros if unknown, and a byte that is 1 where there is a coin."""

    def coin_infos_for_coin_names(self, coin_names: Sequence[bytes32]) -> list[CoinInfo]:
        """See Schema."""
        coin_names = checked_names(coin_names)
        infos, found = self.coin_infos_packed(b"".join(coin_names))
        make = bytes32_unchecked
        return [
            CoinInfo(Coin(make(parent), make(puzzle_hash), amount), confirmed, spent)
            for parent, puzzle_hash, amount, confirmed, spent in compress(
                iter_unpack(INFO_FORMAT, infos), found
            )
        ]

    @reading
    def coin_infos_packed(
        self, coin_names: bytes | bytearray | memoryview
    ) -> tuple[bytearray, bytearray]:
        """The coins of names without gaps, as packed infos, and for each whether there is such one.

        See INFO_FORMAT; the infos of unknown names are zeros.
        """
        held = held_bytes(coin_names)
        if held is None or len(held) % NAME_BYTES:
            problem = f"{NAME_BYTES} bytes each, as bytes, a bytearray or a memoryview"
            raise ValueError(f"packed coin names are {problem}")
        return self._lookup(held)

    def _check_refused(self, block: NamedBlock) -> None:
        """Raise what is wrong with a block, by the checks that all schemas share."""
        infos, found = self._lookup(b"".join([*block.outside_spends, *block.names]))
        n_outside = len(block.outside_spends)
        answers = zip(iter_unpack(INFO_FORMAT, infos), found, strict=True)
        spent = [info[-1] if is_found else None for info, is_found in answers]
        exists = [bool(is_found) for is_found in found]
        check_against_state(block, spent[:n_outside], exists[n_outside:])
