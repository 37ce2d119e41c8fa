"""The manifest: found damaged when it is, and the point where every change of an index commits."""

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from cdb.contract.durability import Durability
from cdb.disk import files
from cdb.disk.files import replace_file
from cdb.disk.paths import TEMPORARY_SUFFIX
from cdb.errors import (
    CorruptDatabaseError,
    DatabaseClosedError,
    DatabaseNotFoundError,
    StorageError,
    WrongDatabaseError,
    storage_errors,
)
from cdb.stores.rows.index import EMPTY, Watermark
from cdb.stores.rows.lsm import manifest
from cdb.stores.rows.lsm.flat_run import FLAT
from cdb.stores.rows.lsm.manifest import (
    FAN_IN,
    MANIFEST_NAME,
    Manifest,
    RunEntry,
    read_manifest,
    write_manifest,
)
from cdb.stores.rows.lsm.search import RunFormat
from cdb.stores.rows.lsm.sqlite_run import SQLITE
from cdb.stores.rows.lsm.tree import LsmIndex

SAMPLE = Manifest(
    run_format="flat",
    covered=Watermark(150, bytes(range(32))),
    next_number=10,
    runs=(RunEntry(8, 1, 100, 100, 1), RunEntry(9, 101, 150, 60, 0)),
)


def test_round_trip(tmp_path: Path) -> None:
    for sample in (Manifest("sqlite"), SAMPLE):
        write_manifest(tmp_path, sample, durable=True)
        assert read_manifest(tmp_path) == sample
    assert [path.name for path in tmp_path.iterdir()] == [MANIFEST_NAME]


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(DatabaseNotFoundError, match=MANIFEST_NAME):
        read_manifest(tmp_path)


def test_every_flipped_bit_and_every_truncation_is_found(tmp_path: Path) -> None:
    write_manifest(tmp_path, SAMPLE, durable=False)
    path = tmp_path / MANIFEST_NAME
    good = path.read_bytes()
    flipped = [
        good[:place] + bytes([good[place] ^ 1 << bit]) + good[place + 1 :]
        for place in range(len(good))
        for bit in range(8)
    ]
    truncated = [good[:length] for length in range(len(good))]
    zeroed = [good[:length].ljust(len(good), b"\0") for length in range(len(good))]
    for bad in (*flipped, *truncated, *zeroed, good + b"\0"):
        path.write_bytes(bad)
        with pytest.raises(CorruptDatabaseError, match=MANIFEST_NAME):
            read_manifest(tmp_path)


def test_newer_version_is_not_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as newer:
        newer.setattr(manifest, "VERSION", 2)
        write_manifest(tmp_path, SAMPLE, durable=False)
    with pytest.raises(WrongDatabaseError, match="cdb-lsm 2, and this cdb reads cdb-lsm 1"):
        read_manifest(tmp_path)


def write_fields(directory: Path, **changes: Any) -> None:
    """A sample manifest with a right checksum and other fields."""
    write_manifest(directory, SAMPLE, durable=False)
    path = directory / MANIFEST_NAME
    fields = json.loads(path.read_bytes().partition(b"\n")[2])
    body = json.dumps({**fields, **changes}).encode()
    path.write_bytes(f"sha256 {hashlib.sha256(body).hexdigest()}\n".encode() + body)


FIRST, SECOND = (
    {"number": number, "first_row": first, "last_row": last, "count": count, "tier": 0}
    for number, first, last, count in ((8, 1, 100, 100), (9, 101, 150, 60))
)


@pytest.mark.parametrize(
    "changes",
    [
        {"rows": 151},
        {"rows": "150"},
        {"last_name": "00"},
        {"last_name": 5},
        {"next_number": 9},
        {"runs": None},
        {"runs": [FIRST]},
        {"runs": [SECOND]},
        {"runs": [FIRST, {**SECOND, "first_row": 102}]},
        {"runs": [FIRST, {**SECOND, "last_row": 100}]},
        {"runs": [FIRST, {**SECOND, "count": 40}]},
        {"runs": [FIRST, {**SECOND, "extra": 1}]},
        {"runs": [FIRST, {**SECOND, "number": 9.0}]},
        {"runs": [FIRST, {**SECOND, "tier": None}]},
        {"runs": [FIRST, {**SECOND, "count": float("inf")}]},
        {"next_number": float("inf")},
        {"next_number": 2**63},
        {"next_number": True, "runs": [], "rows": False, "last_name": ""},
    ],
)
def test_impossible_contents_are_damage(tmp_path: Path, changes: dict[str, Any]) -> None:
    write_fields(tmp_path, **changes)
    with pytest.raises(CorruptDatabaseError, match="makes no sense"):
        read_manifest(tmp_path)


def test_write_failure_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_manifest(tmp_path, SAMPLE, durable=True)

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as failing:
        failing.setattr(os, "fsync", full)
        with pytest.raises(StorageError, match=r"disk full \(ENOSPC\)"):
            write_manifest(tmp_path, Manifest("flat"), durable=True)
    assert read_manifest(tmp_path) == SAMPLE


@pytest.mark.parametrize("durable", [True, False])
def test_replace_file_syncs_contents_then_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, durable: bool
) -> None:
    target = tmp_path / "file"
    seen: list[tuple[str, str, bool]] = []
    for function in ("fsync_file", "fsync_dir"):

        def note(path: Path, function: str = function) -> None:
            seen.append((function, path.name, target.exists()))

        monkeypatch.setattr(files, function, note)
    replace_file(target, b"new", durable=durable)
    assert target.read_bytes() == b"new"
    contents = ("fsync_file", "file" + TEMPORARY_SUFFIX, False)
    name = ("fsync_dir", tmp_path.name, True)
    assert seen == ([contents, name] if durable else [])


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EDQUOT, "free some space"),
        (errno.EMFILE, "ulimit -n"),
        (errno.EFBIG, "ulimit -f"),
        (errno.EIO, "check the disk"),
        (errno.EACCES, "run as its owner"),
        (errno.EROFS, "mount it for writing"),
        (errno.ENAMETOOLONG, "name a shorter path"),
        (errno.ENOENT, "which link leads nowhere"),
    ],
)
def test_storage_errors_name_file_reason_and_advice(code: int, advice: str) -> None:
    with pytest.raises(StorageError) as raised, storage_errors(Path("/some/file")):
        raise OSError(code, os.strerror(code))
    message = str(raised.value)
    assert message.startswith("/some/file: ")
    assert errno.errorcode[code] in message
    assert ("disk full" in message) == (advice == "free some space")
    assert advice in message


def digest(number: int) -> bytes:
    return hashlib.sha256(number.to_bytes(8, "big")).digest()


def write(index: LsmIndex, rows: int) -> None:
    """Add that many rows, of which each is named digest(row)."""
    first = index.covered.rows + 1
    names = [digest(row) for row in range(first, first + rows)]
    index.write(names, Watermark(first + rows - 1, digest(first + rows - 1)))


def rewind(index: LsmIndex, rows: int) -> None:
    index.rewind(Watermark(rows, digest(rows)) if rows else EMPTY, iter(()))


def rows_at(path: Path, run_format: RunFormat) -> int:
    """How many rows an index has that is opened after a crash: exactly as its watermark says."""
    index = LsmIndex(path, run_format, durability=Durability.POWER)
    rows = index.covered.rows
    expected = [row if row <= rows else None for row in range(1, 100)]
    assert index.find([digest(row) for row in range(1, 100)]) == expected
    assert index.covered.tie == (digest(rows) if rows else b"")
    index.close()
    named = read_manifest(path)
    files_named = {MANIFEST_NAME, *map(named.file_name, named.runs)}
    assert {file.name for file in path.iterdir()} == files_named
    return rows


STEPS = (
    (files, "fsync_file"),
    (files, "fsync_dir"),
    (Path, "mkdir"),
    (files, "write_own"),
    (Path, "replace"),
    (Path, "unlink"),
)


def before_each_step(monkeypatch: pytest.MonkeyPatch, hook: Callable[[str, Path], None]) -> None:
    """Call hook before anything happens to a file, and when its contents are half written."""

    def stepwise(name: str, do: Callable[..., Any]) -> Callable[..., Any]:
        def step(path: Path, *args: Any, **options: Any) -> Any:
            if name == "write_own":
                do(path, args[0][: len(args[0]) // 2])
            hook(name, path)
            return do(path, *args, **options)

        return step

    for owner, name in STEPS:
        monkeypatch.setattr(owner, name, stepwise(name, getattr(owner, name)))


CHANGES: dict[str, tuple[int, Callable[[LsmIndex], None], int]] = {
    # what changes: writes of 5 rows before it, the change, the rows after it
    "the first write": (0, lambda index: write(index, 5), 5),
    "a write": (2, lambda index: write(index, 5), 15),
    "a merge": (FAN_IN - 1, lambda index: write(index, 5), 5 * FAN_IN),
    "a rewind into a run": (3, lambda index: rewind(index, 8), 8),
    "a rewind to nothing": (3, lambda index: rewind(index, 0), 0),
}
each_change = pytest.mark.parametrize("change", CHANGES)
both_formats = pytest.mark.parametrize("run_format", [FLAT, SQLITE], ids=lambda form: form.name)


def prepared(path: Path, run_format: RunFormat, writes: int) -> LsmIndex:
    index = LsmIndex(path, run_format, durability=Durability.POWER)
    for _ in range(writes):
        write(index, 5)
    return index


@both_formats
@each_change
def test_crash_at_every_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_format: RunFormat, change: str
) -> None:
    writes, do, rows_after = CHANGES[change]
    index = prepared(tmp_path / "index", run_format, writes)
    copies: list[Path] = []

    def copy(*_: object) -> None:
        copies.append(tmp_path / f"copy-{len(copies)}")
        shutil.copytree(tmp_path / "index", copies[-1])

    with monkeypatch.context() as copying:
        before_each_step(copying, copy)
        do(index)
    copy()
    index.close()
    rows = [rows_at(path, run_format) for path in copies]
    commit = rows.index(rows_after)
    assert rows == [writes * 5] * commit + [rows_after] * (len(copies) - commit)
    assert 0 < commit < len(copies)


def failing_at(due: int) -> Callable[[str, Path], None]:
    """A hook that finds the disk full at one step, and counts them on the way."""
    steps = count()

    def hook(_: str, path: Path) -> None:
        if next(steps) == due:
            with storage_errors(path):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return hook


@both_formats
@each_change
def test_failure_at_every_step_is_final(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_format: RunFormat, change: str
) -> None:
    writes, do, rows_after = CHANGES[change]
    steps: list[str] = []
    with monkeypatch.context() as counting:
        index = prepared(tmp_path / "whole", run_format, writes)
        before_each_step(counting, lambda name, _: steps.append(name))
        do(index)
        index.close()
    assert len(steps) >= 4
    for due in range(len(steps)):
        path = tmp_path / str(due)
        index = prepared(path, run_format, writes)
        with monkeypatch.context() as failing:
            before_each_step(failing, failing_at(due))
            with pytest.raises(StorageError, match=rf"^{path}.*disk full \(ENOSPC\)"):
                do(index)
        for use in (partial(index.find, []), partial(write, index, 5), partial(rewind, index, 1)):
            with pytest.raises(DatabaseClosedError, match="disk full"):
                use()
        index.close()
        assert rows_at(path, run_format) in (writes * 5, rows_after)


def test_crash_while_the_index_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copies: list[Path] = []

    def copy(*_: object) -> None:
        copies.append(tmp_path / f"copy-{len(copies)}")
        if (tmp_path / "index").exists():
            shutil.copytree(tmp_path / "index", copies[-1])

    with monkeypatch.context() as copying:
        before_each_step(copying, copy)
        prepared(tmp_path / "index", FLAT, 0).close()
    assert [rows_at(path, FLAT) for path in copies] == [0] * len(copies)
    assert len(copies) == 7


@pytest.mark.parametrize("durability", Durability)
def test_order_of_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durability: Durability
) -> None:
    """Contents before names, runs before the manifest, the manifest before removals."""
    path = tmp_path / "index"
    prepared(path, FLAT, FAN_IN - 1).close()
    old = sorted(run.name for run in path.glob("run-*"))
    index = LsmIndex(path, FLAT, durability=durability)
    steps: list[tuple[str, str]] = []
    with monkeypatch.context() as noting:
        before_each_step(noting, lambda name, file: steps.append((name, file.name)))
        write(index, 5)
    index.close()
    (run,) = [file.name for file in path.glob("run-*")]
    removals = [("unlink", name) for name in old]
    expected = [
        ("fsync_file", f"{run}.tmp"),
        ("replace", f"{run}.tmp"),
        ("fsync_dir", "index"),
        ("write_own", "manifest.tmp"),
        ("unlink", "manifest.tmp"),  # another's name for the same file keeps what it has
        ("fsync_file", "manifest.tmp"),
        ("replace", "manifest.tmp"),
        ("fsync_dir", "index"),
        *removals,
    ]
    synced = durability is not Durability.NONE
    assert steps == [step for step in expected if synced or not step[0].startswith("fsync")]
