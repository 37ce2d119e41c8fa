"""What faults found once, each with a test of its own."""

from pathlib import Path

import pytest

from cdb.errors import StorageError
from cdb.schemas import find_schema, open_schema
from cdb.testing.faults import Trials, interfere, missing, scratch
from cdb.testing.faults.power import record
from cdb.testing.faults.recorder import Kind, Operation

preloads = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@preloads
def test_the_journal_of_a_new_sqlite_file_is_gone_for_good_before_it_has_a_wal(
    tmp_path: Path,
) -> None:
    with Trials("blockchain_v2") as trials:
        operations = record(trials, 1, tmp_path).operations

    def first(kind: Kind, name: str) -> int:
        return next(n for n, each in enumerate(operations) if _is(each, kind, name))

    removed, made = first(Kind.UNLINK, "db-journal"), first(Kind.OPEN, "db-wal")
    assert removed < made
    opened = next(each for each in operations[removed:made] if _is(each, Kind.OPEN, "root"))
    assert any(
        each.kind in (Kind.SYNC, Kind.DATA_SYNC) and each.descriptor == opened.descriptor
        for each in operations[removed:made]
    )


@preloads
def test_sqlite_hides_no_failed_fsync_from_us() -> None:
    with Trials("blockchain_v2") as trials, scratch() as directory:
        coverage = interfere(trials, 1, Path(directory), "eio-sync")
    assert coverage.points == coverage.possible > 0


def test_an_index_directory_that_cannot_be_made_is_a_storage_error(tmp_path: Path) -> None:
    path = tmp_path / "db"
    path.mkdir()
    (path / "FORMAT").write_text("cdb sqlite_v3 2\n")
    (path / "index").write_bytes(b"in the way")
    with pytest.raises(StorageError, match=str(path / "index")):
        open_schema("sqlite_v3", path)


@pytest.mark.skipif(find_schema("rocks_kv").missing is not None, reason="rocks_kv is missing")
def test_an_unfinished_run_that_cannot_be_removed_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "db"
    open_schema("rocks_kv", path).close()
    unfinished = path / "db" / "unfinished-coins"
    unfinished.mkdir()
    (unfinished / "in-the-way").touch()
    with pytest.raises(StorageError, match="unfinished-coins"):
        open_schema("rocks_kv", path)


def _is(operation: Operation, kind: Kind, name: str) -> bool:
    return operation.kind is kind and Path(operation.path).name == name
