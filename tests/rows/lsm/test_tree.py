"""The tree against a dict, its merges, damage, and readers. test_manifest.py has the crashes."""

import errno
import hashlib
import math
import os
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from cdb.contract.durability import Durability
from cdb.errors import (
    CorruptDatabaseError,
    DatabaseClosedError,
    DatabaseNotFoundError,
    StorageError,
    WrongDatabaseError,
)
from cdb.stores.rows.index import EMPTY, Watermark
from cdb.stores.rows.lsm import manifest
from cdb.stores.rows.lsm.flat_run import FLAT
from cdb.stores.rows.lsm.manifest import FAN_IN, MANIFEST_NAME, RunEntry, read_manifest
from cdb.stores.rows.lsm.search import Run, RunFormat
from cdb.stores.rows.lsm.sqlite_run import SQLITE
from cdb.stores.rows.lsm.tree import LsmIndex

both_formats = pytest.mark.parametrize("run_format", [FLAT, SQLITE], ids=lambda form: form.name)
PREFIXES = (0, 8, 16, 31)


def digest(number: int) -> bytes:
    return hashlib.sha256(number.to_bytes(8, "big")).digest()


def opened(path: Path, run_format: RunFormat, *, read_only: bool = False) -> LsmIndex:
    return LsmIndex(path, run_format, durability=Durability.POWER, read_only=read_only)


def batch(first_row: int, last_row: int) -> tuple[list[bytes], Watermark]:
    """Arguments for write: the name of a row is digest(row)."""
    names = [digest(row) for row in range(first_row, last_row + 1)]
    return names, Watermark(last_row, digest(last_row))


def contents(index: LsmIndex, rows: int) -> list[int]:
    """The rows of 1 … rows that are found, each under its own name."""
    found = index.find([digest(row) for row in range(1, rows + 1)])
    assert all(row in (None, at) for at, row in enumerate(found, 1))
    return [row for row in found if row is not None]


def state(path: Path, run_format: RunFormat, *, read_only: bool = False) -> list[int]:
    """What an index on disk holds, checked against its watermark."""
    index = opened(path, run_format, read_only=read_only)
    rows = contents(index, 200)
    assert rows == list(range(1, index.covered.rows + 1))
    assert index.covered.tie == (digest(rows[-1]) if rows else b"")
    index.close()
    return rows


class IndexMachine(RuleBasedStateMachine):
    """An LsmIndex and the dict that it must equal."""

    run_format = FLAT
    examples = 20

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.path = Path(self.directory.name) / "index"
        self.names: list[bytes] = []  # of rows 1, 2, 3, …
        self.ever: set[bytes] = {digest(-1 % 2**64), bytes(32)}
        self.index = opened(self.path, self.run_format)

    @rule(
        crafted=st.sets(st.tuples(st.sampled_from(PREFIXES), st.integers(0, 255)), max_size=20),
        uniform=st.integers(0, 150),
    )
    def write(self, crafted: set[tuple[int, int]], uniform: int) -> None:
        wanted = [bytes(prefix) + digest(tail)[prefix:] for prefix, tail in sorted(crafted)]
        wanted += [digest(1000 + len(self.names) + number) for number in range(uniform)]
        new = list(dict.fromkeys(name for name in wanted if name not in set(self.names)))
        self.names += new
        self.ever |= set(new)
        self.index.write(new, self.watermark())

    @precondition(lambda self: self.names)
    @rule(share=st.floats(0, 1))
    def rewind(self, share: float) -> None:
        rows = int(share * len(self.names))
        dropped = self.names[rows:]
        del self.names[rows:]
        self.index.rewind(self.watermark(), iter(dropped))

    @rule()
    def reopen(self) -> None:
        self.index.close()
        self.index = opened(self.path, self.run_format)

    @invariant()
    def equals_the_model(self) -> None:
        rows = {name: row for row, name in enumerate(self.names, 1)}
        asked = [*self.ever, *self.names[:1], *self.names[:1]]
        assert self.index.find(asked) == [rows.get(name) for name in asked]
        assert self.index.covered == self.watermark()

    def watermark(self) -> Watermark:
        return Watermark(len(self.names), self.names[-1]) if self.names else EMPTY

    def teardown(self) -> None:
        self.index.close()
        self.directory.cleanup()


class SqliteIndexMachine(IndexMachine):
    """The same with the other run format."""

    run_format = SQLITE
    examples = 6


@pytest.mark.parametrize("machine", [IndexMachine, SqliteIndexMachine])
def test_equals_a_dict(monkeypatch: pytest.MonkeyPatch, machine: type[IndexMachine]) -> None:
    monkeypatch.setattr(manifest, "FAN_IN", 3)
    limits = settings(
        max_examples=machine.examples,
        stateful_step_count=25,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    run_state_machine_as_test(machine, settings=limits)


@both_formats
def test_empty_index(tmp_path: Path, run_format: RunFormat) -> None:
    index = opened(tmp_path / "index", run_format)
    assert index.covered == EMPTY
    assert index.find([digest(1), bytes(32)]) == [None, None]
    assert index.find([]) == []
    index.write([], EMPTY)
    index.rewind(EMPTY, iter(()))
    index.close()
    assert [path.name for path in (tmp_path / "index").iterdir()] == [MANIFEST_NAME]


@both_formats
def test_many_names_at_once(tmp_path: Path, run_format: RunFormat) -> None:
    index = opened(tmp_path / "index", run_format)
    for last in (10_000, 20_000):
        index.write(*batch(last - 9_999, last))
    names = [digest(row) for row in range(1, 100_001)]
    assert index.find(names) == [*range(1, 20_001), *[None] * 80_000]
    index.close()


@both_formats
def test_merges_bound_runs_and_write_amplification(tmp_path: Path, run_format: RunFormat) -> None:
    written = 0

    def counting(path: Path, entry: RunEntry, records: Iterable[bytes]) -> None:
        nonlocal written
        written += entry.count
        run_format.write(path, entry, records)

    index = opened(tmp_path / "index", replace(run_format, write=counting))
    writes = 3 * FAN_IN**2 + 5
    for number in range(writes):
        index.write(*batch(number * 5 + 1, number * 5 + 5))
    runs = read_manifest(tmp_path / "index").runs
    assert [run.tier for run in runs] == [2] * 3 + [0] * 5
    assert len(list((tmp_path / "index").iterdir())) == len(runs) + 1
    assert written / (writes * 5) <= 1 + math.log(writes, FAN_IN)
    assert contents(index, writes * 5) == list(range(1, writes * 5 + 1))
    index.close()


@both_formats
def test_rewind_rewrites_no_run(tmp_path: Path, run_format: RunFormat) -> None:
    index = opened(tmp_path / "index", run_format)
    for first in (1, 51, 101):
        index.write(*batch(first, first + 49))
    index.rewind(Watermark(60, digest(60)), iter(()))
    assert contents(index, 150) == list(range(1, 61))
    assert [run.last_row for run in read_manifest(tmp_path / "index").runs] == [50, 60]
    index.rewind(Watermark(70, digest(70)), iter(()))
    assert index.covered.rows == 60
    index.write(*batch(61, 90))
    index.close()
    assert state(tmp_path / "index", run_format) == list(range(1, 91))


@pytest.mark.parametrize(
    ("names", "rows", "problem"),
    [
        ([digest(1)[:31]], 1, "32 bytes"),
        ([b"a" * 32, b"a" * 32], 2, "twice"),
        ([b"a" * 32], 2, "not those of rows 1 … 2"),
        ([b"a" * 32, b"b" * 32], 1, "not those of rows 1 … 1"),
    ],
)
def test_wrong_names_are_refused(
    tmp_path: Path, names: list[bytes], rows: int, problem: str
) -> None:
    index = opened(tmp_path / "index", FLAT)
    with pytest.raises(ValueError, match=problem):
        index.write(names, Watermark(rows, b"a" * 32))
    with pytest.raises(ValueError, match="32 bytes"):
        index.find([b"a" * 31, b"a" * 33])
    index.write(*batch(1, 5))
    assert contents(index, 5) == [1, 2, 3, 4, 5]
    index.close()


@both_formats
def test_damage_is_found(tmp_path: Path, run_format: RunFormat) -> None:
    path = tmp_path / "index"
    index = opened(path, run_format)
    index.write(*batch(1, 50))
    index.write(*batch(51, 100))
    index.close()
    first, second = sorted(path.glob("run-*"))
    good = first.read_bytes()
    for bad, message in (
        (good[:-4096], first.name),
        (second.read_bytes(), "another run"),
        (None, "missing"),
    ):
        first.unlink()
        if bad is not None:
            first.write_bytes(bad)
        for read_only in (True, False):
            with pytest.raises(CorruptDatabaseError, match=message):
                state(path, run_format, read_only=read_only)
        first.write_bytes(good)
    (path / MANIFEST_NAME).unlink()
    with pytest.raises(CorruptDatabaseError, match="the manifest is missing"):
        opened(path, run_format)
    assert first.exists()


@both_formats
def test_full_disk_while_a_run_is_written(tmp_path: Path, run_format: RunFormat) -> None:
    path = tmp_path / "index"
    opened(path, run_format).close()

    def full(temporary: Path, entry: RunEntry, records: Iterable[bytes]) -> None:
        temporary.write_bytes(b"half a run")
        raise StorageError(temporary, "disk full")

    index = opened(path, replace(run_format, write=full))
    with pytest.raises(StorageError, match="disk full"):
        index.write(*batch(1, 5))
    with pytest.raises(DatabaseClosedError, match="disk full"):
        index.find([])
    index.close()
    assert state(path, run_format) == []
    assert [file.name for file in path.iterdir()] == [MANIFEST_NAME]


def test_failed_read_is_not_final(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = opened(tmp_path / "index", FLAT)
    index.write(*batch(1, 5))
    (run,) = tmp_path.glob("index/run-*")

    def fail(*_: int) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as failing:
        failing.setattr(os, "pread", fail)
        with pytest.raises(StorageError, match=rf"{run.name}: .*\(EIO\)"):
            contents(index, 5)
    assert contents(index, 5) == [1, 2, 3, 4, 5]
    index.close()


@pytest.mark.parametrize("share", [1, 3, 100])
def test_short_reads_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: int
) -> None:
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda file, size, at: pread(file, -(-size // share), at))
    index = opened(tmp_path / "index", FLAT)
    index.write(*batch(1, 200))
    assert contents(index, 300) == list(range(1, 201))
    index.close()


def test_other_run_format_is_refused(tmp_path: Path) -> None:
    opened(tmp_path / "index", FLAT).close()
    with pytest.raises(WrongDatabaseError, match="flat runs, not of sqlite runs"):
        opened(tmp_path / "index", SQLITE)


@both_formats
def test_read_only_changes_nothing(tmp_path: Path, run_format: RunFormat) -> None:
    path = tmp_path / "index"
    with pytest.raises(DatabaseNotFoundError):
        opened(path, run_format, read_only=True)
    assert not path.exists()
    index = opened(path, run_format)
    index.write(*batch(1, 50))
    index.close()
    strays = [path / "run-00000009.flat", path / "run-00000002.sqlite.tmp", path / "manifest.tmp"]
    for stray in strays:
        stray.write_bytes(b"left by a crash")
    before = {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in path.iterdir()}
    reader = opened(path, run_format, read_only=True)
    assert contents(reader, 100) == list(range(1, 51))
    with pytest.raises(DatabaseClosedError, match="reading only"):
        reader.write(*batch(51, 60))
    with pytest.raises(DatabaseClosedError, match="reading only"):
        reader.rewind(EMPTY, iter(()))
    reader.close()
    after = {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in path.iterdir()}
    assert after == before
    opened(path, run_format).close()
    assert len(list(path.iterdir())) == 2


@both_formats
def test_reader_keeps_its_state_while_a_writer_merges(
    tmp_path: Path, run_format: RunFormat
) -> None:
    path = tmp_path / "index"
    writer = opened(path, run_format)
    for first in range(1, 5 * FAN_IN - 4, 5):
        writer.write(*batch(first, first + 4))
    reader = opened(path, run_format, read_only=True)
    rows = reader.covered.rows
    writer.write(*batch(rows + 1, rows + 5))
    assert len(list(path.glob("run-*"))) == 1
    assert contents(reader, rows + 5) == list(range(1, rows + 1))
    for index in (reader, writer):
        index.close()


@pytest.mark.parametrize("is_open", [False, True])
@both_formats
def test_reader_retries_when_runs_vanish(
    tmp_path: Path, run_format: RunFormat, is_open: bool
) -> None:
    """A writer comes in whenever the reader has read the manifest, but not yet opened the run.

    is_open: or has, so that what it reads next is where no file is any more.
    """
    path = tmp_path / "index"
    writer = opened(path, run_format)
    writer.write(*batch(1, 1))
    overtakes = 3

    def overtaken(file: Path, entry: RunEntry) -> Run:
        nonlocal overtakes
        if overtakes:
            overtakes -= 1
            rows = writer.covered.rows
            writer.rewind(EMPTY, iter(()))
            writer.write(*batch(1, rows + 1))
            if is_open:
                raise StorageError(file, "its directory was moved while it was opened")
        return run_format.open(file, entry)

    late_format = replace(run_format, open=overtaken)
    assert state(path, late_format, read_only=True) == [1, 2, 3, 4]
    overtakes = 100
    with pytest.raises(StorageError, match="changes too fast"):
        opened(path, late_format, read_only=True)
    writer.close()


def test_closed_is_closed(tmp_path: Path) -> None:
    index = opened(tmp_path / "index", FLAT)
    index.close()
    with pytest.raises(DatabaseClosedError):
        index.find([])
