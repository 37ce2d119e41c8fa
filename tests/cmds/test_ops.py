"""Rows of cdb_ops that are damaged: they are told, and the log keeps what it has."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cdb.contract.blocks import BlockSpendInfo
from cdb.errors import CorruptDatabaseError
from cdb.node.log import catch_up, log_path_of
from cdb.node.node_database import operations_of
from cdb.schemas import coin_log
from cdb.stores.coin_log.binding import missing
from tests.cmds.nodes import make_node
from tests.conftest import Commands

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@pytest.mark.parametrize(
    "change",
    [
        "record = substr(record, 1, length(record) - 1)",
        "record = CAST(substr(record, 1, 48) || x'ffffffff' || substr(record, 53) AS BLOB)",
        "height = height + 0.5",
        "height = 'x'",
    ],
)
def test_a_damaged_newest_row_takes_nothing_from_the_log(
    tmp_path: Path, run_command: Commands, blocks: tuple[BlockSpendInfo, ...], change: str
) -> None:
    file = tmp_path / "node.sqlite"
    make_node(file, blocks[:30], n_behind=0)
    newest = "number = (SELECT max(number) FROM cdb_ops)"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(f"UPDATE cdb_ops SET {change} WHERE {newest}")  # noqa: S608
    with coin_log.indexed(log_path_of(file)) as log, closing(sqlite3.connect(file)) as connection:
        with pytest.raises(CorruptDatabaseError, match="its table cdb_ops is damaged"):
            catch_up(log, log_path_of(file), file, operations_of(connection, file))
        assert log.last_block_index == blocks[29].index
    for line in (("node", "status", file), ("migrate", "--drop", file)):
        assert "its table cdb_ops is damaged" in run_command("main", *line).err
