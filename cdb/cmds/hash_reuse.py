"""hash_reuse: count how often puzzle hashes come again within so many heights."""

from dataclasses import asdict
from pathlib import Path

import click

from cdb.cmds.bar import step_bar
from cdb.cmds.echo import echo, echo_json
from cdb.cmds.options import input_option, json_option, open_replay, quiet_option
from cdb.cmds.runner import run
from cdb.cmds.table import table
from cdb.contents.hash_reuse import REFERENCE_BYTES, WINDOWS, HashReuse, Within
from cdb.contract.coins import MAX_U32
from cdb.text.scanner import scan_packed


@click.command("hash_reuse")
@input_option
@click.option(
    "--within",
    "windows",
    type=click.IntRange(0, MAX_U32),
    metavar="HEIGHTS",
    multiple=True,
    default=WINDOWS,
    show_default=True,
    help="Count the coins that have the puzzle hash of one at most so many heights below; repeat "
    "it for more windows.",
)
@json_option
@quiet_option
def hash_reuse(*, input_path: Path | None, windows: tuple[int, ...], as_json: bool) -> None:
    """Count how often puzzle hashes come again in a replay.

    A store that refers to the last coin of the same puzzle hash keeps 3 bytes instead of 32. This
    says what that would save on your chain, and how many coins a reader would hold for it. The
    command holds the coins of the longest window in memory, some 200 bytes each.

    \b
    Examples:
      cdb dump_blocks blockchain_v2 | cdb hash_reuse
      cdb hash_reuse --input replay.txt --within 4608
      cdb make_replay --coins 100000 | cdb hash_reuse --json
    """
    reuse = HashReuse(windows)
    with open_replay(input_path) as stream, step_bar("coins") as progress:
        for packed in scan_packed(stream):
            reuse.add(packed)
            progress(packed.n_confirms)
    if as_json:
        echo_json({"coins": reuse.coins, "within": [asdict(each) for each in reuse.within()]})
        return
    rows = [["within", "coins", "share", f"saved at {REFERENCE_BYTES} bytes each", "coins held"]]
    echo(f"of {reuse.coins:,} coins, those with the puzzle hash of an earlier coin")
    echo(table([*rows, *map(_row, reuse.within())]))


def _row(found: Within) -> list[str]:
    heights = {0: "the same block", 1: "1 height"}.get(found.heights, f"{found.heights:,} heights")
    saved = f"{found.saved_bytes:.2f} bytes per coin"
    return [heights, f"{found.coins:,}", f"{found.share:.1%}", saved, f"{found.most_coins:,}"]


if __name__ == "__main__":
    run(hash_reuse)
