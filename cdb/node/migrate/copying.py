"""Copies the blocks of a node's table into a log, as one transaction on the table has them."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from time import monotonic

from cdb.contract.coin_query import COIN_BYTES, CoinQuery
from cdb.contract.coins import MAX_U32
from cdb.contract.packed import PackedBlocks
from cdb.contract.progress import Progress
from cdb.errors import BlockError, CorruptDatabaseError, WrongDatabaseError
from cdb.node.log import Log
from cdb.node.migrate.migration_file import Standing
from cdb.node.migrate.node_coins import Chunk, NodeCoins
from cdb.node.migrate.oddities import left_out, told
from cdb.node.operation import Block
from cdb.process.read_ahead import read_ahead

_COMPARED_HEIGHTS = 64
_DEEPEST_FORK = 10_000
MOST_LEFT_OUT = 100_000
"""Rows of a table that may be left out: where there are more, what is left is no node's coins, and
their names, which are noted, are too many."""
_Blocks = dict[int, Block]
"""By height, which rise."""
_SYNC = "sync the node again, with cdb or without"


@dataclass(slots=True)
class Copy:
    """A log that follows a node's table, of which standing says how far."""

    path: Path
    log: Log
    log_path: Path
    standing: Standing

    def resume(self) -> None:
        """Take back what a copy has left that was cut short, and nobody noted."""
        newest = self.log.last_block_index
        if newest is not None and newest > self.standing.height:
            self.log.rewind_to_block_index(self.standing.height)

    def step(self, coins: NodeCoins, seconds: float, progress: Progress) -> bool:
        """Go back to where the table and the log part, and copy on for so long; to be committed.

        False: there is more. Raises CorruptDatabaseError for coins that contradict each other, and
        WrongDatabaseError for a log of another chain.
        """
        self._go_back_to(self.fork(coins))
        newest = coins.newest()
        chunks = until(monotonic() + seconds, coins.chunks(self.standing.height + 1, newest))
        with closing(read_ahead(chunks)) as made:
            for chunk in made:
                self._accept(chunk)
                progress(chunk.blocks.n_confirms)
        return self.standing.height >= newest

    def commit(self) -> None:
        """Note, durably, what was copied: once it is sure that the table was read unchanged."""
        try:
            self.log.flush()
        except BlockError as error:
            raise self._contradiction(error) from error
        self.standing.save(self.log_path)

    def fork(self, coins: NodeCoins) -> int:
        """The height up to which the table has the blocks that were copied."""
        newest = self.log.last_block_index
        top = -1 if newest is None else newest
        if self._theirs(coins, top + 1, self.standing.height):
            return self._fork_below(coins, top)
        fork = self._fork_below(coins, top)
        return self.standing.height if fork == top else fork

    def _fork_below(self, coins: NodeCoins, top: int) -> int:
        """The same of the blocks up to a height: more and more of them, until one is on both."""
        first, width = top + 1, _COMPARED_HEIGHTS
        while first > 0:
            if top - first > _DEEPEST_FORK:
                problem = f"its blocks are not those of {self.path}, nor were they lately"
                raise WrongDatabaseError(self.log_path, problem, "move it away")
            last, first = first - 1, max(0, first - width)
            width *= 2
            ours, theirs = self._ours(first, last), self._theirs(coins, first, last)
            if first > 0 and (not ours or [*ours.items()][:1] != [*theirs.items()][:1]):
                continue
            return next(_differing(ours, theirs), last + 1) - 1
        return top

    def _ours(self, first: int, last: int) -> _Blocks:
        return _up_to(last, self.log.blocks_packed(first))

    def _theirs(self, coins: NodeCoins, first: int, last: int) -> _Blocks:
        return _up_to(last, (chunk.blocks for chunk in coins.chunks(first, last)))

    def _go_back_to(self, height: int) -> None:
        standing = self.standing
        if height >= standing.height:
            return
        taken = self.log.coins_packed(CoinQuery(confirmed=(height + 1, MAX_U32)))
        standing.height = height
        standing.coins -= len(taken) // COIN_BYTES
        if height < standing.verified:
            standing.verified, standing.chain = -1, ""
        standing.save(self.log_path)
        self.log.rewind_to_block_index(height)

    def _accept(self, chunk: Chunk) -> None:
        try:
            self.log.accept_packed(chunk.blocks)
        except (BlockError, ValueError) as error:
            raise self._contradiction(error) from error
        standing = self.standing
        standing.height = chunk.last
        standing.coins += chunk.blocks.n_confirms
        standing.oddities += chunk.oddities
        if left_out(standing.oddities) > MOST_LEFT_OUT:
            problem = (
                f"over {MOST_LEFT_OUT:,} of its rows have to be left out: {told(chunk.oddities)}"
            )
            raise CorruptDatabaseError(self.path, problem, _SYNC)

    def _contradiction(self, error: Exception) -> CorruptDatabaseError:
        problem = f"its coins contradict each other: {error}"
        return CorruptDatabaseError(self.path, problem, _SYNC)


def until(deadline: float, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """The chunks that are made in time, one at least."""
    for chunk in chunks:
        yield chunk
        if monotonic() > deadline:
            return


def _up_to(last: int, packs: Iterable[PackedBlocks]) -> _Blocks:
    blocks = takewhile(lambda block: block.height <= last, Block.each_of(packs))
    return {block.height: block for block in blocks}


def _differing(ours: _Blocks, theirs: _Blocks) -> Iterator[int]:
    """The heights where two sides have different blocks, or only one has any; they rise."""
    heights = sorted(ours.keys() | theirs.keys())
    return (height for height in heights if ours.get(height) != theirs.get(height))
