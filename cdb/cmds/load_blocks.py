"""load_blocks: load a replay into a schema."""

import os
from dataclasses import replace
from pathlib import Path
from stat import S_ISREG

import click

from cdb.cmds.echo import echo_json, note
from cdb.cmds.load import LoadOptions, load_stream, summary_object, summary_table
from cdb.cmds.options import (
    database_arguments,
    first_heights_option,
    flush_every_option,
    input_option,
    json_option,
    open_replay,
    quiet_option,
)
from cdb.cmds.runner import run
from cdb.contents.loader import DEFAULT_FLUSH_COINS
from cdb.contract.durability import Durability
from cdb.contract.location import Location
from cdb.schemas import SchemaInfo


@click.command("load_blocks")
@database_arguments
@first_heights_option
@input_option
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
@json_option
@quiet_option
def load_blocks(
    schema: SchemaInfo,
    location: Location,
    *,
    heights: int | None,
    input_path: Path | None,
    flush_coins: int,
    durability: str | None,
    digest: bool,
    as_json: bool,
) -> None:
    """Load a replay into a database of SCHEMA, which the command creates where it is missing.

    SCHEMA is a name (see cdb schemas), a module (cdb.schemas.rocks, or my_schema for my_schema.py
    in the current directory) or a module and an attribute (my_package.my_schema:MySchema). The PATH
    of an existing database is enough where its files name the schema.

    Into an existing database the load goes on after its newest block, once the replay's block there
    has proved to be the same. Ctrl-C ends it after the block at hand; the same command goes on. The
    command prints its summary to standard error, or with --json to standard output.

    \b
    Examples:
      pv -bartIe replay.txt | cdb load_blocks cdb.schemas.rocks:REPLAY
      cdb load_blocks sqlite_v3 --input replay.txt --heights 300000
      cdb make_replay --coins 100000 | cdb load_blocks coin_log --db my.cdb
    """
    level = None if durability is None else Durability(durability)
    options = LoadOptions(heights, flush_coins, level, digest)
    with open_replay(input_path) as stream:
        status = os.fstat(stream.fileno())
        total_bytes = status.st_size if input_path and S_ISREG(status.st_mode) else None
        summary = load_stream(schema, location, stream, replace(options, total_bytes=total_bytes))
    if as_json:
        echo_json(summary_object(summary))
    else:
        note(summary_table(summary, location if schema.spec.keeps_contract else None))


if __name__ == "__main__":
    run(load_blocks)
