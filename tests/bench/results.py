"""A result as small as it may be, for tests of what is done with results."""

from typing import Any

from cdb.bench.results import Document


def document(**changes: Any) -> Document:
    """A run in which one load was measured; changes replace what is at the top."""
    measured = {
        "version": 2,
        "kind": "schemas",
        "matrix": {
            "id": "20261121T190500Z",
            "command": "cdb bench run --coins 1000",
            "runs": 5,
            "settings": "0" * 64,
        },
        "run": 1,
        "begun": "2026-11-21T19:05:09Z",
        "seconds": 2.5,
        "contestant": {"name": "memory", "description": "Dictionaries.", "keeps_contract": True},
        "profile": {
            "name": "FAST",
            "read_bytes_per_second": None,
            "write_bytes_per_second": None,
            "iops": None,
            "memory_bytes": None,
            "measured": {},
        },
        "machine": {"name": "some-cpu", "cpu_model_name": "Some CPU"},
        "software": {"python": "3.11.7", "dirty": False},
        "data": {
            "source": "1,000 coins",
            "blocks": 100,
            "coins": 1000,
            "spends": 400,
            "newest_index": 300,
            "digest": "ab" * 32,
        },
        "durability": "power",
        "flush_coins": 50_000,
        "load_average_before": 0.5,
        "load_average_after": None,
        "cases": [
            {
                "workload": "load",
                "parameters": {},
                "outcome": "measured",
                "reason": None,
                "figures": {"wall_seconds": 0.25, "syncs": None},
                "samples": [[1000, 0.25]],
                "answers": None,
            }
        ],
    }
    return measured | changes
