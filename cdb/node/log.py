"""The coin log behind a node's file: where it is, and how it is brought to where it has to be."""

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from cdb.contract.coin_query import CoinQuery
from cdb.contract.history import ABOVE_ALL
from cdb.contract.packed import PackedBlocks
from cdb.contract.packed_state import check_canonical
from cdb.contract.schema import AcceptsPacked, QueriesPacked, ReadsPacked, Schema
from cdb.disk.files import fsync_dir, fsync_file
from cdb.disk.paths import own
from cdb.errors import BlockError, CorruptDatabaseError, WrongDatabaseError, storage_errors
from cdb.node.operation import Block, Effect, Operation, Tip, effect_of, packed
from cdb.node.rows import CONFIRMED, coin_rows
from cdb.stores.node_table.table import LOG_SUFFIX

_HEAD_BYTES = 24
RESTORE = "put both back from the same backup, or sync again without both"


class Log(Schema, AcceptsPacked, ReadsPacked, QueriesPacked, Protocol):
    """A coin log with its index by puzzle hash."""

    def count_unspent(self, height: int = ABOVE_ALL, /) -> int:
        """How many coins are unspent as of a height."""
        ...

    def blocks_packed(self, first_index: int = 0) -> Iterator[PackedBlocks]:
        """See ReadsPacked; those from an index on."""
        ...


def log_path_of(file: Path) -> Path:
    """Where the coins of a node's SQLite file are."""
    return file.with_name(file.name + LOG_SUFFIX)


def catch_up(log: Log, path: Path, file: Path | None, rows: list[Operation]) -> None:
    """Bring a log to where the rows of its SQLite file say that it has to be, durably.

    Blocks that it has already stay: most often that is all of them, and nothing is written.
    Raises WrongDatabaseError, and nothing has happened, where it is another log; and
    CorruptDatabaseError for rows with a block that can't follow.
    """
    effect = _remaining(log, fitting_effect(log, path, file, rows))
    try:
        check_canonical(packed(effect.blocks))  # before anything is taken away
        apply(log, effect, effect.tip, file)
        log.flush()
    except (BlockError, ValueError) as error:
        problem = f"its table cdb_ops is damaged: {error}"
        raise CorruptDatabaseError(file or path, problem, RESTORE) from error


def is_there(log: Log, effect: Effect) -> bool:
    """Whether a log is where an effect has it, block by block."""
    rest, newest = _remaining(log, effect), log.last_block_index
    return not rest.blocks and (newest is None or newest < rest.height)


def fitting_effect(log: Log, path: Path, file: Path | None, rows: list[Operation]) -> Effect:
    """What the rows of an SQLite file make of its log.

    Blocks between the one that they stand on and their own came later, and SQLite fell back to
    before. Raises WrongDatabaseError where they stand on another log than this.
    """
    if not rows:
        raise WrongDatabaseError(file or path, "its table cdb_ops is empty", RESTORE)
    effect = effect_of(rows)
    between = (effect.tip.height + 1, max(0, effect.height - 1))
    unknown = CoinQuery(confirmed=between, limit=1, any_of_block=True)
    for coin in coin_rows(log.coins_packed(unknown)):
        effect = replace(effect, height=coin[CONFIRMED])
    found = tip_up_to(log, path, effect.height - 1)
    if found != effect.tip:
        raise WrongDatabaseError(path, _difference(file, effect.tip, found), RESTORE)
    return effect


def apply(log: Log, effect: Effect, tip: Tip, file: Path | None) -> Tip:
    """Bring a log, whose newest block with coins is the tip, to an effect; gives the new tip."""
    blocks = packed(effect.blocks)  # what can't be packed takes nothing with it
    newest = log.last_block_index
    if newest is not None and newest >= effect.height:
        # What a rewind takes is gone: no power cut may take SQLite back to before it.
        sync_wal(file)
        log.rewind_to_block_index(effect.height - 1)
        tip = effect.tip
    if effect.blocks:
        log.accept_packed(blocks)
        log.coin_infos_packed(b"")  # verified here, and not by whoever reads next
    return next((block.tip for block in reversed(effect.blocks) if block.confirms), tip)


def _remaining(log: Log, effect: Effect) -> Effect:
    """An effect without the first of its blocks, as far as a log has them."""
    there = Block.each_of(log.blocks_packed(effect.height))
    for n, block in enumerate(effect.blocks):
        if next(there, None) != block:
            return replace(effect, blocks=effect.blocks[n:])
        tip = block.tip if block.confirms else effect.tip
        effect = replace(effect, height=block.height + 1, tip=tip)
    return replace(effect, blocks=[])


def tip_up_to(log: Log, path: Path, height: int) -> Tip:
    """The newest block of a log that has coins and is not above a height; its head: there is none.

    The head is drawn when a log is made, so two empty logs differ.
    """
    if height < 0 or not _has_coins(log, 0, height):
        return root_of(path)
    first, last = 0, height
    while first < last:
        middle = (first + last + 1) // 2
        if _has_coins(log, middle, last):
            first = middle
        else:
            last = middle - 1
    return block_of(log, first).tip


def root_of(path: Path) -> Tip:
    """What stands for a log without coins."""
    with storage_errors(path), open(path / "log", "rb", opener=own) as file:
        return Tip(-1, sha256(file.read(_HEAD_BYTES)).digest())


def block_of(log: Log, height: int) -> Block:
    """The block at a height, where there is one."""
    return next(Block.each_of(log.blocks_packed(height)))


def sync_wal(file: Path | None) -> None:
    """Make what is committed durable, whatever SQLite's `synchronous` is."""
    if file is not None:
        wal = file.with_name(file.name + "-wal")
        if wal.exists():
            fsync_file(wal)
            fsync_dir(wal.parent)


def _has_coins(log: Log, first: int, last: int) -> bool:
    any_one = CoinQuery(confirmed=(first, last), limit=1, any_of_block=True)
    return bool(log.coins_packed(any_one))


def _difference(file: Path | None, wanted: Tip, found: Tip) -> str:
    """What tells the log that is there from the one that belongs to the file."""
    if wanted.height < 0 <= found.height or wanted.height == found.height < 0:
        return f"this is not the coin log of {file}, but a new one or another's"
    if wanted.height == found.height:
        return f"this is not the coin log of {file}: block {found.height} is another one"
    there = f"block {found.height} is its newest" if found.height >= 0 else "it holds no coins"
    return f"{file} goes on from block {wanted.height}, and up to there {there}"
