"""A Bloom filter over names: tells most absent names without reading a page.

Names are SHA-256 digests, so their own bytes serve as hashes. Interpolation search uses bytes
0 … 7; the filter takes bytes 8 … 17, lest all names of one page meet in it. A name sets two bits
(its numbers are little-endian):

    bytes  8 … 11, modulo the size: one byte of the filter; byte 16, modulo 8: the bit in it
    bytes 12 … 15, modulo the size: a second byte;          byte 17, modulo 8: the bit in it

With 16 bits an entry 1.4 % of absent names pass (12 bits: 2.4 %; 10 bits: 3.3 %). Crafted names
may all pass, which costs a search each, but a name that is there always passes.
"""

import struct
from collections.abc import Iterable, Sequence

BYTES_PER_ENTRY = 2
_NAME = "<8xIIBB14x"
_RECORD = _NAME + "8x"  # the row id
_BITS = tuple(1 << (byte & 7) for byte in range(256))

Probe = tuple[int, int, int, int, int]
"""A position in the list of names; then twice a number that picks the byte, and the bit in it."""


def probes(names: Sequence[bytes]) -> list[Probe]:
    """Where to look for each name, in any filter. Names have 32 bytes each."""
    return [
        (position, first, _BITS[first_bit], second, _BITS[second_bit])
        for position, (first, second, first_bit, second_bit) in enumerate(
            struct.iter_unpack(_NAME, b"".join(names))
        )
    ]


def filter_bytes(entries: int) -> int:
    """The size of a filter for so many entries."""
    return entries * BYTES_PER_ENTRY


class Filter:
    """The bits of one run's filter."""

    def __init__(self, bits: bytes) -> None:
        self._bits = bits

    def passing(self, probes: Iterable[Probe]) -> list[int]:
        """The positions of the names that may be there; all others are certainly absent."""
        bits, size = self._bits, len(self._bits)
        return [
            position
            for position, first, first_bit, second, second_bit in probes
            if bits[first % size] & first_bit and bits[second % size] & second_bit
        ]


class FilterBuilder:
    """Collects the bits while a run is written."""

    def __init__(self, entries: int) -> None:
        self.bits = bytearray(filter_bytes(entries))

    def add(self, page: bytes) -> None:
        """Add the names of one page of records."""
        bits, size = self.bits, len(self.bits)
        for first, second, first_bit, second_bit in struct.iter_unpack(_RECORD, page):
            bits[first % size] |= _BITS[first_bit]
            bits[second % size] |= _BITS[second_bit]
