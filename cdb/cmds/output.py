"""Writes a replay for the commands that make one: to a file or standard output, with progress."""

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from cdb.cmds.bar import progress_bar
from cdb.contract.blocks import BlockSpendInfo
from cdb.disk.files import output_file
from cdb.text.replay import write_blocks


class CoinsSoFar:
    """What write_replay() takes as `done`, where coins are counted."""

    def __init__(self) -> None:
        self._coins = 0

    def __call__(self, block: BlockSpendInfo) -> int:
        """The coins of this block and of those before it."""
        self._coins += len(block.confirms)
        return self._coins


def write_replay(
    blocks: Iterable[BlockSpendInfo],
    path: Path | None,
    *,
    total: int | None,
    unit: str,
    done: Callable[[BlockSpendInfo], int],
) -> None:
    """Write blocks as text to the file at a path, or to standard output.

    total, unit: of the progress that a terminal shows, where the text goes elsewhere; done: how
    much of it there is once a block is written.
    """
    hidden = path is None and sys.stdout.isatty()

    def counted() -> Iterator[BlockSpendInfo]:
        with progress_bar(total=total, unit=unit, hidden=hidden) as bar:
            for block in blocks:
                yield block
                bar.update_to(done(block))

    if path is None:
        write_blocks(sys.stdout.buffer, counted())
        sys.stdout.buffer.flush()
    else:
        with output_file(path) as stream:
            write_blocks(stream, counted())
