"""cdb upgrade: a database of the format before becomes one of this, and no kill leaves it between.

tests/schemas/data/coin_log_1 is a coin log that the last cdb of format 1 has made: 24 blocks with
rewards, early children and spends, after a rewind.
"""

import errno
import fcntl
import os
import shutil
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
import xxhash

import cdb.upgrade
from cdb.blocks import BlockSpendInfo, canonical
from cdb.coin_log.binding import missing
from cdb.coins import Coin, bytes32
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
from cdb.testing.base import expected_state
from cdb.testing.chains import child, hash_of, paid, random_chain, reward
from cdb.upgrade import Upgraded, upgrade
from tests.conftest import Commands, contents, largest_file, ready_schemas
from tests.in_fork import dies_at
from tests.native_sizes import native_size

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

LOOKED_AT_ONCE = native_size("coin_log/format1.cpp", "kPieceBytes")
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
    assert f"schema {find_schema(schema).name} has no older format" in error


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
    with largest_file(limit), pytest.raises(StorageError):
        upgrade(COIN_LOG, path)
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


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


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
        lambda path: append(path / "log", bytes(2 * LOOKED_AT_ONCE) + b"x"),
    ],
    ids=["first", "last", "cut", "emptied", "acked", "acked-bytes", "torn", "torn-far"],
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


def slot(length: int, epoch: int) -> bytes:
    """One of `acked`."""
    fields = struct.pack("<QII", length, epoch, 1)
    return fields + struct.pack("<Q", xxhash.xxh3_64_intdigest(fields))


def test_a_rewind_that_was_cut_short_wants_the_cdb_that_did_it(path: Path) -> None:
    """The log has the blocks still that `acked` says are rewound."""
    length = 0
    log = (path / "log").read_bytes()
    for _ in range(12):
        length += int.from_bytes(log[length + 12 : length + 16], "little")
    (path / "acked").write_bytes(2 * slot(length, 2))
    with pytest.raises(CorruptDatabaseError, match=f"at byte {length}; .*cdb that wrote it"):
        upgrade(COIN_LOG, path)


def record_of_format_1(
    block: BlockSpendInfo, offset: int, previous: int, first_row: int = 0, epoch: int = 0
) -> bytes:
    spends, coins = sorted(block.spends), block.confirms
    spent = set(spends)
    whole = sorted({coin.parent_coin_name for coin in coins} - spent)
    numbers = {name: number for number, name in enumerate([*spends, *whole])}
    amount_bytes = max((coin.amount.bit_length() + 7) // 8 for coin in [*coins, reward(0)])
    parent_bytes = max(1, ((len(numbers) - 1).bit_length() + 7) // 8)
    parts = b"".join([*spends, *whole])
    for coin in coins:
        parts += coin.puzzle_hash + coin.amount.to_bytes(amount_bytes, "little")
        parts += numbers[coin.parent_coin_name].to_bytes(parent_bytes, "little")
    head = struct.pack(
        "<IQIIQQQ", 72 + len(parts), previous, epoch, block.index, block.timestamp, first_row, 0
    )
    counts = struct.pack(
        "<IIIHBB", len(spends), len(whole), len(coins), 1, amount_bytes, parent_bytes
    )
    body = b"CLR1" + head + counts + parts
    return struct.pack("<Q", xxhash.xxh3_64_intdigest(body, offset)) + body


def make_format_1(path: Path, blocks: Sequence[BlockSpendInfo], epoch: int = 0) -> None:
    """A database of these blocks, without what is derived. epoch: of the second half of them."""
    log, previous, rows = b"", 0, 0
    for number, block in enumerate(blocks):
        after = epoch if 2 * number >= len(blocks) else 0
        log += (record := record_of_format_1(block, len(log), previous, rows, after))
        (previous,) = struct.unpack_from("<Q", record)
        rows += len(block.confirms)
    path.mkdir()
    (path / "FORMAT").write_text("cdb coin_log 1\n")
    (path / "log").write_bytes(log + bytes(4_096))
    (path / "acked").write_bytes(2 * slot(len(log), epoch))


def odd_rewards(kinds: int) -> list[BlockSpendInfo]:
    """Of ages and heights of each width, and a block that spends one of them."""
    ages = [0, 1, 255, 256, 2**16 - 1, 2**16, 2**24 - 1, 2**24, -1, -(2**31)]
    indices = [0, 7, 300, 2**16, 2**24 + 1, 2**25, 2**31, 2**32 - 2]
    blocks = [
        BlockSpendInfo(
            index,
            index,
            [],
            [
                paid((index - age) % 2**32, kind, amount)
                for kind in range(kinds)
                for amount, age in enumerate(ages)
            ],
        )
        for index in indices
    ]
    spends = [block.confirms[-1].name() for block in blocks]
    nothing = Coin(bytes32(bytes(32)), bytes32(bytes(32)), 0)  # a reward of a kind and height 0
    children = [child(name, 1, 2**64 - 1) for name in spends]
    return [*blocks, BlockSpendInfo(2**32 - 1, 0, spends, [nothing, *children])]


def early_children() -> list[BlockSpendInfo]:
    """Of parents that are spent later, and of parents that never come."""
    parents = [reward(1, n) for n in range(3)]
    names = [parent.name() for parent in parents]
    return [
        BlockSpendInfo(1, 1, [], [*parents, *(child(name, 9) for name in names)]),
        BlockSpendInfo(2, 2, [], [child(hash_of("nobody")), child(names[0])]),
        BlockSpendInfo(3, 3, names[:1], [child(names[0], 1)]),
    ]


ODD: dict[str, list[BlockSpendInfo]] = {
    "nothing": [],
    "genesis": [BlockSpendInfo(0, 0, [], [reward(0), paid(0)])],
    "an empty block": [BlockSpendInfo(2**32 - 1, 2**64 - 1, [], [])],
    "early children": early_children(),
    "random": random_chain(Random(1), 40).blocks,
    **{f"{kinds} kinds of rewards": odd_rewards(kinds) for kinds in (1, 7, 8, 9, 30)},
}


@pytest.mark.parametrize("schema", ["coin_log", "cdb.schemas.coin_log:SMALL"])
@pytest.mark.parametrize("epoch", [0, 3])
@pytest.mark.parametrize("name", ODD)
def test_odd_databases(tmp_path: Path, schema: str, name: str, epoch: int) -> None:
    """Each becomes what its blocks make of a new one, also without what is derived."""
    info, path, blocks = find_schema(schema), tmp_path / "my.cdb", list(map(canonical, ODD[name]))
    make_format_1(path, blocks, epoch)
    expected = expected_state(blocks)
    assert upgrade(info, path, keep_old=False).summary == expected
    for _ in range(2):
        for read_only in (True, False):
            with info.open(path, read_only=read_only) as database:
                assert verify(database) == expected
                assert list(database.blocks()) == blocks
        shutil.rmtree(path / "derived")
    assert beside(path) == set()


@pytest.mark.parametrize("n", [0, 1, 2])
def test_the_first_databases_of_format_1(path: Path, n: int) -> None:
    """Without a block; and with `acked` as its first versions wrote it."""
    shutil.rmtree(path / "derived")
    log, previous = b"", 0
    for index in range(n):
        log += record_of_format_1(BlockSpendInfo(index, 0, [], []), len(log), previous)
        previous = int.from_bytes(log[-72:-64], "little")
    (path / "log").write_bytes(log or b"\0")
    if n:
        (path / "acked").write_bytes(bytes.fromhex(TURNED_ACKED[n]))
    else:
        (path / "acked").write_bytes(2 * slot(0, 0))
    done = upgrade(COIN_LOG, path)
    assert done.summary is not None
    assert done.summary.blocks == n
    assert held(path).blocks == n


def test_a_file_system_that_cannot_exchange_names(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange_module, "_renameat2", lambda: None)
    with pytest.raises(UnsupportedError, match="so that none is lost"):
        upgrade(COIN_LOG, path)
    assert_as_before(path)


def test_an_exchange_that_fails(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange_module, "_error_of_rename", lambda *names: errno.EIO)
    with pytest.raises(StorageError, match="EIO"):
        upgrade(COIN_LOG, path)
    assert_as_before(path)


def test_an_exchange_that_fails_at_last(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where another directory is mounted there, when the new database is made already."""
    right = exchange_module._error_of_rename

    def fail(one: Path, other: Path, flag: int) -> int:
        return errno.EBUSY if other == path else right(one, other, flag)

    monkeypatch.setattr(exchange_module, "_error_of_rename", fail)
    with pytest.raises(StorageError, match=r"EBUSY.*mounted there"):
        upgrade(COIN_LOG, path)
    assert_as_before(path)


def test_a_name_that_cannot_change(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told before anything is made."""
    monkeypatch.setattr(Path, "is_mount", lambda where: where == path)
    monkeypatch.setattr(cdb.upgrade._Upgrade, "_build", None)
    with pytest.raises(UnsupportedError, match=f"mounted at {path}, .*directory of its own"):
        upgrade(COIN_LOG, path)
    assert_as_before(path)


def test_an_exchange_of_which_nobody_knows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The names are exchanged, and to make that durable fails: no database is removed."""

    def exchange_and_fail(one: Path, other: Path) -> None:
        exchange_module.exchange(one, other)
        if one == path:
            raise StorageError(path.parent, "EIO")

    with monkeypatch.context() as broken:
        broken.setattr(cdb.upgrade, "exchange", exchange_and_fail)
        with pytest.raises(StorageError, match="EIO"):
            upgrade(COIN_LOG, path)
    assert held(path) == HELD
    assert schema_at(path.with_name("my.cdb.upgrade")) == ("coin_log", 1)
    assert upgrade(COIN_LOG, path).kept == path.with_name("my.cdb.format1")


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


TRACED = {cdb.upgrade.__file__, exchange_module.__file__}
EACH = 7
"""So many steps further the next one is killed; with the old database kept, they are others."""


def kill_points(path: Path, keep_old: bool) -> Iterator[int]:
    """Numbers that rise, as long as an upgrade dies at that step; each time of a fresh database."""
    work = partial(upgrade, COIN_LOG, path, keep_old=keep_old)
    n = 1 + keep_old
    while True:
        for each in path.parent.iterdir():
            shutil.rmtree(each)
        shutil.copytree(FIXTURE, path)
        if not dies_at(n, work, TRACED):
            return
        yield n
        n += EACH


@pytest.mark.long
@pytest.mark.parametrize("keep_old", [True, False])
def test_killed_at_any_step_it_leaves_a_whole_database_and_goes_on(
    path: Path, keep_old: bool
) -> None:
    again = partial(upgrade, COIN_LOG, path, keep_old=keep_old)
    seen = {1: 0, 2: 0}
    for n in kill_points(path, keep_old):
        _, version = schema_at(path) or ("", 0)
        seen[version] += 1
        if version == 2:
            assert held(path) == HELD
        if n % 21 < EACH and dies_at(n // 2, again, TRACED):  # and once more, on the way
            assert schema_at(path) is not None
        done: Upgraded = again()
        assert held(path) == HELD
        left = {"my.cdb.format1"} if keep_old else set()
        assert beside(path) == left, (n, done)
    assert seen[1] > 50 // EACH
    assert seen[2] > 5 // EACH


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
