"""One measured load of a replay stream into one schema, for the commands that load."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice
from typing import Any, BinaryIO

from cdb.cmds.bar import progress_bar, step_bar
from cdb.cmds.echo import note
from cdb.cmds.interrupt import DeferredInterrupt
from cdb.cmds.table import table
from cdb.contents.loader import DEFAULT_FLUSH_COINS, Loader
from cdb.contents.state import summarize
from cdb.contract.durability import Durability
from cdb.contract.location import Location, Url
from cdb.contract.packed import PackedBlocks
from cdb.contract.printable import printable
from cdb.errors import BlockError, CdbError, DatabaseError, ReplayError, memory_problem
from cdb.process.meter import Meter, size_bytes
from cdb.process.read_ahead import read_ahead
from cdb.report.units import size
from cdb.schemas import SchemaInfo
from cdb.text.scanner import scan_packed


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
    """What was loaded and what that took.

    size_bytes: of its files; None where it has none, at a URL.
    newest_index: of the database's blocks, loaded now or before; None where it has none.
    digest: of the database's state; None where it was not wanted or not possible, and where nothing
    was loaded: then it is what it was. digest_seconds: what it took.
    """

    blocks: int
    coins: int
    spends: int
    seconds: float
    bytes_written: int | None
    size_bytes: int | None
    newest_index: int | None
    digest: str | None = None
    digest_seconds: float = 0.0


class LoadStoppedError(CdbError):
    """A load ended early; the message says why, and what is durable."""


def load_stream(
    schema: SchemaInfo, location: Location, stream: BinaryIO, options: LoadOptions
) -> LoadSummary:
    """Load, close, and digest what the database holds then.

    stream: unbuffered where it can fall silent, because a thread that is still reading it when this
    returns would keep a buffer's lock, and whoever closes the stream, or ends Python, waiting.

    The time runs until the database is closed; the digest, for which it is read again, has its own.
    Raises LoadStoppedError for bad input and for an error of the store, and KeyboardInterrupt after
    Ctrl-C, in each case with everything before it flushed, as far as the store still can.
    """
    meter = Meter()
    packs = _packs(stream, options.max_blocks, location)
    with DeferredInterrupt() as interrupt, ExitStack() as opened:
        with step_bar(f"{location}: opening") as progress:
            database = schema.open(location, durability=options.durability, progress=progress)
        opened.enter_context(database)
        loader = Loader(
            database, flush_coins=options.flush_coins, uninterrupted=interrupt.uninterrupted
        )
        with _told(loader):
            with _stopping_well(loader):
                replay_coins = _load(loader, packs, stream, options, schema.name)
            opened.close()  # it may fail, too
    # What servers write, this process can't tell.
    seconds, written = meter.seconds(), None if isinstance(location, Url) else meter.bytes_written()
    done = loader.progress
    summary = LoadSummary(
        blocks=done.blocks,
        coins=done.coins,
        spends=done.spends,
        seconds=seconds,
        bytes_written=written,
        size_bytes=_size_bytes(schema, location),
        newest_index=done.flushed_index,
    )
    if not (options.digest and schema.spec.keeps_contract and done.blocks):
        return summary
    meter = Meter()
    try:
        digest = _digest(schema, location, replay_coins)
    except KeyboardInterrupt:
        only = "only the digest is missing, and cdb verify gives it"
        note(f"interrupted; {_kept(loader)}; {only}")
        raise
    return replace(summary, digest=digest, digest_seconds=meter.seconds())


def summary_table(summary: LoadSummary, location: Location | None) -> str:
    """The summary, a line a figure. location: of the database, if one was loaded."""
    newest = "none" if summary.newest_index is None else str(summary.newest_index)
    rows = [] if location is None else [["database", printable(str(location))]]
    if not summary.blocks:
        rows += [["blocks", "0"], ["newest block", newest], ["note", _why_nothing(summary)]]
        return table(rows, left=frozenset({0, 1}))
    rate = summary.coins / summary.seconds if summary.seconds else 0.0
    rows += [
        ["blocks", f"{summary.blocks:,}"],
        ["coins", f"{summary.coins:,}"],
        ["spends", f"{summary.spends:,}"],
        ["seconds", f"{summary.seconds:.2f}"],
        ["coins/s", f"{rate:,.0f}"],
        ["bytes written", size(summary.bytes_written)],
        ["size", size(summary.size_bytes)],
        ["newest block", newest],
    ]
    if summary.digest is not None:
        rows.append(["digest", summary.digest])
        rows.append(["digest took", f"{summary.digest_seconds:.2f} s more; --no-digest skips it"])
    return table(rows, left=frozenset({0, 1}))


def summary_object(summary: LoadSummary) -> dict[str, Any]:
    """The summary for --json: units are in the names, and null is what is not known."""
    rate = summary.coins / summary.seconds if summary.blocks and summary.seconds else None
    return {**asdict(summary), "coins_per_second": rate}


def _why_nothing(summary: LoadSummary) -> str:
    if summary.newest_index is None:
        return "nothing was loaded: there is no block to load"
    return "nothing was loaded, because all is there already; cdb verify gives the digest"


def _packs(stream: BinaryIO, max_blocks: int | None, location: Location) -> Iterable[PackedBlocks]:
    """The blocks of a replay. Where a database is still to be made, the first of them are read
    before it is: what is no replay leaves none."""
    packs = read_ahead(scan_packed(stream, max_blocks=max_blocks))
    if isinstance(location, Url) or location.exists():
        return packs
    try:
        return chain(list(islice(packs, 1)), packs)
    except ReplayError as error:
        raise LoadStoppedError(f"{error}; no database was made") from error
    except KeyboardInterrupt:
        note("interrupted; no database was made")
        raise


def _load(
    loader: Loader,
    replay: Iterable[PackedBlocks],
    stream: BinaryIO,
    options: LoadOptions,
    name: str,
) -> int:
    """Load, and return how many coins the replay has, those that were loaded before included."""
    packs = _Counted(replay)
    total_bytes = options.total_bytes
    with progress_bar(total=total_bytes, unit="B", what=name, hidden=total_bytes is None) as bar:
        for _ in loader.load(packs):
            if bar.is_shown:
                bar.update_to(stream.tell())
    return packs.coins


class _Counted:
    """Packed blocks, and the number of coins in those that were taken."""

    def __init__(self, packs: Iterable[PackedBlocks]) -> None:
        self._packs = packs
        self.coins = 0

    def __iter__(self) -> Iterator[PackedBlocks]:
        for packed in self._packs:
            self.coins += packed.n_confirms
            yield packed


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
        note(f"interrupted; {_kept(loader)}; the same command goes on from there")
        raise


@contextmanager
def _told(loader: Loader) -> Iterator[None]:
    """An error of the store also says what is durable."""
    try:
        yield
    except DatabaseError as error:
        raise LoadStoppedError(f"{error}; {_kept(loader)}") from error
    except MemoryError as error:
        raise LoadStoppedError(f"{memory_problem(error)}; {_kept(loader)}") from error


def _kept(loader: Loader) -> str:
    index = loader.progress.flushed_index
    return (
        "no block is loaded and flushed"
        if index is None
        else f"blocks up to {index} are loaded and flushed"
    )


def _size_bytes(schema: SchemaInfo, location: Location) -> int | None:
    if isinstance(location, Url):
        return None
    return size_bytes(location) if schema.spec.keeps_contract else 0


def _digest(schema: SchemaInfo, location: Location, coins: int) -> str:
    """The state's digest. coins: about how many there are, for the bar."""
    with (
        schema.open(location, read_only=True) as database,
        progress_bar(
            total=coins, unit=" coins", what=f"{schema.name} digest, or --no-digest", leave=False
        ) as bar,
    ):
        return summarize(database, bar.update).digest
