"""Plausible comparisons of a node's coin stores."""

from typing import Any

from cdb.bench.results import Document
from tests.report.fixtures import case, of_kind, run

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
    others_cores: float = 0.0,
) -> list[Document]:
    """In which all went well: cdb is ten times as fast. speed: of both, against the usual."""
    return [
        of_kind(
            "node",
            store,
            _cases(speed * faster * (1 + 0.02 * number), first=number == 1),
            number=number,
            runs=runs,
            begun=begun,
            others_cores=others_cores,
            like=_like(machine, profile),
            data={"source": "made of nothing", "coins": coins, "synchronous": "NORMAL"},
        )
        for number in range(1, runs + 1)
        for store, faster in _SPEEDS.items()
    ]


def _like(machine: str, profile: str) -> Document:
    like = run(machine=machine, profile=profile)
    like["software"] |= {"chia_version": "2.7.5"}
    return like


def week(
    *,
    profile: str = "SPINNING-1GB",
    blocks: int = 100_000,
    reached: int = 4_000,
    part_seconds: float = 3_600.0,
    begun: str = "2026-11-23T18:00:00Z",
    speed: float = 1.0,
) -> list[Document]:
    """A node's week in which all went well: cdb is ten times as fast, and goes on by itself.

    reached: how many blocks chia's store has synced in its time.
    """
    like = _like("epyc", "SPINNING")
    like["profile"] |= {"name": profile, "memory_bytes": 1_000_000_000}
    data = {
        "source": "made in mainnet's shape",
        "coins": 67 * blocks,
        "synchronous": "NORMAL",
        "blocks": blocks,
        "part_seconds": part_seconds,
    }
    documents = []
    for store, faster in _SPEEDS.items():
        cases = _parts_of_a_week(reached, speed * faster)
        if store == "cdb" and reached < blocks:
            rest = blocks - reached
            cases.append(_part("sync of the rest", rest, rest * 0.4 / (speed * faster)))
        documents.append(of_kind("week", store, cases, begun=begun, like=like, data=data))
    return documents


def _parts_of_a_week(reached: int, speed: float) -> list[dict[str, Any]]:
    times = ("call_p50_microseconds", "call_p99_microseconds", "call_max_microseconds")
    called = dict(zip(times, (20_000 / speed, 80_000 / speed, 90_000 / speed), strict=True))
    return [
        _part("sync", reached, reached * 0.4 / speed),
        _part("hints of the sync", reached, 60),
        _part("follow the tip", 1_000, 500 / speed),
        _part("follow the tip, wallets asking", 200, 400 / speed),
        case("get_coin_states_by_ids", {"names": 100}, called, answers=ANSWERS),
        case("get_coin_record", {}, called, answers=ANSWERS),
        case("in the end", {}, {"size_bytes": 8e8 / speed, "peak_rss_bytes": 6e7}, answers=ANSWERS),
    ]


def _part(what: str, blocks: int, seconds: float) -> dict[str, Any]:
    figures = {
        "wall_seconds": seconds,
        "disk_written_bytes": 4e6 * seconds,
        "late_max_microseconds": 1_000 * seconds,
    }
    return case(what, {"blocks": blocks}, figures, answers=ANSWERS)


def _cases(speed: float, *, first: bool) -> list[dict[str, Any]]:
    late = {"late_p99_microseconds": 9_000 / speed, "late_max_microseconds": 90_000 / speed}
    cases = [
        case(
            "get_coin_records",
            {"names": 100, "cache": "cold"},
            _times(7_000, 3, speed),
            answers=ANSWERS,
        ),
        case(
            "get_coin_records",
            {"names": 100, "cache": "warm"},
            _times(1_600, 1, speed),
            answers=ANSWERS,
        ),
        case("new_block", {"coins": 45, "cache": "warm"}, _times(8_600, 1.5, speed)),
        case("event loop", {"beside": "blocks of 2,000 coins"}, late),
    ]
    loaded = {"cpu_microseconds_per_coin": 30 / speed, "size_bytes_per_coin": 380.0}
    return [*([case("load", {}, loaded)] if first else []), *cases]


def _times(microseconds: float, waiting: float, speed: float) -> dict[str, float]:
    cpu = microseconds / speed
    return {"cpu_microseconds": cpu, "wall_microseconds": waiting * cpu}
