"""A name is given to what has none, durably, and nothing that has one is overwritten."""

import errno
from pathlib import Path

import pytest

from cdb.disk import rename
from cdb.disk.rename import rename_new
from cdb.errors import StorageError, UnsupportedError
from tests.conftest import contents


def test_a_file_and_a_directory_take_a_new_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"1")
    (tmp_path / "directory").mkdir()
    rename_new(tmp_path / "file", tmp_path / "directory" / "other")
    rename_new(tmp_path / "directory", tmp_path / "new")
    assert contents(tmp_path) == {"new": None, "new/other": b"1"}


def test_both_directories_are_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(rename, "fsync_dir", synced.append)
    for name in ("before", "after"):
        (tmp_path / name).mkdir()
    (tmp_path / "before/file").write_bytes(b"1")
    rename_new(tmp_path / "before/file", tmp_path / "after/file")
    assert synced == [tmp_path / "after", tmp_path / "before"]


@pytest.mark.parametrize("is_directory", [False, True])
def test_nothing_is_overwritten(tmp_path: Path, is_directory: bool) -> None:
    """Not even an empty directory, which rename() itself would replace."""
    for name in ("old", "new"):
        if is_directory:
            (tmp_path / name).mkdir()
        else:
            (tmp_path / name).write_text(name)
    before = contents(tmp_path)
    with pytest.raises(StorageError, match=r"new: .*exists"):
        rename_new(tmp_path / "old", tmp_path / "new")
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("number", "error", "problem"),
    [
        (errno.ENOSYS, UnsupportedError, "so that none is lost; copy it to an ext4"),
        (errno.EINVAL, UnsupportedError, "so that none is lost; copy it to an ext4"),
        (errno.EIO, StorageError, "new: "),
    ],
)
def test_a_system_that_can_not(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    error: type[Exception],
    problem: str,
) -> None:
    monkeypatch.setattr(rename, "_error_of_rename", lambda path, target: number)
    (tmp_path / "old").write_text("old")
    with pytest.raises(error, match=problem):
        rename_new(tmp_path / "old", tmp_path / "new")
    assert contents(tmp_path) == {"old": b"old"}
