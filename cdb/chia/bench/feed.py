"""A replay's blocks as a node's coin store gets them, and coins that wallets may ask about."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

from chia_rs import Coin
from chia_rs.sized_bytes import bytes32
from chia_rs.sized_ints import uint64

from cdb.chia.bench.branch import branch_that_loses
from cdb.chia.bench.chain import HINTED_SHARE, Block
from cdb.contract import coins
from cdb.contract.blocks import BlockSpendInfo
from cdb.text.scanner import scan_packed

REORG_EVERY = 20
DEPTHS = (1, 1, 1, 2, 3, 6)
KNOWN_COINS = 4_096
_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Arrival:
    """A block that arrives. older: what it spends of other blocks; hints: of its coins."""

    block: Block
    older: list[bytes32]
    hints: list[tuple[bytes32, bytes]]


@dataclass(frozen=True, slots=True)
class Reorg:
    """What lies above a height is given up for other blocks. older: what they spend of others."""

    height: int
    blocks: list[Block]
    older: list[bytes32]
    hints: list[tuple[bytes32, bytes]]


Step = Arrival | Reorg


class Known(NamedTuple):
    """A coin that a wallet has, or had, and the height that confirmed it."""

    name: bytes32
    parent: bytes32
    puzzle_hash: bytes32
    height: int


class Feed:
    """What a replay brings, in its order.

    What it draws depends on the replay alone: whoever takes the same gets the same. height: of the
    newest block so far; known: some coins, drawn evenly from the blocks so far.
    """

    def __init__(self, replay: Path, seed: int) -> None:
        self.height = 0
        self.known: list[Known] = []
        self._random = Random(seed)  # noqa: S311 - no secret
        self._blocks = _blocks(replay)
        self._n_seen = 0
        self._n_episodes = 0

    def next(self) -> Arrival | None:
        """The next block; None at the replay's end."""
        return next(iter(self.take(1)), None)

    def take(self, number: int) -> list[Arrival]:
        """The next blocks, fewer at the replay's end."""
        return [self._arrived(block) for block in islice(self._blocks, number)]

    def episode(self) -> tuple[list[Step], int]:
        """What arrives next at the chain's tip, and how many blocks the chain has grown by then.

        That is a block; or, each time that REORG_EVERY have come, a branch of up to six blocks that
        is given up for another, which is longer by one.
        """
        self._n_episodes += 1
        if self._n_episodes % REORG_EVERY:
            arrival = self.next()
            return ([arrival], 1) if arrival else ([], 0)
        fork, depth = self.height, self._random.choice(DEPTHS)
        blocks = [*islice(self._blocks, depth + 1)]
        if not blocks:
            return [], 0
        lost = [_arrival(block, []) for block in branch_that_loses(blocks[:depth])]
        won = [self._arrived(block) for block in blocks]
        made = {name for each in won for name in _made_in(each.block)}
        older = [name for each in won for name in each.older if name not in made]
        hints = [pair for each in won for pair in each.hints]
        return [*lost, Reorg(fork, [each.block for each in won], older, hints)], len(blocks)

    def _arrived(self, block: BlockSpendInfo) -> Arrival:
        self.height = block.index
        hints = [
            (bytes32(coin.name()), bytes(self._random.choice(self.known).puzzle_hash))
            for coin in block.confirms
            if not coins.is_reward(coin.parent_coin_name)
            if self._random.random() < HINTED_SHARE and self.known
        ]
        self._know(block)
        return _arrival(block, hints)

    def _know(self, block: BlockSpendInfo) -> None:
        """Keep a coin of this block, perhaps: each block so far is as likely."""
        coin = self._random.choice(block.confirms)
        self._n_seen += 1
        place = self._random.randrange(self._n_seen)
        known = Known(
            bytes32(coin.name()),
            bytes32(coin.parent_coin_name),
            bytes32(coin.puzzle_hash),
            block.index,
        )
        if len(self.known) < KNOWN_COINS:
            self.known.append(known)
        elif place < KNOWN_COINS:
            self.known[place] = known


def _blocks(replay: Path) -> Iterator[BlockSpendInfo]:
    with replay.open("rb", buffering=0) as stream:
        for packed in scan_packed(stream, chunk_bytes=_CHUNK_BYTES):
            yield from (packed.block(place) for place in range(len(packed)))


def _arrival(block: BlockSpendInfo, hints: list[tuple[bytes32, bytes]]) -> Arrival:
    rewards, additions = list[Coin](), list[tuple[bytes32, Coin, bool]]()
    for each in block.confirms:
        coin = Coin(each.parent_coin_name, each.puzzle_hash, uint64(each.amount))
        if coins.is_reward(each.parent_coin_name):
            rewards.append(coin)
        else:
            additions.append((coin.name(), coin, False))
    made = {name for name, _, _ in additions}
    removals = [bytes32(name) for name in block.spends]
    older = [name for name in removals if name not in made]
    return Arrival((block.index, (rewards, additions, removals)), older, hints)


def _made_in(block: Block) -> Iterator[bytes32]:
    _, (_, additions, _) = block
    return (name for name, _, _ in additions)
