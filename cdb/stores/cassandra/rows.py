"""How blocks and coins are rows. Each has its run in its key, and never changes once written: who
writes it twice writes the same.

    coin    key: chain, name; run              born: parent, puzzle hash, amount, confirmed index
                                               spent: the index of the block that spends it
                                               neither, of no run: a mark; see known.py
    head    key: chain, number / HEADS; number, run    what is in a block; see Head
    part    key: chain, number, run; part      a part of the block's spends and confirms
    keyed   key: chain, kind, value; confirmed index, name    a coin with this puzzle hash or parent

A coin that one run confirms and another one spends has two rows. Blocks are numbered from 0,
without gaps: so one that is missing is found. Numbers are big-endian.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256
from struct import Struct
from zlib import crc32

from cdb.contract.coin_query import CoinKey
from cdb.contract.coins import NAME_BYTES
from cdb.contract.packed import CONFIRM_BYTES, Packed, PackedBlocks

HEADS = 256
"""Blocks whose heads lie together."""
PART_BYTES = 1 << 16
MARK = 0
"""No writer's run."""
BORN = Struct(">32s32sQI")
_INDEX = Struct(">I")
SPENT_BYTES = _INDEX.size
_NUMBER = Struct(">Q")
_HEAD = Struct(">IQQII16s")
_CHECK = Struct(">I")
_KINDS = {CoinKey.PUZZLE_HASH: b"h", CoinKey.PARENT: b"p"}


class Table(Enum):
    """What is written, and its columns' order."""

    COIN = ("coin", ("key", "run", "born"))
    SPENT_COIN = ("coin", ("key", "run", "born", "spent"))
    SPEND = ("coin", ("key", "run", "spent"))
    MARK = ("coin", ("key", "run"))
    HEAD = ("head", ("key", "number", "run", "head"))
    PART = ("part", ("key", "part", "data"))
    KEYED = ("keyed", ("key", "confirmed", "name"))


Row = tuple[bytes | int, ...]
"""The columns of a Table."""


@dataclass(frozen=True, slots=True)
class Head:
    """What is in a block.

    first_coin: how many coins the blocks before it confirm. digest: of all that is in it.
    """

    index: int
    timestamp: int
    first_coin: int
    n_spends: int
    n_confirms: int
    digest: bytes

    @classmethod
    def of(cls, block: PackedBlocks, first_coin: int) -> "Head":
        """Of a pack of one block."""
        (index,), (timestamp,) = block.indices, block.timestamps
        digest = _digest(index, timestamp, block.spends, block.confirms)
        return cls(index, timestamp, first_coin, block.n_spends, block.n_confirms, digest)

    @classmethod
    def unpacked(cls, packed: bytes) -> "Head":
        """Raises ValueError where these are no head's bytes."""
        n_bytes = _HEAD.size + _CHECK.size
        if len(packed) != n_bytes:
            raise ValueError(f"a block's head has {n_bytes} bytes, not {len(packed)}")
        head, check = packed[: _HEAD.size], packed[_HEAD.size :]
        if _CHECK.pack(crc32(head)) != check:
            raise ValueError("it is not what was written")
        return cls(*_HEAD.unpack(head))

    def packed(self) -> bytes:
        """As unpacked() takes it: with a check of its own, as its index and counts are believed
        before the block is read."""
        counts = self.n_spends, self.n_confirms
        head = _HEAD.pack(self.index, self.timestamp, self.first_coin, *counts, self.digest)
        return head + _CHECK.pack(crc32(head))

    @property
    def size_bytes(self) -> int:
        """Of the block's spends and confirms."""
        return NAME_BYTES * self.n_spends + CONFIRM_BYTES * self.n_confirms

    @property
    def n_parts(self) -> int:
        """How many parts they have."""
        return -(-self.size_bytes // PART_BYTES)

    def block(self, parts: list[bytes]) -> PackedBlocks:
        """The block, without names. Raises ValueError unless all parts are there, as written."""
        whole = b"".join(parts)
        spends, confirms = (
            whole[: NAME_BYTES * self.n_spends],
            whole[NAME_BYTES * self.n_spends :],
        )
        if len(whole) != self.size_bytes:
            raise ValueError(f"{len(whole)} bytes are there of {self.size_bytes}")
        if _digest(self.index, self.timestamp, spends, confirms) != self.digest:
            raise ValueError("it is not what was written")
        index, timestamp = array("Q", [self.index]), array("Q", [self.timestamp])
        ends = array("Q", [self.n_spends]), array("Q", [self.n_confirms])
        return PackedBlocks(index, timestamp, *ends, spends, confirms, b"")


def _digest(index: int, timestamp: int, spends: Packed, confirms: Packed) -> bytes:
    counts = len(spends) // NAME_BYTES, len(confirms) // CONFIRM_BYTES
    digest = sha256(_HEAD.pack(index, timestamp, 0, *counts, b""))
    digest.update(spends)
    digest.update(confirms)
    return digest.digest()[:16]


def parts_of(block: PackedBlocks) -> Iterator[bytes]:
    """The parts of a pack of one block."""
    whole = b"".join([block.spends, block.confirms])
    return (whole[at : at + PART_BYTES] for at in range(0, len(whole), PART_BYTES))


def packed_index(block_index: int) -> bytes:
    """As confirmed and spent indices are kept."""
    return _INDEX.pack(block_index)


def unpacked_index(packed: bytes) -> int:
    """The index that a coin's row ends with, or is spent by."""
    return int.from_bytes(packed[-_INDEX.size :], "big")


def heads_key(chain: bytes, number: int) -> bytes:
    """The key of a block's head."""
    return chain + _NUMBER.pack(number // HEADS)


def parts_key(chain: bytes, number: int, run: int) -> bytes:
    """The key of a block's parts."""
    return chain + _NUMBER.pack(number) + _NUMBER.pack(run)


def keyed_key(chain: bytes, key: CoinKey, value: bytes) -> bytes:
    """The key of coins by a puzzle hash or a parent."""
    return chain + _KINDS[key] + value
