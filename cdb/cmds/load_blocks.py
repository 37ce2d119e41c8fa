"""load_blocks: load a replay into a schema."""

import sys
from pathlib import Path
from stat import S_ISREG

import click

from cdb.cmds.echo import echo
from cdb.cmds.load import LoadOptions, load_stream, summary_table
from cdb.cmds.options import (
    PathType,
    database_path,
    db_option,
    flush_every_option,
    max_blocks_option,
    schema_argument,
)
from cdb.cmds.runner import run
from cdb.durability import Durability
from cdb.loader import DEFAULT_FLUSH_COINS
from cdb.schemas import SchemaInfo


@click.command("load_blocks")
@schema_argument
@db_option
@max_blocks_option
@click.option(
    "--input",
    "input_path",
    type=PathType(dir_okay=False),
    metavar="FILE",
    help="The replay.  [default: standard input]",
)
@flush_every_option(
    DEFAULT_FLUSH_COINS, "Make what was loaded durable each time this many coins have come."
)
@click.option(
    "--durability",
    type=click.Choice([level.value for level in Durability]),
    help="What a flush survives: nothing, the death of the process, or power loss.  "
    "[default: the strongest that the schema has]",
)
@click.option("--digest/--no-digest", default=True, help="Digest the state afterwards, or don't.")
def load_blocks(
    schema: SchemaInfo,
    db: Path | None,
    max_blocks: int | None,
    input_path: Path | None,
    flush_coins: int,
    durability: str | None,
    *,
    digest: bool,
) -> None:
    """Load a replay into a database of SCHEMA, which is created where it is missing.

    SCHEMA is a name (see the command schemas), a module (cdb.schemas.rocks) or a module and an
    attribute (my_package.my_schema:MySchema).

    Into an existing database the load goes on after its newest block, once the replay's block there
    has proved to be the same. Ctrl-C ends it after the block at hand; the same command goes on.
    The summary is written to standard error.

    \b
    Examples:
      pv -bartIe replay.txt | python -m cdb.cmds.load_blocks cdb.schemas.rocks:REPLAY
      python -m cdb.cmds.load_blocks sqlite_v3 --input replay.txt --max-blocks 300000
      make_replay --coins 100000 | load_blocks memory --db m.cdb
    """
    path = database_path(schema, db)
    level = None if durability is None else Durability(durability)
    if input_path is None:
        if sys.stdin is None or sys.stdin.isatty():
            raise click.UsageError("pipe a replay into this command, or name one with --input")
        options = LoadOptions(max_blocks, flush_coins, level, digest)
        with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as stream:
            summary = load_stream(schema, path, stream, options)
    else:
        with input_path.open("rb", buffering=0) as stream:
            status = input_path.stat()
            total_bytes = status.st_size if S_ISREG(status.st_mode) else None
            options = LoadOptions(max_blocks, flush_coins, level, digest, total_bytes)
            summary = load_stream(schema, path, stream, options)
    echo(summary_table(summary), err=True)


if __name__ == "__main__":
    run(load_blocks)
