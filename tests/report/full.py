"""Runs with every case that the bench has, for documents that must bear them all."""

import copy
from collections.abc import Iterator
from itertools import product
from typing import Any

from cdb.bench.results import Document, check

Figures = dict[str, float | None]


def full(document: Document) -> Document:
    """The run with all workloads and parameters, and a sample each 50,000 of 13.4 million coins."""
    changed = copy.deepcopy(document)
    load = next(case for case in changed["cases"] if case["workload"] == "load")
    if load["outcome"] == "measured":
        seconds = load["figures"]["wall_seconds"]
        load["samples"] = [[n * 50_000, seconds * (n / 268) ** 1.3] for n in range(1, 269)]
        if changed["schema"]["keeps_contract"]:
            kept = [case for case in changed["cases"] if case["outcome"] != "measured"]
            loads = [c for c in changed["cases"] if c["workload"] in ("load", "settle")]
            others = [case for case in kept if case["workload"] not in ("load", "settle", "memory")]
            changed["cases"] = [*loads, *others, *_cases(seconds)]
    check(changed, "a fixture")
    return changed


def _cases(seconds: float) -> Iterator[dict[str, Any]]:
    ways = product(("existing", "absent"), ("warm", "cold"), (1, 100, 1000), (1, 2, 4, 8))
    for names, cache, batch, threads in ways:
        rate = 1e6 / seconds * threads**0.8 * batch**0.3 / (40 if cache == "cold" else 1)
        figures: Figures = {"names_per_second": rate, **_calls(1e6 * batch / rate)}
        if cache == "cold":
            figures["pages_per_name"] = 1.5
        parameters = {"names": names, "cache": cache, "batch": batch, "threads": threads}
        way = {"state": "settled", "form": "packed"}
        yield _case("read_random", parameters | way, figures)
    for cache in ("warm", "cold"):
        figures = {"names_per_second": 3e6 / seconds, **_calls(4.0 * seconds)}
        yield _case("read_sequential", {"batch": 1000, "cache": cache}, figures)
    iterate: Figures = {"blocks_per_second": 9e4 / seconds, "coins_per_second": 3e6 / seconds}
    yield _case("read_iterate", {"blocks": 10_000}, iterate)
    yield from _history(seconds)
    for coins in (45, 5000, 50_000):
        figures = {
            "commits": 50.0,
            "coins_per_second": coins * 2000 / seconds,
            "commit_p50_microseconds": coins * seconds,
            "commit_p99_microseconds": 4 * coins * seconds,
            "commit_max_microseconds": 30 * coins * seconds,
            "bare_p50_microseconds": 177.0,
            "ratio": coins * seconds / 177,
        }
        yield _case("append", {"commit_coins": coins}, figures)
    for heights in (1, 10, 100, 1000, 10_000, 100_000):
        figures = {"milliseconds": seconds + heights / 500, "coins": 16.0 * heights}
        yield _case("rewind", {"heights": heights}, figures)
    for after, factor in (("close", 1), ("kill", 3), ("loss", 40)):
        yield _case("open", {"after": after}, {"milliseconds": 10 * factor * seconds})
    yield _case("objects", {}, {"coins_per_second": 1e6 / seconds})
    beside: Figures = {"call_p999_microseconds": 900.0 * seconds, "coins_per_second": 2e6 / seconds}
    yield _case("read_beside", {"batch": 100}, beside | _calls(60.0 * seconds))
    limited: Figures = {"limited_seconds": 3 * seconds, "unlimited_seconds": seconds}
    yield _case("memory", {}, limited | {"ratio": 3.0, "limit_bytes": 3e8})


def _history(seconds: float) -> Iterator[dict[str, Any]]:
    """All cases of latest, historical and archival."""
    scanned: Figures = {"rows": 1e6, "rows_per_second": 2e6 / seconds, "memory_bytes": 8e6}
    page: Figures = {"first_page_microseconds": 300.0 * seconds}
    usual: dict[str, Any] = {
        "names": "existing",
        "batch": 1000,
        "height": "random",
        "cache": "warm",
    }
    asked: list[dict[str, Any]] = [
        *({"batch": batch} for batch in (1, 100, 1000)),
        *({"height": each} for each in ("tip", "tip - 1", "tip - 10", "creation", "spend")),
        *({"names": "absent", "state": state} for state in ("settled", "unsettled")),
        {"state": "unsettled"},
        {"form": "objects"},
    ]
    settled = {"state": "settled", "form": "packed"}
    for each in asked:
        figures = {"names_per_second": 1e6 / seconds, **_calls(1e3 * seconds)}
        figures |= {"plain_names_per_second": 1.1e6 / seconds, "plain_ratio": 1.1}
        yield _case("historical", usual | settled | each, figures)
    for batch in (1, 1000):
        cold: Figures = {"names_per_second": 1e5 / seconds, "pages_per_name": 2.0, **_calls(9e4)}
        yield _case(
            "historical",
            usual | settled | {"cache": "cold", "height": "half", "batch": batch},
            cold,
        )
    for form in ("packed", "objects"):
        yield _case("latest", {"form": form}, scanned | page)
        for height in ("tip", "tenth"):
            way = {"scan": "state_at", "height": height, "cache": "warm", "form": form}
            yield _case("historical", way, scanned | page)
        windows: list[tuple[int | str, str]] = [
            (n, place) for n in (1, 100, 10_000) for place in ("start", "middle", "tip")
        ]
        for heights, place in [*windows, ("all", "start")] if form == "packed" else windows[-1:]:
            window: dict[str, Any] = {"heights": heights, "place": place, "form": form}
            yield _case("archival", window, scanned | _calls(500.0 * seconds))
    way = {"scan": "state_at", "height": "tip", "cache": "cold", "form": "packed"}
    yield _case("historical", way, scanned | page | {"pages_per_row": 0.05})


def _calls(microseconds: float) -> Figures:
    return {
        "call_p50_microseconds": microseconds,
        "call_p99_microseconds": 3 * microseconds,
        "call_max_microseconds": 20 * microseconds,
    }


def _case(workload: str, parameters: dict[str, Any], figures: Figures) -> dict[str, Any]:
    return {
        "workload": workload,
        "parameters": parameters,
        "outcome": "measured",
        "reason": None,
        "figures": figures,
        "samples": [],
    }
