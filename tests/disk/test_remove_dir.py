"""What a crash leaves of a directory that is removed: all of it, or nothing of that name."""

import shutil
from pathlib import Path

import pytest

from cdb.disk import files
from cdb.disk.files import finish_removal, remove_dir, temporary


def test_it_has_another_name_for_good_before_anything_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, steps = tmp_path / "index", list[str]()
    path.mkdir()
    (path / "file").touch()
    rmtree, fsync_dir = shutil.rmtree, files.fsync_dir

    def synced(directory: Path) -> None:
        assert (directory, path.exists()) == (tmp_path, False)
        steps.append("synced")
        fsync_dir(directory)

    def removed(directory: Path) -> None:
        steps.append("removed")
        rmtree(directory)

    monkeypatch.setattr(files, "fsync_dir", synced)
    monkeypatch.setattr(shutil, "rmtree", removed)
    remove_dir(path)
    assert steps == ["synced", "removed"]
    assert list(tmp_path.iterdir()) == []


def test_what_a_crash_left_goes_first(tmp_path: Path) -> None:
    path = tmp_path / "index"
    for directory in (path, temporary(path)):
        directory.mkdir()
        (directory / "file").touch()
    remove_dir(path)
    assert list(tmp_path.iterdir()) == []
    remove_dir(path)
    finish_removal(path)
