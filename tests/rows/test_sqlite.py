"""SQLite files that were prepared, SQLite's limits, and paths that its URIs know better."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cdb.contents.state import verify
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.durability import Durability
from cdb.disk.home import Home
from cdb.errors import CorruptDatabaseError, StorageError
from cdb.schemas import open_schema
from cdb.stores.node_table.opening import check
from cdb.stores.rows import sqlite
from cdb.stores.rows.index import Watermark
from cdb.stores.rows.opening import CoinStore
from cdb.stores.rows.snapshot import Snapshot
from cdb.stores.rows.sqlite_lookup import SqliteLookup
from cdb.testing.base import accept_all, expected_state
from cdb.testing.chains import block_at, hash_of, reward, sample_chain

BLOCKS = sample_chain(12).blocks
DISGUISES = {
    "view": 'ALTER TABLE {0} RENAME TO real; CREATE VIEW "{1}" AS SELECT * FROM real;',
    "virtual table": 'ALTER TABLE {0} RENAME TO real; CREATE VIRTUAL TABLE "{1}" USING fts5(x);',
    "trigger": "CREATE TRIGGER helpful AFTER INSERT ON {1} BEGIN DELETE FROM {1}; END;",
    "computed": "ALTER TABLE {0} ADD COLUMN more AS (zeroblob(9));",
    "computed, by default": "ALTER TABLE {0} ADD COLUMN more DEFAULT 9;",
    "computed, to be found": "CREATE INDEX more ON {0}(instr(zeroblob(9), 'x'));",
    "computed, as no function says": "CREATE VIRTUAL TABLE pragma_table_xinfo"
    " USING fts5(name, hidden, dflt_value); ALTER TABLE {0} ADD COLUMN more AS (zeroblob(9));",
    "UNIQUE": "ALTER TABLE {0} ADD COLUMN more; CREATE UNIQUE INDEX once ON {0}(more);",
    "hides": "ALTER TABLE {0} ADD COLUMN oid;",
    "primary key": "CREATE TABLE copy AS SELECT * FROM {0}; DROP TABLE {0};"
    ' ALTER TABLE copy RENAME TO "{1}";',
}
KEYLESS = ("covered", "hashes", "meta", "cdb_format", "database_version")
TABLES = [
    *(
        ("sqlite_v3:SMALL", "coins.sqlite", table)
        for table in ("coin", "spend", "block", "irregular_parent", "newest_reward")
    ),
    *(("sqlite_v3:SMALL", "index/lookup.sqlite", table) for table in ("coin_lookup", "covered")),
    *(("sqlite_row:SMALL", "index/run-*", table) for table in ("hashes", "meta")),
    *(("blockchain_v2", "", table) for table in ("coin_record", "cdb_block", "cdb_format")),
    ("blockchain_v2", "", "database_version"),
]


@pytest.mark.parametrize(("schema", "file", "table"), TABLES)
def test_only_tables_are_read(tmp_path: Path, schema: str, file: str, table: str) -> None:
    path = tmp_path / "database"
    with open_schema(schema, path) as database:
        accept_all(database, BLOCKS)
    prepared = max(path.glob(file)) if file else path
    honest = prepared.read_bytes()
    for kind, script in DISGUISES.items():
        if kind == "primary key" and table in KEYLESS:
            continue
        prepared.write_bytes(honest)
        with closing(sqlite3.connect(prepared)) as connection:
            connection.executescript(script.format(table, table.upper()))
        for read_only in (True, False):
            with pytest.raises(CorruptDatabaseError, match=f"{kind.partition(',')[0]}.*, "):
                open_schema(schema, path, read_only=read_only)
    prepared.write_bytes(honest)
    with open_schema(schema, path) as database:
        assert verify(database) == expected_state(BLOCKS)


def table_of_coins(path: Path, key: str) -> None:
    """Make a database whose coin_record was created with another primary key."""
    with open_schema("blockchain_v2", path) as database:
        accept_all(database, BLOCKS[:-1])
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT sql FROM sqlite_master WHERE name = 'coin_record'"
        ((sql,),) = connection.execute(query)
        connection.execute("ALTER TABLE coin_record RENAME TO honest")
        connection.execute(sql.replace("blob PRIMARY KEY", key))
        with connection:
            names = [name for _, name, *_ in connection.execute("PRAGMA table_info(honest)")]
            columns = ", ".join(names)
            connection.execute(f"INSERT INTO coin_record({columns}) SELECT * FROM honest")  # noqa: S608
        connection.execute("DROP TABLE honest")


@pytest.mark.parametrize(
    ("key", "index", "problem"),
    [
        ("blob COLLATE NOCASE PRIMARY KEY", "coin_record(amount)", "an order of its own"),
        ("blob", "coin_record(coin_name)", "primary key is none"),
        ("blob PRIMARY KEY", "coin_record(amount) WHERE length(amount) > 5", "computed"),
        (
            "blob PRIMARY KEY, one INTEGER UNIQUE ON CONFLICT REPLACE",
            "coin_record(amount)",
            "is UNIQUE",
        ),
    ],
)
def test_names_are_found_by_their_key(tmp_path: Path, key: str, index: str, problem: str) -> None:
    path = tmp_path / "node.sqlite"
    table_of_coins(path, key)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE INDEX i ON {index}")
    for read_only in (True, False):
        with pytest.raises(CorruptDatabaseError, match=problem):
            open_schema("blockchain_v2", path, read_only=read_only)


def test_a_column_that_changes_values_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "node.sqlite"
    table_of_coins(path, "blob PRIMARY KEY, more REAL")
    with pytest.raises(CorruptDatabaseError, match="of type REAL"):
        open_schema("blockchain_v2", path)


def test_what_a_file_says_of_new_rows_is_not_asked(tmp_path: Path) -> None:
    """A check may be a program that never ends."""
    path = tmp_path / "node.sqlite"
    table_of_coins(path, "blob PRIMARY KEY CHECK (confirmed_index < 1000)")
    with open_schema("blockchain_v2", path) as database:
        database.accept_block(block_at(5_000))
    with open_schema("blockchain_v2", path, read_only=True) as database:
        assert database.last_block_index == 5_000


@pytest.mark.parametrize("kind", DISGUISES)
def test_of_a_nodes_own_file_only_tables_are_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "node.sqlite"
    with open_schema("blockchain_v2", path) as database:
        accept_all(database, BLOCKS)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE cdb_format")
        connection.execute("CREATE VIEW of_its_owner AS SELECT amount FROM coin_record")
    with open_schema("blockchain_v2", path, read_only=True) as database:
        assert database.last_block_index is not None
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP VIEW of_its_owner")
        connection.executescript(DISGUISES[kind].format("coin_record", "coin_record"))
    with pytest.raises(CorruptDatabaseError, match=f"{kind.partition(',')[0]}.*, "):
        open_schema("blockchain_v2", path, read_only=True)
    with pytest.raises(CorruptDatabaseError, match=f"{kind.partition(',')[0]}.*, "):
        list(check(path, lambda _: None))


def test_a_file_calls_no_function_that_does_more_than_compute(tmp_path: Path) -> None:
    path = tmp_path / "file.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE VIEW prepared AS SELECT probe()")
    with closing(sqlite.open_uri(path, "mode=ro")) as connection:
        connection.create_function("probe", 0, lambda: 1)
        with pytest.raises(sqlite3.OperationalError, match="unsafe use"):
            connection.execute("SELECT * FROM prepared")


def test_any_number_of_names_and_coins_is_below_sqlites_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part_bytes = 7200
    assert sqlite.PART_BYTES < 10**9
    monkeypatch.setattr(sqlite, "PART_BYTES", part_bytes)
    coins = [reward(1, n) for n in range(3 * part_bytes // 72 + 1)]
    names = [coin.name() for coin in coins]
    with open_schema("sqlite_v3:SMALL", tmp_path / "database") as schema:
        assert isinstance(schema, CoinStore)
        index: Any = schema._backend._names
        for connection in (schema._backend.rows.connection, index._index._connection):
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, part_bytes)
        schema.accept_block(BlockSpendInfo(1, 0, [], coins))
        schema.flush()
        asked = [*names, *(hash_of(n) for n in range(300)), *names]
        found = [info.coin for info in schema.coin_infos_for_coin_names(asked)]
        assert found == [*coins, *coins]


def test_two_slashes_are_no_hosts_name(tmp_path: Path) -> None:
    sqlite.open_uri(Path(f"/{tmp_path}/file.sqlite"), "mode=rwc").close()
    assert [file.name for file in tmp_path.iterdir()] == ["file.sqlite"]


@pytest.mark.parametrize("name", ["blockchain_v2", "sqlite_v3", "sqlite_row"])
def test_a_path_that_begins_with_two_slashes(tmp_path: Path, name: str) -> None:
    path = f"/{tmp_path}/database"
    assert path.startswith("//")
    for n, block in enumerate(BLOCKS, 1):
        with open_schema(name, Path(path)) as schema:
            schema.accept_block(block)
        with open_schema(name, Path(path), read_only=True) as schema:
            assert len(list(schema.blocks())) == n


def test_a_writer_that_has_come_and_gone_and_changed_no_size_is_noticed(tmp_path: Path) -> None:
    """What stands beside the file is gone with it, too: only the time tells."""
    path = tmp_path / "file.sqlite"

    def write(statement: str) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(statement)

    write("CREATE TABLE each(n INTEGER)")
    write("INSERT INTO each VALUES (1)")
    before = path.stat()
    with Snapshot(path, {"each": None}) as snapshot:
        write("UPDATE each SET n = 2")
        assert path.stat().st_size == before.st_size
        assert {each.name for each in tmp_path.iterdir()} == {path.name}
        noticed = pytest.raises(StorageError, match="another program began to write")
        with noticed, snapshot.reading():
            snapshot.connection.execute("SELECT n FROM each").fetchone()


def test_an_index_is_not_read_as_it_was_of_a_time_without_writers_once_one_came(
    tmp_path: Path,
) -> None:
    names = [hash_of("name", n) for n in range(3)]
    with closing(SqliteLookup(tmp_path, durability=Durability.POWER, read_only=False)) as writer:
        writer.write(names[:2], Watermark(2, names[1]))
    with closing(SqliteLookup(tmp_path, durability=Durability.POWER, read_only=True)) as reader:
        assert reader.find(names) == [1, 2, None]
        with closing(
            SqliteLookup(tmp_path, durability=Durability.POWER, read_only=False)
        ) as writer:
            writer.rewind(Watermark(1, names[0]), iter(names[1:2]))
            writer.write(names[2:], Watermark(2, names[2]))
            for read in (lambda: reader.find(names), reader.check):
                with pytest.raises(StorageError, match="another program began to write"):
                    read()


def test_a_wal_of_another_directory_is_not_written_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite goes by the name that the directory had when its file was opened."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for each in (ours, theirs):
        Home(each, "rows", 1, read_only=False).close()
        sqlite.connect(each / "coins.sqlite", Durability.NONE, {}).close()
    execute = sqlite.Connection.execute

    def moving(connection: sqlite3.Connection, statement: str, *arguments: Any) -> Any:
        if statement == "PRAGMA synchronous=EXTRA":
            ours.rename(tmp_path / "moved")
            theirs.rename(ours)
        return execute(connection, statement, *arguments)

    monkeypatch.setattr(sqlite.Connection, "execute", moving)
    with closing(Home(ours, "rows", 1, read_only=False)) as home:
        path = home.inside / "coins.sqlite"
        with pytest.raises(StorageError, match=f"^{ours}/coins.sqlite: its directory was moved"):
            sqlite.connect(path, Durability.NONE, {})
