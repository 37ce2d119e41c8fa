"""What a process measures of itself, and what it has of a file in memory."""

import sys
import threading
from pathlib import Path

import pytest

from cdb.bench import page_cache
from cdb.lab.process import fresh
from cdb.process.meter import Meter, allocated_bytes, database_files, size_bytes
from tests.lab import workloads

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts all this")
FILE_BYTES = 4 << 20


def test_the_time_of_all_threads() -> None:
    meter = Meter()
    busy = threading.Thread(target=lambda: sum(range(3_000_000)))
    busy.start()
    busy.join()
    assert meter.seconds() > 0
    assert meter.cpu_seconds() > 0.01
    assert Meter().cpu_seconds() < meter.cpu_seconds()


def test_bytes_written(disk_path: Path) -> None:
    meter = Meter()
    (disk_path / "file").write_bytes(bytes(FILE_BYTES))
    written = meter.bytes_written()
    assert written is not None
    assert FILE_BYTES <= written < 1.1 * FILE_BYTES


def test_the_peak_is_not_the_parents() -> None:
    big = b"x" * 300_000_000
    peak_bytes = int(fresh(workloads.peak).text)
    assert 1_000_000 < peak_bytes < len(big)


def test_filled_and_dropped(disk_path: Path) -> None:
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    kinds = {where: kind for _, where, kind, *_ in mounts}
    nearest = next(kinds[str(each)] for each in disk_path.parents if str(each) in kinds)
    if nearest in ("tmpfs", "ramfs"):
        pytest.skip("its files are on no disk")
    path = disk_path / "file"
    path.write_bytes(bytes(FILE_BYTES))
    page_cache.drop([path])
    meter = Meter()
    page_cache.fill(path)
    assert (meter.bytes_fetched() or 0) >= FILE_BYTES
    meter = Meter()
    path.read_bytes()
    assert (meter.bytes_fetched() or 0) < FILE_BYTES // 2


def test_the_files_of_a_database(tmp_path: Path) -> None:
    (tmp_path / "one.db").write_bytes(b"abc")
    (tmp_path / "one.db-wal").write_bytes(b"de")
    (tmp_path / "two.db").mkdir()
    (tmp_path / "two.db" / "deep").mkdir()
    (tmp_path / "two.db" / "deep" / "file").write_bytes(b"f")
    assert {path.name for path in database_files(tmp_path / "one.db")} == {"one.db", "one.db-wal"}
    assert size_bytes(tmp_path / "one.db") == 5
    assert size_bytes(tmp_path / "two.db") == 1


def test_the_files_of_a_database_behind_a_link(tmp_path: Path) -> None:
    """And only its own, whatever characters its name has."""
    (tmp_path / "real").mkdir()
    path = tmp_path / "real" / "db[1]"
    path.write_bytes(b"abc")
    path.with_name("db[1]-wal").write_bytes(b"de")
    path.with_name("db[1]2").write_bytes(b"another")
    link = tmp_path / "link"
    link.symlink_to(path)
    assert size_bytes(link) == size_bytes(path) == 5


def test_a_file_that_goes_while_sizes_are_added_up_counts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A merge in another thread removes old runs."""
    here, gone = tmp_path / "here", tmp_path / "gone"
    here.write_bytes(b"12345")
    monkeypatch.setattr("cdb.process.meter.database_files", lambda path: [here, gone])
    assert size_bytes(tmp_path) == 5
    assert allocated_bytes(tmp_path) == here.stat().st_blocks * 512
