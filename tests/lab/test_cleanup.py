"""Only what a bench made is taken away, whatever else is called so."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cdb.errors import CdbError
from cdb.lab import cleanup
from cdb.lab.cleanup import keeping, make_folder, remove, remove_remains
from cdb.lab.mounts import Mount, mounts_below
from tests.conftest import contents

NOBODY = 65_534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts, and gives files away")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The remains of a place."""
    folder = tmp_path / "parent" / "cdb-place-1-00"
    folder.parent.mkdir()
    make_folder(folder)
    (folder / "disk" / "database").mkdir(parents=True)
    (folder / "disk" / "database" / "file").write_bytes(b"data")
    (folder / "image").write_bytes(b"blocks")
    return folder


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """What looks like a place, but is somebody's, and stays as it is."""
    outside = tmp_path / "outside"
    (outside / "disk").mkdir(parents=True)
    (outside / "disk" / "file").write_bytes(b"somebody's")
    (outside / "image").write_bytes(b"somebody's")
    outside.chmod(0o700)
    before = contents(outside)
    yield outside
    assert contents(outside) == before


def test_remains_are_removed(folder: Path) -> None:
    with keeping(folder) as descriptor:
        remove_remains(folder.parent)
        assert descriptor is not None
        assert folder.exists()
    remove_remains(folder.parent)
    assert contents(folder.parent) == {}


def test_a_link_to_what_looks_like_a_place(folder: Path, outside: Path) -> None:
    folder.with_name("cdb-place-0").symlink_to(outside)
    remove_remains(folder.parent)
    assert [each.name for each in folder.parent.iterdir()] == ["cdb-place-0"]


def test_a_directory_that_others_may_enter(folder: Path) -> None:
    folder.chmod(0o755)
    before = contents(folder)
    remove_remains(folder.parent)
    assert contents(folder) == before


@as_root
def test_another_users_directory(folder: Path) -> None:
    os.chown(folder, NOBODY, -1)
    before = contents(folder)
    remove_remains(folder.parent)
    assert contents(folder) == before


def _link_as_disk(folder: Path, outside: Path) -> None:
    (folder / "disk").rename(folder / "old")
    (folder / "disk").symlink_to(outside)


def _link_as_image(folder: Path, outside: Path) -> None:
    (folder / "image").unlink()
    (folder / "image").symlink_to(outside / "image")


def _link_on_the_disk(folder: Path, outside: Path) -> None:
    (folder / "disk" / "database" / "link").symlink_to(outside)


def _more_than_a_place_has(folder: Path, outside: Path) -> None:
    (folder / "more").symlink_to(outside)
    (folder / "notes").mkdir()


@pytest.mark.usefixtures("outside")
@pytest.mark.parametrize(
    "plant", [_link_as_disk, _link_as_image, _link_on_the_disk, _more_than_a_place_has]
)
def test_what_is_planted_in_a_place(
    folder: Path, outside: Path, plant: Callable[[Path, Path], None]
) -> None:
    plant(folder, outside)
    others = [each for each in folder.iterdir() if each.name not in ("disk", "image")]
    remove_remains(folder.parent)
    assert all(each.exists() for each in others)


@pytest.mark.parametrize("image", [None, "elsewhere"])
def test_another_disk_is_not_taken_away(
    folder: Path, monkeypatch: pytest.MonkeyPatch, image: str | None
) -> None:
    mount = Mount(folder / "disk", "7:0", None if image is None else folder / image)
    monkeypatch.setattr(cleanup, "mounts_below", lambda path: (mount,))
    monkeypatch.setattr(cleanup, "unmount_at_last", lambda path: pytest.fail("unmounted"))
    before = contents(folder)
    with keeping(folder) as descriptor:
        assert descriptor is not None
        with pytest.raises(CdbError, match="somebody else's disk"):
            remove(folder, descriptor)
    assert contents(folder) == before


@as_root
@pytest.mark.parametrize("how", ["link", "mount", "folder"])
def test_what_is_mounted_stays_mounted(tmp_path: Path, folder: Path, how: str) -> None:
    """A disk behind a link; somebody's on a place's; and somebody's with a place on it."""
    victim = tmp_path / "victim"
    (victim / "disk").mkdir(parents=True)
    victim.chmod(0o700)
    where = {"link": victim / "disk", "mount": folder / "disk", "folder": folder}[how]
    command = ["mount", "-t", "tmpfs", "-o", "mode=700,size=64k", "tmpfs", str(where)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        (where / "disk").mkdir()
        (where / "file").write_bytes(b"somebody's")
        folder.with_name("cdb-place-0").symlink_to(victim)
        remove_remains(folder.parent)
        assert where.is_mount()
        assert contents(where) == {"disk": None, "file": b"somebody's"}
    finally:
        subprocess.run(["umount", str(where)], check=False)


def test_what_linux_says_of_mounts(tmp_path: Path) -> None:
    mounts, devices = tmp_path / "mountinfo", tmp_path / "block"
    lines = [
        "22 27 0:21 / /proc rw,relatime - proc proc rw",
        r"90 27 7:3 / /a\040place/disk rw,noatime shared:1 - ext4 /dev/loop3 rw",
        r"91 27 0:30 / /a\040place/disk/more rw - tmpfs tmpfs rw",
        r"92 27 0:31 / /a\040place-2 rw - tmpfs tmpfs rw",
    ]
    mounts.write_text("\n".join(lines) + "\n")
    (devices / "7:3" / "loop").mkdir(parents=True)
    (devices / "7:3" / "loop" / "backing_file").write_text("/a place/image\n")
    place = Path("/a place")
    assert mounts_below(place, mounts, devices) == (
        Mount(place / "disk", "7:3", place / "image"),
        Mount(place / "disk" / "more", "0:30", None),
    )
    assert mounts_below(place, tmp_path / "absent") == ()
