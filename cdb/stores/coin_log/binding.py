"""The coin log: a coin set that is one append-only log of blocks, one native call a batch.

The native side is native/coin_log/, behind the contracts of cdb_coin_log.h there. It is optional:
importing this module always works, and missing() says why the engine does not.
"""

import os
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from weakref import finalize

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coin_query import CoinQuery, ask_natively
from cdb.contract.coins import MAX_U32, NAME_BYTES
from cdb.contract.durability import Durability
from cdb.contract.facts import Facts
from cdb.contract.history import ABOVE_ALL, Page
from cdb.contract.packed import CONFIRM_BYTES, INFO_BYTES, PackedBlocks, native_blocks
from cdb.contract.printable import shell_word
from cdb.contract.progress import Progress
from cdb.errors import DatabaseClosedError, known_path, reading_advice, verify_advice
from cdb.extensions.native import Ended, NativeEngine, NativeError, TakenBackError

_READ_CONFIRMS = 4096
_REPLAY_COINS = 1 << 16


def on_damage(path: Path, file: str = "") -> str:
    """What to do about damage to a coin log, or to one of its files."""
    advice = reading_advice if file == "log" else verify_advice  # all else is derived from it
    return advice(f"cdb verify coin_log --db {shell_word(known_path(path))}")


_engine = NativeEngine(
    "cdb.stores.coin_log._coin_log",
    "the coin log",
    "a C++ compiler, OpenSSL and xxHash (Debian, Ubuntu: g++, python3-dev, libssl-dev,"
    " libxxhash-dev)",
    prefix="cdb_coin_log_",
    on_damage=on_damage,
)
load = _engine.load
missing = _engine.missing


@dataclass(frozen=True, slots=True)
class Sizes:
    """What the index is made of; see cdb_coin_log_options. Small ones let short tests reach it."""

    memtable_coins: int = 1_500_000
    merge_runs: int = 4
    name_bits: int = 64
    recent_bits: int = 17
    unverified_spends: int = 1 << 19


DEFAULT_SIZES = Sizes()


def names_of(confirms: bytes) -> bytes:
    """The names of packed confirms, without gaps."""
    native = _engine.load()
    count = len(confirms) // CONFIRM_BYTES
    names = bytearray(NAME_BYTES * count)
    native.lib.cdb_coin_log_name(
        native.ffi.from_buffer(confirms), count, native.ffi.from_buffer(names)
    )
    return bytes(names)


class CoinLog:
    """The coin log in a directory that exists and that nobody else writes to: a backend.

    See PresentBackend, DeferringBackend, TellingBackend and KeyedBackend for the methods.

    keys: whether coins are found by puzzle hash and parent, too; where it was otherwise, what is
    derived is made again. None: as it was. progress: is told of the coins that opening goes over.
    forgiving: open it also where `acked` is lost, so that it can be checked or repaired.
    before_damage: open, read_only, what comes before the first damage to the log; see check(). All
    of the log is read, and nothing that is derived from it is believed.
    Raises MissingEngineError, CorruptDatabaseError, WrongDatabaseError, StorageError or, when it
    was opened read_only and has been rewound since, DatabaseClosedError.
    """

    reads_beside = True

    def __init__(
        self,
        path: Path,
        *,
        durability: Durability,
        read_only: bool = False,
        forgiving: bool = False,
        before_damage: bool = False,
        sizes: Sizes = DEFAULT_SIZES,
        keys: bool | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.path = path
        self.is_verified = True
        self._native = _engine.load()
        self._ended = Ended(self._native.lib.cdb_coin_log_end)
        ffi = self._native.ffi
        options = ffi.new("cdb_coin_log_options *")
        options.read_only = read_only
        options.forgiving = forgiving
        options.before_damage = before_damage
        options.power_durable = durability is Durability.POWER
        options.memtable_coins = sizes.memtable_coins
        options.merge_runs = sizes.merge_runs
        options.name_bits = sizes.name_bits
        options.recent_bits = sizes.recent_bits
        options.unverified_spends = sizes.unverified_spends
        options.keys = -1 if keys is None else keys
        self._handle: Any = None
        arguments = os.fsencode(path), options
        opener = os.getpid()
        handle = _engine.open(path, "open", *arguments, kind="cdb_coin_log", close=self._abandon)
        try:
            self._replay(handle, opener, progress)
            self._handle = handle
        except BaseException:
            self._handle = None
            if os.getpid() == opener:
                self._abandon(handle)
            raise

    @property
    def newest_index(self) -> int | None:
        """See PackedBackend."""
        totals = self._count()
        return int(totals.newest_index) if totals.blocks else None

    def facts(self) -> Facts:
        """See TellingBackend. What it owes it does by itself."""
        return Facts(int(self._count().coins), is_settled=True)

    @property
    def has_keys(self) -> bool:
        """Whether coins are found by puzzle hash and parent, too."""
        return bool(self._count().has_keys)

    @property
    def records_checked(self) -> int:
        """How many records were checksummed so far because the index led to another coin there."""
        return int(self._count().records_checked)

    @property
    def probes(self) -> int:
        """How many places of the index, and confirms of new blocks, were looked at so far."""
        return int(self._count().probes)

    def check(self) -> None:
        """Opened before_damage: raise CorruptDatabaseError if the log is damaged."""
        _engine.call(self.path, "check", self._open_handle())

    def accept(self, blocks: PackedBlocks, *, may_defer: bool) -> PackedBlocks | None:
        """See PackedBackend. A spend of an old coin may be verified later, with many others; where
        that makes room, the block that breaks a rule is one of an earlier call."""
        accepted = self._native.ffi.new("size_t *")
        packed = native_blocks(self._native.ffi, blocks)
        self.is_verified = self.is_verified and not may_defer
        log = self._open_handle()
        try:
            _engine.call(self.path, "accept", log, packed.pointer, may_defer, accepted)
        except TakenBackError:
            return self._taken_back()
        place = int(accepted[0])
        return None if place == len(blocks) else blocks.part(place, place + 1)

    def verify_spends(self) -> PackedBlocks | None:
        """See DeferringBackend."""
        try:
            return self._unless_taken_back("verify_spends")
        finally:
            self.is_verified = True

    def verify(self) -> None:
        """See DeferringBackend."""
        _engine.call(self.path, "verify", self._open_handle())

    def await_verified(self, most_milliseconds: int) -> bool:
        """See DeferringBackend."""
        is_writing = self._native.ffi.new("int32_t *")
        log = self._open_handle()
        _engine.call(self.path, "await_verified", log, most_milliseconds, is_writing)
        return bool(is_writing[0])

    def commit(self) -> None:
        """See PackedBackend."""
        _engine.call(self.path, "flush", self._open_handle())

    def begin_commit(self) -> PackedBlocks | None:
        """See DeferringBackend."""
        return self._unless_taken_back("begin_flush")

    def end_commit(self) -> PackedBlocks | None:
        """See DeferringBackend."""
        return self._unless_taken_back("end_flush")

    def rewind(self, block_index: int) -> None:
        """See PackedBackend."""
        self._end_readers()
        _engine.call(self.path, "rewind", self._open_handle(), block_index)

    def find(
        self, names: bytes | memoryview, height: int = ABOVE_ALL
    ) -> tuple[bytearray, bytearray]:
        """See PackedBackend, and PresentBackend for a height."""
        ffi = self._native.ffi
        count = len(names) // NAME_BYTES
        infos = bytearray(INFO_BYTES * count)
        found = bytearray(count)
        _engine.call(
            self.path,
            "lookup",
            self._open_handle(),
            # Which cffi takes as they are, in half the time.
            names if type(names) is bytes else ffi.from_buffer(names),
            count,
            height,
            ffi.from_buffer("cdb_coin_info[]", infos),
            ffi.from_buffer(found),
        )
        return infos, found

    def find_as_of(self, names: bytes | memoryview, height: int) -> tuple[bytearray, bytearray]:
        """See PresentBackend."""
        return self.find(names, height)

    def count_unspent(self, height: int) -> int:
        """How many coins are unspent as of a height. It takes a step for each block above that."""
        n = self._native.ffi.new("uint64_t *")
        _engine.call(self.path, "count_unspent", self._open_handle(), height, n)
        return int(n[0])

    def ask(self, query: CoinQuery) -> bytearray:
        """See KeyedBackend."""
        return ask_natively(_engine, self.path, self._open_handle(), query)

    def block(self, block_index: int) -> BlockSpendInfo | None:
        """See PackedBackend."""
        blocks = self.read_states(block_index, block_index).next()
        return None if blocks is None else blocks.block(0)

    def read(self, first: int, last: int, entries: int) -> Iterator[PackedBlocks]:
        """See PackedBackend: a few thousand coins at a time, with names."""
        return iter(self.read_states(first, last).next, None)

    def read_states(self, first: int, last: int) -> "Reader":
        """See PresentBackend."""
        self._end_readers()
        return self._reader("read", first, min(last, MAX_U32))

    def finish(self) -> None:
        """See PackedBackend."""
        self._close(abandon=False)

    def close(self) -> None:
        """See PackedBackend. Readers end with an error."""
        self._close(abandon=True)

    def _close(self, *, abandon: bool) -> None:
        """Release files, and make everything durable first, unless abandon."""
        self._end_readers()
        handle, self._handle = self._handle, None
        if handle is not None:
            # Others may be in the middle of a call; they have this object while they are.
            release = self._native.lib.cdb_coin_log_release
            finalize(self, self._ended.end_with, release, handle).atexit = False
            _engine.call(self.path, "close", handle, abandon)

    def _replay(self, handle: Any, opener: int, progress: Progress | None) -> None:
        """Have the log replayed, in steps: between two a signal is seen. opener: the process."""
        ffi = self._native.ffi
        coins, is_open = ffi.new("uint64_t *"), ffi.new("int32_t *")
        while not is_open[0]:
            if os.getpid() != opener:
                # A child of a fork in between: the log, and its lock, are the parent's.
                raise DatabaseClosedError(self.path, "another process has opened it; open it here")
            _engine.call(self.path, "replay", handle, _REPLAY_COINS, coins, is_open)
            if progress is not None:
                progress(int(coins[0]))

    def _abandon(self, handle: Any) -> None:
        _engine.call(self.path, "close", handle, True)
        self._native.lib.cdb_coin_log_release(handle)

    def _unless_taken_back(self, function: str) -> PackedBlocks | None:
        """Call what verifies; the block that is refused then."""
        try:
            _engine.call(self.path, function, self._open_handle())
        except TakenBackError:
            return self._taken_back()
        return None

    def _taken_back(self) -> PackedBlocks:
        (block,) = iter(self._reader("taken_back").next, None)
        return block

    def _reader(self, function: str, *arguments: int) -> "Reader":
        kind, end = "cdb_coin_log_reader", self._ended.add
        log = self._open_handle()
        handle = _engine.open(self.path, function, log, *arguments, kind=kind, close=end)
        return Reader(self, handle, self._ended)

    def _end_readers(self) -> None:
        """End the readers that nobody has any more: here, and not where a finalizer runs."""
        self._ended.free()

    def _count(self) -> Any:
        totals = self._native.ffi.new("cdb_coin_log_totals *")
        _engine.call(self.path, "count", self._open_handle(), totals)
        return totals

    def _open_handle(self) -> Any:
        if self._handle is None:
            raise DatabaseClosedError(self.path, "it is closed; open it again")
        return self._handle


class Reader:
    """Blocks as they were when it was made. One call at a time."""

    def __init__(self, log: CoinLog, handle: Any, ended: Ended) -> None:
        self._log = log
        self._handle = handle
        self._n_confirms = 0
        finalize(self, ended.add, handle)

    def next(self) -> PackedBlocks | None:
        """The next blocks, a few thousand coins; None at the end."""
        ffi, lib = self._log._native.ffi, self._log._native.lib
        counts = ffi.new("cdb_coin_log_counts *")
        _engine.call(self._log.path, "next", self._handle, _READ_CONFIRMS, counts)
        return _taken(ffi, counts, partial(lib.cdb_coin_log_take, self._handle))

    def next_coins(self) -> int:
        """Read the next blocks for states(): how many blocks; 0 at the end."""
        counts = self._log._native.ffi.new("cdb_coin_log_counts *")
        _engine.call(self._log.path, "next", self._handle, _READ_CONFIRMS, counts)
        self._n_confirms = int(counts.confirms)
        return int(counts.blocks)

    def states(self, height: int, *, only_unspent: bool) -> Page:
        """The coins of the blocks that were read, as of a height; see cdb_coin_log_states."""
        ffi = self._log._native.ffi
        names = bytearray(NAME_BYTES * self._n_confirms)
        infos = bytearray(INFO_BYTES * self._n_confirms)
        n = ffi.new("size_t *")
        arrays = ffi.from_buffer(names), ffi.from_buffer("cdb_coin_info[]", infos)
        _engine.call(self._log.path, "states", self._handle, height, only_unspent, *arrays, n)
        return Page(memoryview(names)[: NAME_BYTES * n[0]], memoryview(infos)[: INFO_BYTES * n[0]])


def has_keys(path: Path) -> bool:
    """Whether the manifest says that coins are found by puzzle hash and parent, too.

    False where there is none. Raises CorruptDatabaseError or StorageError.
    """
    found = _engine.load().ffi.new("int32_t *")
    _engine.call(path, "has_keys", os.fsencode(path), found)
    return bool(found[0])


class FoundDamage(NamedTuple):
    """Damage to one file. newest_index: of the newest block before the place, of the log."""

    error: NativeError
    can_be_rebuilt: bool
    newest_index: int | None


def inspect(path: Path, progress: Progress) -> Iterator[FoundDamage]:
    """All damage to the files of a coin log, which nobody writes to; see cdb_coin_log_inspect."""
    native = _engine.load()
    end = native.lib.cdb_coin_log_inspect_end
    kind, step = "cdb_coin_log_inspection", native.ffi.new("cdb_coin_log_step *")
    inspection = _engine.open(path, "inspect", os.fsencode(path), kind=kind, close=end)
    try:
        while not step.is_last:
            _engine.call(path, "inspect_next", inspection, _READ_CONFIRMS, step)
            progress(step.coins)
            if step.is_damaged:
                newest = None if step.newest_index < 0 else step.newest_index
                error = NativeError.of(native, step.damage)
                yield FoundDamage(error, bool(step.can_be_rebuilt), newest)
    finally:
        end(inspection)


def _taken(ffi: Any, counts: Any, take: Callable[..., object]) -> PackedBlocks | None:
    """What a reader has read; None where that is nothing."""
    if not counts.blocks:
        return None
    numbers = [array("Q", bytes(8 * counts.blocks)) for _ in range(4)]
    sizes = (NAME_BYTES * counts.spends, CONFIRM_BYTES * counts.confirms)
    # Nobody else has these bytes while they are filled. (None is a single one, which others share.)
    buffers = [bytes(size) for size in (*sizes, NAME_BYTES * counts.confirms)]
    take(
        *(ffi.from_buffer("uint64_t[]", each) for each in numbers),
        *(ffi.from_buffer("uint8_t[]", each) for each in buffers),
    )
    indices, timestamps, spend_ends, confirm_ends = numbers
    return PackedBlocks(indices, timestamps, spend_ends, confirm_ends, *buffers)
