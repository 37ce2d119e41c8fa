"""What a schema holds, independent of how: its digest, its invariants, and where two differ.

Everything is read through the contract alone: the blocks and lookups by name, each held against the
other. So an equal digest says that lookups, spends and blocks are right, not only that rows exist.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import compress, count
from struct import calcsize, iter_unpack
from typing import NamedTuple

from cdb.contents.packed_reads import OTHER_ANSWERS, PackedReads, packed_reads
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import NAME_BYTES, Coin, CoinInfo, bytes32, bytes32_unchecked
from cdb.contract.packed import (
    CONFIRM_BYTES,
    INFO_BYTES,
    INFO_FORMAT,
    Packed,
    PackedBlocks,
    pack_unnamed,
)
from cdb.contract.packed_state import (
    BLOCK_FORMAT,
    COIN_FORMAT,
    first_false_spend,
    first_unsorted,
    write_state,
)
from cdb.contract.progress import Progress
from cdb.contract.schema import Schema
from cdb.errors import ChainMismatchError, InvariantError
from cdb.process.read_ahead import made_beside

_BLOCK_BYTES, _COIN_BYTES = calcsize(BLOCK_FORMAT), calcsize(COIN_FORMAT)
_FLIP = bytes(byte ^ 1 for byte in range(256))
"""Takes each byte to the one that differs in its last bit."""


@dataclass(frozen=True, slots=True)
class BlockState:
    """A block, the names of the coins that it confirms, and what a lookup says of them."""

    block: BlockSpendInfo
    names: list[bytes32]
    infos: list[CoinInfo]


@dataclass(frozen=True, slots=True)
class StateSummary:
    """What a database holds; digest: 64 hex digits."""

    blocks: int
    coins: int
    spends: int
    newest_index: int | None
    digest: str


def summarize(schema: Schema, progress: Progress = lambda coins: None) -> StateSummary:
    """Count and digest the state. progress is told of more and more coins, their sum in the end.

    The digest is SHA-256 over every block in order: its index (4 bytes, big endian), timestamp (8)
    and number of confirms (4), then for each coin in canonical order its name (32), confirmed
    index (4) and spent index (4; 0 for unspent).

    Names are computed here from what a block says of a coin. Raises InvariantError where a lookup
    contradicts a block.
    """
    sums = _Sums()
    for states in _states(packed_reads(schema)):
        sums.add(states)
        progress(states.blocks.n_confirms)
    return sums.summary()


def verify(schema: Schema, progress: Progress = lambda coins: None) -> StateSummary:
    """Check every invariant, and summarize the state. Raises InvariantError at the first breach.

    Beyond what summarize() checks: blocks come in canonical form and rising order, and each alone
    as in the iteration; every spend is of a coin that says so, once, and there already; as many
    coins say that they are spent as blocks spend; names that differ in their last byte are unknown.
    """
    reads = packed_reads(schema)
    sums = _Sums()
    for states in _states(reads):
        _check(schema, reads, states.blocks, sums.newest_index)
        sums.add(states)
        progress(states.blocks.n_confirms)
    if sums.newest_index != schema.last_block_index:
        newest = schema.last_block_index
        raise InvariantError(f"the last block is {sums.newest_index}, and the newest {newest}")
    if sums.spent != sums.spends:
        problem = f"{sums.spent} coins say that they are spent, and blocks spend {sums.spends}"
        raise InvariantError(problem)
    return sums.summary()


def compare(one: Schema, other: Schema, progress: Progress = lambda coins: None) -> None:
    """Raise ChainMismatchError at the first block where two databases differ."""
    for a, b in _side_by_side(_states(packed_reads(one)), _states(packed_reads(other))):
        if a is None or b is None:
            raise ChainMismatchError(_difference(_first(a), _first(b)))
        if a.content() != b.content():
            places = range(len(a.blocks))
            pairs = ((a.block(place), b.block(place)) for place in places)
            raise ChainMismatchError(next(_difference(x, y) for x, y in pairs if x != y))
        progress(a.blocks.n_confirms)


@dataclass(frozen=True, slots=True)
class _States:
    """Some blocks, with what lookups say of their coins, which is what the blocks say.

    stream: what their digest is of; spent: how many of the coins say that they are spent.
    """

    blocks: PackedBlocks
    infos: Packed
    stream: Packed
    spent: int

    def content(self) -> tuple[object, ...]:
        """All that two databases can differ in; a name stands for its coin."""
        return bytes(self.stream), self.blocks.spend_ends, bytes(self.blocks.spends)

    def part(self, start: int, stop: int) -> "_States":
        """The blocks at places start … stop-1, without `spent`."""
        if start == 0 and stop == len(self.blocks):
            return self
        coins = slice(self._coins_before(start), self._coins_before(stop))
        written = slice(
            *(_BLOCK_BYTES * n + _COIN_BYTES * self._coins_before(n) for n in (start, stop))
        )
        return _States(
            self.blocks.part(start, stop),
            self.infos[INFO_BYTES * coins.start : INFO_BYTES * coins.stop],
            self.stream[written],
            0,
        )

    def block(self, place: int) -> BlockState:
        """The block at a place, as objects."""
        part = self.part(place, place + 1)
        return BlockState(
            part.blocks.block(0),
            [bytes32_unchecked(name) for (name,) in iter_unpack("32s", part.blocks.names)],
            _infos(part.infos),
        )

    def _coins_before(self, place: int) -> int:
        return self.blocks.confirm_ends[place - 1] if place else 0


class _Sums:
    """What was read so far."""

    def __init__(self) -> None:
        self.blocks = self.coins = self.spends = self.spent = 0
        self.newest_index: int | None = None
        self._digest = hashlib.sha256()

    def add(self, states: _States) -> None:
        """Count and digest blocks, one at least."""
        self._digest.update(states.stream)
        self.blocks += len(states.blocks)
        self.coins += states.blocks.n_confirms
        self.spends += states.blocks.n_spends
        self.spent += states.spent
        self.newest_index = states.blocks.indices[-1]

    def summary(self) -> StateSummary:
        """Of all blocks, when there are no more."""
        digest = self._digest.hexdigest()
        return StateSummary(self.blocks, self.coins, self.spends, self.newest_index, digest)


def _states(reads: PackedReads) -> Iterator[_States]:
    """All blocks, once what lookups say of their coins is what the blocks say."""
    blocks = filter(len, reads.given())
    make = partial(_state, reads)
    return made_beside(make, blocks, reads.threads) if reads.threads else map(make, blocks)


def _state(reads: PackedReads, blocks: PackedBlocks) -> _States:
    blocks = reads.named(blocks)
    infos, found = reads.infos(bytes(blocks.names))
    place, spent, stream = write_state(blocks, infos, found)
    if place < blocks.n_confirms:
        raise InvariantError(_contradiction(reads, blocks, infos, found, place))
    return _States(blocks, infos, stream, spent)


def _contradiction(
    reads: PackedReads, blocks: PackedBlocks, infos: Packed, found: Packed, place: int
) -> str:
    name = bytes(blocks.names[NAME_BYTES * place : NAME_BYTES * (place + 1)])
    index = blocks.indices[bisect_right(blocks.confirm_ends, place)]
    problem = f"block {index} confirms coin {name.hex()}, but a lookup"
    if found[place]:
        [info] = _infos(infos[INFO_BYTES * place : INFO_BYTES * (place + 1)])
        return f"{problem} says {info}"
    return OTHER_ANSWERS if any(reads.infos(name)[1]) else f"{problem} misses it"


class _Breach(NamedTuple):
    """What is wrong with the block at a place."""

    place: int
    problem: str


def _check(schema: Schema, reads: PackedReads, blocks: PackedBlocks, previous: int | None) -> None:
    """Raise InvariantError for the first block with a breach, and of its breaches for the first."""
    breaches = [
        _misplaced(blocks, previous),
        _unsorted(blocks),
        _other_alone(schema, blocks),
        _false_spend(reads, blocks),
        _near_miss(reads, blocks),
    ]
    found = [breach for breach in breaches if breach is not None]
    if found:
        raise InvariantError(min(found, key=lambda breach: breach.place).problem)


def _misplaced(blocks: PackedBlocks, previous: int | None) -> _Breach | None:
    for place, index in enumerate(blocks.indices):
        if previous is not None and index <= previous:
            return _Breach(place, f"block {index} comes after block {previous}")
        previous = index
    return None


def _unsorted(blocks: PackedBlocks) -> _Breach | None:
    places = (
        first_unsorted(blocks.spend_ends, blocks.spends, NAME_BYTES),
        first_unsorted(blocks.confirm_ends, blocks.confirms, CONFIRM_BYTES),
    )
    unsorted = [place for place in places if place is not None]
    if not unsorted:
        return None
    place = min(unsorted)
    problem = f"block {blocks.indices[place]} is not in canonical order, each entry once"
    return _Breach(place, problem)


def _other_alone(schema: Schema, blocks: PackedBlocks) -> _Breach | None:
    for place, index in enumerate(blocks.indices):
        alone = schema.block_info_for_block_index(index)
        if alone is None or not _is_only(alone, blocks.part(place, place + 1)):
            return _Breach(place, f"block {index} alone differs from the one in the iteration")
    return None


def _is_only(block: BlockSpendInfo, blocks: PackedBlocks) -> bool:
    """Whether that is the one block of these."""
    packed = pack_unnamed([block])
    return (packed.indices, packed.timestamps) == (blocks.indices, blocks.timestamps) and (
        packed.spends,
        packed.confirms,
    ) == (bytes(blocks.spends), bytes(blocks.confirms))


def _false_spend(reads: PackedReads, blocks: PackedBlocks) -> _Breach | None:
    infos, found = reads.infos(bytes(blocks.spends))
    place = first_false_spend(blocks, infos, found)
    if place is None:
        return None
    index = blocks.indices[place]
    ends = blocks.spend_ends
    spends = range(ends[place - 1] if place else 0, ends[place])
    if not all(found[spend] for spend in spends):
        return _Breach(place, f"block {index} spends a coin that no lookup finds")
    for name, info in zip(
        blocks.block(place).spends, _infos(infos)[spends.start : spends.stop], strict=True
    ):
        problem = f"block {index} spends coin {name.hex()}, but it says"
        if index == 0 or info.spent_index != index:
            return _Breach(place, f"{problem} {info.spent_index}")
        if info.confirmed_index > index:
            return _Breach(place, f"{problem} that block {info.confirmed_index} confirms it")
    return None


def _near_miss(reads: PackedReads, blocks: PackedBlocks) -> _Breach | None:
    names = bytearray(blocks.names)
    names[NAME_BYTES - 1 :: NAME_BYTES] = names[NAME_BYTES - 1 :: NAME_BYTES].translate(_FLIP)
    _, found = reads.infos(bytes(names))
    coin = next(compress(count(), found), None)
    if coin is None:
        return None
    place = bisect_right(blocks.confirm_ends, coin)
    return _Breach(place, "a lookup finds coins that no block confirms")


def _infos(packed: Packed) -> list[CoinInfo]:
    make = bytes32_unchecked
    return [
        CoinInfo(Coin(make(parent), make(puzzle_hash), amount), confirmed, spent)
        for parent, puzzle_hash, amount, confirmed, spent in iter_unpack(INFO_FORMAT, packed)
    ]


def _side_by_side(
    one: Iterator[_States], other: Iterator[_States]
) -> Iterator[tuple[_States | None, _States | None]]:
    """As many blocks of each, until either has no more; then what the other has."""
    a, b = next(one, None), next(other, None)
    while a is not None and b is not None:
        n = min(len(a.blocks), len(b.blocks))
        yield a.part(0, n), b.part(0, n)
        a = a.part(n, len(a.blocks)) if n < len(a.blocks) else next(one, None)
        b = b.part(n, len(b.blocks)) if n < len(b.blocks) else next(other, None)
    if a is not None or b is not None:
        yield a, b


def _first(states: _States | None) -> BlockState | None:
    return None if states is None else states.block(0)


def _difference(a: BlockState | None, b: BlockState | None) -> str:
    if a is None or b is None:
        present, where = (b, "second") if a is None else (a, "first")
        index = "?" if present is None else present.block.index
        return f"block {index} is only in the {where} database"
    if a.block.index != b.block.index:
        where = "first" if a.block.index < b.block.index else "second"
        return f"block {min(a.block.index, b.block.index)} is only in the {where} database"
    where = f"block {a.block.index} differs"
    if a.block.timestamp != b.block.timestamp:
        return f"{where}: timestamps {a.block.timestamp} and {b.block.timestamp}"
    if a.block.spends != b.block.spends:
        name = min(set(a.block.spends) ^ set(b.block.spends))
        return f"{where}: only one of them spends coin {name.hex()}"
    if a.names != b.names:
        name = min(set(a.names) ^ set(b.names))
        return f"{where}: only one of them confirms coin {name.hex()}"
    for name, one, other in zip(a.names, a.infos, b.infos, strict=True):
        if one != other:
            return f"{where}: coin {name.hex()} is spent at {one.spent_index}, {other.spent_index}"
    return where
