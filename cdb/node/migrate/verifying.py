"""Holds a log against a node's table: a digest of every coin, in one pass of each side.

Where a first part of both was verified before, and nothing has changed in it but which of its coins
are spent, the rest is enough: its coins, and what its blocks spend.
"""

from array import array
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import sha256
from operator import sub
from typing import Any

from cdb.contents.packed_reads import packed_reads
from cdb.contract.packed import INFO_BYTES, Packed, PackedBlocks
from cdb.contract.packed_state import with_names, write_state
from cdb.contract.progress import Progress
from cdb.errors import InvariantError
from cdb.node.log import Log
from cdb.node.migrate.fast_forward import orphans
from cdb.node.migrate.node_coins import Chunk
from cdb.process.read_ahead import read_ahead

_WORD = 4
_SPENT_WORD = INFO_BYTES // _WORD - 1


@dataclass(slots=True)
class Digest:
    """Of all coins, however they were packed: index and timestamp of each block, and how many
    coins it confirms; name and spent index of each coin, in canonical order. Of the rest of a chain
    also the name and spent index of each coin that its blocks spend."""

    blocks: int = 0
    coins: int = 0
    _fields: list[Any] = field(default_factory=lambda: [sha256() for _ in range(7)])

    def add(self, blocks: PackedBlocks, spent: bytes | memoryview) -> None:
        """Add blocks, with 4 bytes a coin for where it is spent. Those without coins are left out:
        what the blocks spend says where the coins are spent."""
        counts, before = array("Q"), 0
        indices, timestamps = array("Q"), array("Q")
        for index, timestamp, end in zip(
            blocks.indices, blocks.timestamps, blocks.confirm_ends, strict=True
        ):
            if end > before:
                indices.append(index)
                timestamps.append(timestamp)
                counts.append(end - before)
            before = end
        self.blocks += len(indices)
        self.coins += blocks.n_confirms
        self._update(0, indices, timestamps, counts, blocks.names, spent)

    def add_spends(self, names: bytes | memoryview, spent: bytes | memoryview) -> None:
        """Add what blocks spend, with 4 bytes a coin for where it is spent."""
        self._update(5, names, spent)

    def _update(self, first: int, *columns: Any) -> None:
        for digest, column in zip(self._fields[first:], columns, strict=False):
            digest.update(column)

    def hex(self) -> str:
        """64 digits of the digests of all columns."""
        return sha256(b"".join(digest.digest() for digest in self._fields)).hexdigest()


def digest_of_log(log: Log, progress: Progress, advice: str, first: int = 0) -> Digest:
    """Of all that a log holds from a height on, once its look-ups by name say what its blocks say.

    Raises InvariantError, with an advice, where they don't.
    """
    digest = Digest()
    reads = packed_reads(log)
    for blocks in _blocks_from(log, first) if first else reads.blocks():
        infos, found = reads.infos(bytes(blocks.names))
        place, _, _ = write_state(blocks, infos, found)
        if place < blocks.n_confirms:
            problem = f"a look-up in the new log contradicts one of blocks {blocks.indices[0]}"
            raise InvariantError(f"{problem} … {blocks.indices[-1]}; {advice}")
        digest.add(blocks, spent_of(infos).tobytes())
        if first:
            spends = bytes(blocks.spends)
            digest.add_spends(spends, spent_of(reads.infos(spends)[0]).tobytes())
        progress(blocks.n_confirms)
    return digest


def _blocks_from(log: Log, first: int) -> Iterator[PackedBlocks]:
    return map(with_names, map(PackedBlocks.checked, log.blocks_packed(first)))


def spent_of(infos: Packed) -> memoryview:
    """The spent indices of packed infos: 4 bytes each, with gaps."""
    return memoryview(infos).cast("I")[_SPENT_WORD :: INFO_BYTES // _WORD]


class TableDigest:
    """Of a table's coins from one height up to another, as they were there; slice by slice.

    What a later block confirms or spends is not seen: so the node may go on meanwhile.
    """

    def __init__(self, log: Log, last: int, first: int = 0) -> None:
        self.digest = Digest()
        self.orphans = 0
        self._log = log
        self._last = last
        self.has_spends = first > 0
        """Whether chunks need what their blocks spend."""
        self.next_height = first
        """From where on to read."""

    @property
    def is_complete(self) -> bool:
        """Whether all heights were read."""
        return self.next_height > self._last

    def add(self, chunks: Iterator[Chunk], progress: Progress) -> None:
        """Add chunks of the table, which begin at next_height."""
        with closing(read_ahead(chunks)) as made:
            for chunk in made:
                spent = chunk.spent
                if spent and (min(spent) < 0 or max(spent) > self._last):
                    self.orphans += orphans(self._log, chunk.blocks, spent)
                    spent = array("q", [n if 0 < n <= self._last else 0 for n in spent])
                self.digest.add(chunk.blocks, array("I", spent).tobytes())
                if self.has_spends:
                    self.digest.add_spends(chunk.blocks.spends, _spent_in(chunk.blocks))
                self.next_height = chunk.last + 1
                progress(chunk.blocks.n_confirms)


def _spent_in(blocks: PackedBlocks) -> bytes:
    """For each coin that blocks spend the index of its block, in 4 bytes."""
    counts = map(sub, blocks.spend_ends, [0, *blocks.spend_ends])
    indices = zip(blocks.indices, counts, strict=True)
    return array("I", [index for index, n in indices for _ in range(n)]).tobytes()
