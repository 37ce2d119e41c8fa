"""A node's own database is read exactly, and not a byte of it or beside it changes."""

from __future__ import annotations

import hashlib
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from cdb.contents.state import verify
from cdb.contract.coins import bytes32
from cdb.errors import (
    DatabaseClosedError,
    DatabaseNotFoundError,
    UnsupportedError,
    WrongDatabaseError,
)
from cdb.schemas import history_of, open_schema
from cdb.schemas.memory import MemorySchema
from cdb.testing.base import accept_all
from cdb.testing.chains import Chain
from cdb.testing.crafts import near
from cdb.testing.past import check_history, check_versions
from cdb.text.replay import block_text

if TYPE_CHECKING:
    from tests.node.conftest import NodeDatabase

DEFAULT_NAME = "blockchain_v2_mainnet.sqlite"
Contents = Callable[[], dict[str, tuple[bytes, int]]]


@pytest.fixture
def path(node: NodeDatabase, tmp_path: Path) -> Path:
    return node.copy_to(tmp_path / DEFAULT_NAME)


def run(
    command: list[str], directory: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, check=False)


def assert_is_replay(text: bytes, node: NodeDatabase) -> None:
    assert len(text) == node.replay_bytes
    assert hashlib.sha256(text).hexdigest() == node.replay_sha256


def test_blocks_are_the_canonical_replay(
    node: NodeDatabase, path: Path, contents: Contents
) -> None:
    before = contents()
    with open_schema("blockchain_v2", path, read_only=True) as database:
        assert_is_replay(b"".join(map(block_text, database.blocks())), node)
        assert database.last_block_index == node.state.newest_index
    assert contents() == before


def test_the_past_is_that_of_its_blocks(small: NodeDatabase, tmp_path: Path) -> None:
    path = small.copy_to(tmp_path / "node.sqlite")
    blocks = small.state.blocks
    chain = Chain.of(blocks)
    with MemorySchema() as model, open_schema("blockchain_v2", path, read_only=True) as database:
        accept_all(model, blocks)
        check_history(database, model, [*chain.names, *near(chain.names[0])], Random(1), 20)
        check_versions(database, model, -1, 2**32)
        opened = history_of(database).state_at(2**32)
        next(opened)
    with pytest.raises(DatabaseClosedError):
        list(opened)


@pytest.mark.parametrize("options", [["--db", DEFAULT_NAME], []], ids=["named", "default"])
def test_dump_command(
    node: NodeDatabase,
    path: Path,
    contents: Contents,
    dump_command: list[str],
    command_environment: dict[str, str],
    options: list[str],
) -> None:
    before = contents()
    done = run([*dump_command, *options], path.parent, command_environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert_is_replay(done.stdout, node)
    assert contents() == before


def test_dump_command_with_heights(
    small: NodeDatabase,
    tmp_path: Path,
    contents: Contents,
    dump_command: list[str],
    command_environment: dict[str, str],
) -> None:
    path = small.copy_to(tmp_path / "node.sqlite")
    before = contents()
    blocks = small.state.blocks
    for limit in (0, blocks[0].index, blocks[90].index, blocks[90].index + 1):
        command = [*dump_command, "--db", str(path), "--heights", str(limit)]
        done = run(command, tmp_path, command_environment)
        expected = b"".join(block_text(block) for block in blocks if block.index < limit)
        assert (done.returncode, done.stderr, done.stdout) == (0, b"", expected)
    assert contents() == before


def test_every_coin_in_any_order(node: NodeDatabase, path: Path, contents: Contents) -> None:
    before = contents()
    order = list(range(len(node.names)))
    random.Random(1).shuffle(order)
    order += order[:3]
    unknown = [bytes32(name[:-1] + bytes([name[-1] ^ 1])) for name in node.names]
    asked = [name for place in order for name in (unknown[place], node.names[place])]
    with open_schema("blockchain_v2", path, read_only=True) as database:
        infos = database.coin_infos_for_coin_names(asked)
        assert infos == [node.state.infos[place] for place in order]
        assert database.coin_infos_for_coin_names([]) == []
    assert contents() == before


def test_every_height(node: NodeDatabase, path: Path, contents: Contents) -> None:
    before = contents()
    newest = node.state.newest_index
    assert newest is not None
    blocks = {block.index: block for block in node.state.blocks}
    with open_schema("blockchain_v2", path, read_only=True) as database:
        for height in range(-1, newest + 2):
            assert database.block_info_for_block_index(height) == blocks.get(height), height
    assert contents() == before


def test_lookups_and_blocks_agree(node: NodeDatabase, path: Path, contents: Contents) -> None:
    before = contents()
    with open_schema("blockchain_v2", path, read_only=True) as database:
        summary = verify(database)
    assert (summary.blocks, summary.coins) == (len(node.state.blocks), len(node.names))
    assert contents() == before


def test_it_is_only_read(node: NodeDatabase, path: Path, contents: Contents) -> None:
    before = contents()
    with open_schema("blockchain_v2", path, read_only=True) as database:
        with pytest.raises(UnsupportedError, match="only for reading"):
            database.accept_block(node.state.blocks[0])
        with pytest.raises(UnsupportedError, match="only for reading"):
            database.rewind_to_block_index(1)
        database.flush()
    with pytest.raises(WrongDatabaseError, match="node's own database"):
        open_schema("blockchain_v2", path)
    assert contents() == before


def test_loading_into_it_is_refused(
    node: NodeDatabase, path: Path, contents: Contents, command_environment: dict[str, str]
) -> None:
    before = contents()
    command = [sys.executable, "-m", "cdb.cmds.load_blocks", "blockchain_v2", "--db", str(path)]
    done = subprocess.run(
        command,
        input=node.state.replay,
        cwd=path.parent,
        env=command_environment,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"node's own database" in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert contents() == before


def test_a_missing_file_is_not_created(
    tmp_path: Path, dump_command: list[str], command_environment: dict[str, str]
) -> None:
    with pytest.raises(DatabaseNotFoundError, match="no database is here"):
        open_schema("blockchain_v2", tmp_path / DEFAULT_NAME, read_only=True)
    done = run(dump_command, tmp_path, command_environment)
    assert (done.returncode, done.stdout) == (1, b"")
    assert DEFAULT_NAME.encode() in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert list(tmp_path.iterdir()) == []


_VERSION_1_TABLE = """CREATE TABLE coin_record(coin_name text PRIMARY KEY, confirmed_index bigint,
    spent_index bigint, spent int, coinbase int, puzzle_hash text, coin_parent text, amount blob,
    timestamp bigint)"""


def test_a_node_database_of_version_1_is_refused(
    mainnet: NodeDatabase, tmp_path: Path, contents: Contents
) -> None:
    """Version 1 keeps names as text, and has no table database_version."""
    path = tmp_path / "blockchain_v1_mainnet.sqlite"
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(_VERSION_1_TABLE)
        for row in mainnet.state.coins:
            name, confirmed, spent, coinbase, puzzle_hash, parent, amount, timestamp = row.columns
            texts = name.hex(), puzzle_hash.hex(), parent.hex()
            values = texts[0], confirmed, spent, spent > 0, coinbase, *texts[1:], amount, timestamp
            connection.execute("INSERT INTO coin_record VALUES (?,?,?,?,?,?,?,?,?)", values)
    connection.close()
    before = contents()
    for read_only in (True, False):
        with pytest.raises(WrongDatabaseError, match="version"):
            open_schema("blockchain_v2", path, read_only=read_only)
    assert contents() == before


@pytest.mark.parametrize("versions", [[1], [3], [2, 3], []])
def test_another_version_number_is_refused(
    mainnet: NodeDatabase, tmp_path: Path, contents: Contents, versions: list[int]
) -> None:
    path = mainnet.copy_to(tmp_path / "node.sqlite")
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("DELETE FROM database_version")
        connection.executemany(
            "INSERT INTO database_version VALUES (?)", [(number,) for number in versions]
        )
    connection.close()
    before = contents()
    for read_only in (True, False):
        with pytest.raises(WrongDatabaseError, match="version"):
            open_schema("blockchain_v2", path, read_only=read_only)
    assert contents() == before


def test_a_node_without_coins_has_no_blocks(mainnet: NodeDatabase, tmp_path: Path) -> None:
    path = mainnet.copy_to(tmp_path / "node.sqlite")
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("DELETE FROM coin_record")
    connection.close()
    with open_schema("blockchain_v2", path, read_only=True) as database:
        assert list(database.blocks()) == []
        assert database.last_block_index is None
        assert database.block_info_for_block_index(1) is None
        assert database.coin_infos_for_coin_names(mainnet.names) == []
