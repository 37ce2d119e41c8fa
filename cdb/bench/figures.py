"""Figures: numbers by name, whose names carry their units. None is what this machine can't tell."""

from collections.abc import Sequence
from dataclasses import asdict, astuple, fields
from pathlib import Path

from cdb.bench import page_cache
from cdb.bench.sync_calls import sync_calls
from cdb.extensions.native import unseen_calls_are_made
from cdb.lab.latencies import Latencies, latencies
from cdb.process.meter import Meter, allocated_bytes, database_files, size_bytes

Figures = dict[str, float | None]


class Usage:
    """What this process takes from when this was made; device: of the disk with the directory."""

    def __init__(self, directory: Path) -> None:
        self._syncs = _syncs()
        self._meter = Meter(directory)

    def figures(self) -> Figures:
        """So far."""
        meter, syncs = self._meter, _syncs()
        return {
            "user_seconds": meter.user_seconds(),
            "system_seconds": meter.system_seconds(),
            "written_bytes": meter.bytes_written(),
            "disk_written_bytes": meter.bytes_dirtied(),
            "device_written_bytes": meter.disk_bytes_written(),
            "device_read_bytes": meter.disk_bytes_read(),
            "syncs": None if syncs is None or self._syncs is None else syncs - self._syncs,
            "device_flushes": meter.disk_flushes(),
        }


def on_disk(path: str) -> Figures:
    """What a database takes."""
    return {"size_bytes": size_bytes(Path(path)), "allocated_bytes": allocated_bytes(Path(path))}


def page_cache_bytes(path: str) -> int | None:
    """How much of a database is in the page cache."""
    return page_cache.resident_bytes(database_files(Path(path)))


def summed(first: Figures, second: Figures) -> Figures:
    """Both together, name by name."""
    return {name: _sum(value, second[name]) for name, value in first.items()}


def latency_figures(what: str, seconds: Sequence[float]) -> Figures:
    """How long one took: WHAT_p50_microseconds and so on; None without any."""
    if not seconds:
        return {f"{what}_{field.name}": None for field in fields(Latencies)}
    return {f"{what}_{name}": value for name, value in asdict(latencies(seconds)).items()}


def _syncs() -> int | None:
    calls = None if unseen_calls_are_made() else sync_calls()
    return None if calls is None else sum(astuple(calls))


def _sum(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first + second
