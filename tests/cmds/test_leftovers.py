"""What is in a node's file after a change is what has to be, also behind one that was cut short."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from cdb.contract.blocks import BlockSpendInfo
from cdb.node import own_tables
from cdb.node.migrate import reverting
from cdb.stores.coin_log.binding import missing
from cdb.stores.rows.sqlite import tables_of
from tests.cmds.test_alone import CALLS
from tests.node.made import MadeNode

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

CUT_SHORT = ["_make_indexes", "_note", "_verify"]
"""Where a revert ends."""
ENDS = {
    "drop": ["drop"],
    "revert": ["revert"],
    "drop-revert": ["drop", "revert"],
    "revert-activate-drop": ["revert", "activate", "drop"],
}


@pytest.mark.parametrize("steps", ENDS.values(), ids=ENDS)
@pytest.mark.parametrize("place", CUT_SHORT)
def test_behind_a_revert_that_was_cut_short_no_other_tables_are_left(
    tmp_path: Path, blocks: tuple[BlockSpendInfo, ...], place: str, steps: list[str]
) -> None:
    path = tmp_path / "node.sqlite"
    MadeNode(path, blocks[:5]).close()
    a_nodes_own = tables(path)
    CALLS["activate"](path)
    CALLS["drop"](path)  # so that a revert has to write the table again
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reverting, place, interrupted(getattr(reverting, place)))
        with pytest.raises(KeyboardInterrupt):
            CALLS["revert"](path)
    for step in steps:
        CALLS[step](path)
    is_in_table = steps[-1] == "revert"
    assert tables(path) == (a_nodes_own if is_in_table else a_nodes_own | own_tables.KEPT.keys())


def interrupted(function: Callable[..., object]) -> Callable[..., object]:
    """The same, and then Ctrl-C."""

    def call(*arguments: object) -> object:
        function(*arguments)
        raise KeyboardInterrupt

    return call


def tables(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        return tables_of(connection)
