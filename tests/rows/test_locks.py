"""A process that looks at a database that it has open keeps SQLite's locks on it: those are
fcntl's, and the end of any descriptor of a file ends all that its process has on it."""

import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import click
import pytest

from cdb import open_schema
from cdb.cmds.options import NodeFileType
from cdb.contents.at_path import database_info, schema_at
from cdb.contents.state import summarize
from cdb.errors import CdbError
from cdb.stores.node_table.opening import format_of
from cdb.stores.rows.sqlite import undo_unfinished_making
from cdb.testing.base import accept_all
from cdb.testing.chains import sample_chain
from cdb.text import replay_file

READ_AND_CLOSE = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT count(*) FROM coin_record").fetchone()
connection.close()
"""
"""Any other program: the last one to close the file takes its -wal away."""


def begin_again(path: Path) -> None:
    """As after a crash while the file was made."""
    journal = path.with_name(path.name + "-journal")
    journal.write_bytes(bytes.fromhex("d9d505f920a163d7") + bytes(24))
    try:
        undo_unfinished_making(path)
    finally:
        journal.unlink()


def verify(path: Path) -> None:
    list(open_schema("blockchain_v2", path, read_only=True).blocks())


LOOKS: dict[str, Callable[[Path], object]] = {
    "schema": schema_at,
    "info": database_info,
    "format": format_of,
    "reader": verify,
    "writer": lambda path: open_schema("blockchain_v2", path),
    "another schema": lambda path: open_schema("memory", path, read_only=True),
    "another schema, written": lambda path: open_schema("memory", path),
    "replay": replay_file.version_of,
    "option": lambda path: NodeFileType().convert(path, None, click.Context(click.Command("c"))),
    "unfinished": begin_again,
}


@pytest.mark.parametrize("look", LOOKS)
def test_a_second_look_leaves_the_locks(look: str, tmp_path: Path) -> None:
    path, blocks = tmp_path / "database.sqlite", sample_chain(1).blocks
    with open_schema("blockchain_v2", path) as schema:
        accept_all(schema, blocks[:-3])
        schema.flush()
        with suppress(CdbError):
            LOOKS[look](path)
        subprocess.run([sys.executable, "-c", READ_AND_CLOSE, path], check=True)
        assert path.with_name(path.name + "-wal").exists()
        accept_all(schema, blocks[-3:])
        schema.flush()
        expected = summarize(schema)
    with open_schema("blockchain_v2", path, read_only=True) as schema:
        assert summarize(schema) == expected
