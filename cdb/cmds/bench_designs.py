"""bench_designs: what three other designs teach, over a replay."""

from pathlib import Path
from tempfile import TemporaryDirectory

import click

from cdb.cmds.echo import echo
from cdb.cmds.runner import run
from cdb.cmds.table import table
from cdb.lab.designs.chunks import build, chunks_rows, copy_seconds
from cdb.lab.designs.columns import read_columns
from cdb.lab.designs.deltas import deltas_rows
from cdb.lab.designs.layers import layers_rows


@click.command("designs")
@click.argument("replay", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--dir",
    "parent",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    metavar="DIR",
    help="Put files below this directory temporarily.  [default: the current directory]",
)
def bench_designs(replay: Path, parent: Path) -> None:
    """Print what layers of heights, deltas and chunks come to over a REPLAY.

    \b
    Example:
      cdb make_replay --coins 1000000 --output million.txt && cdb bench designs million.txt
    """
    columns = read_columns(replay)
    echo("PathDB: spends whose coin is among those of the newest heights")
    echo(table(layers_rows(columns)))
    echo("LETUS: the spent heights as a base each K heights, and changes")
    echo(table(deltas_rows(columns)))
    with TemporaryDirectory(dir=parent) as directory:
        built = build(replay, Path(directory))
        echo("Monad: an index entry that leads through the table of blocks, or to the bytes")
        echo(table(chunks_rows(built)))
        linked, copied = copy_seconds(built.log)
        n = len(built.log.chunks)
        echo(f"a copy of a log of {n} chunks: {linked:.3f} s by links, {copied:.3f} s of all bytes")


if __name__ == "__main__":
    run(bench_designs)
