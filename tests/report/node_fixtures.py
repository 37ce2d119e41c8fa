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


def week(
    *,
    profile: str = "SPINNING-1GB",
    blocks: int = 100_000,
    reached: int = 4_000,
    part_seconds: float = 3_600.0,
    begun: str = "2026-11-23T18:00:00Z",
    speed: float = 1.0,
) -> Document:
    """A node's week in which all went well: cdb is ten times as fast, and goes on by itself.

    reached: how many blocks chia's store has synced in its time.
    """
    document: Document = comparison(profile="SPINNING", begun=begun, runs=1)
    document["profile"] |= {"name": profile, "memory_bytes": 1_000_000_000}
    document["command"] = f"cdb bench week --blocks {blocks}"
    document["chain"] |= {"source": "made in mainnet's shape", "coins": 67 * blocks}
    document["week"] = {"blocks": blocks, "part_seconds": part_seconds}
    for each in document["rounds"]:
        faster = speed * _SPEEDS[each["store"]]
        each["cases"] = [*_parts_of_a_week(reached, faster)]
        if each["store"] == "cdb" and reached < blocks:
            rest = blocks - reached
            each["cases"].append(_part("sync of the rest", rest, rest * 0.4 / faster))
    check(document, "a fixture")
    return document


def _parts_of_a_week(reached: int, speed: float) -> list[dict[str, Any]]:
    times = ("call_p50_microseconds", "call_p99_microseconds", "call_max_microseconds")
    called = dict(zip(times, (20_000 / speed, 80_000 / speed, 90_000 / speed), strict=True))
    return [
        _part("sync", reached, reached * 0.4 / speed),
        _part("hints of the sync", reached, 60),
        _part("follow the tip", 1_000, 500 / speed),
        _part("follow the tip, wallets asking", 200, 400 / speed),
        _case("get_coin_states_by_ids", {"names": 100}, called, ANSWERS),
        _case("get_coin_record", {}, called, ANSWERS),
        _case("in the end", {}, {"size_bytes": 8e8 / speed, "peak_rss_bytes": 6e7}, ANSWERS),
    ]


def _part(what: str, blocks: int, seconds: float) -> dict[str, Any]:
    figures = {
        "wall_seconds": seconds,
        "disk_written_bytes": 4e6 * seconds,
        "late_max_microseconds": 1_000 * seconds,
    }
    return _case(what, {"blocks": blocks}, figures, ANSWERS)


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
