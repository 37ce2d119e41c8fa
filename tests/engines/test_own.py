"""Own files are opened without following a link, also one that came after the look at it."""

from pathlib import Path

import pytest

from cdb.durability import Durability
from cdb.engines import own as own_files
from cdb.engines.coin_log import CoinLog, missing
from cdb.engines.files import replace_file
from cdb.engines.own import own
from cdb.errors import StorageError


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
    with pytest.raises(StorageError, match=str(link.with_name("file"))):
        replace_file(link.with_name("file"), b"new", durable=False)
    assert link.read_bytes() == b"somebody's"


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
