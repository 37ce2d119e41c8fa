"""The replays of a bench command: those that are there, and those to be made."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from cdb.cmds.bar import progress_bar
from cdb.cmds.options import RereadType
from cdb.contract.coins import MAX_U32
from cdb.errors import storage_errors
from cdb.text.mainnet_shape import MODEL_COINS, MODEL_HEIGHTS, mainnet_shaped_blocks
from cdb.text.replay import write_blocks

F = TypeVar("F", bound=Callable[..., Any])

TEXT_BYTES = 171  # a coin, with its share of spends and blocks


@dataclass(frozen=True, slots=True)
class Source:
    """A replay that is there, or is to be made of so many heights or coins. See Replay."""

    path: Path | None = None
    heights: int | None = None
    coins: int | None = None

    def __str__(self) -> str:
        if self.path is not None:
            return str(self.path)
        return f"{self.coins:,} coins" if self.heights is None else f"{self.heights:,} heights"

    def identity(self) -> list[object]:
        """See Replay: where a file is, its size and when it was written."""
        if self.path is None:
            return []
        with storage_errors(self.path):
            status = self.path.stat()
        return [str(self.path.resolve()), status.st_size, status.st_mtime_ns]

    def about_coins(self) -> int:
        """How many coins it has, roughly."""
        if self.path is not None:
            return self.path.stat().st_size // TEXT_BYTES
        if self.heights is not None:
            return self.heights * MODEL_COINS // MODEL_HEIGHTS
        return self.coins or 0

    def needed_bytes(self, database_bytes: int) -> int:
        """What its text takes, and databases of so many bytes a coin."""
        return self.about_coins() * (TEXT_BYTES * (self.path is None) + database_bytes)

    def text(self, directory: Path) -> Path:
        """See Replay."""
        if self.path is not None:
            return self.path
        path = directory / "replay.txt"
        blocks = mainnet_shaped_blocks(heights=self.heights, coins=self.coins)
        with (
            storage_errors(path),
            path.open("wb") as stream,
            progress_bar(total=self.about_coins(), unit=" coins") as bar,
        ):
            for block in blocks:
                write_blocks(stream, [block])
                bar.update(len(block.confirms))
        return path


def sources_of(
    inputs: Iterable[Path], coins: Iterable[int], heights: Iterable[int]
) -> list[Source]:
    """What the options ask for."""
    return [
        *(Source(path=path) for path in inputs),
        *(Source(coins=count) for count in coins),
        *(Source(heights=count) for count in heights),
    ]


def source_options(command: F) -> F:
    """--heights, --coins and --input (as `inputs`), each as often as one likes."""
    for option in (
        click.option(
            "--input",
            "inputs",
            type=RereadType(exists=True, dir_okay=False),
            multiple=True,
            metavar="FILE",
            help="Take this replay.  [default, when no replay is asked for: 1,000,000 coins; "
            "100,000 with --quick]",
        ),
        click.option(
            "--coins",
            type=click.IntRange(min=10),
            multiple=True,
            metavar="N",
            help="The same, of so many coins. Several sizes show how the cost per coin grows.",
        ),
        click.option(
            "--heights",
            type=click.IntRange(2, MAX_U32 + 1),
            multiple=True,
            metavar="N",
            help="Make a replay in mainnet's shape, of so many heights.",
        ),
    ):
        command = option(command)
    return command
