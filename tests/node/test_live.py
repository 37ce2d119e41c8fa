"""A node's database is read as one snapshot while the node lives, and after it died."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

import pytest

from cdb.contents.state import verify
from cdb.contract.blocks import BlockSpendInfo, canonical
from cdb.contract.coins import Coin, bytes32
from cdb.errors import CorruptDatabaseError, StorageError, WrongDatabaseError
from cdb.schemas import find_schema, open_schema
from cdb.stores.node_table.table import TABLES
from cdb.stores.rows.snapshot import Snapshot
from cdb.text.replay import block_text

if TYPE_CHECKING:
    from tests.node.conftest import NodeDatabase

Contents = Callable[[], dict[str, tuple[bytes, int]]]
DROP_ROOTS_POWERS = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search,-fowner"]
COINS_A_BLOCK = 40

# What a node does: it adds blocks, each in one transaction, and each spends the coins of the one
# before. It answers a line "step" with the height of one more block; after "run" it doesn't stop.
WRITER = """
import hashlib, select, sqlite3, sys
from cdb.contract.coins import coin_name

path, height, coins_a_block = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
connection = sqlite3.connect(path, isolation_level=None)
connection.execute("PRAGMA synchronous=OFF")
connection.execute("PRAGMA wal_autocheckpoint=200")
connection.execute("PRAGMA cache_size=10")
connection.execute("SELECT count(*) FROM coin_record").fetchone()
print(height, flush=True)
running = False
while True:
    if not running or select.select([sys.stdin], [], [], 0)[0]:
        line = sys.stdin.readline()
        if not line:
            break
        running = line == "run\\n"
    height += 1
    parent = hashlib.sha256(b"%d" % height).digest()
    amount = height.to_bytes(8, "big")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(
        "UPDATE coin_record SET spent_index = ? WHERE confirmed_index = ? AND spent_index <= 0",
        (height, height - 1),
    )
    for number in range(coins_a_block):
        puzzle_hash = hashlib.sha256(b"%d" % number).digest()
        name = coin_name(parent, puzzle_hash, height)
        row = name, height, -(number % 2), 0, puzzle_hash, parent, amount, height
        connection.execute("INSERT INTO coin_record VALUES (?,?,?,?,?,?,?,?)", row)
    connection.execute("COMMIT")
    print(height, flush=True)
connection.close()
"""


def written_coins(height: int) -> list[Coin]:
    parent = bytes32(hashlib.sha256(b"%d" % height).digest())
    hashes = (hashlib.sha256(b"%d" % number).digest() for number in range(COINS_A_BLOCK))
    return [Coin(parent, bytes32(puzzle_hash), height) for puzzle_hash in hashes]


class Writer:
    """A process that writes to a node's database as a node does."""

    def __init__(self, node: NodeDatabase, path: Path, environment: dict[str, str]) -> None:
        newest = node.state.newest_index
        assert newest is not None
        self._first = newest + 1
        spent = {name for block in node.state.blocks for name in block.spends}
        last = (coin.name() for coin in node.state.blocks[-1].confirms)
        self._unspent = [name for name in last if name not in spent]
        self._known = node.state.blocks
        arguments = [str(path), str(newest), str(COINS_A_BLOCK)]
        self._process = subprocess.Popen(
            [sys.executable, "-c", WRITER, *arguments],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.height()

    def height(self) -> int:
        """The height of the next block that it reports."""
        return int(_open(self._process.stdout).readline())

    def step(self) -> int:
        """Write one block; its height."""
        self._say("step")
        return self.height()

    def run(self) -> None:
        """Write on and on."""
        self._say("run")

    def stop(self) -> int:
        """Let it finish and close its database; the height of its last block."""
        _open(self._process.stdin).close()
        heights = _open(self._process.stdout).read().split()
        assert self._process.wait() == 0
        return int(heights[-1]) if heights else 0

    def kill(self) -> None:
        """Kill it, as a power switch would."""
        self._process.kill()
        self._process.wait()

    def blocks_to(self, height: int) -> list[BlockSpendInfo]:
        """All the blocks of the chain up to one that it wrote."""
        blocks = list(self._known)
        unspent = self._unspent
        for index in range(self._first, height + 1):
            coins = written_coins(index)
            blocks.append(canonical(BlockSpendInfo(index, index, unspent, coins)))
            unspent = [coin.name() for coin in coins]
        return blocks

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()
        _open(self._process.stdin).close()
        _open(self._process.stdout).close()

    def _say(self, line: str) -> None:
        stream = _open(self._process.stdin)
        stream.write(f"{line}\n")
        stream.flush()


def _open(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


@pytest.fixture
def path(live: NodeDatabase, tmp_path: Path) -> Path:
    return live.copy_to(tmp_path / "node.sqlite")


@pytest.fixture
def writer(live: NodeDatabase, path: Path, command_environment: dict[str, str]) -> Iterator[Writer]:
    with Writer(live, path, command_environment) as writer:
        yield writer


@pytest.fixture
def dump(
    path: Path, dump_command: list[str], command_environment: dict[str, str]
) -> Callable[..., bytes]:
    """Dumps the database with the command, whose arguments may be prefixed."""

    def run(*prefix: str) -> bytes:
        done = subprocess.run(
            [*prefix, *dump_command, "--db", str(path)],
            env=command_environment,
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout

    return run


def replay(blocks: list[BlockSpendInfo]) -> bytes:
    return b"".join(map(block_text, blocks))


def without_shm(contents: dict[str, tuple[bytes, int]]) -> dict[str, tuple[bytes, int]]:
    """Readers mark in the -shm file what they read: that is what it is for."""
    return {name: found for name, found in contents.items() if not name.endswith("-shm")}


def test_the_last_blocks_are_only_in_the_wal(live: NodeDatabase, path: Path) -> None:
    path.with_name(path.name + "-wal").unlink()
    with open_schema("blockchain_v2", path, read_only=True) as database:
        assert list(database.blocks()) == live.state.blocks[:-5]


def test_a_living_writers_database(
    path: Path, writer: Writer, contents: Contents, dump: Callable[..., bytes]
) -> None:
    for _ in range(3):
        height = writer.step()
        before = contents()
        assert set(before) == {path.name, f"{path.name}-wal", f"{path.name}-shm"}
        assert dump() == replay(writer.blocks_to(height))
        after = contents()
        assert set(after) == set(before)
        assert without_shm(after) == without_shm(before)


def test_a_link_to_a_living_writers_database(
    path: Path,
    writer: Writer,
    tmp_path_factory: pytest.TempPathFactory,
    dump_command: list[str],
    command_environment: dict[str, str],
) -> None:
    """The newest blocks are in the -wal beside the file, not beside the link."""
    link = tmp_path_factory.mktemp("links") / "link.sqlite"
    link.symlink_to(path)
    height = writer.step()
    command = [*dump_command, "--db", str(link)]
    dumped = subprocess.run(command, env=command_environment, capture_output=True, check=True)
    assert dumped.stdout == replay(writer.blocks_to(height))
    assert list(link.parent.iterdir()) == [link]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_another_users_database_is_read_and_never_written(
    live: NodeDatabase, path: Path, contents: Contents
) -> None:
    for file in path.parent.iterdir():
        os.chown(file, 65_534, -1)
    before = contents()
    with pytest.raises(WrongDatabaseError, match=f"{path}: it belongs to user"):
        open_schema("blockchain_v2", path)
    assert contents() == before
    with open_schema("blockchain_v2", path, read_only=True) as database:
        assert list(database.blocks()) == live.state.blocks
    assert contents() == before


def test_a_dump_beside_a_busy_writer_is_one_snapshot(
    writer: Writer, dump: Callable[..., bytes]
) -> None:
    writer.run()
    newest = 0
    for _ in range(3):
        earliest = max(newest, writer.height())
        text = dump()
        newest = int(text[text.rindex(b"\nB ") :].split()[1])
        assert newest >= earliest
        assert text == replay(writer.blocks_to(newest))
    assert writer.stop() >= newest


def test_blocks_are_a_snapshot_while_the_writer_goes_on(path: Path, writer: Writer) -> None:
    height = writer.step()
    with open_schema("blockchain_v2", path, read_only=True) as database:
        blocks = iter(database.blocks())
        first = [next(blocks), next(blocks)]
        writer.run()
        for _ in range(30):
            writer.height()
        assert [*first, *blocks] == writer.blocks_to(height)


def test_blocks_are_a_snapshot_while_the_writer_leaves(path: Path, writer: Writer) -> None:
    """It closes its database, which moves all of the -wal into the file where nobody reads."""
    height = writer.step()
    with open_schema("blockchain_v2", path, read_only=True) as database:
        blocks = iter(database.blocks())
        first = [next(blocks), next(blocks)]
        for _ in range(30):
            writer.step()
        writer.stop()
        assert [*first, *blocks] == writer.blocks_to(height)


def test_an_open_database_is_one_moment(path: Path, writer: Writer) -> None:
    """What is opened for reading stays as it was, in lookups, blocks and iterations alike."""
    height = writer.step()
    with open_schema("blockchain_v2", path, read_only=True) as database:
        writer.step()
        assert database.last_block_index == height
        assert database.block_info_for_block_index(height + 1) is None
        spent_since = [coin.name() for coin in written_coins(height)]
        infos = database.coin_infos_for_coin_names(spent_since)
        assert {info.spent_index for info in infos} == {0}
        assert list(database.blocks()) == writer.blocks_to(height)


def test_verify_beside_a_writer(path: Path, writer: Writer) -> None:
    height = writer.step()
    with open_schema("blockchain_v2", path, read_only=True) as database:
        writer.step()
        assert verify(database).newest_index == height


def test_the_check_of_files_beside_a_writer(path: Path, writer: Writer, contents: Contents) -> None:
    writer.step()
    check = find_schema("blockchain_v2").spec.check
    assert check is not None
    before = contents()
    assert list(check(path, lambda coins: None)) == []
    after = contents()
    assert set(after) == set(before)
    assert without_shm(after) == without_shm(before)


def test_a_killed_writers_database(
    path: Path, writer: Writer, contents: Contents, dump: Callable[..., bytes]
) -> None:
    """Its -wal and -shm stay behind."""
    height = writer.step()
    writer.kill()
    before = contents()
    assert dump() == replay(writer.blocks_to(height))
    after = contents()
    assert set(after) == set(before)
    assert without_shm(after) == without_shm(before)


@pytest.mark.parametrize("in_wal_mode", [True, False])
def test_a_database_that_was_closed(
    path: Path, writer: Writer, contents: Contents, dump: Callable[..., bytes], in_wal_mode: bool
) -> None:
    height = writer.step()
    writer.stop()
    if not in_wal_mode:
        set_rollback_journal(path)
    before = contents()
    assert set(before) == {path.name}
    assert dump() == replay(writer.blocks_to(height))
    assert contents() == before


WAL_HEADER_BYTES = 32
FRAME_BYTES = 24 + 4096
USELESS_WALS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda wal: b"",
    "header-only": lambda wal: wal[:WAL_HEADER_BYTES],
    "torn-first-commit": lambda wal: wal[: WAL_HEADER_BYTES + 2 * FRAME_BYTES],
    "garbage": lambda wal: bytes(range(256)) * 40,
    # Whole, with the right salts, and another checksum than SQLite would compute.
    "altered": lambda wal: wal[: WAL_HEADER_BYTES + 24] + b"?" + wal[WAL_HEADER_BYTES + 25 :],
}


@pytest.mark.parametrize("useless", USELESS_WALS.values(), ids=USELESS_WALS)
def test_a_wal_without_any_commit(
    live: NodeDatabase,
    path: Path,
    contents: Contents,
    dump: Callable[..., bytes],
    useless: Callable[[bytes], bytes],
) -> None:
    wal = path.with_name(path.name + "-wal")
    wal.write_bytes(useless(wal.read_bytes()))
    before = contents()
    assert dump() == replay(live.state.blocks[:-5])
    assert contents() == before


@pytest.mark.parametrize("useless", USELESS_WALS.values(), ids=USELESS_WALS)
def test_a_node_that_starts_while_we_read_keeps_its_wal(
    live: NodeDatabase,
    path: Path,
    command_environment: dict[str, str],
    dump: Callable[..., bytes],
    useless: Callable[[bytes], bytes],
) -> None:
    """SQLite deletes a -wal when the last connection closes, and doesn't know of the node."""
    wal = path.with_name(path.name + "-wal")
    wal.write_bytes(useless(wal.read_bytes()))
    with Snapshot(path, TABLES):
        writer = Writer(live, path, command_environment)
        height = writer.step()
    with writer:
        assert wal.exists()
    assert f"\nB {height} ".encode() in dump()


@pytest.mark.parametrize("is_closed", [True, False])
def test_a_writer_that_comes_while_nothing_is_locked_is_noticed(
    live: NodeDatabase, path: Path, command_environment: dict[str, str], *, is_closed: bool
) -> None:
    """What is read beside it may be mixed: it is an error, damage or not."""
    if is_closed:
        with Writer(live, path, command_environment) as writer:
            writer.stop()
    count = "SELECT count(*) FROM coin_record"
    with Snapshot(path, TABLES) as snapshot:
        with snapshot.reading():
            snapshot.connection.execute(count).fetchone()
        with Writer(live, path, command_environment) as writer:
            writer.step()
            noticed = pytest.raises(StorageError, match="another program began to write")
            with noticed, snapshot.reading():
                snapshot.connection.execute(count).fetchone()
            with noticed, snapshot.reading():
                raise CorruptDatabaseError(path, "what looks like damage")


@pytest.mark.parametrize("left", [b"", bytes(32768), bytes(range(256)) * 128])
def test_a_shm_file_that_makes_no_sense(
    path: Path, writer: Writer, dump: Callable[..., bytes], left: bytes
) -> None:
    """SQLite makes it anew from the -wal where nobody else has it open."""
    height = writer.step()
    writer.kill()
    path.with_name(path.name + "-shm").write_bytes(left)
    before = [path.read_bytes(), path.with_name(path.name + "-wal").read_bytes()]
    assert dump() == replay(writer.blocks_to(height))
    assert [path.read_bytes(), path.with_name(path.name + "-wal").read_bytes()] == before


def test_a_shm_file_that_was_left_without_its_wal(
    live: NodeDatabase, path: Path, writer: Writer, contents: Contents, dump: Callable[..., bytes]
) -> None:
    writer.kill()
    path.with_name(path.name + "-wal").unlink()
    before = contents()
    assert dump() == replay(live.state.blocks[:-5])
    after = contents()
    assert set(after) == set(before)
    assert without_shm(after) == without_shm(before)


def set_rollback_journal(path: Path) -> None:
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA journal_mode=DELETE").fetchone() == ("delete",)
    connection.close()


def test_a_rollback_journal_keeps_the_writer_out(
    live: NodeDatabase, path: Path, command_environment: dict[str, str]
) -> None:
    """Without a WAL nothing can be written while somebody reads; or it is noticed."""
    set_rollback_journal(path)
    with open_schema("blockchain_v2", path, read_only=True) as database:
        blocks = iter(database.blocks())
        read = [next(blocks)]
        with sqlite_writer(path, command_environment) as writing:
            writing.wait()
        try:
            read += blocks
        except StorageError:
            return
        assert read == live.state.blocks


def sqlite_writer(path: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Tries once to spend, late, every coin of the second half of the chain."""
    code = """
        import sqlite3, sys
        connection = sqlite3.connect(sys.argv[1], timeout=0.2)
        connection.execute("PRAGMA synchronous=OFF")
        with connection:
            connection.execute(
                "UPDATE coin_record SET spent_index = 1558 WHERE confirmed_index > 800"
            )
        """
    command = [sys.executable, "-c", textwrap.dedent(code), str(path)]
    return subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)


HALF_A_COMMIT = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size=1")
connection.execute("BEGIN IMMEDIATE")
connection.execute("UPDATE coin_record SET spent_index = 1558")
os._exit(0)
"""


def test_a_rollback_journal_that_a_crash_left_is_an_error(
    path: Path, command_environment: dict[str, str], contents: Contents
) -> None:
    """The file holds half a commit, and only a write could take it back."""
    set_rollback_journal(path)
    whole = path.read_bytes()
    command = [sys.executable, "-c", HALF_A_COMMIT, str(path)]
    subprocess.run(command, env=command_environment, check=True)
    before = contents()
    assert f"{path.name}-journal" in before
    assert path.read_bytes() != whole
    with pytest.raises(StorageError, match=f"{path}: a crash left a commit half done"):
        open_schema("blockchain_v2", path, read_only=True)
    assert contents() == before


@pytest.mark.parametrize("has_wal", [True, False], ids=["wal-without-shm", "file-alone"])
@pytest.mark.parametrize("stays", [True, False], ids=["stays", "leaves"])
def test_a_writer_that_comes_in_the_middle_is_noticed(
    live: NodeDatabase,
    path: Path,
    command_environment: dict[str, str],
    has_wal: bool,
    stays: bool,
) -> None:
    """Nothing is locked there, so it may come; but its blocks must not be mixed in."""
    if not has_wal:
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
    assert path.with_name(path.name + "-wal").exists() == has_wal
    with open_schema("blockchain_v2", path, read_only=True) as database:
        blocks = iter(database.blocks())
        read = [next(blocks)]
        with Writer(live, path, command_environment) as writer:
            for _ in range(30):
                writer.step()
            if not stays:
                writer.stop()
            with pytest.raises(StorageError, match="read it again"):
                read += blocks
            assert read == live.state.blocks[: len(read)]
            with pytest.raises(StorageError, match="read it again"):
                database.coin_infos_for_coin_names(live.names)
            with pytest.raises(StorageError, match="read it again"):
                database.block_info_for_block_index(1)


@pytest.fixture
def without_write_access(path: Path) -> Iterator[Callable[[int], list[str]]]:
    """Takes the directory's write permission, and gives a command prefix that obeys it."""
    directory = path.parent

    def take(file_mode: int) -> list[str]:
        prefix = DROP_ROOTS_POWERS if os.geteuid() == 0 else []
        if prefix and shutil.which(prefix[0]) is None:
            pytest.skip("root may write anywhere, and there is no setpriv to take that from it")
        for file in directory.iterdir():
            file.chmod(file_mode)
        directory.chmod(0o555)
        tried = subprocess.run(
            [*prefix, "touch", directory / "x"], capture_output=True, check=False
        )
        if b"denied" not in tried.stderr and b"Read-only" not in tried.stderr:
            pytest.skip(f"a read-only directory can't be made here: {tried.stderr!r}")
        return list(prefix)

    yield take
    directory.chmod(0o755)


@pytest.mark.parametrize("file_mode", [0o644, 0o444])
@pytest.mark.parametrize("state", ["wal-without-shm", "living-writer", "killed-writer", "closed"])
def test_in_a_read_only_directory(
    live: NodeDatabase,
    path: Path,
    contents: Contents,
    dump: Callable[..., bytes],
    without_write_access: Callable[[int], list[str]],
    command_environment: dict[str, str],
    state: str,
    file_mode: int,
) -> None:
    with Writer(live, path, command_environment) as writer:
        height = writer.step()
        if state == "killed-writer":
            writer.kill()
        if state == "closed":
            writer.stop()
        if state == "wal-without-shm":
            writer.kill()
            path.with_name(path.name + "-shm").unlink()
        prefix = without_write_access(file_mode)
        before = contents()
        assert dump(*prefix) == replay(writer.blocks_to(height))
        after = contents()
        assert set(after) == set(before)
        assert without_shm(after) == without_shm(before)
