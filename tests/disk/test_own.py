"""Own files are opened without following a link, also one that came after the look; and locked."""

import errno
import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cdb.contract.durability import Durability
from cdb.disk import home
from cdb.disk import paths as own_files
from cdb.disk.files import replace_file, write_output
from cdb.disk.paths import own, read_own
from cdb.errors import CorruptDatabaseError, DatabaseError, StorageError, WrongDatabaseError
from cdb.stores.coin_log.binding import CoinLog, missing
from tests.conftest import contents


@pytest.fixture
def link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A link to a file, which nobody sees before it is opened."""
    monkeypatch.setattr(own_files, "check_file", lambda path, read_only: None)
    (tmp_path / "outside").write_bytes(b"somebody's")
    (tmp_path / "file.tmp").symlink_to(tmp_path / "outside")
    return tmp_path / "file.tmp"


def test_a_link_is_not_read(link: Path) -> None:
    with pytest.raises(OSError, match="symbolic link"), open(link, "rb", opener=own):
        pass


def test_a_link_is_not_written(link: Path) -> None:
    replace_file(link.with_name("file"), b"new", durable=False)
    assert link.with_name("outside").read_bytes() == b"somebody's"


def test_a_file_with_another_name_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(b"somebody's")
    (tmp_path / "file.tmp").hardlink_to(tmp_path / "outside")
    replace_file(tmp_path / "file", b"new", durable=False)
    assert (tmp_path / "file").read_bytes() == b"new"
    assert (tmp_path / "outside").read_bytes() == b"somebody's"


@pytest.mark.parametrize("target", ["outside", "missing"])
@pytest.mark.parametrize("suffix", ["", ".tmp"])
def test_output_goes_through_no_link(tmp_path: Path, target: str, suffix: str) -> None:
    (tmp_path / "outside").write_bytes(b"somebody's")
    (tmp_path / f"out{suffix}").symlink_to(tmp_path / target)
    advice = "put there what" if suffix else "name the file that"
    with pytest.raises(DatabaseError, match=f"this is a link.*; {advice} it leads to"):
        write_output(tmp_path / "out", b"new")
    assert contents(tmp_path)["outside"] == b"somebody's"
    assert not (tmp_path / "missing").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_output_replaces_no_file_of_another_user(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"somebody's")
    os.chown(tmp_path / "out", 65_534, -1)
    with pytest.raises(DatabaseError, match="belongs to user"):
        write_output(tmp_path / "out", b"new")
    assert (tmp_path / "out").read_bytes() == b"somebody's"


def test_output_replaces_a_file_and_goes_into_a_device(tmp_path: Path) -> None:
    for data in (b"old", b"new"):
        write_output(tmp_path / "out", data)
    write_output(Path(os.devnull), b"data")
    assert contents(tmp_path) == {"out": b"new"}


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
@pytest.mark.parametrize("name", ["log", "acked"])
@pytest.mark.parametrize("read_only", [True, False])
def test_the_coin_log_follows_no_link(tmp_path: Path, name: str, read_only: bool) -> None:
    path, outside = tmp_path / "db", tmp_path / "outside"
    path.mkdir()
    CoinLog(path, durability=Durability.POWER).close()
    (path / name).rename(outside)
    before = outside.read_bytes()
    (path / name).symlink_to(outside)
    with pytest.raises(StorageError, match=name):
        CoinLog(path, durability=Durability.POWER, read_only=read_only)
    assert outside.read_bytes() == before


def test_a_hole_is_not_read_to_its_end(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(CorruptDatabaseError, match="longer than such a file can be"):
        read_own(tmp_path / "file")


@pytest.mark.parametrize(
    "locked", [home.Lock, lambda *paths: home.writers_kept_out(*paths).__enter__()]
)
def test_a_file_system_without_locks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locked: Callable[[Path, Path], object]
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    (tmp_path / "LOCK").touch()
    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(StorageError, match=r"LOCK: No locks available \(ENOLCK\); name a path on"):
        locked(tmp_path / "LOCK", tmp_path)


def test_a_link_to_a_database_is_not_called_a_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    for name, problem in {"link": "this is a link; name", "file": "this is a file, and a"}.items():
        (tmp_path / "file").touch()
        checked = home.checked_home(tmp_path / name, "coin_log", 2, "log", folder="derived")
        with pytest.raises(WrongDatabaseError, match=problem), checked:
            pytest.fail("it was opened")
