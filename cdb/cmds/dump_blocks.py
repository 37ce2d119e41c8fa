"""dump_blocks: write a database as replay text."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import takewhile
from operator import attrgetter
from pathlib import Path

import click

from cdb.cmds.bar import step_bar
from cdb.cmds.naming import named
from cdb.cmds.options import database_arguments, first_heights_option, output_option, quiet_option
from cdb.cmds.output import write_replay
from cdb.cmds.readable import ReadableBlocks
from cdb.cmds.runner import EXIT_PARTIAL, fail, run
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.location import Location
from cdb.errors import CdbError, CorruptDatabaseError
from cdb.schemas import Schema, SchemaInfo


@click.command("dump_blocks")
@database_arguments
@first_heights_option
@output_option
@quiet_option
def dump_blocks(
    schema: SchemaInfo, location: Location, *, heights: int | None, output_path: Path | None
) -> int:
    """Write a database as canonical replay text.

    PATH alone is enough where a database's files name its schema. The command opens the database
    only for reading, and writes one snapshot of it. With blockchain_v2 that can be a full node's
    own database, also while the node runs.

    Of a damaged database the command writes the blocks before the first damage, and says up to
    where. FILE is made of them only where there is none: a part doesn't take the place of a whole.

    \b
    Exits with
      0  all blocks are written
      4  damage: the blocks before it are written
      1  another error, also damage before all blocks

    \b
    Examples:
      cdb dump_blocks blockchain_v2 --heights 800000 > replay-800k.txt
      cdb dump_blocks my.cdb --output replay.txt
      cdb dump_blocks rocks --db my.cdb | sha256sum
    """
    schema.check_keeps_contract()
    with step_bar(f"{location}: opening") as progress:
        database = schema.open(location, read_only=True, progress=progress)
    with database:
        readable = ReadableBlocks(database)
        blocks = _to_write(readable, output_path)
        newest = _newest_index(database)
        if heights is not None:
            blocks = takewhile(lambda block: block.index < heights, blocks)
            newest = None if newest is None else min(newest, max(heights - 1, 0))
        done = attrgetter("index")
        write_replay(blocks, output_path, total=newest, unit=" heights", done=done)
    if readable.damage is None:
        return 0
    damage = named(str(readable.damage), schema, location)
    fail(f"{damage}; the {readable}, before that, are written")
    return EXIT_PARTIAL


def _to_write(readable: ReadableBlocks, output: Path | None) -> Iterator[BlockSpendInfo]:
    """The blocks. Raises, so that no file is written, where damage left none, or some where a file
    is already.
    """
    yield from readable
    if readable.damage is None:
        return
    if not readable.n_blocks:
        raise readable.damage
    if output is not None and output.is_file():
        stays = f"{output} stays as it was: name a new file for them"
        raise CdbError(f"{readable.damage}; the {readable}, before that, can be read; {stays}")


def _newest_index(database: Schema) -> int | None:
    """None also where damage hides it: the blocks before that are written all the same."""
    with suppress(CorruptDatabaseError):
        return database.last_block_index
    return None


if __name__ == "__main__":
    run(dump_blocks)
