"""Runs with every case that the bench has, for documents that must bear them all."""

import copy
from collections.abc import Iterator
from itertools import product
from typing import Any

from cdb.bench.results import Document, check
from tests.report.fixtures import case

Figures = dict[str, float]


def full(document: Document) -> Document:
    """The run with all workloads and parameters, and a sample each 50,000 of 13.4 million coins."""
    changed = copy.deepcopy(document)
    load = next(case for case in changed["cases"] if case["workload"] == "load")
    if load["outcome"] == "measured":
        seconds = load["figures"]["wall_seconds"]
        load["samples"] = [[n * 50_000, seconds * (n / 268) ** 1.3] for n in range(1, 269)]
        if changed["contestant"]["keeps_contract"]:
            kept = [case for case in changed["cases"] if case["outcome"] != "measured"]
            loads = [c for c in changed["cases"] if c["workload"] in ("load", "settle")]
            others = [case for case in kept if case["workload"] not in ("load", "settle", "memory")]
            changed["cases"] = [*loads, *others, *_cases(seconds)]
    check(changed, "a fixture")
    return changed


def _cases(seconds: float) -> Iterator[dict[str, Any]]:
    """All cases but those of a load: the more seconds a load takes, the slower they are."""
    form, settled = {"form": "packed"}, {"state": "settled"}
    ways = product(("existing", "absent"), ("warm", "cold"), (1, 100, 1000), (1, 2, 4, 8))
    for names, cache, batch, threads in ways:
        rate = 1e6 / seconds * threads**0.8 * batch**0.3 / (40 if cache == "cold" else 1)
        way = {
            "names": names,
            "cache": cache,
            "batch": batch,
            "threads": threads,
            **settled,
            **form,
        }
        pages: Figures = {"pages_per_name": 1.5} if cache == "cold" else {}
        yield case("read_random", way, _per_second("names", rate) | _calls(batch / rate) | pages)
    for cache in ("warm", "cold"):
        found = _per_second("names", 3e6 / seconds) | _calls(4e-6 * seconds)
        yield case("read_sequential", {"batch": 1000, "cache": cache}, found)
    read = _per_second("blocks", 9e4 / seconds) | _per_second("coins", 3e6 / seconds)
    yield case("read_iterate", {"blocks": 10_000}, read)
    yield from _history(seconds, form, settled)
    for coins in (45, 5000, 50_000):
        took = coins * seconds
        calls = {
            f"commit_{n}_microseconds": took * m for n, m in (("p50", 1), ("p99", 4), ("max", 9))
        }
        more = {"commits": 50.0, "bare_p50_microseconds": 177.0, "ratio": took / 177}
        yield case("append", {"commit_coins": coins}, calls | more)
    for heights in (1, 10, 100, 1000, 10_000, 100_000):
        figures = {"milliseconds": seconds + heights / 500, "coins": 16.0 * heights}
        yield case("rewind", {"heights": heights}, figures)
    for after, factor in (("close", 1), ("kill", 3), ("loss", 40)):
        yield case("open", {"after": after}, {"milliseconds": 10 * factor * seconds})
    yield case("objects", {}, _per_second("coins", 1e6 / seconds))
    beside = {"call_p999_microseconds": 900.0 * seconds} | _per_second("coins", 2e6 / seconds)
    yield case("read_beside", {"batch": 100}, beside | _calls(60e-6 * seconds))
    limited = {"limited_seconds": 3 * seconds, "unlimited_seconds": seconds}
    yield case("memory", {}, limited | {"ratio": 3.0, "limit_bytes": 3e8})


def _history(
    seconds: float, form: dict[str, Any], settled: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """All cases of latest, historical and archival."""
    scanned = {"rows": 1e6, "memory_bytes": 8e6} | _per_second("rows", 2e6 / seconds)
    page = {"first_page_microseconds": 300.0 * seconds}
    usual = {"names": "existing", "batch": 1000, "height": "random", "cache": "warm"}
    asked: list[dict[str, Any]] = [
        *({"batch": batch} for batch in (1, 100, 1000)),
        *({"height": each} for each in ("tip", "tip - 1", "tip - 10", "creation", "spend")),
        *({"names": "absent", "state": state} for state in ("settled", "unsettled")),
        *({"state": "unsettled"}, {"form": "objects"}),
        *({"cache": "cold", "height": "half", "batch": batch} for batch in (1, 1000)),
    ]
    for each in asked:
        found = _per_second("names", 1e6 / seconds) | _calls(1e-3 * seconds)
        if each.get("cache") == "cold":
            found |= {"pages_per_name": 2.0}
        else:
            found |= {"plain_names_per_second": 1.1e6 / seconds, "plain_ratio": 1.1}
        yield case("historical", usual | settled | form | each, found)
    for way in (form, {"form": "objects"}):
        yield case("latest", way, scanned | page)
        for height in ("tip", "tenth"):
            scan = {"scan": "state_at", "height": height, "cache": "warm"}
            yield case("historical", scan | way, scanned | page)
    windows = [*product((1, 100, 10_000), ("start", "middle", "tip")), ("all", "start")]
    for heights, place in windows:
        window = {"heights": heights, "place": place, **form}
        yield case("archival", window, scanned | _calls(500e-6 * seconds))
    yield case("archival", {"heights": 10_000, "place": "tip", "form": "objects"}, scanned)
    cold = {"scan": "state_at", "height": "tip", "cache": "cold", **form}
    yield case("historical", cold, scanned | page | {"pages_per_row": 0.05})


def _per_second(what: str, rate: float) -> Figures:
    return {f"{what}_per_second": rate}


def _calls(seconds: float) -> Figures:
    return {
        f"call_{n}_microseconds": 1e6 * seconds * m
        for n, m in (("p50", 1), ("p99", 3), ("max", 20))
    }
