"""RocksDB as a name index: right answers, and what crashes, damage and a full disk leave."""

import ctypes
import ctypes.util
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    precondition,
    rule,
    run_state_machine_as_test,
)

from cdb.contract.durability import Durability
from cdb.errors import (
    CdbError,
    CorruptDatabaseError,
    DatabaseClosedError,
    DatabaseLockedError,
    DatabaseNotFoundError,
    MissingEngineError,
    StorageError,
    WrongDatabaseError,
)
from cdb.stores.rows import rocks_index as rocks
from cdb.stores.rows.index import EMPTY, Watermark
from cdb.stores.rows.rocks_index import RocksIndex

needs_rocksdb = pytest.mark.skipif(rocks.missing() is not None, reason=str(rocks.missing()))

Open = Callable[..., RocksIndex]


def name(row: int, tag: str = "") -> bytes:
    return hashlib.sha256(f"{tag}{row}".encode()).digest()


def names(rows: range, tag: str = "") -> list[bytes]:
    return [name(row, tag) for row in rows]


def add(index: RocksIndex, new: list[bytes]) -> None:
    """Write names as the rows that follow those that the index holds."""
    tie = new[-1] if new else index.covered.tie
    index.write(new, Watermark(index.covered.rows + len(new), tie))


def contents(directory: Path) -> dict[str, tuple[int, str]]:
    """Each file's time of change and digest."""
    return {
        file.name: (file.stat().st_mtime_ns, hashlib.sha256(file.read_bytes()).hexdigest())
        for file in directory.iterdir()
    }


def run(
    script: str, *arguments: object, within: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own, with this module's helpers in reach."""
    prelude = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
    prelude += "import os, resource, signal\nfrom pathlib import Path\n"
    prelude += "from test_rocks_index import *\n"
    command = [*within, sys.executable, "-B", "-c", prelude + script, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def run_killed(script: str, *arguments: object) -> None:
    """Run a script that ends with its own kill -9."""
    done = run(script + "\nos.kill(os.getpid(), signal.SIGKILL)", *arguments)
    assert done.returncode == -9, done.stderr


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index"


@pytest.fixture
def open_index(path: Path) -> Iterator[Open]:
    """Opens the index at `path` any number of times; closes them all."""
    opened = []

    def open_one(*, read_only: bool = False) -> RocksIndex:
        opened.append(RocksIndex(path, durability=Durability.POWER, read_only=read_only))
        return opened[-1]

    yield open_one
    for index in opened:
        index.close()


@needs_rocksdb
class TestFind:
    def test_finds_what_was_put_in_the_order_asked(self, open_index: Open) -> None:
        index = open_index()
        add(index, names(range(1, 1001)))
        asked = [name(700), name(1001), name(1), name(700), name(0), name(1000)]
        assert index.find(asked) == [700, None, 1, 700, None, 1000]

    def test_its_memtable_is_that_of_its_cache(self, open_index: Open, path: Path) -> None:
        """RocksDB takes 64 KiB where nobody says, and a table is made of each."""
        open_index().close()
        (options,) = path.glob("OPTIONS-*")
        sizes = re.findall(r"\bwrite_buffer_size=(\d+)", options.read_text("utf-8"))
        assert min(map(int, sizes)) >= 4 << 20

    def test_an_empty_index_knows_no_name(self, open_index: Open) -> None:
        assert open_index().find([name(1)]) == [None]

    def test_an_empty_request_and_an_empty_batch(self, open_index: Open) -> None:
        index = open_index()
        assert index.find([]) == []
        add(index, [])
        assert index.covered == EMPTY

    def test_100_000_names_in_one_call(self, open_index: Open) -> None:
        index = open_index()
        new = names(range(1, 100_001))
        add(index, new)
        assert index.find(new) == list(range(1, 100_001))
        assert index.find(names(range(100_000), "absent")) == [None] * 100_000

    @pytest.mark.parametrize("shared", [0, 8, 16, 31])
    def test_names_that_share_a_prefix(self, open_index: Open, shared: int) -> None:
        prefixed = [bytes(shared) + name(row)[: 32 - shared] for row in range(1, 2001)]
        new = list(dict.fromkeys(prefixed))  # of 31 bytes, 256 names are left at most
        present, absent = new[::2], new[1::2]
        index = open_index()
        add(index, present)
        assert index.find(present) == list(range(1, len(present) + 1))
        assert index.find(absent) == [None] * len(absent)

    def test_names_that_are_not_those_of_the_next_rows_are_refused(self, open_index: Open) -> None:
        with pytest.raises(ValueError, match="rows up to the watermark"):
            open_index().write(names(range(1, 3)), Watermark(3, name(3)))

    def test_a_name_of_another_length_is_refused(self, open_index: Open) -> None:
        with pytest.raises(ValueError, match="32 bytes"):
            open_index().find([b"short"])

    def test_a_reader_beside_the_writer_sees_right_rows_or_none(self, open_index: Open) -> None:
        index = open_index()
        all_names = names(range(1, 20_001))
        wrong: list[object] = []
        done = threading.Event()

        def read() -> None:
            while not done.is_set():
                for row, found in enumerate(index.find(all_names[::50]), 0):
                    if found not in (None, row * 50 + 1):
                        wrong.append((row, found))

        reader = threading.Thread(target=read)
        reader.start()
        for first in range(0, 20_000, 500):
            add(index, all_names[first : first + 500])
        done.set()
        reader.join()
        assert not wrong


@needs_rocksdb
class TestReopen:
    def test_entries_and_watermark_are_there_again(self, open_index: Open) -> None:
        index = open_index()
        add(index, names(range(1, 501)))
        index.close()
        index = open_index()
        assert index.covered == Watermark(500, name(500))
        assert index.find([name(1), name(500), name(501)]) == [1, 500, None]

    def test_a_closed_index_says_so(self, open_index: Open) -> None:
        index = open_index()
        index.close()
        index.close()
        with pytest.raises(DatabaseClosedError):
            index.find([name(1)])
        with pytest.raises(DatabaseClosedError):
            index.write([], EMPTY)

    def test_a_second_opener_is_refused_within_the_process(
        self, open_index: Open, path: Path
    ) -> None:
        open_index()
        with pytest.raises(DatabaseLockedError, match=str(path)):
            open_index()

    def test_a_second_opener_is_refused_from_another_process(
        self, open_index: Open, path: Path
    ) -> None:
        open_index()
        done = run("RocksIndex(Path(sys.argv[1]), durability=Durability.POWER)", path)
        assert "DatabaseLockedError" in done.stderr

    def test_the_directory_that_should_hold_it_is_missing(self, tmp_path: Path) -> None:
        with pytest.raises(StorageError):
            RocksIndex(tmp_path / "no" / "index", durability=Durability.POWER)

    def test_a_second_name_of_a_run_that_a_crash_has_left_is_not_written_to(
        self, open_index: Open, path: Path
    ) -> None:
        index = open_index()
        add(index, names(range(1, 1001)))
        (run_file,) = path.glob("*.sst")
        (path / "unfinished-default").hardlink_to(run_file)
        add(index, names(range(1001, 1011)))
        index.close()
        assert open_index().find(names(range(1, 1011))) == list(range(1, 1011))

    def test_another_programs_database_is_left_alone(self, path: Path, open_index: Open) -> None:
        put_foreign_key(path)
        with pytest.raises(WrongDatabaseError, match="watermark"):
            open_index()


def put_foreign_key(path: Path) -> None:
    """Make a RocksDB database that cdb did not write, by RocksDB's own C interface."""
    library = ctypes.CDLL(ctypes.util.find_library("rocksdb"))
    for function in ("rocksdb_options_create", "rocksdb_open", "rocksdb_writeoptions_create"):
        getattr(library, function).restype = ctypes.c_void_p
    options = ctypes.c_void_p(library.rocksdb_options_create())
    library.rocksdb_options_set_create_if_missing(options, ctypes.c_ubyte(1))
    error = ctypes.c_char_p()
    arguments = (options, str(path).encode(), ctypes.byref(error))
    database = ctypes.c_void_p(library.rocksdb_open(*arguments))
    writing = ctypes.c_void_p(library.rocksdb_writeoptions_create())
    one = ctypes.c_size_t(1)
    library.rocksdb_put(database, writing, b"k", one, b"v", one, ctypes.byref(error))
    assert error.value is None
    library.rocksdb_close(database)


@needs_rocksdb
class TestReadOnly:
    def test_it_finds_and_changes_no_file(self, open_index: Open, path: Path) -> None:
        index = open_index()
        add(index, names(range(1, 501)))
        index.close()
        before = contents(path)
        reader = open_index(read_only=True)
        assert reader.covered == Watermark(500, name(500))
        assert reader.find([name(7), name(501)]) == [7, None]
        reader.close()
        assert contents(path) == before

    def test_it_opens_beside_the_writer(self, open_index: Open) -> None:
        index = open_index()
        add(index, names(range(1, 501)))
        index.rewind(index.covered, iter(()))  # flushes
        assert open_index(read_only=True).find([name(7)]) == [7]

    def test_it_does_not_create(self, open_index: Open, path: Path) -> None:
        with pytest.raises(DatabaseNotFoundError):
            open_index(read_only=True)
        assert not path.exists()

    def test_it_does_not_write(self, open_index: Open) -> None:
        open_index().close()
        with pytest.raises(ValueError, match="read-only"):
            add(open_index(read_only=True), [name(1)])


@needs_rocksdb
class TestRewind:
    @pytest.mark.parametrize("durability", Durability)
    def test_rows_above_are_forgotten(self, path: Path, durability: Durability) -> None:
        index = RocksIndex(path, durability=durability)
        add(index, names(range(1, 1001)))
        index.rewind(Watermark(400, name(400)), iter(names(range(401, 1001))))
        for _ in range(2):
            assert index.covered == Watermark(400, name(400))
            assert index.find([name(400), name(401), name(1000)]) == [400, None, None]
            index.close()
            index = RocksIndex(path, durability=durability)
        add(index, names(range(401, 501), "other branch"))
        assert index.find([name(401), name(401, "other branch")]) == [None, 401]
        index.close()

    def test_to_nothing(self, open_index: Open) -> None:
        index = open_index()
        add(index, names(range(1, 101)))
        index.rewind(EMPTY, iter(names(range(1, 101))))
        index.close()
        index = open_index()
        assert index.covered == EMPTY
        assert index.find([name(1)]) == [None]

    def test_an_error_halfway_closes_it_and_the_next_opening_ends_it(
        self, open_index: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(rocks, "ERASE_BATCH", 10)
        index = open_index()
        add(index, names(range(1, 101)))

        def dropped() -> Iterator[bytes]:
            yield from names(range(51, 76))
            raise RuntimeError("the rows cannot be read")

        with pytest.raises(RuntimeError):
            index.rewind(Watermark(50, name(50)), dropped())
        with pytest.raises(DatabaseClosedError):
            index.find([name(1)])
        index.close()
        index = open_index()
        add(index, names(range(51, 101), "other branch"))
        assert index.find(names(range(1, 101))) == [*range(1, 51), *[None] * 50]

    def test_after_a_kill_halfway_no_dropped_name_comes_back(
        self, open_index: Open, path: Path
    ) -> None:
        script = """
index = RocksIndex(Path(sys.argv[1]), durability=Durability.POWER)
add(index, names(range(1, 120_001)))
def dropped():
    yield from names(range(10_001, 70_001))
    os.kill(os.getpid(), signal.SIGKILL)
index.rewind(Watermark(10_000, name(10_000)), dropped())"""
        run_killed(script, path)
        old = names(range(1, 120_001))
        expected = [*range(1, 10_001), *[None] * 110_000]
        reader = open_index(read_only=True)
        assert reader.covered == Watermark(10_000, name(10_000))
        assert reader.find(old) == expected
        index = open_index()
        add(index, names(range(10_001, 120_001), "other branch"))
        assert index.find(old) == expected


def manifest_records(manifest: bytes) -> Iterator[int]:
    """Where each ends. RocksDB: checksum (4), length (2), type (1), and what it says."""
    end = 0
    while end < len(manifest):
        end += 7 + int.from_bytes(manifest[end + 4 : end + 6], "little")
        yield end


@needs_rocksdb
class TestManifestCutShort:
    @pytest.mark.parametrize("read_only", [False, True])
    @pytest.mark.parametrize("short_bytes", [0, 1])
    @pytest.mark.parametrize("more", [range(0), range(151, 201)])
    def test_it_is_an_earlier_index_or_damage(
        self, path: Path, tmp_path: Path, more: range, short_bytes: int, read_only: bool
    ) -> None:
        script = f"""
index = RocksIndex(Path(sys.argv[1]), durability=Durability.POWER)
for first in (1, 101, 201):
    add(index, names(range(first, first + 100)))
index.rewind(Watermark(150, name(150)), iter(names(range(151, 301))))
add(index, names({more}, "other branch"))"""
        run_killed(script, path)
        one = names(range(1, 301))
        branches = {one[row - 1]: one[:row] for row in (100, 150, 200, 300)} | {b"": []}
        other = one[:150] + names(more, "other branch")
        branches[other[-1]] = other
        (manifest,) = path.glob("MANIFEST-*")
        whole = manifest.read_bytes()
        covered = set()
        for end in manifest_records(whole):
            cut = tmp_path / f"cut-{end}"
            shutil.copytree(path, cut)
            (cut / manifest.name).write_bytes(whole[: end - short_bytes])
            try:
                index = RocksIndex(cut, durability=Durability.POWER, read_only=read_only)
            except CorruptDatabaseError:
                continue
            branch = branches[index.covered.tie]
            covered.add(len(branch))
            assert index.covered.rows == len(branch)
            assert index.find(branch) == list(range(1, len(branch) + 1))
            index.close()
        assert {0, 100, 150, 200, 300} <= covered


@needs_rocksdb
class TestSettle:
    def test_runs_become_one_and_answer_as_before(self, open_index: Open, path: Path) -> None:
        index = open_index()
        for rows in (range(1, 501), range(501, 1001)):  # few: RocksDB itself merges eight runs
            add(index, names(rows))
        index.rewind(Watermark(900, name(900)), iter(names(range(901, 1001))))
        assert 1 < len(list(path.glob("*.sst"))) < 8
        index.settle()
        for _ in range(2):
            assert index.covered == Watermark(900, name(900))
            assert index.find(names(range(1, 1001))) == [*range(1, 901), *[None] * 100]
            index.close()
            assert len(list(path.glob("*.sst"))) == 1
            index = open_index()

    def test_nothing_is_written_again_where_nothing_is_owed(
        self, open_index: Open, path: Path
    ) -> None:
        index = open_index()
        index.settle()
        assert not list(path.glob("*.sst"))
        for rows in (range(1, 301), range(301, 601)):
            add(index, names(rows))
        index.settle()
        (settled,) = path.glob("*.sst")
        index.settle()
        assert list(path.glob("*.sst")) == [settled]

    def test_a_kill_after_it_costs_nothing(self, open_index: Open, path: Path) -> None:
        script = """
index = RocksIndex(Path(sys.argv[1]), durability=Durability.NONE)
for first in range(1, 1000, 200):
    add(index, names(range(first, first + 200)))
index.rewind(Watermark(900, name(900)), iter(names(range(901, 1001))))
index.settle()"""
        run_killed(script, path)
        index = open_index(read_only=True)
        assert index.covered == Watermark(900, name(900))
        assert index.find(names(range(1, 1001))) == [*range(1, 901), *[None] * 100]

    def test_it_is_refused_read_only_and_after_closing(self, open_index: Open) -> None:
        index = open_index()
        index.close()
        with pytest.raises(DatabaseClosedError):
            index.settle()
        with pytest.raises(ValueError, match="read-only"):
            open_index(read_only=True).settle()


@needs_rocksdb
@pytest.mark.long
class TestCrash:
    @pytest.mark.parametrize("batches", [1, 9, 60, 90])
    def test_a_kill_leaves_all_batches(self, open_index: Open, path: Path, batches: int) -> None:
        script = """
index = RocksIndex(Path(sys.argv[1]), durability=Durability.POWER)
for batch in range(int(sys.argv[2])):
    add(index, names(range(batch * 2000 + 1, batch * 2000 + 2001)))"""
        run_killed(script, path, batches)
        index = open_index()
        rows = batches * 2000
        assert index.covered == Watermark(rows, name(rows))
        assert index.find(names(range(1, rows + 1))) == list(range(1, rows + 1))

    @pytest.mark.parametrize("durability", Durability)
    def test_a_kill_takes_no_rewind_back(
        self, open_index: Open, path: Path, durability: Durability
    ) -> None:
        script = """
index = RocksIndex(Path(sys.argv[1]), durability=Durability(sys.argv[2]))
add(index, names(range(1, 201)))
index.rewind(Watermark(100, name(100)), iter(names(range(101, 201))))"""
        run_killed(script, path, durability.value)
        for read_only in (True, False):
            index = open_index(read_only=read_only)
            assert index.covered == Watermark(100, name(100))
            assert index.find(names(range(1, 202))) == [*range(1, 101), *[None] * 101]
            index.close()

    # Until a write fails: the error is clear, and what is left is a prefix.
    FILL = """
path = Path(sys.argv[1])
index = RocksIndex(path, durability=Durability.POWER)
limit_files()
try:
    for batch in range(1000):
        add(index, names(range(batch * 500 + 1, batch * 500 + 501)))
except StorageError as error:
    print(error)
try:
    index.find([name(1)])
except DatabaseClosedError:
    print("closed")
index.close()
index = RocksIndex(path, durability=Durability.POWER, read_only=True)
rows = index.covered.rows
print(index.find(names(range(1, rows + 501))) == [*range(1, rows + 1), *[None] * 500])"""

    def test_a_file_that_cannot_grow(self, path: Path) -> None:
        limit = "limit_files = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300_000,) * 2)"
        done = run(limit + self.FILL, path)
        assert done.returncode == 0, done.stderr
        assert "File too large" in done.stdout
        assert done.stdout.endswith("\nclosed\nTrue\n")

    @pytest.mark.parametrize("size", ["5m", "20m"])
    def test_a_full_disk(self, path: Path, size: str) -> None:
        path.mkdir()
        mount = 'mount -t tmpfs -o size="$0" tmpfs "$1" && shift && exec "$@"'
        within = ["unshare", "--user", "--map-root-user", "--mount"]
        within += ["sh", "-c", mount, size, str(path)]
        if shutil.which("unshare") is None or subprocess.call([*within, "true"]):
            pytest.skip("no file system can be mounted here, not even in a namespace of its own")
        done = run("limit_files = lambda: None" + self.FILL, path / "index", within=within)
        assert done.returncode == 0, done.stderr
        assert "the disk is full" in done.stdout
        assert done.stdout.endswith("\nclosed\nTrue\n")


@needs_rocksdb
@pytest.mark.long
class TestDamage:
    ROWS = 5000
    DATA_BYTES = ROWS * 40  # at least so much of the file are blocks of entries, which come first

    @pytest.fixture
    def table(self, open_index: Open, path: Path) -> Path:
        """The one file that holds all entries of the index at path."""
        index = open_index()
        add(index, names(range(1, self.ROWS + 1)))
        index.close()
        table = max(path.glob("*.sst"), key=lambda file: file.stat().st_size)
        assert table.stat().st_size > self.DATA_BYTES
        return table

    def find_all(self, open_index: Open) -> list[int | None] | str:
        """The answers, or the name of the error."""
        index = None
        try:
            index = open_index()
            return index.find(names(range(1, self.ROWS + 1)))
        except CdbError as error:
            return type(error).__name__
        finally:
            if index:
                index.close()

    def test_a_flipped_byte_anywhere_is_found_or_harmless(
        self, open_index: Open, path: Path, table: Path
    ) -> None:
        sound = path.with_name("sound")
        shutil.copytree(path, sound)
        size = table.stat().st_size
        offsets = [*range(0, size - 1500, 2000), *range(size - 1500, size, 25)]
        served_in_data = []
        for offset in offsets:
            shutil.rmtree(path)
            shutil.copytree(sound, path)
            flip(table, offset)
            answer = self.find_all(open_index)
            # Filter, properties and padding can be lost without an answer being wrong.
            assert answer in ("CorruptDatabaseError", list(range(1, self.ROWS + 1))), offset
            if offset < self.DATA_BYTES and answer != "CorruptDatabaseError":
                served_in_data.append(offset)
        assert not served_in_data

    def test_a_check_reads_what_no_name_leads_to(
        self, open_index: Open, path: Path, table: Path
    ) -> None:
        index = open_index()
        index.check()
        index.rewind(EMPTY, iter(names(range(1, self.ROWS + 1))))
        index.close()
        flip(table, 100)
        index = open_index()
        with pytest.raises(CorruptDatabaseError):
            index.check()
        index.close()

    @pytest.mark.parametrize("left", [0, 1000, 100_000])
    def test_a_cut_table(self, open_index: Open, table: Path, left: int) -> None:
        with table.open("r+b") as file:
            file.truncate(left)
        assert self.find_all(open_index) == "CorruptDatabaseError"

    def test_a_missing_table(self, open_index: Open, table: Path) -> None:
        table.unlink()
        assert self.find_all(open_index) == "CorruptDatabaseError"

    @pytest.mark.parametrize("offset", [0, 12, 15])
    def test_a_damaged_name_of_the_manifest(
        self, open_index: Open, path: Path, table: Path, offset: int
    ) -> None:
        assert table.exists()
        flip(path / "CURRENT", offset)
        assert self.find_all(open_index) == "CorruptDatabaseError"

    def test_a_damaged_manifest(self, open_index: Open, path: Path, table: Path) -> None:
        assert table.exists()
        (manifest,) = path.glob("MANIFEST-*")
        flip(manifest, manifest.stat().st_size // 2)
        assert self.find_all(open_index) == "CorruptDatabaseError"

    def test_the_error_names_the_path(self, open_index: Open, path: Path, table: Path) -> None:
        flip(table, 100)
        with pytest.raises(CorruptDatabaseError, match=str(path)) as caught:
            open_index().find(names(range(1, self.ROWS + 1)))
        assert "\n" not in str(caught.value)


def flip(file: Path, offset: int) -> None:
    with file.open("r+b") as opened:
        opened.seek(offset)
        byte = opened.read(1)[0]
        opened.seek(offset)
        opened.write(bytes([byte ^ 0xFF]))


class Machine(RuleBasedStateMachine):
    """Any order of writes, rewinds, compactions and reopenings answers as a list of names does."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.held: list[bytes] = []
        self.dropped: list[bytes] = []
        self.made = 0
        self.open()

    def open(self) -> None:
        self.index = RocksIndex(self.directory / "index", durability=Durability.PROCESS)

    @rule(count=st.integers(0, 300))
    def write(self, count: int) -> None:
        new = names(range(self.made, self.made + count))
        self.made += count
        add(self.index, new)
        self.held += new

    @precondition(lambda self: self.dropped)
    @rule()
    def write_dropped_names_again(self) -> None:
        add(self.index, self.dropped)
        self.held += self.dropped
        self.dropped = []

    @rule(share=st.floats(0, 1))
    def rewind(self, share: float) -> None:
        rows = int(share * len(self.held))
        self.dropped += self.held[rows:]
        self.held = self.held[:rows]
        last_name = self.held[-1] if self.held else b""
        self.index.rewind(Watermark(rows, last_name), iter(self.dropped))

    @rule()
    def settle(self) -> None:
        self.index.settle()

    @rule()
    def reopen(self) -> None:
        self.index.close()
        self.open()

    @rule()
    def find(self) -> None:
        assert self.index.covered == Watermark(len(self.held), (self.held or [b""])[-1])
        assert self.index.find(self.held) == list(range(1, len(self.held) + 1))
        assert not any(self.index.find(self.dropped))

    def teardown(self) -> None:
        self.index.close()
        shutil.rmtree(self.directory)


@needs_rocksdb
def test_any_order_of_steps() -> None:
    steps = settings(max_examples=30, stateful_step_count=20, deadline=None)
    run_state_machine_as_test(Machine, settings=steps)


class TestMissing:
    @pytest.fixture(autouse=True)
    def no_engine(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "cdb.engines._rocksdb", None)

    def test_it_says_what_to_install(self) -> None:
        reason = rocks.missing()
        assert reason is not None
        assert "librocksdb-dev" in reason
        assert "\n" not in reason

    def test_opening_touches_nothing(self, path: Path) -> None:
        with pytest.raises(MissingEngineError, match="librocksdb-dev"):
            RocksIndex(path, durability=Durability.POWER)
        assert not path.exists()

    def test_there_is_no_version(self) -> None:
        with pytest.raises(MissingEngineError):
            rocks.version()


@needs_rocksdb
def test_version() -> None:
    assert rocks.missing() is None
    assert rocks.version().startswith("RocksDB ")
