"""make_replay: write a replay of made-up coins in the shape of mainnet's history."""

from operator import attrgetter
from pathlib import Path

import click

from cdb.cmds.options import heights_option, output_option, quiet_option
from cdb.cmds.output import CoinsSoFar, write_replay
from cdb.cmds.runner import run
from cdb.contract.coins import MAX_U32
from cdb.text.mainnet_shape import MODEL_HEIGHTS, mainnet_shaped_blocks


@click.command("make_replay")
@heights_option(
    "Make the first N heights: the blocks with an index below N.  [default: 800000, unless --coins "
    "is given]",
    least=1,
    most=MAX_U32 + 1,
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
@output_option
@quiet_option
def make_replay(
    *, heights: int | None, coins: int | None, seed: int, output_path: Path | None
) -> None:
    """Write a replay in the shape of Chia's mainnet.

    The command makes the coins up. They share with mainnet what matters to a coin store: when
    blocks come and how big they are, how many coins they spend and how old those are, how often
    puzzle hashes repeat, and how large amounts get.

    By default the replay is as long as mainnet's first 800,000 heights: 13.4 million coins, 5.8
    million spends, 2.1 GiB, in a few minutes. Shorter replays are true to scale: they too begin
    with rewards only and get to spends later. With --heights and --coins, whichever comes first
    ends the replay.

    The same arguments give the same bytes on every machine.

    \b
    Examples:
      cdb make_replay --coins 1000000 --output million.txt
      cdb make_replay --heights 5000 | grep -c ^S
      cdb make_replay --coins 100000 --seed 7 | sha256sum
    """
    if heights is None and coins is None:
        heights = MODEL_HEIGHTS
    blocks = mainnet_shaped_blocks(heights=heights, coins=coins, seed=seed)
    if coins is None:
        done = attrgetter("index")
        write_replay(blocks, output_path, total=heights, unit=" heights", done=done)
    else:
        write_replay(blocks, output_path, total=coins, unit=" coins", done=CoinsSoFar())


if __name__ == "__main__":
    run(make_replay)
