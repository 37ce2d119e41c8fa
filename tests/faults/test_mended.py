"""What faults found once, each with a test of its own."""

import errno
import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from cdb.disk import files, home
from cdb.errors import CdbError, StorageError
from cdb.schemas import find_schema, open_schema
from cdb.testing.faults import CATALOGUE, all_subjects, missing, scratch
from cdb.testing.faults.calls import INTERFERENCES, Interference, interfere
from cdb.testing.faults.power import record
from cdb.testing.faults.recorder import Kind, Operation
from cdb.testing.faults.runs import Request, Run
from cdb.testing.faults.shim import Calls
from cdb.testing.faults.trial import DATABASE, new_directory

SYNCS = (Kind.SYNC, Kind.DATA_SYNC)

preloads = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@preloads
def test_the_journal_of_a_new_sqlite_file_is_gone_for_good_before_it_has_a_wal(
    tmp_path: Path,
) -> None:
    operations = record("blockchain_v2", 1, tmp_path).operations

    def first(kind: Kind, name: str) -> int:
        return next(n for n, each in enumerate(operations) if _is(each, kind, name))

    removed, made = first(Kind.UNLINK, "db-journal"), first(Kind.OPEN, "db-wal")
    assert removed < made
    opened = next(each for each in operations[removed:made] if _is(each, Kind.OPEN, "root"))
    assert any(
        each.kind in SYNCS and each.descriptor == opened.descriptor
        for each in operations[removed:made]
    )


@preloads
def test_sqlite_hides_no_failed_fsync_from_us() -> None:
    with scratch() as directory:
        coverage = interfere("blockchain_v2", 1, directory, "eio-sync")
    assert coverage.points == coverage.possible > 0


@pytest.mark.parametrize("pages_before", [0, 1])
def test_a_new_sqlite_file_of_zeros_is_made_again_if_its_journal_says_so(
    tmp_path: Path, pages_before: int
) -> None:
    """A power cut may keep the size of a new file, and nothing of what filled it."""
    path, journal = tmp_path / "db", tmp_path / "db-journal"
    path.write_bytes(bytes(4096))
    magic = bytes.fromhex("d9d505f920a163d7")
    header = struct.pack(">8s5I", magic, 0, 0, pages_before, 512, 4096).ljust(512, b"\0")
    journal.write_bytes(header)
    if pages_before:
        with pytest.raises(CdbError):
            open_schema("blockchain_v2", path)
        assert path.read_bytes() == bytes(4096)
        assert journal.read_bytes() == header
        return
    open_schema("blockchain_v2", path).close()
    assert path.read_bytes().startswith(b"SQLite format 3")
    assert not journal.exists()


@preloads
@pytest.mark.parametrize("name", ["rocks", "rocks_kv"])
def test_tables_stay_when_the_fsync_of_the_manifest_that_names_them_fails(name: str) -> None:
    spec = all_subjects()[name].spec
    problem = find_schema(spec).missing
    if problem is not None:
        pytest.skip(problem)
    with scratch() as directory:
        (directory / "whole").mkdir()
        operations = record(spec, 1, directory / "whole").operations
        for number in _syncs_of_ingestions(operations)[:2]:
            assert interfere(spec, 1, directory, "eio-sync", only=str(number)).points == 1


def _syncs_of_ingestions(operations: Sequence[Operation]) -> list[int]:
    """Which fsyncs, counted from 1, are those of a manifest that names a table just linked."""
    found, syncs, is_linked = [], 0, False
    for each, file in _with_files(operations):
        is_linked = is_linked or each.kind is Kind.LINK
        if each.kind not in SYNCS:
            continue
        syncs += 1
        # The first one after its tables were linked; before, it takes their numbers.
        if is_linked and file.startswith("MANIFEST"):
            found.append(syncs)
            is_linked = False
    return found


def _with_files(operations: Sequence[Operation]) -> Iterator[tuple[Operation, str]]:
    """Each with the name of the file that its descriptor was opened for; "" without one."""
    files: dict[int, str] = {}
    for each in operations:
        if each.kind is Kind.OPEN:
            files[each.descriptor] = Path(each.path).name
        yield each, files.get(each.descriptor, "")


@pytest.mark.long
@preloads
def test_a_table_that_cannot_be_read_while_it_is_taken_in_is_not_believed_to_be_empty(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """RocksDB took the ends of a table from such a read, and went on without its names."""
    spec, seed = all_subjects()["rocks"].spec, 6
    problem = find_schema(spec).missing
    if problem is not None:
        pytest.skip(problem)
    how = "eio-read"
    monkeypatch.setitem(INTERFERENCES, how, Interference("a read fails", Calls.READ, errno.EIO))
    with scratch() as directory:
        swallowed = list(islice(_reads_that_rocksdb_swallows(spec, seed, directory / "root"), 6))
        assert swallowed
        for call in swallowed:
            assert interfere(spec, seed, directory, how, only=str(call)).points == 1


def _reads_that_rocksdb_swallows(spec: str, seed: int, root: Path) -> Iterator[int]:
    """Which reads of its tables, counted from 1, may fail and it would go on writing."""

    def ended(call: int, action: int) -> Run:
        request = Request(spec, seed, new_directory(root) / DATABASE, calls=Calls.READ)
        return Run(replace(request, first=call, last=call, action=action)).listen_to_end()

    for call in range(1, ended(0, 0).calls + 1):
        if "because a read failed" in str(ended(call, errno.EIO).error):
            yield call


@preloads
@pytest.mark.parametrize("before", [0, pytest.param(1, marks=pytest.mark.long)])
def test_nothing_is_promised_that_a_killed_process_had_not_synced(before: int) -> None:
    """A flush with nothing to do promised what was found in the -wal. So did a close.

    before: SQLite fills a commit's last sector with copies: it is whole before the last write, too.
    """
    with scratch() as directory:
        trial = CATALOGUE["kill-reopen"].trial
        (directory / "whole").mkdir()
        operations = record("blockchain_v2", 1, directory / "whole").operations
        for sync in _changes_that_sync(operations, "db-wal"):
            only = str(sync - before)
            assert trial("blockchain_v2", 1, directory, most=None, only=only).points == 1


def _changes_that_sync(operations: Sequence[Operation], name: str) -> list[int]:
    """Which calls that change anything, counted from 1, are fsyncs of the file."""
    found, changes = [], 0
    for each, file in _with_files(operations):
        is_call = each.kind not in (Kind.CLOSE, Kind.DUPLICATE, Kind.MARK, Kind.UNSEEN)
        if is_call and (each.kind is not Kind.OPEN or each.at & (os.O_CREAT | os.O_TRUNC)):
            changes += 1
        if each.kind in SYNCS and file == name:
            found.append(changes)
    return found


@preloads
@pytest.mark.parametrize(("name", "sync"), [("flat_file", "1"), ("memory", None)])
def test_the_name_of_a_database_that_a_killed_process_made_is_synced(
    name: str, sync: str | None
) -> None:
    """memory replaces its file at each flush, so that each sync may be that of a name."""
    with scratch() as directory:
        trial, subject = CATALOGUE["eio-reopen"].trial, all_subjects()[name]
        coverage = trial(subject.spec, 1, directory, most=None, only=sync)
    assert coverage.points == (1 if sync else coverage.possible) > 0


def test_an_index_directory_that_cannot_be_made_is_a_storage_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "db"
    make = Path.mkdir

    def refuse_index(self: Path, *args: Any, **options: Any) -> None:
        if self.name == "index":
            raise PermissionError(errno.EACCES, "Permission denied")
        make(self, *args, **options)

    monkeypatch.setattr(Path, "mkdir", refuse_index)
    with pytest.raises(StorageError, match=str(path / "index")):
        open_schema("sqlite_v3", path)


@pytest.mark.skipif(find_schema("rocks_kv").missing is not None, reason="rocks_kv is missing")
def test_an_unfinished_run_that_cannot_be_removed_is_not_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Either would see it before.
    monkeypatch.setattr(files, "check_directory", lambda *_, **__: None)
    monkeypatch.setattr(home, "check_held", lambda *_, **__: None)
    path = tmp_path / "db"
    open_schema("rocks_kv", path).close()
    unfinished = path / "db" / "unfinished-rows"
    unfinished.mkdir()
    (unfinished / "in-the-way").touch()
    with pytest.raises(StorageError, match="unfinished-rows"):
        open_schema("rocks_kv", path)


def _is(operation: Operation, kind: Kind, name: str) -> bool:
    return operation.kind is kind and Path(operation.path).name == name
