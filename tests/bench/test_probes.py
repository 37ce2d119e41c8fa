"""Probes count what was really done: syncs, bytes, times, pages in memory."""

import mmap
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from cdb.bench import page_cache
from cdb.bench.figures import Usage
from cdb.bench.sync_calls import LIBRARY, SyncCalls, counting_syncs, sync_calls
from cdb.lab.latencies import Latencies, latencies
from cdb.lab.process import Limits, fresh_within
from cdb.process import meter as process_meter
from cdb.process.meter import Meter, allocated_bytes, size_bytes
from cdb.schemas import find_schema
from cdb.testing.chains import block_at
from tests.engines import SCHEMAS

FILE_BYTES = 4 << 20
PAGE_BYTES = mmap.PAGESIZE
COUNTING = Limits(environment=counting_syncs())


def sync_often(directory: str) -> SyncCalls:
    """A workload: syncs in all ways but sync_file_range, which Python doesn't have."""
    path = Path(directory, "file")
    path.write_bytes(bytes(PAGE_BYTES))
    with path.open("r+b") as stream:
        for _ in range(2):
            os.fsync(stream.fileno())
        for _ in range(3):
            os.fdatasync(stream.fileno())
        with mmap.mmap(stream.fileno(), PAGE_BYTES) as mapped:
            mapped.flush()
    calls = sync_calls()
    assert calls is not None
    return calls


@dataclass(frozen=True)
class Preloaded:
    """What the environment says."""

    text: str


def preloaded() -> Preloaded:
    """A workload."""
    return Preloaded(os.environ.get("LD_PRELOAD", ""))


@pytest.mark.skipif(not LIBRARY.exists(), reason="the sync counter isn't built")
def test_sync_calls(disk_path: Path) -> None:
    calls = fresh_within(COUNTING, sync_often, str(disk_path))
    assert calls == SyncCalls(fsync=2, fdatasync=3, sync_file_range=0, msync=1)


@dataclass(frozen=True)
class Seen:
    """What a load of a block and its flush is said to have asked for."""

    figures: dict[str, float | None]


def flush_one(name: str, directory: str) -> Seen:
    """A workload."""
    usage = Usage(Path(directory))
    with find_schema(name).open(Path(directory, "db")) as schema:
        schema.accept_block(block_at(1))
        schema.flush()
    return Seen(usage.figures())


@pytest.mark.skipif(not LIBRARY.exists(), reason="the sync counter isn't built")
@pytest.mark.parametrize("name", ["coin_log", *SCHEMAS])
def test_syncs_are_not_known_where_calls_go_around_the_c_library(
    name: str, disk_path: Path
) -> None:
    found = find_schema(name)
    if found.missing is not None:
        pytest.skip(found.missing)
    seen = fresh_within(COUNTING, flush_one, name, str(disk_path)).figures
    assert (seen["syncs"] is None) == found.spec.makes_own_calls
    assert seen["syncs"] != 0
    assert seen["device_flushes"] != 0


def test_flushes_of_a_disk_that_counts_none_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Meter(Path("/proc")).disk_flushes() is None
    with monkeypatch.context() as patched:
        patched.setattr(process_meter, "_FLUSHES", 10**6)
        assert Meter(Path.cwd()).disk_flushes() is None
    monkeypatch.setattr(process_meter, "_disk_counters", lambda directory: {"flushes": 7})
    assert Meter(Path.cwd()).disk_flushes() is None
    assert Meter(Path(__file__)).disk_flushes() is None


def test_sync_calls_that_are_not_counted() -> None:
    if LIBRARY.name in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("they are, here")
    assert sync_calls() is None


@pytest.mark.skipif(not LIBRARY.exists(), reason="the sync counter isn't built")
def test_preloaded_beside_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    counting = Limits(environment=counting_syncs())
    assert fresh_within(counting, preloaded).text == str(LIBRARY)
    monkeypatch.setenv("LD_PRELOAD", "libjemalloc.so.2")
    assert counting_syncs() == {"LD_PRELOAD": f"libjemalloc.so.2 {LIBRARY}"}
    monkeypatch.setenv("LD_PRELOAD", "/usr/lib/libasan.so.8 libstdc++.so")
    assert counting_syncs() == {}


def test_the_disk_is_metered(disk_path: Path) -> None:
    path = disk_path / "file"
    meter = Meter(disk_path)
    with path.open("wb") as stream:
        stream.write(os.urandom(FILE_BYTES))
        stream.flush()
        os.fsync(stream.fileno())
    written = meter.disk_bytes_written()
    if written is None:
        pytest.skip("this file system has no disk of its own")
    assert written >= FILE_BYTES
    assert (meter.bytes_dirtied() or 0) >= FILE_BYTES
    page_cache.drop([path])
    page_cache.fill(path)
    assert (meter.disk_bytes_read() or 0) >= FILE_BYTES


def test_a_meter_of_no_disk() -> None:
    meter = Meter()
    assert meter.disk_bytes_read() is None
    assert meter.disk_bytes_written() is None


def test_user_and_system_time() -> None:
    meter = Meter()
    with Path("/dev/zero").open("rb", buffering=0) as zeros:
        while meter.system_seconds() < 0.02:
            zeros.read(1 << 20)
    while meter.user_seconds() < 0.02:
        sum(range(10_000))
    assert meter.cpu_seconds() >= 0.04


def test_allocated_bytes(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as stream:
        stream.truncate(FILE_BYTES)
    (tmp_path / "full").write_bytes(os.urandom(PAGE_BYTES + 1))
    assert size_bytes(tmp_path) == FILE_BYTES + PAGE_BYTES + 1
    assert PAGE_BYTES <= allocated_bytes(tmp_path) < FILE_BYTES


def test_what_of_a_file_is_in_memory(disk_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cache, "_WINDOW_BYTES", FILE_BYTES // 4)
    path = disk_path / "file"
    path.write_bytes(os.urandom(FILE_BYTES + 1))
    (disk_path / "empty").touch()
    assert page_cache.resident_bytes([disk_path / "empty"]) == 0
    assert page_cache.resident_bytes([path]) == FILE_BYTES + PAGE_BYTES
    page_cache.drop([path])
    resident = page_cache.resident_bytes([path])
    if resident == FILE_BYTES + PAGE_BYTES:
        pytest.skip("this file system keeps its files in memory")
    assert resident == 0


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        ([n / 1024 for n in range(1000, 0, -1)], [500, 990, 1000]),
        ([3 / 1024, 1 / 1024], [1, 3, 3]),
        ([1 / 1024], [1, 1, 1]),
    ],
)
def test_latencies(seconds: list[float], expected: list[int]) -> None:
    assert latencies(seconds) == Latencies(*(n / 1024 * 1e6 for n in expected))
