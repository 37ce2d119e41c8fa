"""cdb migrate on databases that a full node wrote, and the truth about them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cdb.contents.state import verify
from cdb.contract.progress import no_bar
from cdb.node.migrate import activation, dropping, migration, reverting
from cdb.schemas import find_schema
from cdb.stores.coin_log.binding import missing
from tests.conftest import digest_of
from tests.node.made import indexes_of, rows_of

if TYPE_CHECKING:
    from tests.node.conftest import NodeDatabase

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


OPTIONS: dict[str, Any] = {"tell": lambda plan: None, "bar": no_bar}


@pytest.mark.parametrize("dropped", [True, False])
def test_there_and_back(node: NodeDatabase, tmp_path: Path, dropped: bool) -> None:
    path = node.copy_to(tmp_path / "node.sqlite")
    before = path.read_bytes()
    done = migration.migrate(path, **OPTIONS)
    assert path.read_bytes() == before
    assert done.coins == len(node.state.coins)
    assert (done.height, done.odd) == (node.state.newest_index, "")
    with find_schema("coin_log").open(done.log_path, read_only=True) as database:
        assert verify(database).digest == digest_of(node.state.blocks)
    activation.activate(path, **OPTIONS)
    if dropped:
        dropping.drop(path, vacuum=True, **OPTIONS)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE cdb_ops SET number = 1")
    reverting.revert(path, **OPTIONS)
    assert rows_of(path) == node.state.columns
    assert indexes_of(path) >= {"coin_confirmed_index", "coin_spent_index", "coin_puzzle_hash"}
