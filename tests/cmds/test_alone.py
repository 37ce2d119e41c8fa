"""What changes a node's file wants it alone: whoever uses it is noticed before anything is."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.progress import no_bar
from cdb.errors import DatabaseLockedError
from cdb.node.migrate import activation, dropping, reverting
from cdb.node.migrate.migration import Plan
from cdb.stores.coin_log.binding import missing
from tests.conftest import stored
from tests.node.made import MadeNode

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


def told(plan: Plan) -> None:
    """Nobody."""


CALLS: dict[str, Callable[[Path], object]] = {
    "activate": lambda path: activation.activate(path, tell=told, bar=no_bar),
    "drop": lambda path: dropping.drop(path, tell=told, bar=no_bar),
    "revert": lambda path: reverting.revert(path, tell=told, bar=no_bar),
}
USES = {"reads": "SELECT version FROM database_version", "writes": "DELETE FROM hints"}


@pytest.mark.parametrize("mode", ["wal", "delete"])
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", CALLS)
def test_a_file_that_is_in_use_is_left_alone(
    tmp_path: Path, blocks: tuple[BlockSpendInfo, ...], name: str, use: str, mode: str
) -> None:
    path = tmp_path / "node.sqlite"
    call = CALLS[name]
    MadeNode(path, blocks[:5]).close()
    if name != "activate":
        CALLS["activate"](path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        assert other.execute(f"PRAGMA journal_mode={mode}").fetchone() == (mode,)
        other.execute("BEGIN")
        other.execute(USES[use]).fetchone()
        before = stored(tmp_path)
        with pytest.raises(DatabaseLockedError):
            call(path)
        assert stored(tmp_path) == before
        other.execute("ROLLBACK")
    call(path)
