"""Plausible comparisons of a node's coin stores."""

from typing import Any

from cdb.bench.results import Document, check
from tests.report.fixtures import run

ANSWERS = "ab" * 32
_SPEEDS = {"chia": 1.0, "cdb": 10.0}


def comparison(
    *,
    machine: str = "epyc",
    profile: str = "FAST",
    coins: int = 1_000_000,
    runs: int = 3,
    begun: str = "2026-11-23T12:00:00Z",
    speed: float = 1.0,
    load_average: float = 0.5,
) -> Document:
    """One in which all went well: cdb is ten times as fast. speed: of both, against the usual."""
    like = run(machine=machine, profile=profile)
    document = {
        "kind": "node",
        "version": 1,
        "command": f"cdb bench node --coins {coins} --profile {profile}",
        "runs": runs,
        "begun": begun,
        "seconds": 300.0,
        "profile": like["profile"],
        "machine": like["machine"],
        "software": like["software"] | {"chia_version": "2.7.5"},
        "chain": {"source": "made of nothing", "coins": coins, "synchronous": "NORMAL"},
        "rounds": [
            {
                "store": store,
                "run": number,
                "load_average_before": load_average,
                "load_average_after": None,
                "cases": _cases(speed * faster * (1 + 0.02 * number), first=number == 1),
            }
            for number in range(1, runs + 1)
            for store, faster in _SPEEDS.items()
        ],
    }
    check(document, "a fixture")
    return document


def _cases(speed: float, *, first: bool) -> list[dict[str, Any]]:
    late = {"late_p99_microseconds": 9_000 / speed, "late_max_microseconds": 90_000 / speed}
    cases = [
        _case(
            "get_coin_records", {"names": 100, "cache": "cold"}, _times(7_000, 3, speed), ANSWERS
        ),
        _case(
            "get_coin_records", {"names": 100, "cache": "warm"}, _times(1_600, 1, speed), ANSWERS
        ),
        _case("new_block", {"coins": 45, "cache": "warm"}, _times(8_600, 1.5, speed), None),
        _case("event loop", {"beside": "blocks of 2,000 coins"}, late, None),
    ]
    loaded = {"cpu_microseconds_per_coin": 30 / speed, "size_bytes_per_coin": 380.0}
    return [*([_case("load", {}, loaded, None)] if first else []), *cases]


def _times(microseconds: float, waiting: float, speed: float) -> dict[str, float]:
    cpu = microseconds / speed
    return {"cpu_microseconds": cpu, "wall_microseconds": waiting * cpu}


def _case(
    workload: str,
    parameters: dict[str, str | int],
    figures: dict[str, float],
    answers: str | None,
) -> dict[str, Any]:
    return {
        "workload": workload,
        "parameters": parameters,
        "figures": figures,
        "answers": answers,
    }
