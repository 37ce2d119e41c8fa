"""make_replay: write a replay of made-up coins in the shape of mainnet's history."""

import sys
from collections.abc import Iterable, Iterator

import click

from cdb.blocks import BlockSpendInfo
from cdb.cmds.bar import progress_bar
from cdb.cmds.runner import run
from cdb.coins import MAX_U32
from cdb.mainnet_shape import MODEL_HEIGHTS, mainnet_shaped_blocks
from cdb.replay import write_blocks


@click.command("make_replay")
@click.option(
    "--heights",
    type=click.IntRange(1, MAX_U32 + 1),
    metavar="N",
    help="Make the blocks with indices below N.  [default: 800000, unless --coins is given]",
)
@click.option("--coins", type=click.IntRange(min=1), metavar="N", help="End after exactly N coins.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="S",
    default=0,
    show_default=True,
    help="Another seed makes other coins in the same shape.",
)
def make_replay(heights: int | None, coins: int | None, seed: int) -> None:
    """Write a replay in the shape of Chia's mainnet to standard output.

    The coins are made up. What they share with mainnet is what a coin store feels: when blocks
    come and how big they are, how many coins they spend and how old those are, how often puzzle
    hashes repeat, and how large amounts get.

    By default it is as long as mainnet's first 800,000 heights: 13.4 million coins, 5.8 million
    spends, 2.1 GiB, in a few minutes. Shorter replays are true to scale: they too begin with
    rewards only and get to spends later. With --heights and --coins, whichever comes first ends
    the replay.

    The same arguments give the same bytes on every machine.

    \b
    Examples:
      make_replay --coins 1000000 > million.txt
      make_replay --heights 5000 | grep -c ^S
      make_replay --coins 100000 --seed 7 | sha256sum
    """
    if heights is None and coins is None:
        heights = MODEL_HEIGHTS
    blocks = mainnet_shaped_blocks(heights=heights, coins=coins, seed=seed)
    write_blocks(sys.stdout.buffer, _with_progress(blocks, heights, coins))
    sys.stdout.buffer.flush()


def _with_progress(
    blocks: Iterable[BlockSpendInfo], heights: int | None, coins: int | None
) -> Iterator[BlockSpendInfo]:
    """The same blocks, counted on a terminal's stderr when their text goes elsewhere."""
    unit = " heights" if coins is None else " coins"
    with progress_bar(total=coins or heights, unit=unit, hidden=sys.stdout.isatty()) as bar:
        newest = -1
        for block in blocks:
            yield block
            bar.update(block.index - newest if coins is None else len(block.confirms))
            newest = block.index


if __name__ == "__main__":
    run(make_replay)
