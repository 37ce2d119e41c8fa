"""Both run formats: whole they give what was written, damaged they say so."""

import errno
import hashlib
import os
import zlib
from itertools import chain
from pathlib import Path

import pytest

from cdb.errors import (
    CorruptDatabaseError,
    DatabaseNotFoundError,
    StorageError,
    WrongDatabaseError,
)
from cdb.stores.rows.lsm import flat_run, sqlite_run
from cdb.stores.rows.lsm.filter import probes
from cdb.stores.rows.lsm.flat_run import FLAT, PAGE_BYTES
from cdb.stores.rows.lsm.manifest import RunEntry
from cdb.stores.rows.lsm.search import RECORD, Run, RunFormat, live_pages, live_row
from cdb.stores.rows.lsm.sqlite_run import SQLITE
from tests.conftest import largest_file

both_formats = pytest.mark.parametrize("run_format", [FLAT, SQLITE], ids=lambda form: form.name)
COUNT = 110  # two pages of a flat run, seven of an SQLite run
ENTRY = RunEntry(number=3, first_row=1001, last_row=1000 + COUNT, count=COUNT, tier=0)


def digest(number: int) -> bytes:
    return hashlib.sha256(number.to_bytes(8, "big")).digest()


NAMES = {digest(row): row for row in range(1001, 1001 + COUNT)}
RECORDS = [RECORD.pack(name, row) for name, row in sorted(NAMES.items())]
SOME_NAMES = [*sorted(NAMES)[::9], *map(digest, range(20))]


def written(directory: Path, run_format: RunFormat, entry: RunEntry = ENTRY) -> Path:
    path = directory / f"run-{entry.number}.{run_format.name}"
    run_format.write(path, entry, RECORDS)
    return path


def answers(run_format: RunFormat, path: Path, entry: RunEntry = ENTRY) -> list[int | None]:
    """The rows of SOME_NAMES: from the filter and the search, as the tree does it."""
    run = run_format.open(path, entry)
    try:
        rows: list[int | None] = [None] * len(SOME_NAMES)
        for place in run.filter.passing(probes(SOME_NAMES)):
            rows[place] = live_row(SOME_NAMES[place], entry, run)
        return rows
    finally:
        run.close()


def live_records(entry: RunEntry, run: Run) -> list[bytes]:
    return list(chain.from_iterable(live_pages(entry, run)))


RIGHT = [NAMES.get(name) for name in SOME_NAMES]


@both_formats
@pytest.mark.parametrize("count", [1, 15, 16, 17, 101, 102, 103])
def test_round_trip(tmp_path: Path, run_format: RunFormat, count: int) -> None:
    entry = RunEntry(1, 1, count, count, 0)
    whole = [RECORD.pack(name, row) for row, name in enumerate(sorted(NAMES)[:count], 1)]
    run_format.write(tmp_path / "run", entry, iter(whole))
    run = run_format.open(tmp_path / "run", entry)
    assert live_records(entry, run) == whole
    assert [live_row(record[:32], entry, run) for record in whole] == list(range(1, count + 1))
    run.close()


@both_formats
def test_rewound_rows_are_absent(tmp_path: Path, run_format: RunFormat) -> None:
    path = written(tmp_path, run_format)
    entry = RunEntry(ENTRY.number, ENTRY.first_row, 1050, COUNT, 0)
    expected = [row if row and row <= 1050 else None for row in RIGHT]
    assert answers(run_format, path, entry) == expected
    run = run_format.open(path, entry)
    live = [record for record in RECORDS if RECORD.unpack(record)[1] <= 1050]
    assert live_records(entry, run) == live
    run.close()


@both_formats
def test_row_outside_the_interval_is_damage(tmp_path: Path, run_format: RunFormat) -> None:
    path = tmp_path / "run"
    entry = RunEntry(1, 1, COUNT, COUNT, 0)
    run_format.write(path, entry, RECORDS)
    run = run_format.open(path, entry)
    for look in (lambda: live_records(entry, run), lambda: answers(run_format, path, entry)):
        with pytest.raises(CorruptDatabaseError, match="belongs to another run"):
            look()
    run.close()


def test_a_run_that_cannot_be_opened_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, FLAT)

    def fails(path: Path, flags: int) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(flat_run, "own", fails)
    with pytest.raises(StorageError, match="Input/output error") as failure:
        FLAT.open(path, ENTRY)
    assert failure.value.path == str(path)


def test_a_page_without_rows_is_damage(tmp_path: Path) -> None:
    path = written(tmp_path, FLAT)
    data = path.read_bytes()
    seed = zlib.crc32(flat_run._header(ENTRY))
    page = flat_run._record_page(b"", 0, seed)
    path.write_bytes(data[:PAGE_BYTES] + page + data[2 * PAGE_BYTES :])
    run = FLAT.open(path, ENTRY)
    with pytest.raises(CorruptDatabaseError, match="a page without rows"):
        live_records(ENTRY, run)
    run.close()


@both_formats
def test_no_flipped_bit_gives_a_wrong_answer(tmp_path: Path, run_format: RunFormat) -> None:
    path = written(tmp_path, run_format)
    # SQLite takes its time to open; the trial `flip` goes on from here.
    found, step = 0, 1 if run_format is FLAT else 9
    with path.open("r+b", buffering=0) as file:
        size = path.stat().st_size
        for place in range(0, size, step):
            (byte,) = os.pread(file.fileno(), 1, place)
            os.pwrite(file.fileno(), bytes([byte ^ 1 << place % 8]), place)
            try:
                assert answers(run_format, path) == RIGHT, f"byte {place}"
            except CorruptDatabaseError as error:
                found += error.path == str(path)
            os.pwrite(file.fileno(), bytes([byte]), place)
    assert answers(run_format, path) == RIGHT
    # SQLite has unused bytes and fields that do not matter; the flat file has none.
    assert found == size if run_format is FLAT else found > COUNT * 40 / step


@both_formats
def test_every_flipped_record_is_found_by_a_merge(tmp_path: Path, run_format: RunFormat) -> None:
    path = written(tmp_path, run_format)
    good = path.read_bytes()
    for record in RECORDS:
        for offset in (0, 31, 32):  # both formats keep the row id behind the name
            place = good.index(record[:32]) + offset
            path.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
            run = run_format.open(path, ENTRY)
            with pytest.raises(CorruptDatabaseError, match="damaged"):
                live_records(ENTRY, run)
            run.close()


@both_formats
@pytest.mark.parametrize("tail", [b"", bytes(5000)], ids=["truncated", "zeroed"])
def test_lost_tail_is_found(tmp_path: Path, run_format: RunFormat, tail: bytes) -> None:
    path = written(tmp_path, run_format)
    good = path.read_bytes()
    ends = [*range(0, len(good), 509), *range(0, len(good), PAGE_BYTES), len(good) - 1]
    for end in ends:
        bad = good[:end] + tail[: len(good) - end]
        if run_format is SQLITE and bad == good:
            continue
        path.write_bytes(bad)
        try:
            assert answers(run_format, path) == RIGHT
        except CorruptDatabaseError:
            continue
        assert run_format is SQLITE


@both_formats
def test_other_files_are_refused(tmp_path: Path, run_format: RunFormat) -> None:
    path = written(tmp_path, run_format)
    for other in (RunEntry(4, 1001, 1110, 110, 0), RunEntry(3, 1000, 1109, 110, 0)):
        with pytest.raises(CorruptDatabaseError, match="another run"):
            run_format.open(path, other)
    path.write_bytes(b"something else entirely" * 1000)
    with pytest.raises(CorruptDatabaseError):
        run_format.open(path, ENTRY)
    path.unlink()
    with pytest.raises(DatabaseNotFoundError):
        run_format.open(path, ENTRY)


@pytest.mark.parametrize(("run_format", "module"), [(FLAT, flat_run), (SQLITE, sqlite_run)])
def test_newer_version_is_not_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_format: RunFormat, module: object
) -> None:
    with monkeypatch.context() as newer:
        newer.setattr(module, "VERSION", 3)
        path = written(tmp_path, run_format)
    with pytest.raises(WrongDatabaseError, match="run 3, and this cdb reads run 2"):
        run_format.open(path, ENTRY)


def test_swapped_and_stale_pages_are_found(tmp_path: Path) -> None:
    path = written(tmp_path, FLAT)
    stale = written(tmp_path, FLAT, RunEntry(2, 1001, 1110, COUNT, 0)).read_bytes()
    good = path.read_bytes()
    header, first, second = (
        good[at : at + PAGE_BYTES] for at in range(0, 3 * PAGE_BYTES, PAGE_BYTES)
    )
    rest = good[3 * PAGE_BYTES :]
    stale_first = stale[PAGE_BYTES : 2 * PAGE_BYTES]
    for pages in (second + first, first + first, stale_first + second, bytes(PAGE_BYTES) + second):
        path.write_bytes(header + pages + rest)
        with pytest.raises(CorruptDatabaseError, match=r"page \d is damaged"):
            answers(FLAT, path)


@both_formats
def test_failed_write_names_the_file(tmp_path: Path, run_format: RunFormat) -> None:
    with largest_file(6000), pytest.raises(StorageError, match=str(tmp_path)):
        written(tmp_path, run_format)


def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run"
    monkeypatch.setattr(flat_run, "own", lambda path, flags: os.open("/dev/full", flags))
    with pytest.raises(StorageError, match=r"run: disk full \(ENOSPC\)"):
        FLAT.write(path, ENTRY, RECORDS)


@both_formats
def test_odd_characters_in_the_path(tmp_path: Path, run_format: RunFormat) -> None:
    directory = tmp_path / "50% & a ? of #1"
    directory.mkdir()
    assert answers(run_format, written(directory, run_format)) == RIGHT
    assert len(list(directory.iterdir())) == 1


@both_formats
def test_deleted_file_stays_readable(tmp_path: Path, run_format: RunFormat) -> None:
    path = written(tmp_path, run_format)
    run = run_format.open(path, ENTRY)
    path.unlink()
    assert live_records(ENTRY, run) == RECORDS
    run.close()
