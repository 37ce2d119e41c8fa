"""Plausible results: what a machine might have measured, and how a measurement goes wrong."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cdb.bench.case import EMPTY_CASE
from cdb.bench.results import Document, check, write_result

HOSTILE = (
    "<script>alert('a|b')</script> `*_x_*` [a](http://x) \x1b[31m & \"quoted\" " + "long " * 99
)
AT_THE_LIMIT = "ended at the limit of 20 minutes"
FIRST_MATRIX = "20261121T190500Z"
NEXT_MATRIX = "20261122T080000Z"
LIMITS = {
    "FAST": (None, None, None, None),
    "SLOW": (16_800_000, 16_800_000, None, 8_000_000_000),
    "SPINNING": (48_000_000, 48_000_000, 120, None),
    "mine": (None, None, None, 212_000_000),
}
_SLOWNESS = {"FAST": 1.0, "SLOW": 6.0, "SPINNING": 3.0}


class Costs(NamedTuple):
    """Of one coin: seconds, bytes written, bytes of the database; and names found in a second."""

    seconds: float
    written_bytes: int
    size_bytes: int
    names_per_second: float
    description: str


COSTS = {
    "floor": Costs(0.15e-6, 80, 80, 0, "read, parse, name, append 80 bytes a coin, sync"),
    "null": Costs(0.12e-6, 0, 0, 0, "Parses, names and forgets: what the harness itself costs."),
    "coin_log": Costs(0.28e-6, 76, 69, 1_570_000, "An append-only log of blocks; an 8-byte index."),
    "interval@rocksdb": Costs(
        0.55e-6, 159, 159, 174_000, "Everything in RocksDB: coins and blocks."
    ),
    "rocks": Costs(4.5e-6, 308, 150, 90_000, "Coins in SQLite rows; RocksDB maps name → row id."),
    "flat_file": Costs(
        5.8e-6, 297, 141, 80_000, "Coins in SQLite rows; an LSM tree of flat files."
    ),
    "sqlite_v3": Costs(6.1e-6, 520, 144, 70_000, "Coins in SQLite rows; a second SQLite table."),
    "sqlite_row": Costs(8.5e-6, 302, 146, 60_000, "Coins in SQLite rows; runs in SQLite files."),
    "blockchain_v2": Costs(22e-6, 3280, 227, 50_000, "The full node's own SQLite table."),
}
SCHEMAS = tuple(COSTS)


def run(
    schema: str = "coin_log",
    number: int = 1,
    *,
    machine: str = "epyc",
    profile: str = "FAST",
    coins: int = 1_000_000,
    durability: str = "power",
    flush_coins: int = 50_000,
    matrix: str = FIRST_MATRIX,
    runs: int = 5,
    speed: float = 1.0,
    commit: str = "20e45594d26716ae20e45594d26716ae20e45594",
) -> Document:
    """A run in which all went well. speed: how much faster than usual everything is."""
    costs = COSTS.get(schema, COSTS["rocks"])
    # 0 %, 2 %, -2 %, 4 %, -4 %, … around the usual.
    noise = 1 + 0.02 * (number // 2) * (1 if number % 2 == 0 else -1)
    seconds = coins * costs.seconds * noise * _SLOWNESS.get(profile, 1.0) / speed
    read_limit, write_limit, iops, memory = LIMITS.get(profile, LIMITS["FAST"])
    document = {
        "version": 2,
        "kind": "schemas",
        "matrix": {
            "id": matrix,
            "command": f"cdb bench run --coins {coins} --profile {profile} --dir '/mnt/a disk'",
            "runs": runs,
            "settings": "0" * 64,
        },
        "run": number,
        "begun": f"{matrix[:4]}-{matrix[4:6]}-{matrix[6:8]}T19:{number:02}:00Z",
        "seconds": 3 * seconds + 1,
        "contestant": {
            "name": schema,
            "description": costs.description,
            "keeps_contract": schema not in ("floor", "null"),
        },
        "profile": {
            "name": profile,
            "read_bytes_per_second": read_limit,
            "write_bytes_per_second": write_limit,
            "iops": iops,
            "memory_bytes": memory,
            "measured": {"write_bytes_per_second": 16_500_000.0 * noise} if write_limit else {},
        },
        "machine": {
            "name": machine,
            "cpu_model_name": f"{machine.upper()} 9000",
            "cpu_count": 2,
            "memory_bytes": 24_000_000_000,
            "file_system": "ext4",
            "fdatasync_p50_microseconds": 171.5,
            "is_virtual": True,
            "disk_model": None,
        },
        "software": {
            "python_version": "3.11.7",
            "sqlite_version": "3.40.1",
            "git_commit": commit,
            "git_dirty": False,
        },
        "data": {
            "source": f"{coins:,} coins in mainnet's shape",
            "blocks": coins // 20,
            "coins": coins,
            "spends": coins // 2,
            "newest_index": coins // 10,
            "digest": f"{coins:064x}",
        },
        "durability": durability,
        "flush_coins": flush_coins,
        "load_average_before": 0.3,
        "load_average_after": 1.6,
        "others_cores": 0.0,
        "cases": list(_cases(costs, coins, seconds, flush_coins, schema)),
    }
    check(document, "a fixture")
    return document


def matrix(
    schemas: Sequence[str] = SCHEMAS, runs: int = 5, first: int = 1, **settings: Any
) -> list[Document]:
    """All runs of some schemas."""
    numbers = range(first, first + runs)
    return [run(schema, n, runs=runs, **settings) for n in numbers for schema in schemas]


def sixty_runs() -> list[Document]:
    """Two profiles, six schemas, five runs."""
    schemas = ("floor", "coin_log", "interval@rocksdb", "rocks", "sqlite_v3", "blockchain_v2")
    return [each for profile in ("FAST", "SLOW") for each in matrix(schemas, profile=profile)]


def without(
    document: Document, workload: str, outcome: str, reason: str | None, **others: Any
) -> Document:
    """The run, in which a workload came to no figures."""
    changed = copy.deepcopy(document)
    kept = [case for case in changed["cases"] if case["workload"] != workload]
    changed["cases"] = [case(workload, {}, {}, outcome=outcome, reason=reason, **others), *kept]
    check(changed, "a fixture")
    return changed


def ended(document: Document, done: int, seconds: float) -> Document:
    """The run, which a time limit has ended when so many coins were loaded."""
    samples = [[done // 2, seconds / 2], [done, seconds]]
    load = case("load", {}, {}, outcome="ended", reason=AT_THE_LIMIT, samples=samples)
    rest = [each for each in document["cases"] if each["workload"] != "load"]
    cases = [case(each["workload"], each["parameters"]) for each in rest]
    untried = {"outcome": "not_measured", "reason": AT_THE_LIMIT}
    changed = {**document, "cases": [load, *({**each, **untried} for each in cases)]}
    check(changed, "a fixture")
    return changed


def every_failure() -> list[Document]:
    """One machine where something goes wrong in all ways; coin_log and the floor are fine."""
    documents = matrix(("floor", "coin_log", "null"))
    killed = "its process was killed by signal 9"
    documents += [without(each, "load", "failed", killed) for each in matrix(("sqlite_row",), 4)]
    documents += [ended(each, 700_000, 1_188) for each in matrix(("blockchain_v2",))]
    documents += [without(each, "load", "wrong", HOSTILE) for each in matrix(("flat_file",))]
    documents += [
        without(each, "load", "not_measured", "librocksdb is not on this machine")
        for each in matrix(("rocks",))
    ]
    documents += [
        without(each, "rewind", "failed", killed) if each["run"] == 3 else each
        for each in matrix(("interval@rocksdb",))
    ]
    documents.append(run("sqlite_v3", 1, runs=1))
    documents += matrix((HOSTILE,), 2)
    return documents


def write(documents: Iterable[Document], directory: Path) -> list[Path]:
    """Write them as the bench does."""
    return [write_result(directory, document) for document in documents]


def case(
    workload: str,
    parameters: Mapping[str, Any] | None = None,
    figures: Mapping[str, float | None] | None = None,
    **others: Any,
) -> dict[str, Any]:
    """A case of a result, which was measured unless others say otherwise."""
    told = {"parameters": dict(parameters or {}), "figures": dict(figures or {}), **others}
    return {**EMPTY_CASE, "workload": workload, **told}


def of_kind(
    kind: str,
    contestant: str,
    cases: Sequence[Document],
    *,
    number: int = 1,
    runs: int = 1,
    begun: str,
    others_cores: float = 0.0,
    like: Document,
    **others: Any,
) -> Document:
    """A run of what is no schema, on the machine and profile of another run."""
    matrix = {
        "id": begun.translate(str.maketrans("", "", "-:")),
        "command": f"cdb bench {kind} --runs {runs}",
        "runs": runs,
        "settings": "0" * 64,
    }
    kept = {name: like[name] for name in ("version", "seconds", "profile", "machine", "software")}
    document = {
        **kept,
        "kind": kind,
        "matrix": matrix,
        "run": number,
        "begun": begun,
        "contestant": {"name": contestant},
        "load_average_before": 0.5,
        "load_average_after": None,
        "others_cores": others_cores,
        **copy.deepcopy(others),
        "cases": list(cases),
    }
    check(document, "a fixture")
    return copy.deepcopy(document)


def _cases(
    costs: Costs, coins: int, seconds: float, flush_coins: int, schema: str
) -> Iterable[dict[str, Any]]:
    yield _load(costs, coins, seconds, flush_coins)
    if schema in ("floor", "null"):
        return
    size = coins * costs.size_bytes
    settled = {"wall_seconds": 0.1 * seconds, "written_bytes": size / 10}
    yield case("settle", {}, settled | {"size_bytes": 0.98 * size, "allocated_bytes": size})
    noise = seconds / (coins * costs.seconds)
    for names in ("existing", "absent"):
        for cache in ("warm", "cold"):
            yield _reading(names, cache, costs.names_per_second / noise)
    for heights in (1, 1000):
        yield case("rewind", {"heights": heights}, {"milliseconds": 1.7 * noise, "coins": 20.0})
    for after in ("close", "kill"):
        yield case("open", {"after": after}, {"milliseconds": 109 * noise})
    yield case(
        "append",
        {"commit_coins": 45},
        {
            "commits": 50.0,
            "commit_p50_microseconds": 202 * noise,
            "commit_p99_microseconds": 900 * noise,
            "commit_max_microseconds": 2_500 * noise,
            "bare_p50_microseconds": 177 * noise,
            "ratio": 1.14,
        },
    )
    reason = "no control group for memory: Read-only file system"
    yield case("memory", {}, {}, outcome="not_measured", reason=reason)


def _load(costs: Costs, coins: int, seconds: float, flush_coins: int) -> dict[str, Any]:
    shares = {"open": 0.01, "parse": 0.2, "accept": 0.5, "flush": 0.25, "close": 0.04}
    figures: dict[str, float | None] = {
        "wall_seconds": seconds,
        "user_seconds": 0.8 * seconds,
        "system_seconds": 0.1 * seconds,
        "coins_per_second": coins / seconds,
        **{f"{phase}_seconds": share * seconds for phase, share in shares.items()},
        "written_bytes": coins * costs.written_bytes,
        "disk_written_bytes": 1.1 * coins * costs.written_bytes,
        "device_written_bytes": 1.2 * coins * costs.written_bytes,
        "device_read_bytes": None,
        "syncs": 2 * coins // flush_coins,
        "device_flushes": coins // flush_coins,
        "flushes": coins // flush_coins,
        "flush_p50_microseconds": 2_000,
        "flush_p99_microseconds": 9_000,
        "flush_max_microseconds": 12_000,
        "peak_rss_bytes": 100_000_000 + costs.size_bytes * coins // 10,
        "size_bytes": coins * costs.size_bytes,
        "allocated_bytes": coins * costs.size_bytes + 4096,
    }
    # The later coins take longer, as they do.
    points = range(50_000, coins + 1, 50_000)
    samples = [(done, seconds * (done / coins) ** 1.2) for done in points]
    return case("load", {}, figures, samples=[list(sample) for sample in samples])


def _reading(names: str, cache: str, names_per_second: float) -> dict[str, Any]:
    parameters: dict[str, str | int] = {
        "names": names,
        "batch": 1000,
        "threads": 1,
        "cache": cache,
        "state": "settled",
        "form": "packed",
    }
    per_second = names_per_second if cache == "warm" else names_per_second / 30
    figures: dict[str, float | None] = {
        "names_per_second": per_second,
        "call_p50_microseconds": 1e9 / per_second,
        "call_p99_microseconds": 3e9 / per_second,
        "call_max_microseconds": 9e9 / per_second,
    }
    if cache == "cold":
        figures["pages_per_name"] = 1.5
    return case("read_random", parameters, figures)
