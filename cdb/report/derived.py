"""Figures that follow from those of a run: a coin's share, how a load compares with the floor's of
the same round, and a load with what it left to do."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cdb.report.model import FLOOR_BYTES_PER_COIN, LOAD, SETTLE, TOTAL, Document

WRITTEN_FIGURES = ("device_written_bytes", "disk_written_bytes", "written_bytes")
"""Bytes a load wrote: at the device, from the process to the disk, in write calls."""
_PER_COIN = (*WRITTEN_FIGURES, "size_bytes", "allocated_bytes")

Figures = dict[str, float | None]
Result = Mapping[str, Any]
FloorLoads = Mapping[tuple[str, int], Figures]
"""What the floor's loads took, by matrix and round."""


def floor_loads(documents: Iterable[Document]) -> FloorLoads:
    """From the floor's runs."""
    return {
        _round(document): case["figures"] for document in documents for case in _loads(document)
    }


def with_derived(document: Document, written_figure: str, floors: FloorLoads) -> Iterator[Result]:
    """A run's cases, with the derived figures of its load, and the case TOTAL.

    A load gets cpu_seconds, wall_ and cpu_microseconds_per_coin, …_bytes_per_coin for each kind of
    bytes, and write_amplification: written_figure as a multiple of what the floor writes, 80 bytes
    a coin; and wall_floor_ratio and cpu_floor_ratio, where the floor was loaded in the same round.
    """
    coins = document["data"]["coins"]
    floor = floors.get(_round(document), {})
    parts: dict[str, Figures] = {}
    for case in document["cases"]:
        workload, figures = case["workload"], case["figures"]
        if workload not in (LOAD.workload, SETTLE.workload) or case["outcome"] != "measured":
            yield case
            continue
        if workload == LOAD.workload:
            figures = figures | _of_load(figures, floor, written_figure, coins)
        parts[workload] = figures | _shares(figures, coins)
        yield case | {"figures": parts[workload]}
    if len(parts) == 2:
        total = _total(parts[LOAD.workload], parts[SETTLE.workload])
        total |= _shares(total, coins)
        yield {
            "workload": TOTAL.workload,
            "parameters": {},
            "outcome": "measured",
            "reason": None,
            "figures": total,
            "samples": [],
        }


def _round(document: Document) -> tuple[str, int]:
    return document["matrix"]["id"], document["run"]


def _loads(document: Document) -> list[Result]:
    return [
        case
        for case in document["cases"]
        if case["workload"] == LOAD.workload and case["outcome"] == "measured"
    ]


def _of_load(figures: Figures, floor: Figures, written_figure: str, coins: int) -> Figures:
    wall, cpu = figures.get("wall_seconds"), _cpu_seconds(figures)
    return {
        "cpu_seconds": cpu,
        "wall_microseconds_per_coin": _share(wall, coins / 1e6),
        "cpu_microseconds_per_coin": _share(cpu, coins / 1e6),
        "wall_floor_ratio": _share(wall, floor.get("wall_seconds")),
        "cpu_floor_ratio": _share(cpu, _cpu_seconds(floor)),
        "write_amplification": _share(figures.get(written_figure), coins * FLOOR_BYTES_PER_COIN),
    }


def _cpu_seconds(figures: Figures) -> float | None:
    return _sum(figures.get("user_seconds"), figures.get("system_seconds"))


def _shares(figures: Figures, coins: int) -> Figures:
    return {
        f"{name}_per_coin": _share(figures[name], coins) for name in _PER_COIN if name in figures
    }


def _total(load: Figures, settle: Figures) -> Figures:
    sums = {
        name: _sum(load.get(name), settle.get(name)) for name in ("wall_seconds", "written_bytes")
    }
    return sums | {name: settle.get(name) for name in ("size_bytes", "allocated_bytes")}


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _share(value: float | None, of: float | None) -> float | None:
    return None if value is None or not of or of < 0 else value / of
