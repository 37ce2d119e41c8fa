"""What goes over every coin of packed blocks: by the native scanner, or in Python without it.

The native side is native/scan/state.cpp, behind the contracts of cdb_scan.h there. Both sides
answer the same; all entries have no gaps, and infos are those of cdb.contract.packed.
"""

from array import array
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice, pairwise
from struct import Struct, iter_unpack
from types import ModuleType
from typing import Any

from cdb.contract.blocks import canonical
from cdb.contract.coins import NAME_BYTES, coin_name
from cdb.contract.packed import (
    CONFIRM_BYTES,
    CONFIRM_FORMAT,
    INFO_FORMAT,
    Packed,
    PackedBlocks,
    native_blocks,
)
from cdb.extensions.native import native_missing, native_scanner

BLOCK_FORMAT = ">IQI"
"""index, timestamp, number of confirms"""
COIN_FORMAT = ">32sII"
"""name, confirmed index, spent index (0: unspent)"""

_BLOCK, _COIN = Struct(BLOCK_FORMAT), Struct(COIN_FORMAT)


def names_of(confirms: Packed) -> bytes:
    """The names of packed confirms."""
    native = _native()
    if native is None:
        return b"".join(coin_name(*coin) for coin in iter_unpack(CONFIRM_FORMAT, confirms))
    n = len(confirms) // CONFIRM_BYTES
    names = bytearray(NAME_BYTES * n)
    confirm_array = native.ffi.from_buffer("cdb_coin[]", confirms)
    native.lib.cdb_name_coins(confirm_array, n, native.ffi.from_buffer("cdb_hash[]", names))
    return bytes(names)


def with_names(blocks: PackedBlocks) -> PackedBlocks:
    """The same blocks, whatever names they had, with the names of their coins."""
    return replace(blocks, names=names_of(blocks.confirms))


def write_state(blocks: PackedBlocks, infos: Packed, found: Packed) -> tuple[int, int, bytearray]:
    """Hold each coin against what a look-up says of it, and write what the state's digest is of.

    A block is written as BLOCK_FORMAT has it, and its coins, each as COIN_FORMAT has it, follow.
    Returns the place of the first coin that is not found, or not as its block says (the number of
    coins if all are); how many say, before that one, that they are spent; and what is written.
    """
    native = _native()
    if native is None:
        return _write_state(blocks, infos, found)
    stream = bytearray(_BLOCK.size * len(blocks) + _COIN.size * blocks.n_confirms)
    array_of = native.ffi.from_buffer
    arrays = (
        array_of("cdb_info[]", infos),
        array_of("uint8_t[]", found),
        array_of("uint8_t[]", stream),
    )
    spent = native.ffi.new("size_t *")
    packed = native_blocks(native.ffi, blocks)
    place = native.lib.cdb_write_state(packed.pointer, *arrays, spent)
    return place, spent[0], stream


def first_unsorted(ends: "array[int]", entries: Packed, entry_bytes: int) -> int | None:
    """The place of the first block whose entries do not ascend, or are not each but once."""
    native = _native()
    if native is None:
        return _first_unsorted(ends, entries, entry_bytes)
    n = len(ends)
    entry_array = native.ffi.from_buffer("uint8_t[]", entries)
    place: int
    place = native.lib.cdb_first_unsorted(n, *_numbers(native, ends), entry_array, entry_bytes)
    return None if place == n else place


def first_not_canonical(blocks: PackedBlocks) -> int | None:
    """The place of the first block that is not canonical, if it stands before those that are
    refused for a spend or a confirm that stands there twice."""
    entries = (
        (blocks.spend_ends, blocks.spends, NAME_BYTES),
        (blocks.confirm_ends, blocks.confirms, CONFIRM_BYTES),
    )
    places = (first_unsorted(*each) for each in entries)
    unsorted = sorted(place for place in places if place is not None)
    return next((at for at in unsorted if blocks.block(at) != canonical(blocks.block(at))), None)


def accept_in_order(
    blocks: PackedBlocks, append: Callable[[PackedBlocks], bool]
) -> PackedBlocks | None:
    """Accept all blocks, or those before the first one that is refused; gives that one.

    append: adds all of the blocks that it gets, which are canonical; or none, and gives False,
    where one breaks a rule.
    """
    bad = first_not_canonical(blocks)
    good = blocks if bad is None else blocks.part(0, bad)
    if len(good) and not append(good):
        *before, last = (good.part(place, place + 1) for place in range(len(good)))
        return next((block for block in before if not append(block)), last)
    return None if bad is None else blocks.part(bad, bad + 1)


def check_canonical(blocks: PackedBlocks) -> PackedBlocks:
    """PackedBlocks.checked(), where each block is canonical. Raises ValueError where one is not.

    A spend or a confirm that stands there twice is in order: as a block, it is refused.
    """
    blocks = PackedBlocks.checked(blocks)
    place = first_not_canonical(blocks)
    if place is not None:
        raise ValueError(f"packed block {blocks.indices[place]} is not in canonical form")
    return blocks


def ascending(ends: "array[int]", entries: Packed, entry_bytes: int) -> "array[int]":
    """The places of blocks' entries, block by block, within one as they ascend; 4 bytes each."""
    native = _native()
    if native is None:
        return _ascending(ends, entries, entry_bytes)
    order = array("I", bytes(4 * (ends[-1] if ends else 0)))
    entry_array = native.ffi.from_buffer("uint8_t[]", entries)
    places = native.ffi.from_buffer("uint32_t[]", order)
    native.lib.cdb_order_entries(
        len(ends), *_numbers(native, ends), entry_array, entry_bytes, places
    )
    return order


def gathered(order: "array[int]", items: Packed, item_bytes: int) -> bytearray:
    """The items, without gaps, in the order of these places. Raises ValueError unless they are as
    many."""
    if len(items) != item_bytes * len(order):
        problem = f"{len(items)} bytes, and {item_bytes * len(order)} belong there"
        raise ValueError(f"items to put in order have {problem}")
    native = _native()
    if native is None:
        pieces = (items[item_bytes * place : item_bytes * (place + 1)] for place in order)
        return bytearray(b"".join(pieces))
    result = bytearray(item_bytes * len(order))
    arrays = (native.ffi.from_buffer("uint8_t[]", each) for each in (items, result))
    places = native.ffi.from_buffer("uint32_t[]", order)
    item_array, result_array = arrays
    native.lib.cdb_gather(len(order), places, item_array, item_bytes, result_array)
    return result


def first_false_spend(blocks: PackedBlocks, infos: Packed, found: Packed) -> int | None:
    """The place of the first block with a spend that is not found, or is not spent by that block.

    infos, found: what look-ups say of the blocks' spends.
    """
    native = _native()
    if native is None:
        return _first_false_spend(blocks, infos, found)
    place: int = native.lib.cdb_first_false_spend(
        len(blocks),
        *_numbers(native, blocks.indices, blocks.spend_ends),
        native.ffi.from_buffer("cdb_info[]", infos),
        native.ffi.from_buffer("uint8_t[]", found),
    )
    return None if place == len(blocks) else place


def _native() -> ModuleType | None:
    return native_scanner.load() if native_missing() is None else None


def _numbers(native: ModuleType, *arrays: "array[int]") -> Iterator[Any]:
    return (native.ffi.from_buffer("uint64_t[]", each) for each in arrays)


# The same in Python.


def _write_state(blocks: PackedBlocks, infos: Packed, found: Packed) -> tuple[int, int, bytearray]:
    coins = zip(
        iter_unpack(CONFIRM_FORMAT, blocks.confirms),
        iter_unpack("32s", blocks.names),
        iter_unpack(INFO_FORMAT, infos),
        found,
        strict=True,
    )
    stream = bytearray()
    place = n_spent = 0
    for index, timestamp, end in zip(
        blocks.indices, blocks.timestamps, blocks.confirm_ends, strict=True
    ):
        stream += _BLOCK.pack(index, timestamp, end - place)
        for coin, (name,), (*said, confirmed, spent), is_found in islice(coins, end - place):
            if not is_found or tuple(said) != coin or confirmed != index:
                return place, n_spent, stream
            stream += _COIN.pack(name, confirmed, spent)
            place += 1
            n_spent += spent > 0
    return place, n_spent, stream


def _first_unsorted(ends: "array[int]", entries: Packed, entry_bytes: int) -> int | None:
    all_entries = iter_unpack(f"{entry_bytes}s", entries)
    start = 0
    for place, end in enumerate(ends):
        if any(a >= b for a, b in pairwise(islice(all_entries, end - start))):
            return place
        start = end
    return None


def _ascending(ends: "array[int]", entries: Packed, entry_bytes: int) -> "array[int]":
    order = array("I")
    for start, end in pairwise([0, *ends]):
        held = bytes(entries[entry_bytes * start : entry_bytes * end])
        slices = [held[at : at + entry_bytes] for at in range(0, len(held), entry_bytes)]
        order.extend(start + n for n in sorted(range(end - start), key=slices.__getitem__))
    return order


def _first_false_spend(blocks: PackedBlocks, infos: Packed, found: Packed) -> int | None:
    said = zip(iter_unpack(INFO_FORMAT, infos), found, strict=True)
    start = 0
    for place, (index, end) in enumerate(zip(blocks.indices, blocks.spend_ends, strict=True)):
        for info, is_found in islice(said, end - start):
            *_, confirmed, spent = info
            if not is_found or not index or spent != index or confirmed > index:
                return place
        start = end
    return None
