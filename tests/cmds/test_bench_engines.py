"""bench engines: a quick run from end to end, what it says of what it can't do, and Ctrl-C."""

import re
import signal
import time
from types import SimpleNamespace

import pytest

from cdb.bench.results import read_results
from cdb.bench.versioned.database import NATIVE_ENGINES, NOT_BUILT, missing
from cdb.cmds import bench_engines
from cdb.errors import MissingEngineError
from tests.conftest import Commands, contents
from tests.engines import OTHER

WAIT_SECONDS = 60
QUICK = ("--quick", "--shape", "canopy-10k", "--dir", "here", "--machine", "m")
needs_rocksdb = pytest.mark.skipif(missing("rocksdb") is not None, reason="RocksDB is missing")


@pytest.fixture
def bench(run_command: Commands) -> Commands:
    """A directory for databases."""
    (run_command.cwd / "here").mkdir()
    return run_command


@needs_rocksdb
def test_a_quick_run_is_checked_and_one_as_published_is_void(bench: Commands) -> None:
    layouts = ("option_1", "mono_space,reads=published", "interval")
    options = [word for each in layouts for word in ("--layout", each)]
    result = bench("bench", "engines", *QUICK, "--engine", "rocksdb", *options)
    assert result.code == 1
    error = "mono_space,reads=published@rocksdb: historical: "
    assert f"error: {error}1,000 of 1,000 answers are wrong: key " in result.err
    documents = read_results([bench.cwd / "bench-results/m"])
    assert [each["data"]["source"] for each in documents] == 3 * ["canopy-10k-quick"]
    assert contents(bench.cwd / "here") == {}
    of = {each["contestant"]["name"].partition("@")[0]: each["cases"] for each in documents}
    right, wrong, other = (of[layout] for layout in layouts)
    assert {case["outcome"] for case in right} == {"measured"}
    names = {case["workload"] for case in right}
    assert names == {"write", "settle", "latest", "historical", "absent", "state", "archival"}
    assert len(right) == 2 + 2 * 6
    write = right[0]["figures"]
    assert write["syncs"] is None or write["syncs"] >= 50
    assert write["size_bytes"] > 1_000 * 1_024
    assert {case["outcome"] for case in wrong} == {"measured", "wrong"}
    assert [case["outcome"] for case in other] == ["not_measured"]
    printed = bench("report", "--format", "terminal").fine().out.decode()
    assert re.search("mono_space,reads=published@rocksdb +✗", printed)
    assert "interval@rocksdb: write: not measured: it has one row for where a coin" in printed


@needs_rocksdb
def test_an_interrupt_leaves_nothing(bench: Commands) -> None:
    line = ("--shape", "canopy-10k", "--dir", "here", "--engine", "rocksdb")
    process = bench.start("bench_engines", *line, "--runs", "9")
    assert process.stderr is not None
    deadline = time.monotonic() + WAIT_SECONDS
    while b"run 1 of" not in process.stderr.readline():
        assert time.monotonic() < deadline
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=WAIT_SECONDS)
    assert process.returncode == 128 + signal.SIGINT
    assert b"Traceback" not in err
    assert contents(bench.cwd) == {"here": None}


def test_a_missing_engine_is_told_and_all_are_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = {"rocksdb": "no RocksDB; install it", OTHER: None}
    monkeypatch.setattr(bench_engines, "missing", told.__getitem__)
    bench_engines._check_engines({"rocksdb", OTHER})
    assert capsys.readouterr().err == "not measured: no RocksDB; install it\n"
    with pytest.raises(MissingEngineError, match=r"^no RocksDB; install it$"):
        bench_engines._check_engines({"rocksdb"})


def test_an_install_without_the_lab_says_how_it_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = NATIVE_ENGINES["rocksdb"]
    monkeypatch.setattr(engine, "missing", lambda: None)
    monkeypatch.setattr(engine, "load", lambda: SimpleNamespace(lib=SimpleNamespace()))
    assert missing("rocksdb") == NOT_BUILT


@pytest.mark.parametrize(
    "options",
    [
        ("--shape", "canopy"),
        ("--layout", "three_timelines"),
        ("--engine", "foundationdb"),
        ("--runs", 0),
        ("--dir", "nowhere"),
    ],
)
def test_wrong_usage(options: tuple[str | int, ...], run_command: Commands) -> None:
    run_command("bench", "engines", *options).usage_error()
