"""Blocks one after another in a data file, their places in an offsets file, both synced.

    data       a record a block, and one a rewind; it only grows
    offsets    an entry a record, once that is synced: where it is, and how long
    index/     name → entry, an LSM tree: a coin's name leads to its confirm, and turned around
               (each bit) to its spend

As Margaret, a log of Go, keeps messages; but its Sync() does nothing. docs/schemas/offset_log.md
draws the files. Entries are the confirms and spends of all blocks, numbered 1, 2, 3, …
"""

import os
import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from copy import deepcopy
from functools import partial
from itertools import islice
from os import PathLike
from pathlib import Path
from struct import Struct, iter_unpack, unpack
from typing import NamedTuple
from weakref import finalize

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import NAME_BYTES
from cdb.contract.durability import Durability
from cdb.contract.facts import Facts
from cdb.contract.history import BY_CREATION, Page, masked
from cdb.contract.packed import (
    CONFIRM_BYTES,
    CONFIRM_FORMAT,
    MOST_ENTRIES,
    PackedBlocks,
    for_each,
    in_packs,
    packed_infos,
)
from cdb.contract.packed_state import first_not_canonical, names_of, with_names
from cdb.contract.progress import Progress
from cdb.contract.rules import LookedUp, examine, join
from cdb.contract.schema import AcceptsPacked, HistoryPacked, ReadsPacked, Settles, TellsFacts
from cdb.contract.spec import SchemaSpec
from cdb.disk.damage import Damage
from cdb.disk.files import fsync_dir
from cdb.disk.home import checked_home, repaired_home
from cdb.disk.paths import located, own, write_own
from cdb.errors import CorruptDatabaseError, DatabaseNotFoundError, storage_errors
from cdb.front.history import SnapshotHistory
from cdb.front.offers import Settling, Telling
from cdb.front.store import Store, open_backend
from cdb.stores.rows.check import check_index, rebuild_index
from cdb.stores.rows.index import ROOT, Branch
from cdb.stores.rows.lsm.flat_run import FLAT
from cdb.stores.rows.lsm.tree import LsmIndex
from cdb.stores.rows.names import IndexedNames, StaleIndexError

_NAME = "offset_log"
_DATA, _OFFSETS, _INDEX = "data", "offsets", "index"
_MEMTABLE_ENTRIES = 250_000
_READ_TRIES = 4
_STATE_ENTRIES = 10_000
_CHUNK_BYTES = 1 << 20

_HEAD = Struct("<4IQ")  # see Head; the timestamp
_CRC = Struct("<I")
_ENTRY = Struct("<Q4II")  # where the record begins, see Head; CRC-32
_REWIND = 0xFFFFFFFF
"""In place of both counts: of the blocks before, so many are left as `place` says."""
_TURNED = bytes(255 - byte for byte in range(256))


class Head(NamedTuple):
    """Of a record: place is the number of blocks before it."""

    place: int
    block_index: int
    n_confirms: int
    n_spends: int

    @property
    def n_bytes(self) -> int:
        """Of the whole record."""
        entries = 0
        if self.n_confirms != _REWIND:
            entries = CONFIRM_BYTES * self.n_confirms + NAME_BYTES * self.n_spends
        return _HEAD.size + entries + _CRC.size


class _Heads:
    """What the blocks' heads say, and where they are. It may grow while iterations have it."""

    def __init__(self) -> None:
        self.starts, self.indices = array("Q"), array("Q")
        self.confirms, self.ends = array("Q"), array("Q")  # counts, and last entries

    def __len__(self) -> int:
        return len(self.starts)

    def add(self, start: int, head: Head) -> None:
        """The next block's."""
        self.ends.append(self.entries_of(len(self)) + head.n_confirms + head.n_spends)
        self.starts.append(start)
        self.indices.append(head.block_index)
        self.confirms.append(head.n_confirms)

    def cut(self, n: int) -> None:
        """Forget all but n."""
        for each in (self.starts, self.indices, self.confirms, self.ends):
            del each[n:]

    def entries_of(self, n: int) -> int:
        """How many entries the first n blocks have."""
        return self.ends[n - 1] if n else 0

    def head(self, place: int) -> Head:
        """That of the block with so many before it."""
        n_entries = self.ends[place] - self.entries_of(place)
        n_confirms = self.confirms[place]
        return Head(place, self.indices[place], n_confirms, n_entries - n_confirms)


class _File:
    """A file of the log's. It is closed when nobody has it any more, too."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path, self._descriptor = path, descriptor
        self.close = finalize(self, os.close, descriptor)

    @property
    def n_bytes(self) -> int:
        """Its size."""
        return os.fstat(self._descriptor).st_size

    def again(self) -> "_File":
        """The same for an iterator, which may go on when this is closed."""
        with storage_errors(self.path):
            return _File(self.path, os.dup(self._descriptor))

    def read(self, n_bytes: int, start: int) -> bytes:
        """Bytes that are there. Raises CorruptDatabaseError where they are not."""
        with storage_errors(self.path):
            data = os.pread(self._descriptor, n_bytes, start)
            while len(data) < n_bytes and (
                more := os.pread(self._descriptor, n_bytes - len(data), start + len(data))
            ):
                data += more
        if len(data) < n_bytes:
            raise CorruptDatabaseError(self.path, f"it is cut at byte {start + len(data)}")
        return data

    def write(self, data: bytes | bytearray, start: int) -> None:
        """Write all of it."""
        with storage_errors(self.path), memoryview(data) as left:
            written = 0
            while written < len(left):
                written += os.pwrite(self._descriptor, left[written:], start + written)

    def cut(self, n_bytes: int) -> None:
        """Have no bytes behind these."""
        with storage_errors(self.path):
            if self.n_bytes > n_bytes:
                os.ftruncate(self._descriptor, n_bytes)

    def sync(self) -> None:
        """Have it survive power loss."""
        with storage_errors(self.path):
            os.fdatasync(self._descriptor)


class Log:
    """Both files, and where each block is.

    read_only: as they are now, whatever a writer adds later; nothing is changed. by_offsets: False
    takes the places from data alone. Raises DatabaseNotFoundError (read_only),
    CorruptDatabaseError or StorageError.
    """

    def __init__(self, path: Path, *, read_only: bool, by_offsets: bool = True) -> None:
        self.path = path / _DATA
        self._heads = _Heads()
        self._end = self._saved = 0  # of data, in bytes; entries in offsets
        self._unsaved = bytearray()  # entries of records that may not be synced
        with ExitStack() as undo:
            self.offsets = b""
            self._offsets_path = path / _OFFSETS
            if not read_only or self._offsets_path.exists():  # else data says it, too
                self._offsets = _opened(self._offsets_path, undo, read_only=read_only)
                self.offsets = self._offsets.read(self._offsets.n_bytes, 0)
            self._data = _opened(self.path, undo, read_only=read_only)
            self._take_offsets(self.offsets if by_offsets else b"")
            synced = self._end
            self._take_data(self._data.n_bytes)
            if by_offsets and (damage := self.surplus()):
                raise damage
            if not read_only:
                self._mend(synced)
                fsync_dir(path)
            self.close = undo.pop_all().close

    def __len__(self) -> int:
        """The number of blocks."""
        return len(self._heads)

    @property
    def newest_index(self) -> int | None:
        """Of the newest block; None without one."""
        return self._heads.indices[-1] if len(self) else None

    @property
    def row_count(self) -> int:
        """The number of entries."""
        return self._heads.entries_of(len(self))

    def branches(self) -> Iterator[Branch]:
        """Not told apart: the format has no place for them."""
        yield ROOT

    @property
    def n_coins(self) -> int:
        """The number of coins."""
        return sum(self._heads.confirms)

    @property
    def read(self) -> "Log":
        """What finds names by their entries."""
        return self

    @property
    def _n_unsaved(self) -> int:
        return len(self._unsaved) // _ENTRY.size

    @property
    def places(self) -> bytes:
        """What offsets is to hold, as far as data was gone over."""
        return bytes(self._unsaved)

    def surplus(self) -> CorruptDatabaseError | None:
        """What is damaged where offsets has more entries than data has records."""
        n_found = self._saved + self._n_unsaved
        surplus = range(n_found, len(self.offsets) // _ENTRY.size)
        if any(_is_entry(self.offsets, number) for number in surplus):
            return self.damaged(f"damaged at byte {self._end}")
        problem = f"it ends in bytes that are no entries, after {n_found}"
        return CorruptDatabaseError(self._offsets_path, problem) if surplus else None

    def append(self, blocks: PackedBlocks) -> None:
        """Add blocks, which are not synced."""
        records, start = bytearray(), self._end
        for place in range(len(blocks)):
            block = blocks.part(place, place + 1)
            head = Head(len(self), block.indices[0], block.n_confirms, block.n_spends)
            body = b"".join((block.confirms, block.spends))
            records += self._record(head, block.timestamps[0], body)
        self._data.write(records, start)

    def sync(self) -> None:
        """Have all that was appended survive power loss: what offsets names is in data."""
        if self._unsaved:
            self._data.sync()  # fault: offset-log-data-not-synced
            self._offsets.write(self._unsaved, _ENTRY.size * self._saved)
            self._offsets.sync()
            self._saved += self._n_unsaved
            self._unsaved.clear()

    def rewind(self, block_index: int) -> None:
        """Drop the blocks above an index, durably: a record says so."""
        start, place = self._end, bisect_right(self._heads.indices, block_index)
        self._heads = deepcopy(self._heads)  # iterations go on with what was there
        self._data.write(self._record(Head(place, 0, _REWIND, _REWIND), 0, b""), start)
        self.sync()

    def kept_by(self, block_index: int) -> int:
        """How many entries a rewind leaves."""
        return self._heads.entries_of(bisect_right(self._heads.indices, block_index))

    def blocks(self, first: int, last: int) -> Iterator[PackedBlocks]:
        """The blocks first … last as of now, one by one, without names."""
        indices = self._heads.indices
        return self._blocks(bisect_left(indices, first), bisect_right(indices, last))

    def names_between(self, first_row: int, last_row: int) -> Iterator[bytes]:
        """The names of entries first_row … last_row, both included: of spends, turned around."""
        ends = self._heads.ends
        place = bisect_left(ends, first_row)
        entry = self._heads.entries_of(place) + 1
        blocks = self._blocks(place, bisect_left(ends, last_row) + 1)
        names = (name for block in blocks for name in _keys(block))
        return islice(names, first_row - entry, last_row + 1 - entry)

    def entry(self, entry: int, key: bytes) -> tuple[int, bytes]:
        """Of the entry that the index has by a key: its block's index, and its confirm; b"" of a
        spend. Who asks for a coin by a name that is another's, turned around, is led to a spend."""
        place, n = self._place_of(entry)
        n_confirms = self._heads.confirms[place]
        start = self._heads.starts[place] + _HEAD.size
        if n < n_confirms:
            confirm = self._data.read(CONFIRM_BYTES, start + CONFIRM_BYTES * n)
            found = names_of(confirm)
        else:
            start += CONFIRM_BYTES * n_confirms + NAME_BYTES * (n - n_confirms)
            confirm, found = b"", self._data.read(NAME_BYTES, start).translate(_TURNED)
        if found == key:
            return self._heads.indices[place], confirm
        raise self.damaged(f"entry {entry} is not {key.hex()}, as the index says")

    def damaged(self, problem: str) -> CorruptDatabaseError:
        """The error for a file that is not as the others say."""
        return CorruptDatabaseError(self.path, problem)

    def _place_of(self, entry: int) -> tuple[int, int]:
        """Of the entry's block, and how many of that come before it."""
        place = bisect_left(self._heads.ends, entry)
        if place == len(self):
            raise self.damaged(f"it ends before entry {entry}")
        return place, entry - 1 - self._heads.entries_of(place)

    def _blocks(self, begin: int, end: int) -> Iterator[PackedBlocks]:
        """Those at places begin … end-1, as of now."""
        heads, data = self._heads, self._data.again()
        found = range(begin, min(end, len(heads)))
        return _blocks(data, ((heads.starts[place], heads.head(place)) for place in found))

    def _take(self, head: Head) -> bool:
        """Whether a record may come next; then it has."""
        is_rewind = head.n_confirms == head.n_spends == _REWIND
        if is_rewind and head.place <= len(self):
            self._heads.cut(head.place)
        elif not is_rewind and head.place == len(self) and head.block_index > self._newest:
            self._heads.add(self._end, head)
        else:
            return False
        self._end += head.n_bytes
        return True

    @property
    def _newest(self) -> int:
        return self._heads.indices[-1] if len(self) else -1

    def _take_offsets(self, offsets: bytes) -> None:
        """Those entries that are whole: a crash may leave others, which data has as well."""
        whole = len(offsets) // _ENTRY.size * _ENTRY.size
        for start, *head, _ in _ENTRY.iter_unpack(offsets[:whole]):
            if start != self._end or not _is_entry(offsets, self._saved):
                break
            if not self._take(Head(*head)):
                break
            self._saved += 1
        if self._data.n_bytes < self._end:
            raise self.damaged(f"it is cut at byte {self._data.n_bytes}")

    def _take_data(self, n_bytes: int) -> None:
        """Whole records behind the newest one that offsets has, up to a torn one."""
        while self._end + _HEAD.size + _CRC.size <= n_bytes:
            start = self._end
            *fields, _ = _HEAD.unpack(self._data.read(_HEAD.size, start))
            head = Head(*fields)
            if start + head.n_bytes > n_bytes or not self._has_whole(start, head.n_bytes):
                return
            if not self._take(head):
                return
            self._remember(start, head)

    def _has_whole(self, start: int, n_bytes: int) -> bool:
        """Whether a record of so many bytes is there: a chunk at a time, for they may be a lie."""
        checksum, end = _seed(start), start + n_bytes - _CRC.size
        for at in range(start, end, _CHUNK_BYTES):
            checksum = zlib.crc32(self._data.read(min(_CHUNK_BYTES, end - at), at), checksum)
        return self._data.read(_CRC.size, end) == _CRC.pack(checksum)

    def _mend(self, synced: int) -> None:
        """Have what a crash has left survive power loss.

        A sync that failed may have dropped what is read here: it is written again.
        """
        self._data.cut(self._end)
        for start in range(synced, self._end, _CHUNK_BYTES):
            n_bytes = min(_CHUNK_BYTES, self._end - start)
            self._data.write(self._data.read(n_bytes, start), start)
        self._offsets.cut(_ENTRY.size * self._saved)
        self._data.sync()
        self._offsets.sync()
        self.sync()

    def _record(self, head: Head, timestamp: int, body: bytes) -> bytes:
        """The bytes of the next record, which is taken."""
        start = self._end
        record = _HEAD.pack(*head, timestamp) + body
        if not self._take(head):
            raise self.damaged(f"no block {head.block_index} can follow")
        self._remember(start, head)
        return record + _CRC.pack(zlib.crc32(record, _seed(start)))

    def _remember(self, start: int, head: Head) -> None:
        entry = _ENTRY.pack(start, *head, 0)[: -_CRC.size]
        self._unsaved += entry + _entry_checksum(entry, self._saved + self._n_unsaved)


def _opened(path: Path, undo: ExitStack, *, read_only: bool) -> _File:
    if read_only and not path.exists():
        raise DatabaseNotFoundError(path, "it is missing")
    with storage_errors(path):
        file = _File(path, own(path, os.O_RDONLY if read_only else os.O_RDWR | os.O_CREAT))
    undo.callback(file.close)
    return file


def _entry_checksum(entry: bytes, number: int) -> bytes:
    return _CRC.pack(zlib.crc32(entry, number))


def _is_entry(offsets: bytes, number: int) -> bool:
    """Whether the entry of that number, from 0 on, has the right checksum."""
    end = _ENTRY.size * (number + 1) - _CRC.size
    entry = offsets[_ENTRY.size * number : end]
    return offsets[end : end + _CRC.size] == _entry_checksum(entry, number)


def _seed(start: int) -> int:
    return zlib.crc32(start.to_bytes(8, "little"))


def _is_whole(record: bytes, start: int) -> bool:
    checksum = _CRC.pack(zlib.crc32(record[: -_CRC.size], _seed(start)))
    return checksum == record[-_CRC.size :]


def _blocks(data: _File, heads: Iterable[tuple[int, Head]]) -> Iterator[PackedBlocks]:
    """The blocks whose records begin there, which stay where they are, whatever comes."""
    for start, head in heads:
        record = data.read(head.n_bytes, start)
        *found, timestamp = _HEAD.unpack(record[: _HEAD.size])
        if not _is_whole(record, start) or Head(*found) != head:
            raise CorruptDatabaseError(data.path, f"block {head.block_index} fails its checksum")
        spends = _HEAD.size + CONFIRM_BYTES * head.n_confirms
        yield PackedBlocks(
            array("Q", [head.block_index]),
            array("Q", [timestamp]),
            array("Q", [head.n_spends]),
            array("Q", [head.n_confirms]),
            record[spends : -_CRC.size],
            record[_HEAD.size : spends],
            b"",
        )


def _keys(block: PackedBlocks) -> Iterator[bytes]:
    """The names of a block's entries, in their order, as the index has them."""
    names = names_of(block.confirms) + bytes(block.spends).translate(_TURNED)
    return (name for (name,) in iter_unpack(f"{NAME_BYTES}s", names))


class OffsetLog:
    """See HistoryBackend, PresentBackend, SettlingBackend and TellingBackend."""

    reads_beside = False

    def __init__(self, log: Log, names: IndexedNames) -> None:
        self._log = log
        self._names = names

    @property
    def newest_index(self) -> int | None:
        """See PackedBackend."""
        return self._log.newest_index

    def accept(self, blocks: PackedBlocks, *, may_defer: bool) -> PackedBlocks | None:
        """See PackedBackend. No refusal is deferred."""
        bad = first_not_canonical(blocks)
        good = blocks if bad is None else blocks.part(0, bad)
        if not self._append(good):
            *before, last = (good.part(place, place + 1) for place in range(len(good)))
            return next((block for block in before if not self._append(block)), last)
        return None if bad is None else blocks.part(bad, bad + 1)

    def commit(self) -> None:
        """See PackedBackend."""
        self._log.sync()
        self._names.committed()

    def settle(self) -> None:
        """See SettlingBackend: the index owes it."""
        self.commit()
        self._names.settle()

    def facts(self) -> Facts:
        """See TellingBackend."""
        return Facts(self._log.n_coins, self._names.is_settled)

    def rewind(self, block_index: int) -> None:
        """See PackedBackend. The index first: what it lacks after a crash it gets from the log."""
        self._names.rewind(self._log.kept_by(block_index))
        self._log.rewind(block_index)

    def find(self, names: bytes | memoryview) -> tuple[bytearray, bytearray]:
        """See PackedBackend."""
        each = [name for (name,) in iter_unpack(f"{NAME_BYTES}s", names)]
        return packed_infos(
            (*unpack(CONFIRM_FORMAT, confirm), index, spent) if confirm else None
            for (index, confirm), spent in zip(
                self._entries(each), self.spent_by(each), strict=True
            )
        )

    def spent_by(self, names: Sequence[bytes]) -> list[int]:
        """The index of the block that spends each coin; 0 where none does."""
        turned = [name.translate(_TURNED) for name in names]
        return [0 if confirm else index for index, confirm in self._entries(turned)]

    def _entries(self, keys: Sequence[bytes]) -> list[tuple[int, bytes]]:
        """See Log.entry; of keys that the index does not have (0, b"")."""
        return [
            (0, b"") if entry is None else self._log.entry(entry, key)
            for entry, key in zip(self._names.find(keys), keys, strict=True)
        ]

    def find_as_of(self, names: bytes | memoryview, height: int) -> tuple[bytearray, bytearray]:
        """See AsOfBackend."""
        return masked(self.find(names), height)

    def read_states(self, first: int, last: int) -> "_States":
        """See PresentBackend."""
        return _States(in_packs(self._log.blocks(first, last), _STATE_ENTRIES), self.spent_by)

    def block(self, block_index: int) -> BlockSpendInfo | None:
        """See PackedBackend."""
        found = next(self._log.blocks(block_index, block_index), None)
        return None if found is None else found.block(0)

    def read(self, first: int, last: int, entries: int) -> Iterator[PackedBlocks]:
        """See PackedBackend."""
        packs = in_packs(self._log.blocks(first, last), min(entries, MOST_ENTRIES))
        return map(with_names, packs)

    def finish(self) -> None:
        """See PackedBackend."""
        self.commit()
        self._names.checkpoint()

    def close(self) -> None:
        """See PackedBackend."""
        with ExitStack() as stack:
            stack.callback(self._log.close)
            stack.callback(self._names.close)

    def _append(self, blocks: PackedBlocks) -> bool:
        """Add all of the blocks; or none, and return False, where one breaks a rule."""
        if len(blocks):
            faults, _ = examine(join(blocks, self.newest_index), LookedUp(self.find))
            if faults:
                return False
            first = self._log.row_count + 1
            parts = (blocks.part(place, place + 1) for place in range(len(blocks)))
            keys = (key for part in parts for key in _keys(part))
            self._log.append(blocks)
            self._names.add({key: entry for entry, key in enumerate(keys, first)})
        return True


class _States:
    """See StateReader. spent_by: of names, the blocks that spend them, or 0."""

    def __init__(
        self, packs: Iterator[PackedBlocks], spent_by: Callable[[Sequence[bytes]], list[int]]
    ) -> None:
        self._packs = packs
        self._spent_by = spent_by
        self._pack = PackedBlocks.of([])

    def next_coins(self) -> int:
        """See StateReader."""
        self._pack = next(self._packs, PackedBlocks.of([]))
        return len(self._pack)

    def states(self, height: int, *, only_unspent: bool) -> Page:
        """See StateReader."""
        pack = self._pack
        names = [name for (name,) in iter_unpack("32s", names_of(pack.confirms))]
        coins = iter_unpack(CONFIRM_FORMAT, pack.confirms)
        confirmed = for_each(pack.indices, pack.confirm_ends)
        left = [
            (name, (*coin, index, spent if spent <= height else 0))
            for name, coin, index, spent in zip(
                names, coins, confirmed, self._spent_by(names), strict=True
            )
            if not only_unspent or not 0 < spent <= height
        ]
        infos, _ = packed_infos(info for _, info in left)
        return Page(b"".join([name for name, _ in left]), infos)


class OffsetStore(Settling, Telling, SnapshotHistory):
    """See Store. One lock makes each call whole: reads from other threads wait for the writer."""

    _backend: OffsetLog


def open_log(
    path: str | PathLike[str],
    *,
    durability: Durability = Durability.POWER,
    read_only: bool = False,
    memtable_entries: int = _MEMTABLE_ENTRIES,
) -> Store:
    """Open or create a database. memtable_entries: how many new names are collected before they
    are written to the index. See Home for the errors."""

    def open_it(path: Path, *, durability: Durability, read_only: bool) -> OffsetLog:
        for _ in range(_READ_TRIES if read_only else 0):
            # A writer that is alive may change the index between our look at the log and at it.
            with suppress(StaleIndexError):
                return _backend(path, memtable_entries, read_only=read_only)
        return _backend(path, memtable_entries, read_only=read_only)

    return open_backend(
        _NAME,
        open_it,
        path,
        durability=durability,
        read_only=read_only,
        folder=_INDEX,
        kind=OffsetStore,
    )


def _backend(path: Path, memtable_entries: int, *, read_only: bool) -> OffsetLog:
    with ExitStack() as undo:
        log = Log(path, read_only=read_only)
        undo.callback(log.close)
        names = IndexedNames(
            log,
            path / _INDEX,
            partial(_open_index, read_only=read_only),
            memtable_coins=memtable_entries,
            durability=Durability.POWER,
            read_only=read_only,
        )
        undo.pop_all()
        return OffsetLog(log, names)


_open_index = partial(LsmIndex, run_format=FLAT, durability=Durability.POWER)


def check_log(path: Path, progress: Progress) -> Iterator[Damage]:
    """All damage to the files, and to the index where they are sound. See cdb.schemas."""
    home = checked_home(located(path, read_only=True), _NAME, 1, _DATA, folder=_INDEX)
    with home as (inside, damages):
        yield from damages
        with closing(Log(inside, read_only=True, by_offsets=False)) as log:
            progress(log.n_coins)
            whole = len(log.offsets) // _ENTRY.size * _ENTRY.size
            if (damage := log.surplus()) is not None:
                yield Damage.of(damage, _DATA if Path(damage.path).name == _OFFSETS else None)
            elif not (inside / _OFFSETS).exists():
                yield Damage(inside / _OFFSETS, "it is missing", _DATA)
            elif not log.places.startswith(log.offsets[:whole]):
                problem = "it does not say where the records are"
                yield Damage(inside / _OFFSETS, problem, _DATA)
            else:
                open_index = partial(_open_index, read_only=True)
                yield from check_index(log, inside / _INDEX, open_index, progress)


def repair_log(path: Path, damages: Sequence[Damage], progress: Progress) -> None:
    """Make FORMAT, offsets and the index again, from data. See cdb.schemas."""
    home = repaired_home(located(path, read_only=False), _NAME, 1, damages, folder=_INDEX)
    with home as (inside, others):
        if inside / _OFFSETS in others:
            write_own(inside / _OFFSETS, b"")
            Log(inside, read_only=False).close()
        if others:
            with closing(Log(inside, read_only=True)) as log:
                rebuild_index(log, inside / _INDEX, _open_index, _MEMTABLE_ENTRIES, progress)


SCHEMA = SchemaSpec(
    open_log,
    durabilities=(Durability.POWER,),
    offers=(AcceptsPacked, ReadsPacked, Settles, HistoryPacked, TellsFacts),
    history=BY_CREATION,
    check=check_log,
    repair=repair_log,
    small=partial(open_log, memtable_entries=40),
    limits=("derived index",),
    checksummed="db/(FORMAT|data|index/.*)",
)
