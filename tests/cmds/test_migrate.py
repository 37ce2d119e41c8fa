"""cdb migrate: a node's coins go into a log and come back, whatever is killed when."""

import fcntl
import json
import os
import re
import shlex
import shutil
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cdb.contents.state import StateSummary, verify
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import Coin, bytes32, coin_name
from cdb.contract.packed import pack_unnamed
from cdb.contract.packed_state import with_names
from cdb.contract.progress import Progress, StepBar, no_bar
from cdb.errors import (
    CdbError,
    CorruptDatabaseError,
    InvariantError,
    StorageError,
    WrongDatabaseError,
)
from cdb.node.example import COIN_TABLES
from cdb.node.log import tip_up_to
from cdb.node.migrate import (
    activation,
    copying,
    dropping,
    migration,
    new_table,
    node_coins,
    node_file,
    reverting,
)
from cdb.node.migrate.activated import activated
from cdb.node.migrate.migration import Migrated
from cdb.node.migrate.reverting import Reverted
from cdb.node.operation import Operation
from cdb.node.ops_table import OLD_TABLE
from cdb.node.own_tables import NEW_TABLE, NOTE_TABLE
from cdb.schemas import find_schema
from cdb.stores.coin_log import binding
from cdb.stores.coin_log.binding import missing
from cdb.stores.rows.sqlite import open_uri, tables_of
from cdb.text.mainnet import farmer_coin
from tests.conftest import SMALL_COINS, Commands, Result, contents, digest_of, load_all
from tests.in_fork import exit_code
from tests.node.made import MadeNode, indexes_of, rows_of

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

LOG = find_schema("coin_log")
INDEXES = {
    "sqlite_autoindex_coin_record_1",
    "coin_confirmed_index",
    "coin_spent_index",
    "coin_puzzle_hash",
    "coin_parent_index",
    "coin_record_ph_ff_unspent_idx",
}
Rows = list[tuple[Any, ...]]
HASH = bytes32(b"\5" * 32)


@pytest.fixture
def path(tmp_path: Path, _master: Path) -> Path:
    """A node's database of the blocks, closed."""
    return Path(shutil.copy(_master, tmp_path / "node.sqlite"))


@pytest.fixture(scope="session")
def _master(tmp_path_factory: pytest.TempPathFactory, blocks: tuple[BlockSpendInfo, ...]) -> Path:
    path = tmp_path_factory.mktemp("made-node") / "node.sqlite"
    MadeNode(path, blocks).close()
    return path


@pytest.fixture
def rows(path: Path) -> Rows:
    """What its table holds at first."""
    return rows_of(path)


@pytest.fixture(autouse=True)
def _short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many that a test can come between them."""
    monkeypatch.setattr(node_coins, "CHUNK_ROWS", 100)
    monkeypatch.setattr(migration, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(new_table, "PART_COINS", 100)
    monkeypatch.setattr(binding, "_READ_CONFIRMS", 50)


def migrate(path: Path, *, force: bool = False) -> Migrated:
    return migration.migrate(path, force=force, tell=lambda plan: None, bar=no_bar)


def activate(path: Path) -> Migrated | None:
    return activation.activate(path, tell=lambda plan: None, bar=no_bar)


def drop(path: Path) -> object:
    return dropping.drop(path, vacuum=True, tell=lambda plan: None, bar=no_bar)


def revert(path: Path) -> Reverted:
    return reverting.revert(path, tell=lambda plan: None, bar=no_bar)


def log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.cdb")


def held(path: Path) -> StateSummary:
    with LOG.open(log_of(path), read_only=True) as database:
        return verify(database)


def add_in_log(path: Path, *blocks: BlockSpendInfo) -> None:
    """What a node does once it is active."""
    with LOG.open(log_of(path)) as database:
        load_all(database, blocks)
    with closing(sqlite3.connect(path)) as connection, connection:
        (number,) = connection.execute("SELECT max(number) + 1 FROM cdb_ops").fetchone()
        row = Operation(number, *_tip(path))
        values = (number, row.height, row.kind, row.record)
        connection.execute("INSERT INTO cdb_ops VALUES(?, ?, ?, ?)", values)
        connection.execute("DELETE FROM cdb_ops WHERE number < ?", (number,))


def _tip(path: Path) -> tuple[int, Any, None]:
    with find_schema("cdb.schemas.coin_log:INDEXED").open(log_of(path)) as log:
        tip = tip_up_to(log, log_of(path), 2**32 - 1)  # type: ignore[arg-type]
    return tip.height + 1, tip, None


def refused(result: Result) -> str:
    """The line of an error, behind that of the plan."""
    plan, _, error = result.err.partition("\n")
    assert "free: " in plan
    return Result(result.code, result.out, error).error()


# There and back


def test_there_and_back_by_commands(
    run_command: Commands, path: Path, rows: Rows, digest: str
) -> None:
    before = path.read_bytes()
    result = run_command("migrate", path).fine()
    assert b"2,000 coins" in result.out
    said = result.out.decode()
    assert re.search(
        r"^digest of the coins, equal on both sides: [0-9a-f]{64}; cdb verify", said, re.M
    )
    assert result.out.decode().endswith(
        f"\nnext: stop the node, and cdb migrate --activate {path}\n"
    )
    assert "free: " in result.err
    assert path.read_bytes() == before
    assert held(path).digest == digest
    assert b"2,000 coins" in run_command("migrate", path).fine().out
    assert b"is active: start" in run_command("migrate", "--activate", path).fine().out
    assert b"is active already" in run_command("migrate", "--activate", path).fine().out
    assert "its coins are in" in run_command("migrate", path).error()
    assert not (log_of(path) / "MIGRATION").exists()
    size = path.stat().st_size
    assert b"--drop --vacuum" in run_command("migrate", "--drop", path).fine().out
    run_command("migrate", "--drop", "--vacuum", path).fine()
    assert path.stat().st_size < size / 4
    assert b"its own table again" in run_command("migrate", "--revert", path).fine().out
    assert rows_of(path) == rows
    assert indexes_of(path) == INDEXES
    assert held(path).digest == digest
    run_command("migrate", "--activate", path).fine()
    assert "nothing to do" not in run_command("migrate", "--revert", path).fine().err
    assert rows_of(path) == rows


def test_quiet_says_nothing_of_what_was_done(
    run_command: Commands, path: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "backup"
    for line in (
        ("migrate", path),
        ("migrate", "--activate", path),
        ("backup", path, copy),
        ("migrate", "--drop", path),
        ("migrate", "--revert", path),
        ("restore", copy, tmp_path / "restored.sqlite"),
    ):
        result = run_command(*line, "--quiet").fine()
        assert (result.out, result.err) == (b"", ""), line


@pytest.mark.parametrize("dropped", [True, False])
def test_what_was_done_since_comes_back(
    path: Path, blocks: tuple[BlockSpendInfo, ...], tmp_path: Path, dropped: bool
) -> None:
    half = len(blocks) // 2
    path = tmp_path / "half.sqlite"
    MadeNode(path, blocks[:half]).close()
    with MadeNode(tmp_path / "all.sqlite", blocks) as whole:
        expected = rows_of(whole.path)
    assert activate(path) is not None
    add_in_log(path, *blocks)
    if dropped:
        drop(path)
    revert(path)
    assert rows_of(path) == expected
    assert indexes_of(path) == INDEXES
    assert OLD_TABLE not in tables(path)


def tables(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        return tables_of(connection)


def test_a_table_that_nothing_was_done_to_is_taken_back(
    path: Path, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    activate(path)
    monkeypatch.setattr(reverting, "_write_again", None)
    revert(path)
    assert rows_of(path) == rows
    assert indexes_of(path) == INDEXES
    assert tables(path) == {"coin_record", "database_version", "hints"}


CHANGES_OF_OLD_TABLE = [
    "DELETE FROM cdb_coin_record WHERE rowid % 3 = 0",
    "UPDATE cdb_coin_record SET spent_index = 0 WHERE spent_index = (SELECT max(spent_index)"
    " FROM cdb_coin_record)",
    "UPDATE cdb_coin_record SET timestamp = timestamp + 1 WHERE rowid = 1",
]


@pytest.mark.parametrize("change", CHANGES_OF_OLD_TABLE)
@pytest.mark.parametrize("is_log_right", [True, False])
def test_an_old_table_and_a_log_that_differ_are_not_believed(
    run_command: Commands, path: Path, rows: Rows, change: str, is_log_right: bool
) -> None:
    activate(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(change)
        [(n_rows,)] = connection.execute("SELECT count(*) FROM cdb_coin_record").fetchall()
    before = _but_for_acked(path)
    error = refused(run_command("migrate", "--revert", path))
    assert f"{OLD_TABLE}, and {log_of(path)} have not got the same coins; " in error
    assert _but_for_acked(path) == before
    commands = [shlex.split(each)[1:] for each in re.findall("'(cdb .*?)'", error)]
    assert len(commands) == 3
    if not is_log_right:
        assert "move the log away" in error
        lose_log(path)
    for command in commands[:2] if is_log_right else commands[2:]:
        run_command(*command).fine()
    assert (rows_of(path) == rows) == is_log_right
    assert len(rows_of(path)) == (len(rows) if is_log_right else n_rows)
    if is_log_right:
        migrate(path)


def _but_for_acked(path: Path) -> dict[str, bytes | None]:
    """All files, without what the log notes whenever it is opened."""
    return {name: data for name, data in contents(path.parent).items() if "acked" not in name}


def test_an_empty_table(tmp_path: Path) -> None:
    path = tmp_path / "node.sqlite"
    MadeNode(path).close()
    assert migrate(path).coins == 0
    activate(path)
    drop(path)
    revert(path)
    assert rows_of(path) == []
    assert indexes_of(path) == INDEXES


def test_a_row_of_the_largest_number_asks_for_no_room_of_its_own(
    run_command: Commands, path: Path
) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "UPDATE coin_record SET rowid = 9223372036854775807"
            " WHERE rowid = (SELECT max(rowid) FROM coin_record)"
        )
    run_command("migrate", "--activate", path).fine()
    run_command("migrate", "--revert", path).fine()


def test_as_json(run_command: Commands, path: Path) -> None:
    def told(*options: str) -> dict[str, Any]:
        result = run_command("migrate", *options, path, "--json", "--quiet").fine()
        assert result.err == ""
        found: dict[str, Any] = json.loads(result.out)
        assert found["path"] == str(path)
        return found

    copied = told()
    assert (copied["coins"], copied["log_path"]) == (2_000, str(log_of(path)))
    assert copied["odd"] == ""
    assert len(copied["digest"]) == 64
    assert told("--activate")["coins"] == 2_000
    assert told("--activate") == {"path": str(path)}
    size = path.stat().st_size
    dropped = told("--drop")
    assert dropped.keys() == {"path", "file_bytes_before", "file_bytes", "free_bytes"}
    assert (dropped["file_bytes_before"], dropped["file_bytes"]) == (size, size)
    assert size / 2 < dropped["free_bytes"] < size
    vacuumed = told("--drop", "--vacuum")
    assert (vacuumed["file_bytes_before"], vacuumed["free_bytes"]) == (size, 0)
    assert vacuumed["file_bytes"] == path.stat().st_size <= size - dropped["free_bytes"]
    assert told("--revert")["log_path"] == str(log_of(path))


def test_a_drop_says_what_became_of_the_files_size(run_command: Commands, path: Path) -> None:
    run_command("migrate", "--activate", path).fine()
    megabytes = r"\d+\.\d"
    dropped = run_command("migrate", "--drop", path).fine().out.decode()
    assert re.fullmatch(
        rf"{path}: the old table is dropped; of {megabytes} MB, {megabytes} MB are free\n"
        "the node's next blocks take them; --drop --vacuum gives them to the file system\n",
        dropped,
    )
    before = f"{path.stat().st_size / 1e6:.1f}"
    vacuumed = run_command("migrate", "--drop", "--vacuum", path).fine().out.decode()
    assert vacuumed == f"{path}: {before} → {path.stat().st_size / 1e6:.1f} MB\n"
    again = run_command("migrate", "--drop", path).fine().out.decode()
    assert again.endswith(" MB, 0.0 MB are free\n")


@pytest.mark.skipif(find_spec("chia") is not None, reason="chia is installed")
def test_activation_notes_that_no_node_can_run_here(run_command: Commands, path: Path) -> None:
    run_command("migrate", path).fine()
    _, note = run_command("migrate", "--activate", path).fine().err.splitlines()
    assert note == (
        "note: no node can run on it from here: chia-blockchain is not installed beside cdb;"
        " pip install 'coinset-db[chia]'"
    )
    assert "note: no node" not in run_command("migrate", "--revert", path).fine().err


def test_help_teaches(run_command: Commands) -> None:
    text = run_command("migrate", "--help").out.decode()
    for word in ("--activate", "--revert", "--drop", "kill -9", "cdb_full_node"):
        assert word in text


# Beside a node


class Beside:
    """Does something to the node's database after each step of a migration."""

    def __init__(self, *steps: Callable[[], object]) -> None:
        self._steps = list(steps)

    @contextmanager
    def bar(self, what: str, total: int | None = None, unit: str = " coins") -> Iterator[Progress]:
        yield self._step

    def _step(self, coins: int) -> None:
        if self._steps:
            self._steps.pop(0)()

    @property
    def is_done(self) -> bool:
        return not self._steps


@pytest.mark.parametrize("seed", range(4))
def test_beside_a_node_that_adds_blocks_and_goes_back(
    blocks: tuple[BlockSpendInfo, ...], tmp_path: Path, seed: int
) -> None:
    """It goes back below what is copied, too, and also while that is verified."""
    random = Random(seed)
    with MadeNode(tmp_path / "node.sqlite", blocks[: len(blocks) // 2]) as node:
        there = len(blocks) // 2

        def step() -> None:
            nonlocal there
            if random.random() < 0.5:
                there -= random.randint(1, there // 2)
                node.roll_back(blocks[there - 1].index)
            more = random.randint(0, min(80, len(blocks) - there))
            # Another branch: the same coins, at other times.
            others = [
                replace(each, timestamp=each.timestamp + seed + there)
                for each in blocks[there : there + more]
            ]
            node.add(*others)
            there += more

        beside = Beside(*[step] * 12)
        migration.migrate(node.path, tell=lambda plan: None, bar=beside.bar)
        while not beside.is_done:
            migration.migrate(node.path, tell=lambda plan: None, bar=beside.bar)
        migrate(node.path)
        expected = rows_of(node.path)
        stamps = {row[1]: row[-1] for row in expected}
    chain = [
        BlockSpendInfo(each.index, stamps[each.index], each.spends, each.confirms)
        for each in blocks
        if each.index in stamps
    ]
    assert held(node.path).digest == digest_of(chain)
    activate(node.path)
    drop(node.path)
    revert(node.path)
    assert rows_of(node.path) == expected


def test_a_node_that_goes_back_while_the_copy_is_verified(
    path: Path, blocks: tuple[BlockSpendInfo, ...]
) -> None:
    changed = [*blocks[:-10], *later(blocks[-10:])]
    with MadeNode(path) as node:

        def go_back() -> None:
            node.roll_back(blocks[-11].index)
            node.add(*changed[-10:])

        beside = Beside(*[lambda: None] * 3, go_back)

        @contextmanager
        def bar(what: str, total: int | None = None, unit: str = " coins") -> Iterator[Progress]:
            with (beside.bar if what == "verify table" else no_bar)(what) as progress:
                yield progress

        migration.migrate(path, tell=lambda plan: None, bar=bar)
        assert beside.is_done
    assert held(path).digest == digest_of(changed)


def test_activation_catches_up(path: Path, rows: Rows, blocks: tuple[BlockSpendInfo, ...]) -> None:
    with MadeNode(path) as node:
        node.roll_back(blocks[-20].index)
        migrate(path)
        node.roll_back(blocks[-30].index)
        node.add(*blocks[-29:])
    activate(path)
    drop(path)
    revert(path)
    assert [row[:2] for row in rows_of(path)] == [row[:2] for row in rows]


def test_a_node_that_runs_is_noticed(run_command: Commands, path: Path) -> None:
    with MadeNode(path) as node:
        node.connection.execute("SELECT count(*) FROM coin_record").fetchall()
        run_command("migrate", path).fine()
        for option in ("--activate", "--revert", "--drop"):
            assert "stop the node" in run_command("migrate", option, path).error()


@pytest.mark.parametrize("linked", ["nothing", "directory", "file"])
def test_chias_own_lock_is_noticed(
    run_command: Commands, tmp_path: Path, path: Path, linked: str
) -> None:
    root, other = tmp_path / "root", tmp_path / "other" / "disk"
    (root / "run").mkdir(parents=True)
    other.mkdir(parents=True)
    if linked == "directory":
        (root / "db").symlink_to(other)
    else:
        (root / "db").mkdir()
    node_db = Path(shutil.copy(path, root / "db"))
    if linked == "file":
        (other / "link").symlink_to(node_db)
        node_db = other / "link"
    for option in ("--activate", "--drop", "--revert"):
        with (root / "run" / "full_node.lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            assert "stop the node" in run_command("migrate", option, node_db).error()
        run_command("migrate", option, node_db).fine()


def test_an_index_of_another_name_is_noticed_before_anything_is_copied(
    run_command: Commands, path: Path
) -> None:
    with MadeNode(path) as node:
        node.connection.execute("DROP INDEX coin_confirmed_index")
        node.connection.execute("CREATE INDEX another ON coin_record(confirmed_index)")
    error = run_command("migrate", path).error()
    assert "lacks an index, coin_confirmed_index; start the node once" in error
    assert not log_of(path).exists()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("ADD COLUMN another INT", "has a column that no node has, another"),
        ("RENAME COLUMN timestamp TO time", "has a column that no node has, time"),
        ("DROP COLUMN timestamp", "lacks a column, timestamp"),
    ],
)
def test_columns_that_would_not_come_back_are_noticed_before_anything_is_copied(
    run_command: Commands, path: Path, change: str, problem: str
) -> None:
    with MadeNode(path) as node:
        node.connection.execute(f"ALTER TABLE coin_record {change}")
    for option in ([], ["--force"], ["--activate"]):
        assert problem in run_command("migrate", *option, path).error()
    assert not log_of(path).exists()


def test_a_file_whose_blobs_sqlite_would_recode_is_refused(
    run_command: Commands, tmp_path: Path
) -> None:
    path = tmp_path / "node.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA encoding = 'UTF-16le'")
        connection.execute("CREATE TABLE first(x)")
        for statement in COIN_TABLES:
            connection.execute(statement)
    assert "its texts are in UTF-16le" in run_command("migrate", path).error()
    assert not log_of(path).exists()


def test_a_table_of_which_too_much_would_be_left_out(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with MadeNode(path) as node:
        node.connection.execute("UPDATE coin_record SET coin_name = rowid WHERE rowid % 2")
    monkeypatch.setattr(copying, "MOST_LEFT_OUT", 100)
    with pytest.raises(CorruptDatabaseError, match=r"over 100 of its rows .* sync the node again"):
        migrate(path, force=True)


USERS_OWN = {
    "view": "CREATE VIEW rich AS SELECT puzzle_hash FROM coin_record",
    "view of nothing": "CREATE VIEW dangling AS SELECT * FROM no_such_table",
    "trigger": "CREATE TRIGGER own AFTER INSERT ON hints BEGIN SELECT 1 FROM coin_record; END",
    "reference": "CREATE TABLE labels(name blob REFERENCES coin_record(coin_name))",
    "index": 'CREATE INDEX "a""b" ON coin_record(timestamp)',
}


@pytest.mark.parametrize("statement", USERS_OWN.values(), ids=USERS_OWN)
def test_what_a_user_has_made_beside_is_the_same_afterwards(
    path: Path, rows: Rows, statement: str
) -> None:
    select = "SELECT name, sql FROM sqlite_master WHERE tbl_name <> 'coin_record' ORDER BY name"
    with MadeNode(path) as node:
        node.connection.execute(statement)
        before = node.connection.execute(select).fetchall()
    for dropped in (False, True):
        activate(path)
        if dropped:
            drop(path)
        revert(path)
        assert rows_of(path) == rows
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute(select).fetchall() == before


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW cdb_reverting AS SELECT 1",
        "CREATE TABLE CDB_Reverted(x)",
        "CREATE TABLE cdb_coin_record(x)",
        "CREATE TABLE cdb_reverted(x)",
    ],
)
def test_names_that_are_needed_are_noticed_before_anything_is_copied(
    run_command: Commands, path: Path, statement: str
) -> None:
    with MadeNode(path) as node:
        node.connection.execute(statement)
    assert "has a name that cdb needs; rename it" in run_command("migrate", path).error()
    assert not log_of(path).exists()


@pytest.mark.parametrize(
    "change",
    [
        "spent_index = 4294967295",
        "spent_index = 60, coin_name = 'a text'",
        "spent_index = 60, coin_name = NULL",
        "spent_index = 60, coin_name = 7",
    ],
)
def test_a_spend_that_no_block_has_is_counted(path: Path, rows: Rows, change: str) -> None:
    with MadeNode(path) as node:
        node.connection.execute(
            f"UPDATE coin_record SET {change} WHERE rowid = (SELECT max(rowid) FROM coin_record"  # noqa: S608
            " WHERE spent_index = 0 AND coinbase)"
        )
    with pytest.raises(WrongDatabaseError, match="what no chain has: 1 rows"):
        migrate(path)
    assert migrate(path, force=True).coins == len(rows) - 1


# Killed


def killed_at(n: int, path: Path, call: Callable[[Path], object]) -> bool:
    """Make a call in a process that is killed before its n-th statement; False: it has fewer."""
    count = 0

    def traced(statement: str) -> None:
        nonlocal count
        count += 1
        if count == n:
            os.kill(os.getpid(), signal.SIGKILL)

    def open_traced(path: Path, parameters: str) -> sqlite3.Connection:
        connection = open_uri(path, parameters)
        connection.set_trace_callback(traced)
        return connection

    def work() -> None:
        node_file.__dict__["open_uri"] = open_traced
        call(path)

    code = exit_code(work)
    assert code in (0, -signal.SIGKILL)
    return code != 0


def kill_points(path: Path, state: Path, call: Callable[[Path], object]) -> Iterator[int]:
    """Numbers of statements that a call dies at, each time in the same state."""
    n = 1
    while True:
        shutil.rmtree(path.parent)
        shutil.copytree(state, path.parent)
        if not killed_at(n, path, call):
            return
        yield n
        n += max(1, n // 6)


def is_active(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as connection:
        return node_file.keeper_of(connection, path) is node_file.Keeper.LOG


@pytest.fixture
def place(tmp_path: Path, blocks: tuple[BlockSpendInfo, ...]) -> Path:
    """A node's database of 200 coins in a directory of its own."""
    (tmp_path / "place").mkdir()
    few = [block for block in blocks if block.index <= blocks[len(blocks) // 10].index]
    MadeNode(tmp_path / "place" / "node.sqlite", few).close()
    return tmp_path / "place" / "node.sqlite"


def test_a_table_whose_drop_was_killed_comes_back_with_its_indexes(
    place: Path, tmp_path: Path
) -> None:
    expected = rows_of(place)
    activate(place)
    drop(place)
    revert(place)  # its indexes were made in another order
    activate(place)
    state = tmp_path / "state"
    shutil.copytree(place.parent, state)
    kills = 0
    for _ in kill_points(place, state, drop):
        kills += 1
        revert(place)
        assert rows_of(place) == expected
        assert indexes_of(place) == INDEXES
    assert kills >= 5


@pytest.mark.parametrize("kind", ["activate", "drop", "revert", "revert at once"])
def test_killed_at_any_statement(place: Path, tmp_path: Path, kind: str) -> None:
    expected = rows_of(place)
    call: Callable[[Path], object] = {"activate": activate, "drop": drop}.get(kind, revert)
    if kind == "activate":
        migrate(place)
    else:
        activate(place)
    if kind == "revert":
        with closing(sqlite3.connect(place)) as connection, connection:
            connection.execute("UPDATE cdb_ops SET number = 5")
    state = tmp_path / "state"
    shutil.copytree(place.parent, state)
    seen = {True: 0, False: 0}
    for _ in kill_points(place, state, call):
        seen[is_active(place)] += 1
        if kind != "activate" or is_active(place):
            assert held(place).coins == len(expected)
        if kind == "activate" and not is_active(place):
            assert rows_of(place) == expected
        if kind.startswith("revert") and not is_active(place):
            assert indexes_of(place) == INDEXES
            assert rows_of(place) == expected
            continue
        call(place)
        if kind != "revert":
            revert(place) if is_active(place) else None
        assert rows_of(place) == expected
        assert indexes_of(place) == INDEXES
    assert seen[kind != "activate"] >= 5


def test_a_node_that_ran_between_two_reverts(
    blocks: tuple[BlockSpendInfo, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the first one has written is of another chain by then."""
    path = tmp_path / "node.sqlite"
    third = len(blocks) // 3
    MadeNode(path, blocks[: 2 * third]).close()
    MadeNode(tmp_path / "other.sqlite", [*blocks[:third], *later(blocks[third:])]).close()
    activate(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE cdb_ops SET number = 5")
    with monkeypatch.context() as patch:
        patch.setattr(reverting, "_verify", None)
        with pytest.raises(TypeError):
            revert(path)
    assert NOTE_TABLE in tables(path)
    with LOG.open(log_of(path)) as database:
        database.rewind_to_block_index(blocks[third - 1].index)
    add_in_log(path, *blocks[:third], *later(blocks[third:]))
    revert(path)
    assert rows_of(path) == rows_of(tmp_path / "other.sqlite")


def later(blocks: Sequence[BlockSpendInfo]) -> list[BlockSpendInfo]:
    """Another branch: the same coins, at other times."""
    return [replace(block, timestamp=block.timestamp + 1) for block in blocks]


def test_a_table_that_is_written_wrong_is_not_shown(
    path: Path, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    activate(path)
    drop(path)
    right = new_table.NewTable._rows

    def one_too_few(table: Any, blocks: Any) -> Iterator[tuple[Any, ...]]:
        return islice(right(table, blocks), 1, None)

    with monkeypatch.context() as patch:
        patch.setattr(new_table.NewTable, "_rows", one_too_few)
        with pytest.raises(InvariantError, match=r"has not got the coins .*, and revert again"):
            revert(path)
    assert is_active(path)
    revert(path)
    assert rows_of(path) == rows


@pytest.mark.parametrize("seed", range(3))
def test_a_copy_that_is_killed_goes_on(path: Path, rows: Rows, digest: str, seed: int) -> None:
    random = Random(seed)
    kills = 0
    for _ in range(8):
        left = random.randint(1, 15)

        def step(coins: int) -> None:
            nonlocal left
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

        bar = _bar_of(step)
        code = exit_code(partial(migration.migrate, path, tell=lambda plan: None, bar=bar))
        assert code in (0, -signal.SIGKILL)
        kills += code != 0
    assert kills >= 3
    done = migrate(path)
    assert done.coins == len(rows)
    assert held(path).digest == digest


def _bar_of(step: Progress) -> StepBar:
    @contextmanager
    def bar(what: str, total: int | None = None, unit: str = " coins") -> Iterator[Progress]:
        yield step

    return bar


# What is wrong with it


def odd_coin(height: int, spent: int, coinbase: int, name: bytes | None = None) -> tuple[Any, ...]:
    parent, puzzle_hash = bytes([7]) * 32, bytes([8]) * 32
    right = coin_name(parent, puzzle_hash, 5)
    row = (name or right, height, spent, coinbase, puzzle_hash, parent)
    return (*row, (5).to_bytes(8, "big"), 1)


def odd_columns(parent: object, puzzle_hash: object, amount: object) -> tuple[Any, ...]:
    """The only coin of a block, with the name that its columns give, were they of other types."""
    name = coin_name(b"a" * 32, b"b" * 32, int.from_bytes(b"c" * 8, "big"))
    return (name, 2**20, 0, 0, puzzle_hash, parent, amount, 1)


ODD: dict[str, tuple[str, tuple[Any, ...] | str]] = {
    "name": ("coins whose name is not their hash (left out)", odd_coin(9, 0, 0, bytes(32))),
    "name-spent": ("name is not their hash (left out)", odd_coin(9, 2**20, 0, bytes(32))),
    "type": ("other types or lengths", "UPDATE coin_record SET amount = 5 WHERE rowid = 9"),
    "null": ("other types or lengths", odd_columns(b"a" * 32, b"b" * 32, None)),
    "text": ("other types or lengths", odd_columns("a" * 32, b"b" * 32, b"c" * 8)),
    "length": ("types or lengths", odd_columns(b"a" * 32 + b"b", b"b" * 31, b"c" * 8)),
    "amount": ("types or lengths", odd_columns(b"a" * 32, b"b" * 31, b"b" + b"c" * 8)),
    "no-text": (
        "other types or lengths",
        "UPDATE coin_record SET coin_name = CAST(x'ff' AS TEXT), spent_index = CAST(x'fe' AS TEXT),"
        " timestamp = CAST(x'fd' AS TEXT) WHERE rowid ="
        " (SELECT max(rowid) FROM coin_record WHERE spent_index = 0)",
    ),
    "long-name": ("other types or lengths", odd_coin(9, 0, 0, bytes(9 << 20))),
    "height": ("without a height that a block", odd_coin(-1, 0, 0)),
    "early": ("spent before they are confirmed", odd_coin(2**20, 9, 0)),
    "flag": ("coinbase flags", "UPDATE coin_record SET coinbase = 1 - coinbase WHERE rowid = 9"),
    "mark": ("spent heights below -1", odd_coin(2**20, -2, 0)),
    "orphan": ("without a spent parent", odd_coin(2**20, -1, 0)),
    "genesis": ("coins of height 0", odd_coin(0, 0, 0)),
    "times": (
        "blocks with several timestamps",
        "UPDATE coin_record SET timestamp = timestamp + 1 WHERE rowid = 9",
    ),
    "spends": (
        "blocks that spend coins and confirm none",
        "UPDATE coin_record SET spent_index = 1048576 WHERE rowid = 9",
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_what_no_chain_has_is_refused_unless_forced(
    run_command: Commands, path: Path, rows: Rows, name: str
) -> None:
    text, change = ODD[name]
    with MadeNode(path) as node:
        if isinstance(change, str):
            node.connection.execute(change)
        else:
            node.connection.execute(f"INSERT INTO coin_record VALUES({'?,' * 7}?)", change)
    for option in ([], ["--activate"]):
        error = refused(run_command("migrate", *option, path))
        assert text in error
        assert "holds what no chain has: 1 " in error
        assert "--force" in error
    assert not is_active(path)
    expected = len(rows_of(path)) - ("(left out)" in error)
    result = run_command("migrate", "--force", path).fine()
    assert f"{expected:,} coins".encode() in result.out
    assert text in result.err
    run_command("migrate", "--force", "--activate", path).fine()
    assert held(path).coins == expected


def test_a_spend_that_is_changed_far_below_is_found(path: Path) -> None:
    migrate(path)
    with MadeNode(path) as node:
        (row,) = node.connection.execute(
            "SELECT min(rowid) FROM coin_record WHERE spent_index > 0"
        ).fetchone()
        node.connection.execute("UPDATE coin_record SET spent_index = 0 WHERE rowid = ?", (row,))
    with pytest.raises(InvariantError, match="have not got the same coins"):
        migrate(path)


def test_another_chain_is_not_overwritten(path: Path, tmp_path: Path) -> None:
    activate(path)
    shutil.copytree(log_of(path), tmp_path / "other.sqlite.cdb")
    MadeNode(tmp_path / "other.sqlite").close()
    with pytest.raises(CdbError, match="is no copy under way; move it away"):
        migrate(tmp_path / "other.sqlite")


def test_a_damaged_file_is_one_error(run_command: Commands, path: Path) -> None:
    data = bytearray(path.read_bytes())
    for page in range(10 * 4096, len(data), 4096):
        data[page : page + 100] = bytes(100)
    path.write_bytes(data)
    assert str(path) in run_command("migrate", path).error()
    assert str(path) in run_command("migrate", "--activate", path).error()


def test_a_damaged_note_is_one_error(run_command: Commands, path: Path) -> None:
    run_command("migrate", path).fine()
    (log_of(path) / "MIGRATION").write_text("{}")
    assert "it is damaged; remove" in run_command("migrate", path).error()


@pytest.mark.parametrize("option", [[], ["--activate"], ["--revert"], ["--drop"]])
def test_what_is_no_nodes_database(
    run_command: Commands, loaded: Callable[[str], Path], tmp_path: Path, option: list[str]
) -> None:
    assert "no database" in run_command("migrate", *option, tmp_path / "none").error()
    (tmp_path / "text").write_text("text" * 1000)
    assert str(tmp_path / "text") in run_command("migrate", *option, tmp_path / "text").error()
    own = loaded("blockchain_v2")
    assert "cdb load_blocks made this database" in run_command("migrate", *option, own).error()
    told = run_command("node_status", own)
    assert told.code == 1
    assert "or one that cdb load_blocks made" in told.err
    assert not log_of(own).exists()


@pytest.mark.parametrize("option", ["--revert", "--drop"])
def test_there_is_nothing_to_undo(run_command: Commands, path: Path, option: str) -> None:
    before = path.read_bytes()
    assert "nothing to do" in run_command("migrate", option, path).error()
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "options",
    [["--activate", "--drop"], ["--revert", "--drop"], ["--vacuum"], ["--force", "--revert"]],
)
def test_usage(run_command: Commands, path: Path, options: list[str]) -> None:
    run_command("migrate", *options, path).usage_error()


def lose_copys_log(log: Path) -> None:
    (log / "log").unlink()


def lose_copys_format(log: Path) -> None:
    (log / "FORMAT").unlink()


def empty_copys_log(log: Path) -> None:
    (log / "log").write_bytes(b"")


def lose_copys_note(log: Path) -> None:
    (log / "MIGRATION").unlink()


def damage_copys_note(log: Path) -> None:
    (log / "MIGRATION").write_text("{")


@pytest.mark.parametrize("option", [[], ["--activate"]])
@pytest.mark.parametrize(
    ("spoil", "problem", "advice"),
    [
        (lose_copys_log, "/log: it is missing", "remove {} and migrate again"),
        (lose_copys_format, "/FORMAT: it is missing", "remove {} and migrate again"),
        (empty_copys_log, "/log: it is empty", "remove {} and migrate again"),
        (lose_copys_note, ": it holds coins, and is no copy under way", "move it away"),
        (damage_copys_note, "/MIGRATION: it is damaged", "remove {} and migrate again"),
    ],
)
def test_a_copy_that_can_not_go_on_stays_as_it_is(
    run_command: Commands,
    path: Path,
    option: list[str],
    spoil: Callable[[Path], None],
    problem: str,
    advice: str,
) -> None:
    migrate(path)
    spoil(log_of(path))
    before = contents(path.parent)
    result = run_command("migrate", *option, path)
    error = result.err.splitlines()[-1]
    assert result.code == 1
    assert f"{log_of(path)}{problem}" in error
    assert error.endswith(advice.format(log_of(path)))
    assert contents(path.parent) == before


@pytest.mark.parametrize("do", [migrate, activate])
@pytest.mark.parametrize("is_begun", [False, True])
def test_no_room(
    path: Path, monkeypatch: pytest.MonkeyPatch, do: Callable[[Path], object], is_begun: bool
) -> None:
    """Nothing is made before that is known."""
    if is_begun:
        migrate(path)
    before = contents(path.parent)
    usage = shutil.disk_usage(path)._replace(free=1_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda where: usage)
    with pytest.raises(StorageError, match="and 0 MB are free"):
        do(path)
    assert contents(path.parent) == before


def lose_log(path: Path) -> None:
    shutil.rmtree(log_of(path))


@pytest.mark.parametrize("is_killed", [False, True])
def test_no_log_is_needed_while_nothing_was_done(path: Path, rows: Rows, is_killed: bool) -> None:
    """is_killed: a drop, that is, which has taken an index. See tests/cmds/test_lost_log.py."""
    activate(path)
    if is_killed:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("DROP INDEX coin_spent_index")
    lose_log(path)
    assert revert(path).problem == f"{log_of(path)} is not there, and was not needed"
    assert rows_of(path) == rows
    assert indexes_of(path) == INDEXES
    migrate(path)


def test_without_its_log_no_table_comes_back_that_a_node_has_gone_on_from(
    run_command: Commands, path: Path, blocks: tuple[BlockSpendInfo, ...]
) -> None:
    activate(path)
    height = blocks[-1].index
    add_in_log(
        path, *blocks, BlockSpendInfo(height + 1, 1, [], [Coin(bytes32(bytes(32)), HASH, 1)])
    )
    lose_log(path)
    error = run_command("migrate", "--revert", path).error()
    assert f"what blocks did to coins above height {height} is lost; put both back" in error
    assert tables(path) >= {OLD_TABLE, "cdb_ops"}


def farmed(height: int) -> BlockSpendInfo:
    """A block of one farmer, the same on every chain."""
    coin = Coin(farmer_coin(height, HASH).parent_coin_name, HASH, 1)
    return BlockSpendInfo(height, 1_600_000_000 + height, [], [coin])


def paid(payer: Coin, puzzle_hash: bytes) -> BlockSpendInfo:
    """One that spends a coin for another one, at a height below the farmer's."""
    coin = Coin(payer.name(), bytes32(puzzle_hash), 1)
    return BlockSpendInfo(20, 1_600_000_020, [payer.name()], [coin])


@pytest.mark.parametrize("has_blocks", [True, False])
def test_a_fork_below_blocks_that_are_the_same_is_noticed(tmp_path: Path, has_blocks: bool) -> None:
    path, first, later = tmp_path / "node.sqlite", farmed(1), map(farmed, range(21, 200))
    old, new = (paid(first.confirms[0], mark * 32) for mark in (b"\7", b"\x08"))
    with MadeNode(path, [first, old, *later]) as node:
        if has_blocks:
            node.connection.execute(
                "CREATE TABLE full_blocks(header_hash BLOB, height, in_main_chain)"
            )
            node.connection.execute("INSERT INTO full_blocks VALUES(x'01', 199, 1)")
        migrate(path)
        node.connection.execute("UPDATE coin_record SET spent_index = 0 WHERE spent_index > 0")
        node.connection.execute("DELETE FROM coin_record WHERE confirmed_index = 20")
        node.add(new)
        if has_blocks:
            node.connection.execute("UPDATE full_blocks SET in_main_chain = 0")
            node.connection.execute("INSERT INTO full_blocks VALUES(x'02', 199, 1)")
    with pytest.raises(InvariantError, match="have not got the same coins"):
        activate(path)
    assert rows_of(path)


def test_a_view_tells_no_chain(path: Path) -> None:
    """As one may run for ever."""
    with MadeNode(path) as node:
        node.connection.execute(
            "CREATE VIEW full_blocks(header_hash, height, in_main_chain) AS"
            " WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, i, 1 FROM n"
        )
    migrate(path)
    done = activate(path)
    assert done is not None
    assert done.digest is not None


@pytest.mark.parametrize("is_same_chain", [True, False])
def test_what_was_verified_is_not_verified_again_on_the_same_chain(
    path: Path, is_same_chain: bool
) -> None:
    with MadeNode(path) as node:
        newest = migrate(path).height
        node.connection.execute("CREATE TABLE full_blocks(header_hash BLOB, height, in_main_chain)")
        node.connection.execute("INSERT INTO full_blocks VALUES(x'01', ?, 1)", (newest,))
        migrate(path)
        if not is_same_chain:
            node.connection.execute("UPDATE full_blocks SET header_hash = x'02'")
    done = activate(path)
    assert done is not None
    assert (done.digest is None) == is_same_chain


def _at_another_time(block: BlockSpendInfo) -> BlockSpendInfo:
    return replace(block, timestamp=block.timestamp + 1)


def _without_spend(block: BlockSpendInfo) -> BlockSpendInfo:
    return replace(block, spends=block.spends[1:])


def _without_coin(block: BlockSpendInfo) -> BlockSpendInfo:
    """The farmer's, which nobody spends."""
    return replace(block, confirms=[coin for coin in block.confirms if coin.puzzle_hash != HASH])


@pytest.fixture
def ahead_of_copy(tmp_path: Path, blocks: tuple[BlockSpendInfo, ...]) -> Path:
    """The file of a node that names its chain and has gone on since its copy was verified."""
    half = len(blocks) // 2
    with MadeNode(tmp_path / "node.sqlite", blocks[:half]) as node:
        node.connection.execute("CREATE TABLE full_blocks(header_hash BLOB, height, in_main_chain)")
        rows = [(bytes([n % 256]), each.index) for n, each in enumerate(blocks)]
        node.connection.executemany("INSERT INTO full_blocks VALUES(?, ?, 1)", rows)
        migrate(node.path)
        first, *others = blocks[half:]
        farmed = Coin(farmer_coin(first.index, HASH).parent_coin_name, HASH, 1)
        node.add(replace(first, confirms=[*first.confirms, farmed]), *others)
    return node.path


@pytest.mark.parametrize("spoil", [_at_another_time, _without_spend, _without_coin])
def test_what_is_copied_behind_what_was_verified_is_verified(
    ahead_of_copy: Path,
    monkeypatch: pytest.MonkeyPatch,
    spoil: Callable[[BlockSpendInfo], BlockSpendInfo],
) -> None:
    """A wrong block so far below the newest that no look for a fork comes upon it."""
    accept, spoilt = copying.Copy._accept, list[int]()

    def accept_spoilt(copy: copying.Copy, chunk: node_coins.Chunk) -> None:
        each = [chunk.blocks.block(place) for place in range(len(chunk.blocks))]
        if not spoilt:
            spoilt.append(chunk.last)
            chunk = replace(chunk, blocks=with_names(pack_unnamed([spoil(each[0]), *each[1:]])))
        accept(copy, chunk)

    monkeypatch.setattr(copying, "_COMPARED_HEIGHTS", 1)
    monkeypatch.setattr(copying.Copy, "_accept", accept_spoilt)
    with pytest.raises(InvariantError, match="have not got the same coins"):
        activate(ahead_of_copy)
    assert spoilt
    assert not is_active(ahead_of_copy)


def test_only_what_is_copied_behind_what_was_verified_is_verified(
    ahead_of_copy: Path, blocks: tuple[BlockSpendInfo, ...]
) -> None:
    counts, totals = Counter[str](), dict[str, int | None]()

    @contextmanager
    def bar(what: str, total: int | None = None, unit: str = " coins") -> Iterator[Progress]:
        totals[what] = total
        yield lambda n: counts.update({what: n})

    n_new = sum(len(each.confirms) for each in blocks[len(blocks) // 2 :]) + 1
    done = activation.activate(ahead_of_copy, tell=lambda plan: None, bar=bar)
    assert done is not None
    assert done.digest is None
    assert counts["copy"] == counts["verify copy"] == counts["verify table"] == n_new
    assert totals["verify copy"] == totals["verify table"] == n_new
    assert held(ahead_of_copy).coins == done.coins == SMALL_COINS + 1


def test_what_no_chain_has_is_counted_behind_what_was_verified(ahead_of_copy: Path) -> None:
    with MadeNode(ahead_of_copy) as node:
        columns = odd_coin(_newest(ahead_of_copy) + 1, -1, 0)
        node.connection.execute(f"INSERT INTO coin_record VALUES({'?,' * 7}?)", columns)
    with pytest.raises(WrongDatabaseError, match="1 marks -1 without a spent parent"):
        activate(ahead_of_copy)
    assert not is_active(ahead_of_copy)
    activation.activate(ahead_of_copy, force=True, tell=lambda plan: None, bar=no_bar)


def _newest(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        [(newest,)] = connection.execute("SELECT max(confirmed_index) FROM coin_record")
    return int(newest)


def test_a_newest_block_that_only_spends_is_there_after_activation(path: Path) -> None:
    with MadeNode(path) as node:
        execute = node.connection.execute
        [(newest,)] = execute("SELECT max(confirmed_index) FROM coin_record").fetchall()
        query = "SELECT coin_name FROM coin_record WHERE spent_index = 0 LIMIT 1"
        [(name,)] = execute(query).fetchall()
        execute("UPDATE coin_record SET spent_index = ? WHERE coin_name = ?", (newest + 3, name))
    migrate(path, force=True)
    activation.activate(path, force=True, tell=lambda plan: None, bar=no_bar)
    with activated(path) as found:
        [info] = found.log.coin_infos_for_coin_names([name])
        assert info.spent_index == newest + 3


_HEIGHTS = ["4294967295", "-1", "NULL", "'text'", "58.5", "max(confirmed_index) + 0.5"]


@pytest.mark.parametrize("height", _HEIGHTS)
def test_heights_that_no_block_has_are_counted_and_left_out(path: Path, height: str) -> None:
    with MadeNode(path) as node:
        node.connection.execute(
            f"INSERT INTO coin_record SELECT randomblob(32), {height}, 0, 0,"  # noqa: S608
            " randomblob(32), randomblob(32), zeroblob(8), 0 FROM (SELECT max(confirmed_index)"
            " AS confirmed_index FROM coin_record)"
        )
    with pytest.raises(WrongDatabaseError, match="what no chain has: 1 "):
        migrate(path)
    migrate(path, force=True)
    activation.activate(path, force=True, tell=lambda plan: None, bar=no_bar)
    with activated(path):
        pass
    revert(path)


def test_what_was_left_out_is_told_again_after_a_revert(path: Path) -> None:
    row = (b"\x77" * 32, 1, 0, 0, b"\2" * 32, b"\3" * 32, bytes(8), 0)
    with MadeNode(path) as node:
        node.connection.execute("INSERT INTO coin_record VALUES(?, ?, ?, ?, ?, ?, ?, ?)", row)
    activation.activate(path, force=True, tell=lambda plan: None, bar=no_bar)
    revert(path)
    with pytest.raises(WrongDatabaseError, match="what no chain has"):
        migrate(path)


def test_a_revert_that_drop_has_cut_short_starts_again(path: Path, rows: Rows) -> None:
    activate(path)
    drop(path)
    for table in (NEW_TABLE, NOTE_TABLE):
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f"CREATE TABLE {table}(height, digest)")
        revert(path)
        assert rows_of(path) == rows
        activate(path)
        drop(path)


@pytest.mark.parametrize("moment", ["_name", "_verify"])
def test_a_revert_that_is_killed_at_last_goes_on(
    path: Path, rows: Rows, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """The log is noted as a copy by then, while it is the one that is in use."""
    activate(path)
    drop(path)
    with monkeypatch.context() as patch:
        patch.setattr(reverting, moment, _killed)
        with pytest.raises(KeyboardInterrupt):
            revert(path)
    assert is_active(path)
    revert(path)
    assert rows_of(path) == rows
    migrate(path)


def _killed(*arguments: object) -> None:
    raise KeyboardInterrupt


def _note(**changed: object) -> str:
    fields = {"height": 5, "coins": 5, "verified": -1, "chain": "", "oddities": {}, "left_out": []}
    return json.dumps(fields | changed)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" * 100_000, id="deep"),
        '{"height": Infinity}',
        _note(height="5"),
        _note(height=5.7),
        _note(coins=True),
        _note(verified="-1"),
        _note(height=10**23),
        _note(oddities={"MISNAMED": 1.0}),
    ],
)
def test_a_note_that_lies_is_damage(path: Path, text: str) -> None:
    migrate(path)
    (log_of(path) / "MIGRATION").write_text(text)
    with pytest.raises(CorruptDatabaseError, match="MIGRATION: it is damaged"):
        migrate(path)
