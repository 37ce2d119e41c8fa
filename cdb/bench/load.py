"""Load: a replay into a new database, until it is closed."""

from dataclasses import dataclass
from pathlib import Path

from cdb.ahead import ahead
from cdb.bench import page_cache
from cdb.durability import Durability
from cdb.loader import Loader
from cdb.meter import Meter, peak_rss_bytes, size_bytes
from cdb.scanner import scan_packed
from cdb.schemas import find_schema


@dataclass(frozen=True, slots=True)
class LoadFigures:
    """What one load took. The time is that of opening, loading and closing."""

    blocks: int
    coins: int
    spends: int
    newest_index: int | None
    wall_seconds: float
    cpu_seconds: float
    bytes_written: int | None
    size_bytes: int
    peak_rss_bytes: int | None


def load(
    schema: str,
    path: str,
    replay: str,
    flush_coins: int,
    durability: str,
    text_in_memory: bool = True,
) -> LoadFigures:
    """Load the replay, whose text is in the page cache beforehand, or is not."""
    info = find_schema(schema)
    # One that stores nothing has no durability to compare.
    level = Durability(durability) if info.keeps_contract else None
    if text_in_memory:
        page_cache.fill(Path(replay))
    else:
        page_cache.drop([Path(replay)])
    meter = Meter()
    with Path(replay).open("rb", buffering=0) as stream:
        with info.open(path, durability=level) as database:
            loader = Loader(database, flush_coins=flush_coins)
            for _ in loader.load(ahead(scan_packed(stream))):
                pass
        done = loader.progress
        return LoadFigures(
            blocks=done.blocks,
            coins=done.coins,
            spends=done.spends,
            newest_index=done.flushed_index,
            wall_seconds=meter.seconds(),
            cpu_seconds=meter.cpu_seconds(),
            bytes_written=meter.bytes_written(),
            size_bytes=size_bytes(Path(path)) if info.keeps_contract else 0,
            peak_rss_bytes=peak_rss_bytes(),
        )
