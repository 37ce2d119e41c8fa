"""cdb upgrade: a database of the format before becomes one of this, and no kill leaves it between.

tests/schemas/data/coin_log_1 is a coin log that the last cdb of format 1 has made: 24 blocks with
rewards, early children and spends, after a rewind.
"""

import errno
import fcntl
import os
import resource
import shutil
import signal
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import xxhash

import cdb.upgrade
from cdb.coin_log.binding import missing
from cdb.disk import exchange as exchange_module
from cdb.disk.home import schema_at
from cdb.errors import (
    CdbError,
    CorruptDatabaseError,
    DatabaseLockedError,
    InvariantError,
    StorageError,
    UnsupportedError,
    WrongDatabaseError,
)
from cdb.schemas import find_schema
from cdb.state import StateSummary, verify
from cdb.upgrade import Upgraded, upgrade
from tests.conftest import Commands, contents, ready_schemas

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

FIXTURE = Path(__file__).parents[1] / "schemas" / "data" / "coin_log_1"
DIGEST = "35d8593028ec63a20bd052a3ed82d969f9be9c6b9436291f190e1f191beceac5"
HELD = StateSummary(24, 242, 84, 70, DIGEST)
COIN_LOG = find_schema("coin_log")
# As format 1 began to write `acked`: after one flush and two, lengths 72 and 144.
TURNED_ACKED = {
    1: "00" * 24 + "48000000000000000000000001000000715dfaa7b290c5fe",
    2: "900000000000000000000000020000006bd5bfcb8f3a866f"
    "48000000000000000000000001000000715dfaa7b290c5fe",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    shutil.copytree(FIXTURE, tmp_path / "my.cdb")
    return tmp_path / "my.cdb"


def held(path: Path) -> StateSummary:
    with COIN_LOG.open(path, read_only=True) as database:
        return verify(database)


def beside(path: Path) -> set[str]:
    """What else there is."""
    return {each.name for each in path.parent.iterdir()} - {path.name}


def assert_as_before(path: Path) -> None:
    """It is the database of format 1, and nothing else is there."""
    now = {name: data for name, data in contents(path).items() if name != "LOCK"}
    assert now == contents(FIXTURE)
    assert beside(path) == set()


@pytest.mark.parametrize("remove_old", [False, True])
def test_a_database_of_format_1_is_upgraded(
    run_command: Commands, path: Path, remove_old: bool
) -> None:
    option = ["--remove-old"] if remove_old else []
    result = run_command("upgrade", "coin_log", "--db", path, *option)
    assert DIGEST in result.out.decode()
    assert "free: " in result.err
    assert schema_at(path) == ("coin_log", 2)
    assert held(path) == HELD
    assert beside(path) == (set() if remove_old else {"my.cdb.format1"})
    if not remove_old:
        kept = contents(path.with_name("my.cdb.format1"))
        assert {**kept, "LOCK": None} == {**contents(FIXTURE), "LOCK": None}
    again = run_command("upgrade", "coin_log", "--db", path, *option)
    assert "is of the newest format" in again.out.decode()
    with COIN_LOG.open(path) as database:
        database.rewind_to_block_index(30)


def test_what_needs_an_upgrade_says_so(run_command: Commands, path: Path) -> None:
    upgrades = f"cdb upgrade coin_log --db {path}"
    for command in (
        ["dump_blocks", "coin_log", "--db", str(path)],
        ["verify", "coin_log", "--db", str(path)],
        ["load_blocks", "coin_log", "--db", str(path)],
    ):
        assert upgrades in run_command(*command, input=b"").error()
    assert_as_before(path)


def test_help_teaches(run_command: Commands) -> None:
    text = run_command("upgrade", "--help").out.decode()
    assert "--remove-old" in text
    assert "kill -9" in text


@pytest.mark.parametrize("schema", [name for name in ready_schemas() if name != "coin_log"])
def test_other_schemas_have_no_older_format(run_command: Commands, schema: str, path: Path) -> None:
    error = run_command("upgrade", schema, "--db", path).error()
    assert f"schema {schema} has no older format" in error


def _nothing(path: Path) -> None:
    shutil.rmtree(path)


def _empty_directory(path: Path) -> None:
    shutil.rmtree(path)
    path.mkdir()


def _file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_bytes(b"x")


def _other_schema(path: Path) -> None:
    (path / "FORMAT").write_text("cdb rocks_kv 1\n")


def _newer(path: Path) -> None:
    (path / "FORMAT").write_text("cdb coin_log 3\n")


def _far_older(path: Path) -> None:
    (path / "FORMAT").write_text("cdb coin_log 0\n")


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (_nothing, "no database is here"),
        (_empty_directory, "no coin_log database"),
        (_file, "no coin_log database"),
        (_other_schema, "this is a rocks_kv database"),
        (_newer, "a newer one"),
        (_far_older, "use the cdb that wrote it"),
    ],
)
def test_what_is_no_database_of_the_format_before(
    path: Path, make: Callable[[Path], None], problem: str
) -> None:
    make(path)
    before = contents(path.parent)
    with pytest.raises(CdbError, match=problem):
        upgrade(COIN_LOG, path)
    assert contents(path.parent) == before


def test_nobody_may_write_meanwhile(path: Path) -> None:
    with (path / "LOCK").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(DatabaseLockedError):
            upgrade(COIN_LOG, path)
    assert_as_before(path)


def test_the_disk_is_too_small(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(path)._replace(free=1_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda where: usage)
    told: list[object] = []
    with pytest.raises(StorageError, match="and 1 MB are free"):
        upgrade(COIN_LOG, path, tell=told.append)
    assert_as_before(path)


@pytest.mark.parametrize("file", ["log", "manifest.tmp", "acked"])
def test_the_disk_becomes_full(path: Path, file: str) -> None:
    """Wherever it happens, the new database is removed."""
    limit = {"log": 8_192, "manifest.tmp": 200, "acked": 40}[file]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        with pytest.raises(StorageError):
            upgrade(COIN_LOG, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert_as_before(path)


@pytest.mark.parametrize("name", ["my.cdb.upgrade", "my.cdb.format1"])
@pytest.mark.parametrize("kind", ["directory", "file", "link", "database"])
def test_a_name_that_it_needs_is_taken(path: Path, name: str, kind: str) -> None:
    taken = path.with_name(name)
    match kind:
        case "directory":
            taken.mkdir()
            (taken / "mine").write_bytes(b"1")
        case "file":
            taken.write_bytes(b"1")
        case "link":
            taken.symlink_to(path)
        case "database":
            shutil.copytree(FIXTURE, taken)
    before = contents(path.parent)
    before.pop("my.cdb/LOCK", None)
    with pytest.raises(WrongDatabaseError, match="needs this name"):
        upgrade(COIN_LOG, path)
    after = contents(path.parent)
    after.pop("my.cdb/LOCK", None)
    assert after == before


def change(path: Path, place: int, by: int = 0x10) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= by
    path.write_bytes(data)


def log_end(path: Path) -> int:
    log = (path / "log").read_bytes()
    return len(log.rstrip(b"\0"))


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: change(path / "log", 100),
        lambda path: change(path / "log", log_end(path) - 1),
        lambda path: os.truncate(path / "log", 4_000),
        lambda path: os.truncate(path / "log", 0),
        lambda path: (path / "acked").unlink(),
        lambda path: (path / "acked").write_bytes(b"x" * 48),
        lambda path: change(path / "log", (path / "log").stat().st_size - 1),
    ],
    ids=["first", "last", "cut", "emptied", "acked", "acked-bytes", "torn"],
)
def test_of_a_damaged_one_nothing_is_made(path: Path, damage: Callable[[Path], object]) -> None:
    damage(path)
    before = contents(path)
    with pytest.raises(CorruptDatabaseError):
        upgrade(COIN_LOG, path)
    now = contents(path)
    now.pop("LOCK")
    assert now == before
    assert beside(path) == set()


def test_a_rewind_that_was_cut_short_wants_the_cdb_that_did_it(path: Path) -> None:
    """The log has the blocks still that `acked` says are rewound."""
    length = 0
    log = (path / "log").read_bytes()
    for _ in range(12):
        length += int.from_bytes(log[length + 12 : length + 16], "little")
    slot = struct.pack("<QII", length, 2, 99)
    slot += struct.pack("<Q", xxhash.xxh3_64_intdigest(slot))
    (path / "acked").write_bytes(2 * slot)
    with pytest.raises(CorruptDatabaseError, match=f"at byte {length}; .*cdb that wrote it"):
        upgrade(COIN_LOG, path)


def record_of_format_1(index: int, offset: int, previous: int) -> bytes:
    """An empty block's."""
    body = b"CLR1" + struct.pack("<IQIIQQQ", 72, previous, 0, index, 0, 0, 0)
    body += struct.pack("<IIIHBB", 0, 0, 0, 1, 0, 1)
    return struct.pack("<Q", xxhash.xxh3_64_intdigest(body, offset)) + body


@pytest.mark.parametrize("n", [0, 1, 2])
def test_the_first_databases_of_format_1(path: Path, n: int) -> None:
    """Without a block; and with `acked` as its first versions wrote it."""
    shutil.rmtree(path / "derived")
    log, previous = b"", 0
    for index in range(n):
        log += record_of_format_1(index, len(log), previous)
        previous = int.from_bytes(log[-72:-64], "little")
    (path / "log").write_bytes(log or b"\0")
    if n:
        (path / "acked").write_bytes(bytes.fromhex(TURNED_ACKED[n]))
    else:
        slot = struct.pack("<QII", 0, 0, 1)
        slot += struct.pack("<Q", xxhash.xxh3_64_intdigest(slot))
        (path / "acked").write_bytes(2 * slot)
    done = upgrade(COIN_LOG, path)
    assert done.summary is not None
    assert done.summary.blocks == n
    assert held(path).blocks == n


def test_a_file_system_that_cannot_exchange_names(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange_module, "_renameat2", lambda: None)
    with pytest.raises(UnsupportedError, match="exchanged in one step"):
        upgrade(COIN_LOG, path)
    assert_as_before(path)


def test_an_exchange_that_fails(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange_module, "_error_of_exchange", lambda one, other: errno.EIO)
    with pytest.raises(StorageError, match="EIO"):
        upgrade(COIN_LOG, path)
    assert_as_before(path)


@pytest.mark.parametrize("lost", ["block", "field"])
def test_a_new_database_that_differs_never_takes_the_place(
    path: Path, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    add = cdb.upgrade._Content._add
    calls = []

    def add_wrongly(content: Any, packed: Any) -> None:
        calls.append(packed)
        add(content, packed.part(0, len(packed) - 1) if len(calls) == 1 else packed)

    monkeypatch.setattr(cdb.upgrade._Content, "_add", add_wrongly)
    with pytest.raises(InvariantError, match="has not got the blocks"):
        upgrade(COIN_LOG, path)
    assert_as_before(path)


def killed_at(n: int, path: Path, keep_old: bool) -> bool:
    """Upgrade in a child that dies where the n-th step would be. Whether it died.

    A step is a line of the upgrade, or a change that Python is about to make to a directory.
    os._exit() runs nothing more, as kill -9 does.
    """
    child = os.fork()
    if child == 0:
        steps = 0

        def step() -> None:
            nonlocal steps
            steps += 1
            if steps == n:
                os._exit(9)

        def trace(frame: FrameType, event: str, argument: object) -> Any:
            if frame.f_code.co_filename not in TRACED:
                return None
            if event == "line":
                step()
            return trace

        sys.addaudithook(lambda event, arguments: step() if event in CHANGES else None)
        sys.settrace(trace)
        try:
            upgrade(COIN_LOG, path, keep_old=keep_old)
        except BaseException:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, 9)
    return code == 9


CHANGES = {"os.mkdir", "os.remove", "os.rename", "os.rmdir"}
TRACED = {cdb.upgrade.__file__, exchange_module.__file__}


def kill_points(path: Path, keep_old: bool) -> Iterator[int]:
    """Numbers that rise, as long as an upgrade dies at that step; each time of a fresh database."""
    n = 1
    while True:
        for each in path.parent.iterdir():
            shutil.rmtree(each)
        shutil.copytree(FIXTURE, path)
        if not killed_at(n, path, keep_old):
            return
        yield n
        n += 1


@pytest.mark.parametrize("keep_old", [True, False])
def test_killed_at_any_step_it_leaves_a_whole_database_and_goes_on(
    path: Path, keep_old: bool
) -> None:
    seen = {1: 0, 2: 0}
    for n in kill_points(path, keep_old):
        _, version = schema_at(path) or ("", 0)
        seen[version] += 1
        if version == 2:
            assert held(path) == HELD
        if n % 3 == 0 and killed_at(n // 2, path, keep_old):  # and once more, on the way
            assert schema_at(path) is not None
        done: Upgraded = upgrade(COIN_LOG, path, keep_old=keep_old)
        assert held(path) == HELD
        left = {"my.cdb.format1"} if keep_old else set()
        assert beside(path) == left, (n, done)
    assert seen[1] > 50
    assert seen[2] > 5


@pytest.mark.parametrize("line", [None, "cdb coin_log 2\n"])
def test_a_lost_format_is_not_mended_to_the_wrong_one(
    run_command: Commands, path: Path, line: str | None
) -> None:
    (path / "FORMAT").unlink()
    if line is not None:
        (path / "FORMAT").write_text(line)
    before = contents(path)
    error = run_command("verify", "coin_log", "--db", path, "--repair").error()
    assert "it is of format 1" in error
    assert contents(path) == before
    (path / "FORMAT").write_text("cdb coin_log 1\n")
    assert upgrade(COIN_LOG, path).summary == HELD
