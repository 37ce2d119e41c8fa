"""Following the tip: one small block a durable commit, beside a bare loop of append and sync."""

import os
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from cdb.bench.answers import check_newest, check_there
from cdb.bench.truth import packs_above, tail_packs
from cdb.blocks import BlockSpendInfo
from cdb.coins import Coin, bytes32
from cdb.durability import Durability
from cdb.loader import Loader
from cdb.packed import PackedBlocks
from cdb.schemas import Schema, find_schema

BLOCK_COINS = 45
COMMITS = 600
GROUP_COMMITS = 50  # of one kind, then of the other, so that both meet the same moods of the disk

_sync = getattr(os, "fdatasync", os.fsync)  # macOS has only the latter


@dataclass(frozen=True, slots=True)
class TipFigures:
    """Medians of one run's commits, and the time that one in a hundred exceeds."""

    commit_microseconds: float
    commit_p99_microseconds: float
    append_microseconds: float
    ratio: float


def tip(schema: str, path: str, durability: str, truth: str, tail_base_index: int) -> TipFigures:
    """Accept blocks of about 45 coins after the tail's base, then the tail itself again."""
    packs = tail_packs(truth)
    new_packs = packs_above(tail_base_index, packs)
    blocks = list(islice(small_blocks(new_packs, tail_base_index), COMMITS))
    level = Durability(durability)
    with (
        find_schema(schema).open(path, durability=level) as database,
        _appending(Path(f"{path}.append"), durable=level is Durability.POWER) as append,
    ):
        database.rewind_to_block_index(tail_base_index)
        commits, appends = _interleaved(blocks, _committing(database), append)
        check_newest(database, blocks[-1].indices[0])
        check_there(database, blocks)
        database.rewind_to_block_index(tail_base_index)
        for _ in Loader(database).load(packs):
            pass
    commit_seconds, append_seconds = map(statistics.median, (commits, appends))
    return TipFigures(
        commit_microseconds=1e6 * commit_seconds,
        commit_p99_microseconds=1e6 * sorted(commits)[len(commits) * 99 // 100],
        append_microseconds=1e6 * append_seconds,
        ratio=commit_seconds / append_seconds,
    )


def _interleaved(
    blocks: list[PackedBlocks],
    commit: Callable[[PackedBlocks], None],
    append: Callable[[PackedBlocks], None],
) -> tuple[list[float], list[float]]:
    """The seconds that each block takes one way and the other."""
    seconds: tuple[list[float], list[float]] = [], []
    for start in range(0, len(blocks), GROUP_COMMITS):
        for taken, take in zip(seconds, (commit, append), strict=True):
            for block in blocks[start : start + GROUP_COMMITS]:
                begun = time.perf_counter()
                take(block)
                taken.append(time.perf_counter() - begun)
    return seconds


def _committing(database: Schema) -> Callable[[PackedBlocks], None]:
    accept_packed = getattr(database, "accept_packed", None)

    def commit(packed: PackedBlocks) -> None:
        if accept_packed is None:
            database.accept_block(packed.block(0))
        else:
            accept_packed(packed)
        database.flush()

    return commit


@contextmanager
def _appending(path: Path, *, durable: bool) -> Iterator[Callable[[PackedBlocks], None]]:
    """To a new file, which is gone afterwards."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC)

    def append(packed: PackedBlocks) -> None:
        os.write(descriptor, b"".join((packed.spends, packed.confirms)))
        if durable:
            _sync(descriptor)

    try:
        yield append
    finally:
        os.close(descriptor)
        path.unlink()


def small_blocks(packs: list[PackedBlocks], base_index: int) -> Iterator[PackedBlocks]:
    """The same spends and coins in blocks of BLOCK_COINS, or more where one spend makes more."""
    index, spends, coins = base_index, list[bytes32](), list[Coin]()
    for packed in packs:
        for place in range(len(packed)):
            block = packed.block(place)
            for spend, children in _in_order(block):
                spends += [] if spend is None else [spend]
                coins += children
                if len(coins) >= BLOCK_COINS:
                    index += 1
                    yield PackedBlocks.of([BlockSpendInfo(index, block.timestamp, spends, coins)])
                    spends, coins = [], []


def _in_order(block: BlockSpendInfo) -> Iterator[tuple[bytes32 | None, list[Coin]]]:
    """What a block does, step by step: a spend and its children, or a coin that has no parent.

    A coin that is made and spent in the block is made first.
    """
    children = defaultdict(list)
    for coin in block.confirms:
        children[coin.parent_coin_name].append(coin)
    spends = set(block.spends)
    made = {coin.name(): coin for coin in block.confirms}
    ready = [name for name in block.spends if name not in made]
    for name, coin in made.items():
        if coin.parent_coin_name not in spends:
            yield None, [coin]
            if name in spends:
                ready.append(name)
    while ready:
        spend = ready.pop(0)
        yield spend, children[spend]
        ready += [name for name in map(Coin.name, children[spend]) if name in spends]
