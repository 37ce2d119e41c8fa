"""Blocks and look-ups packed into a few buffers: many of them without an object a coin.

    indices       8 bytes a block     rising
    timestamps    8 bytes a block     seconds since the Unix epoch
    spend_ends    8 bytes a block     the number of spends up to and with this block
    confirm_ends  8 bytes a block     the number of confirms up to and with this block
    spends        32 bytes a spend    names, sorted within each block
    confirms      72 bytes a coin     parent (32), puzzle hash (32), amount (8, big endian), sorted
                                      within each block
    names         32 bytes a coin     the names of the confirms, in their order

The arrays have the machine's byte order. A look-up takes names (32 bytes each) without gaps, and
says of each

    infos         80 bytes    see INFO_FORMAT; zeros where there is no such coin
    found         1 byte      1 where there is such a coin, and 0 elsewhere
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise, repeat
from operator import gt
from struct import Struct, calcsize, iter_unpack
from typing import Any, NamedTuple, cast

from cdb.contract.blocks import BlockSpendInfo, canonical
from cdb.contract.coins import NAME_BYTES, Coin, bytes32, bytes32_unchecked
from cdb.errors import DatabaseError

AMOUNT_BYTES = 8
CONFIRM_FORMAT = ">32s32sQ"
CONFIRM_BYTES = calcsize(CONFIRM_FORMAT)
INFO_FORMAT = "=32s32sQII"
"""parent, puzzle hash, amount, confirmed index, spent index (0: unspent)"""
INFO_BYTES = calcsize(INFO_FORMAT)

MOST_ENTRIES = 10_000
"""Of blocks and coins that are objects somewhere, so many are read at a time at most."""

_pack_info = Struct(INFO_FORMAT).pack
_UNKNOWN = bytes(INFO_BYTES)

Packed = bytes | bytearray | memoryview
Fields = tuple[bytes, bytes, int, int, int]
"""Those of INFO_FORMAT."""


@dataclass(frozen=True, slots=True)
class PackedBlocks:
    """Blocks in canonical form, one after the other; see the module for the fields."""

    indices: "array[int]"
    timestamps: "array[int]"
    spend_ends: "array[int]"
    confirm_ends: "array[int]"
    spends: bytes | memoryview
    confirms: bytes | memoryview
    names: bytes | memoryview

    def __len__(self) -> int:
        """The number of blocks."""
        return len(self.indices)

    @property
    def n_confirms(self) -> int:
        """The number of confirms."""
        return self.confirm_ends[-1] if len(self) else 0

    @property
    def n_spends(self) -> int:
        """The number of spends."""
        return self.spend_ends[-1] if len(self) else 0

    def checked(self) -> "PackedBlocks":
        """The same, whose buffers agree and never change. Raises ValueError where they don't.

        Everybody who takes blocks goes on with this: behind it are native calls, which believe it.
        """
        numbers = [_numbers(self.indices), _numbers(self.timestamps)]
        numbers += [_numbers(self.spend_ends), _numbers(self.confirm_ends)]
        if len(set(map(len, numbers))) != 1:
            raise ValueError("packed blocks: indices, timestamps and ends are not as many")
        for ends in numbers[2:]:
            if any(map(gt, ends, ends[1:])):
                raise ValueError("packed blocks: a block ends before the one before it")
        indices, timestamps, spend_ends, confirm_ends = numbers
        n_spends, n_confirms = (ends[-1] if ends else 0 for ends in (spend_ends, confirm_ends))
        spends = _checked_buffer(self.spends, NAME_BYTES * n_spends, "spends")
        confirms = _checked_buffer(self.confirms, CONFIRM_BYTES * n_confirms, "confirms")
        names = _checked_buffer(self.names, NAME_BYTES * n_confirms, "names")
        return PackedBlocks(indices, timestamps, spend_ends, confirm_ends, spends, confirms, names)

    def part(self, start: int, stop: int) -> "PackedBlocks":
        """The blocks at places start … stop-1; their coins are not copied."""
        if start == 0 and stop == len(self):
            return self
        spends = _end(self.spend_ends, start), _end(self.spend_ends, stop)
        confirms = _end(self.confirm_ends, start), _end(self.confirm_ends, stop)
        return PackedBlocks(
            self.indices[start:stop],
            self.timestamps[start:stop],
            array("Q", [end - spends[0] for end in self.spend_ends[start:stop]]),
            array("Q", [end - confirms[0] for end in self.confirm_ends[start:stop]]),
            _items(self.spends, NAME_BYTES, *spends),
            _items(self.confirms, CONFIRM_BYTES, *confirms),
            _items(self.names, NAME_BYTES, *confirms),
        )

    def block(self, place: int) -> BlockSpendInfo:
        """The block at a place 0 … len-1, as objects."""
        spends = _end(self.spend_ends, place), self.spend_ends[place]
        confirms = _end(self.confirm_ends, place), self.confirm_ends[place]
        names = iter_unpack(f"{NAME_BYTES}s", _items(self.spends, NAME_BYTES, *spends))
        coins = iter_unpack(CONFIRM_FORMAT, _items(self.confirms, CONFIRM_BYTES, *confirms))
        make = bytes32_unchecked
        return BlockSpendInfo(
            self.indices[place],
            self.timestamps[place],
            [make(name) for (name,) in names],
            [
                Coin(make(parent), make(puzzle_hash), amount)
                for parent, puzzle_hash, amount in coins
            ],
        )

    @classmethod
    def of(cls, blocks: Iterable[BlockSpendInfo]) -> "PackedBlocks":
        """Pack blocks. Their fields must be in range; OverflowError is raised where one is not."""
        return _pack(
            (block, [coin.name() for coin in block.confirms]) for block in map(canonical, blocks)
        )


class NativeBlocks(NamedTuple):
    """A pointer to a cdb_blocks, and what must live as long as it is used."""

    pointer: Any
    arrays: list[Any]


def native_blocks(ffi: Any, blocks: PackedBlocks) -> NativeBlocks:
    """The blocks as native code takes them; see native/common/cdb_blocks.h."""
    u64 = (blocks.indices, blocks.timestamps, blocks.spend_ends, blocks.confirm_ends)
    u8 = (blocks.spends, blocks.confirms, blocks.names)
    arrays = [ffi.from_buffer("uint64_t[]", each) for each in u64]
    arrays += [ffi.from_buffer("uint8_t[]", each) for each in u8]
    return NativeBlocks(ffi.new("cdb_blocks *", (len(blocks), *arrays)), arrays)


def held_bytes(buffer: object) -> bytes | memoryview | None:
    """The buffer, or a copy of one that somebody may change; None unless it is bytes without gaps.

    Those of no other class are taken: it may have a len() of its own.
    """
    kind = type(buffer)
    if kind is bytes or kind is bytes32:
        return cast(bytes, buffer)
    if kind is not bytearray and kind is not memoryview:
        return None
    view = memoryview(cast(bytearray, buffer))
    if view.format != "B" or view.ndim != 1 or not view.c_contiguous:
        return None
    return view if type(view.obj) in (bytes, bytes32) else view.tobytes()


def checked_packed_names(names: object, what: str = "packed coin names") -> bytes | memoryview:
    """The names to look up, or `what` is like them, held. Raises ValueError unless they are bytes,
    32 each."""
    held = held_bytes(names)
    if held is None or len(held) % NAME_BYTES:
        problem = f"{NAME_BYTES} bytes each, as bytes, a bytearray or a memoryview"
        raise ValueError(f"{what} are {problem}")
    return held


def packed_infos(coins: Iterable[Fields | None]) -> tuple[bytearray, bytearray]:
    """A look-up's answer; None where there is no such coin."""
    infos = [_UNKNOWN if coin is None else _pack_info(*coin) for coin in coins]
    return bytearray().join(infos), bytearray([info is not _UNKNOWN for info in infos])


def for_each(values: Iterable[int], ends: Sequence[int]) -> Iterator[int]:
    """values[i] as often as block i has items, which end at ends[i]."""
    counts = (end - start for start, end in pairwise([0, *ends]))
    return chain.from_iterable(map(repeat, values, counts))


def in_packs(blocks: Iterable[PackedBlocks], entries: int) -> Iterator[PackedBlocks]:
    """Blocks that come one by one, without names, in packs of about so many coins and spends.

    An error, as of damage, comes behind the last block before it.
    """
    pack: list[PackedBlocks] = []
    size = 0
    try:
        for block in blocks:
            pack.append(block)
            size += 1 + block.n_spends + block.n_confirms
            if size >= entries:
                yield _joined(pack)
                pack, size = [], 0
    except DatabaseError:
        if pack:
            yield _joined(pack)
        raise
    if pack:
        yield _joined(pack)


def _joined(blocks: Sequence[PackedBlocks]) -> PackedBlocks:
    return PackedBlocks(
        array("Q", [block.indices[0] for block in blocks]),
        array("Q", [block.timestamps[0] for block in blocks]),
        array("Q", accumulate(block.n_spends for block in blocks)),
        array("Q", accumulate(block.n_confirms for block in blocks)),
        b"".join([block.spends for block in blocks]),
        b"".join([block.confirms for block in blocks]),
        b"",
    )


def _numbers(numbers: "array[int]") -> "array[int]":
    """A copy, which nobody else changes."""
    if type(numbers) is not array or numbers.typecode != "Q":
        raise ValueError("packed blocks: indices, timestamps and ends are not arrays of 'Q'")
    return numbers[:]


def _checked_buffer(buffer: object, nbytes: int, what: str) -> bytes | memoryview:
    held = held_bytes(buffer)
    if held is None:
        raise ValueError(f"packed blocks: {what} are not bytes")
    if len(held) != nbytes:
        problem = f"{what} have {len(held)} bytes, and {nbytes} belong there"
        raise ValueError(f"packed blocks: {problem}")
    return held


def pack_unnamed(blocks: Iterable[BlockSpendInfo]) -> PackedBlocks:
    """Pack blocks as they are, canonical or not, and leave `names` empty. As PackedBlocks.of."""
    return _pack((block, []) for block in blocks)


def _pack(blocks: Iterable[tuple[BlockSpendInfo, list[bytes32]]]) -> PackedBlocks:
    indices, timestamps, spend_ends, confirm_ends = (array("Q") for _ in range(4))
    spends: list[bytes] = []
    confirms: list[bytes] = []
    names: list[bytes] = []
    for block, block_names in blocks:
        spends += block.spends
        confirms += map(_pack_coin, block.confirms)
        names += block_names
        indices.append(block.index)
        timestamps.append(block.timestamp)
        spend_ends.append(len(spends))
        confirm_ends.append(len(confirms))
    return PackedBlocks(
        indices,
        timestamps,
        spend_ends,
        confirm_ends,
        b"".join(spends),
        b"".join(confirms),
        b"".join(names),
    )


def _pack_coin(coin: Coin) -> bytes:
    return coin.parent_coin_name + coin.puzzle_hash + coin.amount.to_bytes(AMOUNT_BYTES, "big")


def _end(ends: "array[int]", place: int) -> int:
    """Where the items of the blocks before a place end."""
    return ends[place - 1] if place else 0


def _items(packed: bytes | memoryview, item_bytes: int, start: int, stop: int) -> memoryview:
    return memoryview(packed)[item_bytes * start : item_bytes * stop]
