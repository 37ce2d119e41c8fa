"""One measured load of a replay stream into one schema, for the commands that load."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import click
from tqdm import tqdm

from cdb.ahead import ahead
from cdb.cmds.interrupt import DeferredInterrupt
from cdb.cmds.table import table
from cdb.durability import Durability
from cdb.errors import BlockError, CdbError, DatabaseError, ReplayError
from cdb.loader import DEFAULT_FLUSH_COINS, Loader
from cdb.meter import Meter, size_bytes
from cdb.report.units import size
from cdb.scanner import scan_packed
from cdb.schemas import SchemaInfo
from cdb.state import StateSummary, summarize


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """What to load, and how; digest: compute the state digest afterwards."""

    max_blocks: int | None = None
    flush_coins: int = DEFAULT_FLUSH_COINS
    durability: Durability | None = None
    digest: bool = True
    total_bytes: int | None = None
    """The size of the stream where it is known: then a bar is drawn on a terminal."""


@dataclass(frozen=True, slots=True)
class LoadSummary:
    """What was loaded and what it took; state is None where no digest was wanted or possible."""

    blocks: int
    coins: int
    spends: int
    seconds: float
    bytes_written: int | None
    size_bytes: int
    state: StateSummary | None


class LoadStoppedError(CdbError):
    """A load ended early; the message says why, and what is durable."""


def load_stream(
    schema: SchemaInfo, path: Path, stream: BinaryIO, options: LoadOptions
) -> LoadSummary:
    """Load, close, and digest what the database holds then.

    stream: unbuffered where it can fall silent, because a thread that is still reading it when this
    returns would keep a buffer's lock, and whoever closes the stream, or ends Python, waiting.

    The time runs until the database is closed; reading it again for the digest is not part of it.
    Raises LoadStoppedError for bad input and for an error of the store, and KeyboardInterrupt after
    Ctrl-C, in each case with everything before it flushed, as far as the store still can.
    """
    meter = Meter()
    with (
        DeferredInterrupt() as interrupt,
        schema.open(path, durability=options.durability) as database,
    ):
        loader = Loader(
            database, flush_coins=options.flush_coins, uninterrupted=interrupt.uninterrupted
        )
        with _stopping_well(loader):
            _load(loader, stream, options, schema.name)
    seconds, bytes_written = meter.seconds(), meter.bytes_written()
    done = loader.progress
    return LoadSummary(
        blocks=done.blocks,
        coins=done.coins,
        spends=done.spends,
        seconds=seconds,
        bytes_written=bytes_written,
        size_bytes=size_bytes(path) if schema.keeps_contract else 0,
        state=_state(schema, path) if options.digest and schema.keeps_contract else None,
    )


def summary_table(summary: LoadSummary) -> str:
    """The summary, a line a figure."""
    rate = summary.coins / summary.seconds if summary.seconds else 0.0
    rows = [
        ["blocks", f"{summary.blocks:,}"],
        ["coins", f"{summary.coins:,}"],
        ["spends", f"{summary.spends:,}"],
        ["seconds", f"{summary.seconds:.2f}"],
        ["coins/s", f"{rate:,.0f}"],
        ["bytes written", size(summary.bytes_written)],
        ["size", size(summary.size_bytes)],
    ]
    if summary.state is not None:
        rows.append(["newest block", str(summary.state.newest_index)])
        rows.append(["digest", summary.state.digest])
    return table(rows, left=frozenset({0, 1}))


def _load(loader: Loader, stream: BinaryIO, options: LoadOptions, name: str) -> None:
    packs = ahead(scan_packed(stream, max_blocks=options.max_blocks))
    with tqdm(
        total=options.total_bytes,
        desc=name,
        unit="B",
        unit_scale=True,
        disable=options.total_bytes is None or not sys.stderr.isatty(),
    ) as bar:
        for _ in loader.load(packs):
            if not bar.disable:
                bar.update(stream.tell() - bar.n)


@contextmanager
def _stopping_well(loader: Loader) -> Iterator[None]:
    try:
        yield
    except (ReplayError, BlockError) as error:
        loader.flush()
        raise LoadStoppedError(f"{error}; {_kept(loader)}") from error
    except KeyboardInterrupt:
        # A second interrupt may have broken off a write, and then there is nothing left to flush.
        with suppress(DatabaseError):
            loader.flush()
        click.echo(f"interrupted; {_kept(loader)}; the same command goes on from there", err=True)
        raise
    except DatabaseError as error:
        raise LoadStoppedError(f"{error}; {_kept(loader)}") from error


def _kept(loader: Loader) -> str:
    index = loader.progress.flushed_index
    return "no block is loaded" if index is None else f"blocks up to {index} are loaded and flushed"


def _state(schema: SchemaInfo, path: Path) -> StateSummary:
    with (
        schema.open(path, read_only=True) as database,
        tqdm(
            desc=f"{schema.name} digest",
            unit=" coins",
            unit_scale=True,
            leave=False,
            disable=not sys.stderr.isatty(),
        ) as bar,
    ):
        return summarize(database, bar.update)
