"""What a node does to its coins, as rows of cdb_ops keep it, and what several of them come to.

An operation goes back to below a height, and then adds a block of that height, or none. A rollback
to height 7 is one at 8 without a block; a block that extends the newest one replaces it. So an
operation may be applied again at any time: the outcome is the same.

A row's record is

    tip height    8 bytes     of the newest block with coins below the operation's height; -1: none
    tip digest    32 bytes    of that block; of the log's head where there is none
    timestamp     8 bytes     the rest is a block's only: seconds since the Unix epoch
    n spends      8 bytes
    spends        32 bytes each, confirms 72 bytes each, as cdb.contract.packed has them
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from struct import Struct

from cdb.contract.coins import MAX_U32, NAME_BYTES
from cdb.contract.packed import CONFIRM_BYTES, PackedBlocks
from cdb.stores.coin_log.binding import names_of

_TIP = Struct("<q32s")
_BLOCK = Struct("<QQ")
_HEIGHT = Struct("<Q")
_HEIGHTS = range(MAX_U32 + 1)


@dataclass(frozen=True, slots=True)
class Tip:
    """A block that operations stand on, or a log without coins. It tells one log from another."""

    height: int
    digest: bytes


@dataclass(frozen=True)
class Block:
    """One block in canonical form; names are those of its confirms."""

    height: int
    timestamp: int
    spends: bytes
    confirms: bytes

    @cached_property
    def names(self) -> bytes:
        """Without gaps, in the order of the confirms."""
        return names_of(self.confirms)

    @cached_property
    def tip(self) -> Tip:
        """The block, for operations that stand on it."""
        return Tip(self.height, sha256(_HEIGHT.pack(self.height) + self.content()).digest())

    @property
    def n_coins(self) -> int:
        """How many coins it spends and confirms: what it costs to apply."""
        return len(self.spends) // NAME_BYTES + len(self.confirms) // CONFIRM_BYTES

    def content(self) -> bytes:
        """All but the height, as a record has it."""
        head = _BLOCK.pack(self.timestamp, len(self.spends) // NAME_BYTES)
        return b"".join((head, self.spends, self.confirms))

    @classmethod
    def of_content(cls, height: int, content: bytes) -> "Block":
        """The block of a record. Raises ValueError for one that is not whole."""
        timestamp, n_spends = _BLOCK.unpack_from(content)
        end = _BLOCK.size + NAME_BYTES * n_spends
        if end > len(content) or (len(content) - end) % CONFIRM_BYTES:
            raise ValueError(f"the record of block {height} is not whole")
        return cls(height, timestamp, content[_BLOCK.size : end], content[end:])

    @classmethod
    def each_of(cls, packs: Iterable[PackedBlocks]) -> Iterator["Block"]:
        """The blocks of packs, in their order."""
        for blocks in packs:
            for place in range(len(blocks)):
                yield cls.of_packed(blocks.part(place, place + 1))

    @classmethod
    def of_packed(cls, blocks: PackedBlocks) -> "Block":
        """The only block of a pack."""
        spends, confirms = bytes(blocks.spends), bytes(blocks.confirms)
        return cls(blocks.indices[0], blocks.timestamps[0], spends, confirms)


@dataclass(frozen=True, slots=True)
class Operation:
    """Go back to below a height, where the newest block with coins is the tip; then add a block."""

    number: int
    height: int
    tip: Tip
    block: Block | None

    @property
    def kind(self) -> str:
        """What people read in the table."""
        return "rollback" if self.block is None else "block"

    @property
    def record(self) -> bytes:
        """See the module."""
        content = b"" if self.block is None else self.block.content()
        return _TIP.pack(self.tip.height, self.tip.digest) + content

    @classmethod
    def of_row(cls, number: int, height: int, kind: str, record: bytes) -> "Operation":
        """The operation that a row keeps. Raises ValueError for what is none."""
        if kind not in ("block", "rollback") or type(height) is not int or height not in _HEIGHTS:
            raise ValueError(f"operation {number} is a {kind} at height {height}")
        if len(record) < _TIP.size + (_BLOCK.size if kind == "block" else 0):
            raise ValueError(f"operation {number} has a record of {len(record)} bytes")
        tip = Tip(*_TIP.unpack_from(record))
        content = record[_TIP.size :]
        block = Block.of_content(height, content) if kind == "block" else None
        return cls(number, height, tip, block)


@dataclass(frozen=True, slots=True)
class Effect:
    """What operations come to: go back to below a height, on a tip; then add these blocks."""

    height: int
    tip: Tip
    blocks: list[Block]


def effect_of(operations: Sequence[Operation]) -> Effect:
    """The effect of operations, of which there are some, in their order.

    Blocks that a later one takes away are left out: they may spend coins that nothing brings back.
    """
    lowest = operations[0]
    blocks: list[Block] = []
    for operation in _each_on(blocks, operations):
        if operation.height < lowest.height:
            lowest = operation
    return Effect(lowest.height, lowest.tip, blocks)


def check_line(operations: Sequence[Operation]) -> None:
    """Whether each operation stands on what those before it have left, as far as they tell.

    Raises ValueError where one of them is missing or another one's.
    """
    blocks: list[Block] = []
    for operation in _each_on(blocks, operations):
        below = next((block for block in reversed(blocks) if block.confirms), None)
        if below is not None and below.tip != operation.tip:
            raise ValueError(f"operation {operation.number} does not follow on those before it")


def _each_on(blocks: list[Block], operations: Sequence[Operation]) -> Iterator[Operation]:
    """Apply operations to blocks; gives each when its height is free, before its block is there."""
    for operation in operations:
        while blocks and blocks[-1].height >= operation.height:
            blocks.pop()
        yield operation
        if operation.block is not None:
            blocks.append(operation.block)


def packed(blocks: list[Block]) -> PackedBlocks:
    """The blocks as a schema takes them."""
    spend_ends, confirm_ends = array("Q"), array("Q")
    n_spends = n_confirms = 0
    for block in blocks:
        n_spends += len(block.spends) // NAME_BYTES
        n_confirms += len(block.confirms) // CONFIRM_BYTES
        spend_ends.append(n_spends)
        confirm_ends.append(n_confirms)
    return PackedBlocks(
        array("Q", [block.height for block in blocks]),
        array("Q", [block.timestamp for block in blocks]),
        spend_ends,
        confirm_ends,
        b"".join([block.spends for block in blocks]),
        b"".join([block.confirms for block in blocks]),
        b"".join([block.names for block in blocks]),
    )
