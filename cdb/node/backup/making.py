"""Makes a backup of a node's database, whether the node runs or not.

First the coins are read out of the log, block by block, into a new one; then the file is copied, in
one read transaction. So the copy of the file is newer, and its table cdb_ops has what the copy of
the log lacks: no node deletes rows of it meanwhile (cdb.node.kept_rows). At last these are
applied to the copy, which holds each one against the block that it stands on.

Only the copies are ever written to. They are made in DIR.partial, which gets its name in one step,
once they are whole and durable.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path

from cdb.contract.durability import Durability
from cdb.contract.progress import StepBar
from cdb.disk.files import fsync_dir, fsync_file, temporary
from cdb.disk.home import LOCK_FILE
from cdb.disk.paths import located
from cdb.disk.room import SPARE_BYTES, check_room
from cdb.errors import (
    DatabaseClosedError,
    StorageError,
    WrongDatabaseError,
    storage_errors,
)
from cdb.node import ops_table
from cdb.node.backup import work_directory
from cdb.node.backup.directory import (
    BACKUP_FILE,
    PARTIAL_SUFFIX,
    Contents,
    file_in,
    log_in,
    size_bytes,
    write_contents,
)
from cdb.node.kept_rows import rows_kept
from cdb.node.log import catch_up, log_path_of, root_of
from cdb.node.node_database import TABLES, check_in_log, operations_of
from cdb.node.operation import Operation, Tip
from cdb.node.status import check_log, damage_explained
from cdb.process.read_ahead import read_ahead
from cdb.schemas import coin_log
from cdb.stores.rows.snapshot import Snapshot
from cdb.stores.rows.sqlite import SIDE_SUFFIXES, connect, sqlite_errors

_PAGES_A_STEP = 4096


def back_up(file: str | PathLike[str], directory: str | PathLike[str], bar: StepBar) -> Contents:
    """Make a backup of a node's file, and of its coins, in a directory that is not there yet.

    Raises DatabaseError: WrongDatabaseError where the coins are not in a log, or the log is
    another's; CorruptDatabaseError for damage that was met; StorageError. The node's own files
    stay as they are, whatever happens.
    """
    file = located(file, read_only=True)
    log_path = log_path_of(file)
    with _snapshot(file) as snapshot, snapshot.reading():
        check_in_log(snapshot.connection, file)
    check_log(file)
    target = located(directory, read_only=False)
    if target.is_relative_to(log_path):
        raise WrongDatabaseError(target, "this lies in the node's coin log; name a path outside it")
    with _work_directory(target, file) as work:
        check_room(work, "the backup", size_bytes(file) + size_bytes(log_path) + SPARE_BYTES)
        with rows_kept(log_path), damage_explained(file):
            _copy_log(log_path, file, log_in(work), bar)
            _copy_file(file, file_in(work), bar)
        height = _apply_rows(file_in(work), log_in(work), root_of(log_path))
        contents = _contents(work, height)
        write_contents(work, contents)
    return contents


@contextmanager
def _work_directory(target: Path, source: Path) -> Iterator[Path]:
    """An empty directory beside the target, where the backup is made, to have that name at the end;
    it goes if that fails."""
    work = target.with_name(target.name + PARTIAL_SUFFIX)
    if target in {source.with_name(source.name + suffix) for suffix in SIDE_SUFFIXES}:
        raise WrongDatabaseError(target, "SQLite needs this name beside the file; name another")
    if os.path.lexists(target):
        raise WrongDatabaseError(target, "something is there already; name a new directory")
    file, mark = file_in(work), work / BACKUP_FILE
    names = {each.name for each in (mark, temporary(mark), file, log_in(work))}
    names |= {file.name + suffix for suffix in SIDE_SUFFIXES}
    lock = work_directory.take(work, names, "the backup")
    try:
        work_directory.empty(work, lock)
        yield work
        lock.check_in_place()
        _publish(work, target)
    except BaseException:
        with suppress(StorageError):
            work_directory.remove(work, lock)
        raise
    finally:
        lock.release()


def _copy_log(source: Path, file: Path, target: Path, bar: StepBar) -> None:
    """Make a log of the blocks of another one, beside its writer."""
    with coin_log.indexed(target, durability=Durability.POWER) as copy:
        while True:
            try:
                with coin_log.indexed(source, read_only=True) as log:
                    _copy_blocks(log, copy, bar)
                    copy.flush()
                    return
            except DatabaseClosedError:
                # It was rewound, by an operation whose row is there, as no row goes meanwhile.
                lowest = _lowest_height(file)
                if (copy.last_block_index or 0) >= lowest:
                    copy.rewind_to_block_index(lowest - 1)


def _copy_blocks(log: coin_log.CoinLogSchema, copy: coin_log.CoinLogSchema, bar: StepBar) -> None:
    newest = copy.last_block_index
    done = -1 if newest is None else newest
    with bar("coins", log.last_block_index, " heights") as progress:
        progress(done + 1)
        for packed in read_ahead(log.blocks_packed(done + 1)):
            copy.accept_packed(packed)
            progress(packed.indices[-1] - done)
            done = packed.indices[-1]


def _lowest_height(file: Path) -> int:
    """Of all blocks that rows of cdb_ops touch: those below are the same before and after."""
    with _snapshot(file) as snapshot, snapshot.reading():
        [(height,)] = snapshot.connection.execute("SELECT min(height) FROM cdb_ops")
        return int(height)


def _copy_file(source: Path, target: Path, bar: StepBar) -> None:
    """Copy an SQLite file, as of one moment, durably."""
    with _snapshot(source) as snapshot, closing(sqlite3.connect(target)) as copy:
        with sqlite_errors(target):
            copy.execute("PRAGMA journal_mode=OFF")
            copy.execute("PRAGMA synchronous=OFF")
        with snapshot.reading():
            [(page_bytes,)] = snapshot.connection.execute("PRAGMA page_size")
            [(n_pages,)] = snapshot.connection.execute("PRAGMA page_count")
            left = n_pages
            with bar("file", n_pages * page_bytes, "B") as progress:

                def step(status: int, remaining: int, total: int) -> None:
                    nonlocal left
                    progress((left - remaining) * page_bytes)
                    left = remaining

                with sqlite_errors(target):  # its disk may be full
                    snapshot.connection.backup(copy, pages=_PAGES_A_STEP, progress=step)
    fsync_file(target)


def _apply_rows(file: Path, log_path: Path, former_root: Tip) -> int:
    """Bring a copy's log to where its file is, and leave one row; the newest block's height.

    former_root: what stood for the log without coins that this is the copy of.
    """
    with closing(connect(file, Durability.POWER, {})) as connection, sqlite_errors(file):
        rows = [
            _on_root(row, former_root, root_of(log_path)) for row in operations_of(connection, file)
        ]
        with coin_log.indexed(log_path, durability=Durability.POWER) as log:
            catch_up(log, log_path, file, rows)
            height = log.last_block_index
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DELETE FROM cdb_ops")
        connection.execute(ops_table.INSERT, ops_table.values_of(rows[-1]))
        connection.execute("COMMIT")
    fsync_file(file)
    return -1 if height is None else height


def _on_root(operation: Operation, former: Tip, new: Tip) -> Operation:
    """The same operation; if it stands on a log without coins, then on the new one."""
    return replace(operation, tip=new) if operation.tip == former else operation


def _contents(work: Path, height: int) -> Contents:
    made_at = datetime.now(UTC).isoformat(timespec="seconds")
    return Contents(height, size_bytes(file_in(work)), size_bytes(log_in(work)), made_at)


def _publish(work: Path, target: Path) -> None:
    """Give the backup its name, durably."""
    fsync_dir(work)
    with storage_errors(target):
        work.rename(target)  # with the lock in it: nobody else takes that for an unfinished one
        fsync_dir(target.parent)  # fault: backup-name-not-synced
        (target / LOCK_FILE).unlink()
    fsync_dir(target)


def _snapshot(file: Path) -> Snapshot:
    return Snapshot(file, TABLES)
