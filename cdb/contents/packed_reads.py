"""Reads any schema in packed form: as it gives it, or packed here from objects.

What a schema says is not believed: the names of coins are computed here, and everything has the
length that it should have before native code goes over it.
"""

import struct
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from struct import iter_unpack
from typing import Protocol

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import MAX_U32, NAME_BYTES, CoinInfo, bytes32, bytes32_unchecked
from cdb.contract.packed import (
    INFO_BYTES,
    INFO_FORMAT,
    MOST_ENTRIES,
    Packed,
    PackedBlocks,
    held_bytes,
    pack_unnamed,
)
from cdb.contract.packed_state import names_of, with_names
from cdb.contract.schema import ReadsPacked, Schema, offer_of
from cdb.errors import InvariantError
from cdb.extensions.native import native_missing
from cdb.process.read_ahead import read_ahead

OTHER_ANSWERS = "a lookup of many names gives other answers than lookups of one"

_INFO = struct.Struct(INFO_FORMAT)
_UNKNOWN = bytes(INFO_BYTES)


class PackedReads(Protocol):
    """What of a schema is read to digest it.

    threads: in how many of them named() and infos() are worth while; 0: only in the caller's.
    """

    threads: int

    def blocks(self) -> Iterator[PackedBlocks]:
        """All blocks in their order, and as they are, canonical or not; with true names."""
        ...

    def given(self) -> Iterator[PackedBlocks]:
        """The same, whose names are as the schema says."""
        ...

    def named(self, blocks: PackedBlocks) -> PackedBlocks:
        """Blocks that were given, whose names are true."""
        ...

    def infos(self, names: bytes) -> tuple[Packed, Packed]:
        """For each name an info, and a byte that is 0 where there is no such coin."""
        ...


def packed_reads(schema: Schema) -> PackedReads:
    """How to read a schema. Reads raise InvariantError for what no state can hold."""
    given = offer_of(schema).reads_packed
    return _Objects(schema) if given is None else _Given(given)


class _Given:
    """Of a schema that gives packed blocks and infos."""

    def __init__(self, schema: ReadsPacked) -> None:
        self._schema = schema
        # Where it is Python's work, another thread would only wait.
        self.threads = 2 if native_missing() is None else 0

    def blocks(self) -> Iterator[PackedBlocks]:
        blocks = map(self.named, self.given())
        # While a batch is looked up the next is read and named.
        return read_ahead(blocks, depth=1) if self.threads else blocks

    def given(self) -> Iterator[PackedBlocks]:
        return map(_checked, self._schema.blocks_packed())

    def named(self, blocks: PackedBlocks) -> PackedBlocks:
        return _with_true_names(blocks)

    def infos(self, names: bytes) -> tuple[Packed, Packed]:
        infos, found = self._schema.coin_infos_packed(names)
        n = len(names) // NAME_BYTES
        if held_bytes(infos) is None or held_bytes(found) is None:
            raise InvariantError("a lookup's answers are not bytes")
        if (len(infos), len(found)) != (INFO_BYTES * n, n):
            raise InvariantError(f"a lookup of {n} names gives {len(found)} answers")
        return infos, found


class _Objects:
    """Of a schema that gives objects."""

    threads = 0

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def blocks(self) -> Iterator[PackedBlocks]:
        batch: list[BlockSpendInfo] = []
        entries = 0
        for block in self._schema.blocks():
            batch.append(block)
            entries += 1 + len(block.spends) + len(block.confirms)
            if entries >= MOST_ENTRIES:
                yield pack_as_is(batch)
                batch, entries = [], 0
        if batch:
            yield pack_as_is(batch)

    def given(self) -> Iterator[PackedBlocks]:
        return self.blocks()

    def named(self, blocks: PackedBlocks) -> PackedBlocks:
        return blocks

    def infos(self, names: bytes) -> tuple[Packed, Packed]:
        asked = [bytes32_unchecked(names[at : at + 32]) for at in range(0, len(names), NAME_BYTES)]
        answers = self._schema.coin_infos_for_coin_names(asked)
        if len(answers) == len(asked):
            return b"".join(map(_pack_info, answers)), b"\1" * len(asked)
        if not answers:
            return bytes(INFO_BYTES * len(asked)), bytes(len(asked))
        return self._one_by_one(asked)

    def _one_by_one(self, asked: list[bytes32]) -> tuple[Packed, Packed]:
        alone = [self._schema.coin_infos_for_coin_names([name]) for name in asked]
        if all(len(answers) == 1 for answers in alone):
            raise InvariantError(OTHER_ANSWERS)
        infos = [_pack_info(answers[0]) if len(answers) == 1 else _UNKNOWN for answers in alone]
        return b"".join(infos), bytes(len(answers) == 1 for answers in alone)


def pack_as_is(blocks: Sequence[BlockSpendInfo]) -> PackedBlocks:
    """Pack blocks, name their coins, and put nothing in order.

    Raises InvariantError where a field does not have its range or length.
    """
    try:
        packed = pack_unnamed(blocks)
    except OverflowError as error:
        where = f"blocks {blocks[0].index} … {blocks[-1].index}"
        raise InvariantError(f"a number in {where} is out of range") from error
    return _checked(with_names(packed))


def _pack_info(info: CoinInfo) -> bytes:
    coin = info.coin
    hashes = (coin.parent_coin_name, coin.puzzle_hash)
    try:
        packed = _INFO.pack(*hashes, coin.amount, info.confirmed_index, info.spent_index)
    except struct.error as error:
        raise InvariantError(f"a lookup says {info}, which is out of range") from error
    # What is too long or too short has been cut or filled up.
    if any(len(each) != NAME_BYTES for each in hashes):
        raise InvariantError(f"a lookup says {info}, which is out of range")
    return packed


def _checked(blocks: PackedBlocks) -> PackedBlocks:
    """Blocks whose parts fit together, so that native code may go over them."""
    try:
        blocks = PackedBlocks.checked(blocks)
    except ValueError as error:
        raise InvariantError(str(error)) from error
    if len(blocks) and max(blocks.indices) > MAX_U32:
        raise InvariantError(f"block {max(blocks.indices)} has an index out of range")
    return blocks


def _with_true_names(blocks: PackedBlocks) -> PackedBlocks:
    names = names_of(blocks.confirms)
    if names == blocks.names:
        return blocks
    pairs = zip(iter_unpack("32s", names), iter_unpack("32s", blocks.names), strict=True)
    place, (name,), (given,) = next((n, a, b) for n, (a, b) in enumerate(pairs) if a != b)
    index = blocks.indices[bisect_right(blocks.confirm_ends, place)]
    raise InvariantError(f"block {index} confirms coin {name.hex()}, but names it {given.hex()}")
