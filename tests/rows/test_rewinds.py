"""A rewind of a row store, cut short behind any of its commits, has happened or has not."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from cdb.contents.state import verify
from cdb.schemas import find_schema
from cdb.stores.rows import sqlite
from cdb.testing.base import accept_all, expected_state
from cdb.testing.chains import sample_chain
from tests.conftest import copy_at_rest, index_factories

STORES = [*index_factories(), "blockchain_v2"]
KEPT = (-1, 3, 17)
"""How many blocks a rewind leaves, less one."""


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("name", STORES)
def test_a_kill_behind_any_commit_leaves_the_state_before_or_after(
    name: str, kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = find_schema(find_schema(name).small or name)
    blocks = sample_chain(30).blocks
    here, left = tmp_path / "here", tmp_path / "left"
    here.mkdir()
    n_commits = 0
    execute = sqlite3.Connection.execute

    def kept_as_killed(connection: sqlite3.Connection, statement: str, *values: Any) -> Any:
        nonlocal n_commits
        cursor = execute(connection, statement, *values)
        if statement == "COMMIT":
            copy_at_rest(here, left / str(n_commits))
            n_commits += 1
        return cursor

    with store.open(here / "db") as schema:
        accept_all(schema, blocks)
        schema.flush()
        with monkeypatch.context() as patch:
            patch.setattr(sqlite.Connection, "execute", kept_as_killed)
            schema.rewind_to_block_index(blocks[kept].index if kept >= 0 else -1)
    after = expected_state(blocks[: kept + 1])
    assert n_commits
    for n in range(n_commits):
        with store.open(left / str(n) / "db") as schema:
            found = verify(schema)
        assert found in (expected_state(blocks), after), f"behind commit {n}"
    assert found == after
