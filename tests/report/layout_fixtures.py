"""Plausible results of layouts and engines below the coin set."""

from collections.abc import Mapping, Sequence
from typing import Any

from cdb.bench.results import Document
from cdb.engines import ENGINES
from tests.engines import OTHER
from tests.report.fixtures import case, of_kind, run

LAYOUTS = ("mono_space", "dual_timeline", "option_1", "issue_196")
_KEYS = {"canopy-10k": (10_000, 50), "canopy-100k": (100_000, 50), "option-1": (200_000, 4)}
_SHARES = {"wall_seconds": 1.0, "cpu_seconds": 0.5}
_READS: Sequence[tuple[str, Mapping[str, str]]] = (
    ("latest", {}),
    ("historical", {"as of": "the newest version"}),
    ("historical", {"as of": "the middle version"}),
    ("absent", {"as of": "the middle version"}),
    ("state", {"as of": "the middle version"}),
    ("archival", {}),
)


def engines(
    shape: str = "canopy-10k",
    *,
    layouts: Sequence[str] = LAYOUTS,
    machine: str = "epyc",
    runs: int = 3,
    begun: str = "2026-11-24T09:00:00Z",
    seconds: float = 0.01,
    others_cores: float = 0.0,
) -> list[Document]:
    """In which all went well. seconds: of the first read of the first layout in RocksDB."""
    like = run(machine=machine)
    like["software"] |= {f"{name}_engine": f"{name} 1" for name in ENGINES}
    keys, versions = _KEYS[shape]
    data = {
        "source": shape,
        "keys": keys,
        "versions": versions,
        "value_bytes": 1024,
        "period_bytes": 32,
        "rewritten_per_million": 50_000,
        "seed": 1,
        "cache_bytes": 1 << 28,
    }
    return [
        of_kind(
            "layouts",
            f"{layout}@{engine}",
            _cases(seconds * (1 + n) / (1 + m) * (1 + number / 100)),
            number=number,
            runs=runs,
            begun=begun,
            others_cores=others_cores,
            like=like,
            data=data,
            durability="power",
        )
        for number in range(1, runs + 1)
        for m, engine in enumerate(("rocksdb", OTHER))
        for n, layout in enumerate(layouts)
    ]


def _cases(seconds: float) -> list[dict[str, Any]]:
    written = {"wall_seconds": 50 * seconds, "cpu_seconds": 20 * seconds, "written_bytes": 7e7}
    more = {
        "size_bytes": 4e7,
        "device_written_bytes": 8e7,
        "syncs": 51.0,
        "device_flushes": 52.0,
        "commit_p50_microseconds": 1e6 * seconds,
    }
    reads = [
        case(
            workload,
            {**parameters, "after": after},
            {name: (n + 1) * seconds * faster * share for name, share in _SHARES.items()},
        )
        for after, faster in (("close", 1.0), ("settle", 0.5))
        for n, (workload, parameters) in enumerate(_READS)
    ]
    settled = case("settle", {}, {"wall_seconds": seconds, "size_bytes": 3e7})
    return [case("write", {}, written | more), settled, *reads]
