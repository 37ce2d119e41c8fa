"""dump_blocks: write a database as replay text."""

from contextlib import suppress
from itertools import takewhile
from operator import attrgetter
from pathlib import Path

import click

from cdb.cmds.bar import step_bar
from cdb.cmds.options import database_arguments, first_heights_option, output_option, quiet_option
from cdb.cmds.output import write_replay
from cdb.cmds.runner import run
from cdb.errors import CorruptDatabaseError
from cdb.schemas import Schema, SchemaInfo


@click.command("dump_blocks")
@database_arguments
@first_heights_option
@output_option
@quiet_option
def dump_blocks(
    schema: SchemaInfo, path: Path, *, heights: int | None, output_path: Path | None
) -> None:
    """Write a database as canonical replay text.

    PATH alone is enough where a database's files name its schema. The command opens the database
    only for reading, and writes one snapshot of it. With blockchain_v2 that can be a full node's
    own database, also while the node runs.

    \b
    Examples:
      cdb dump_blocks blockchain_v2 --heights 800000 > replay-800k.txt
      cdb dump_blocks my.cdb --output replay.txt
      cdb dump_blocks rocks --db my.cdb | sha256sum
    """
    schema.check_keeps_contract()
    with step_bar(f"{path}: opening") as progress:
        database = schema.open(path, read_only=True, progress=progress)
    with database:
        blocks = database.blocks()
        newest = _newest_index(database)
        if heights is not None:
            blocks = takewhile(lambda block: block.index < heights, blocks)
            newest = None if newest is None else min(newest, max(heights - 1, 0))
        done = attrgetter("index")
        write_replay(blocks, output_path, total=newest, unit=" heights", done=done)


def _newest_index(database: Schema) -> int | None:
    """None also where damage hides it: the blocks before that are written all the same."""
    with suppress(CorruptDatabaseError):
        return database.last_block_index
    return None


if __name__ == "__main__":
    run(dump_blocks)
