"""A coin set over an ordered key-value engine, one native call a batch.

The native side is native/coin_set/, behind the contracts of cdb_coin_set.h there: one extension
module for each engine, and each is optional.
"""

import os
from array import array
from collections.abc import Callable, Iterator
from enum import IntEnum
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from weakref import finalize

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coin_query import CoinQuery, ask_natively
from cdb.contract.coins import MAX_U32, NAME_BYTES
from cdb.contract.history import PAGE_ROWS, Page
from cdb.contract.packed import CONFIRM_BYTES, INFO_BYTES, PackedBlocks, native_blocks
from cdb.contract.progress import Progress
from cdb.errors import CdbError, DatabaseClosedError
from cdb.extensions.native import Ended, NativeEngine
from cdb.process.memory import memory_bytes

PREFIX = "cdb_set_"
"""Of the functions of such a module."""


class Keys(IntEnum):
    """Whether a database is opened with secondary keys."""

    NONE = 0
    KEPT = 1
    ANEW = 2


class Options(NamedTuple):
    """How to open a database; see cdb_set_options in native/coin_set/cdb_coin_set.h."""

    layout: str
    create: bool
    read_only: bool
    sync: bool
    commit_entries: int
    ingest_entries: int
    cache_bytes: int
    keys: Keys = Keys.NONE
    name_bits: int = 64


class State(NamedTuple):
    """How far a database has come; see cdb_set_state in native/coin_set/cdb_coin_set.h.

    has_keys: secondary keys, all of them; None where they are not made yet.
    """

    newest: int | None
    committed: int | None
    sequence: int
    ingestions: int
    is_rewinding: bool
    probes: int
    has_keys: bool | None
    key_entries: int
    query_coins: int

    @property
    def is_new(self) -> bool:
        """Nothing was ever written to it."""
        return self.newest is None and self.sequence == 0


def _add_ended(ended: Ended, close: Callable[[Any], None], handle: Any) -> None:
    ended.add((close, handle))


def _close(ended: tuple[Callable[[Any], None], Any]) -> None:
    close, handle = ended
    close(handle)


class CoinSet:
    """The database in a directory of an engine's, which must exist.

    See HistoryBackend and KeyedBackend for methods of these names.

    Raises MissingEngineError, DatabaseNotFoundError (unless create), DatabaseLockedError,
    WrongDatabaseError, CorruptDatabaseError or StorageError.
    """

    def __init__(self, engine: NativeEngine, path: Path, options: Options) -> None:
        self.path = path
        self._engine = engine
        self._native = engine.load()
        self._ffi = self._native.ffi
        self._ended = Ended(_close)
        self._handle: Any = None
        native_options = self._ffi.new("cdb_set_options *")
        layout = self._ffi.new("char[]", options.layout.encode())
        native_options.layout = layout
        native_options.create = options.create
        native_options.read_only = options.read_only
        native_options.sync = options.sync
        native_options.cache_bytes = options.cache_bytes
        native_options.memory_bytes = memory_bytes()
        native_options.commit_entries = options.commit_entries
        native_options.ingest_entries = options.ingest_entries
        native_options.keys = options.keys
        native_options.name_bits = options.name_bits
        arguments = os.fsencode(path), native_options
        self._handle = engine.open(path, "open", *arguments, kind="cdb_set", close=self._abandon)

    @property
    def state(self) -> State:
        """How far it has come."""
        state = self._ffi.new("cdb_set_state *")
        self._call("get_state", state)
        return State(
            None if state.newest < 0 else state.newest,
            None if state.committed < 0 else state.committed,
            state.sequence,
            state.ingestions,
            bool(state.is_rewinding),
            state.probes,
            (False, None, True)[state.keys],
            state.key_entries,
            state.query_coins,
        )

    def add(self, blocks: PackedBlocks) -> int:
        """Accept blocks in order; how many were, before one that breaks a rule."""
        accepted = self._ffi.new("size_t *")
        packed = native_blocks(self._ffi, blocks)
        self._call("accept", packed.pointer, accepted)
        return int(accepted[0])

    def commit(self) -> None:
        """See PackedBackend."""
        self._call("commit")

    def checkpoint(self) -> None:
        """Commit, index, and leave nothing that the next opening does again."""
        self._call("checkpoint")

    def settle(self) -> None:
        """Do the same, and all the compaction that is owed, durably."""
        self._call("settle")

    def verify(self) -> None:
        """Hold every block of every table against its checksum. Raises CorruptDatabaseError."""
        self._call("verify")

    def find(self, names: bytes | memoryview) -> tuple[bytearray, bytearray]:
        """See PackedBackend."""
        return self._find("find", names)

    def find_as_of(self, names: bytes | memoryview, height: int) -> tuple[bytearray, bytearray]:
        """See AsOfBackend."""
        return self._find("find_as_of", names, height)

    def state_at(self, height: int, *, only_unspent: bool) -> Iterator[Page]:
        """See HistoryBackend."""
        return self._coin_pages("state_open", height, only_unspent)

    def versions(self, first: int, last: int) -> Iterator[Page]:
        """See HistoryBackend."""
        return self._coin_pages("versions_open", first, last)

    def ask(self, query: CoinQuery) -> bytearray:
        """See KeyedBackend."""
        self._end_cursors()
        return ask_natively(self._engine, self.path, self._open_handle(), query)

    def make_keys(self, max_coins: int) -> Iterator[int]:
        """Give it the secondary keys that it lacks: the coins of each step, about so many."""
        coins, are_made = self._ffi.new("uint64_t *"), self._ffi.new("int32_t *")
        while not are_made[0]:
            self._call("make_keys", max_coins, coins, are_made)
            yield int(coins[0])

    def are_keys_right(self, max_coins: int, progress: Progress) -> bool:
        """Whether secondary keys are those that the blocks make.

        progress is told of the coins, about so many at a time.
        """
        of_blocks, of_keys = (self._ffi.new("cdb_set_key_sum *") for _ in range(2))
        while of_blocks.next >= 0:
            self._call("sum_blocks", max_coins, of_blocks)
            progress(int(of_blocks.coins))
        self._call("sum_keys", of_keys)
        return bool(of_blocks.sum == of_keys.sum)

    def block(self, block_index: int) -> BlockSpendInfo | None:
        """See PackedBackend."""
        packed = next(self.read(block_index, block_index, 1), None)
        return None if packed is None else packed.block(0)

    def read(self, first: int, last: int, entries: int) -> Iterator[PackedBlocks]:
        """See PackedBackend; without names."""
        first, last = max(first, 0), min(last, MAX_U32)
        if first > last:
            return iter(())
        return iter(partial(self._cursor("cursor_open", first, last).next, entries), None)

    def rewound(self, first: int) -> "Cursor":
        """Within a rewind: the blocks that are to be erased, from this index on."""
        return self._cursor("rewound_open", first)

    def begin_rewind(self, newest: int) -> None:
        """Commit, index, and put everything above ``newest`` out of sight, durably."""
        self._call("begin_rewind", newest)

    def erase(self, blocks: PackedBlocks) -> None:
        """Erase whole blocks above the rewind's target."""
        packed = native_blocks(self._ffi, blocks)
        self._call("erase", packed.pointer)

    def end_rewind(self) -> None:
        """Nothing is left to erase."""
        self._call("end_rewind")

    def end_reading(self) -> None:
        """End all cursors and coins, so that nothing that they hold is in the way of a close."""
        self._call("end_reading")

    def close(self) -> None:
        """See PackedBackend. What is not committed is lost."""
        self._end_cursors()
        handle, self._handle = self._handle, None
        if handle is not None:
            # Others may be in the middle of a call; they have this object while they are.
            release = self._native.lib.cdb_set_release
            finalize(self, self._ended.end_with, release, handle).atexit = False
            self._engine.call(self.path, "close", handle)

    def _abandon(self, handle: Any) -> None:
        self._engine.call(self.path, "close", handle)
        self._native.lib.cdb_set_release(handle)

    def _cursor(self, function: str, *arguments: int) -> "Cursor":
        return Cursor(self, *self._reader("cursor", function, *arguments))

    def _find(
        self, function: str, names: bytes | memoryview, *height: int
    ) -> tuple[bytearray, bytearray]:
        ffi = self._ffi
        n = len(names) // NAME_BYTES
        infos, found = bytearray(INFO_BYTES * n), bytearray(n)
        arrays = ffi.from_buffer("cdb_coin_info[]", infos), ffi.from_buffer("uint8_t[]", found)
        self._call(function, ffi.from_buffer("uint8_t[]", names), n, *height, *arrays)
        return infos, found

    def _coin_pages(self, function: str, *arguments: int) -> Iterator[Page]:
        coins = CoinPages(self, *self._reader("coins", function, *arguments))
        return iter(partial(coins.next, PAGE_ROWS), None)

    def _reader(
        self, kind: str, function: str, *arguments: int
    ) -> tuple[Any, Callable[[Any], None]]:
        """The handle of what reads over several calls, and what is to be told when it is over."""
        self._end_cursors()
        close = getattr(self._native.lib, f"{PREFIX}{kind}_close")
        end = partial(_add_ended, self._ended, close)
        kind = PREFIX + kind
        database = self._open_handle()
        handle = self._engine.open(self.path, function, database, *arguments, kind=kind, close=end)
        return handle, end

    def _end_cursors(self) -> None:
        """End the cursors that nobody has any more: here, and not where a finalizer runs."""
        self._ended.free()

    def _open_handle(self) -> Any:
        if self._handle is None:
            raise DatabaseClosedError(self.path, "it is closed; open it again")
        return self._handle

    def _call(self, function: str, *arguments: Any) -> None:
        self._end_cursors()
        self._engine.call(self.path, function, self._open_handle(), *arguments)


class Cursor:
    """Blocks in order, from one moment's view. One call at a time."""

    def __init__(self, database: CoinSet, handle: Any, end: Callable[[Any], None]) -> None:
        self._database = database
        self._handle = handle
        finalize(self, end, handle)
        self._failure: CdbError | None = None

    def next(self, entries: int) -> PackedBlocks | None:
        """The next blocks, with so many coins + spends or the end; None when there are no more.

        The coins' names are left out: they are not kept with blocks. Blocks that come before one
        that can't be read are given first: the next call raises.
        """
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        buffer = self._database._ffi.buffer
        indices, timestamps, spend_ends, confirm_ends = (array("Q") for _ in range(4))
        spends, confirms = bytearray(), bytearray()
        while entries > 0 and (block := self._next_readable()) is not None:
            indices.append(block.index)
            timestamps.append(block.timestamp)
            spends += buffer(block.spends, block.n_spends * NAME_BYTES)
            confirms += buffer(block.confirms, block.n_confirms * CONFIRM_BYTES)
            spend_ends.append(len(spends) // NAME_BYTES)
            confirm_ends.append(len(confirms) // CONFIRM_BYTES)
            entries -= 1 + block.n_spends + block.n_confirms
        if not indices:
            if self._failure is not None:
                raise self._failure
            return None
        packed = (bytes(spends), bytes(confirms), b"")
        return PackedBlocks(indices, timestamps, spend_ends, confirm_ends, *packed)

    def _next_readable(self) -> Any:
        """The next block; None at the end, and at the first one that can't be read."""
        try:
            return self._next()
        except CdbError as error:
            self._failure = error
            return None

    def _next(self) -> Any:
        """The next block as the engine has it, good until the next call; None at the end."""
        database = self._database
        block, found = database._ffi.new("cdb_set_block *"), database._ffi.new("int32_t *")
        database._engine.call(database.path, "cursor_next", self._handle, block, found)
        return block if found[0] else None


class CoinPages:
    """Coins in order, a page at a time, from one moment's view. One call at a time."""

    def __init__(self, database: CoinSet, handle: Any, end: Callable[[Any], None]) -> None:
        self._database = database
        self._handle = handle
        self.end = finalize(self, end, handle)
        """Lets go of the moment."""

    def next(self, rows: int) -> Page | None:
        """At most so many rows; None at the end."""
        database, ffi = self._database, self._database._ffi
        names, infos = bytearray(NAME_BYTES * rows), bytearray(INFO_BYTES * rows)
        n, is_over = ffi.new("size_t *"), ffi.new("int32_t *")
        to = ffi.from_buffer("uint8_t[]", names), ffi.from_buffer("cdb_coin_info[]", infos)
        while not n[0] and not is_over[0]:
            database._engine.call(database.path, "coins_next", self._handle, rows, *to, n, is_over)
        for buffer in to:
            ffi.release(buffer)
        if not n[0]:
            self.end()
            return None
        del names[NAME_BYTES * n[0] :], infos[INFO_BYTES * n[0] :]
        return Page(names, infos)
