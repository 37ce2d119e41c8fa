"""dump_blocks: write a database as replay text."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import takewhile
from pathlib import Path

import click

from cdb.blocks import BlockSpendInfo
from cdb.cmds.bar import progress_bar
from cdb.cmds.options import database_path, db_option, max_blocks_option, schema_argument
from cdb.cmds.runner import run
from cdb.errors import CorruptDatabaseError
from cdb.replay import write_blocks
from cdb.schemas import Schema, SchemaInfo


@click.command("dump_blocks")
@schema_argument
@db_option
@max_blocks_option
def dump_blocks(schema: SchemaInfo, db: Path | None, max_blocks: int | None) -> None:
    """Write a database of SCHEMA to standard output, as canonical replay text.

    The database is opened only for reading, and what is written is one snapshot of it. With
    blockchain_v2 it can be a full node's own, also while the node runs.

    \b
    Examples:
      python -m cdb.cmds.dump_blocks blockchain_v2 --max-blocks 800000 > replay-800k.txt
      dump_blocks rocks --db my.cdb | sha256sum
    """
    schema.check_keeps_contract()
    with schema.open(database_path(schema, db), read_only=True) as database:
        blocks = database.blocks()
        if max_blocks is not None:
            blocks = takewhile(lambda block: block.index < max_blocks, blocks)
        write_blocks(sys.stdout.buffer, _with_progress(blocks, _newest_index(database)))
        sys.stdout.buffer.flush()


def _newest_index(database: Schema) -> int | None:
    """None also where damage hides it: the blocks before that are written all the same."""
    with suppress(CorruptDatabaseError):
        return database.last_block_index
    return None


def _with_progress(
    blocks: Iterable[BlockSpendInfo], newest_index: int | None
) -> Iterator[BlockSpendInfo]:
    """The same blocks, counted on a terminal's stderr when their text goes elsewhere."""
    with progress_bar(total=newest_index, unit=" heights", hidden=sys.stdout.isatty()) as bar:
        for block in blocks:
            yield block
            bar.update_to(block.index)


if __name__ == "__main__":
    run(dump_blocks)
