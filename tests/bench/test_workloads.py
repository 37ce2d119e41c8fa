"""Every workload: the cases and figures that it gives, and the database that it leaves."""

import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from cdb.bench.answers import ObjectLookups
from cdb.bench.asking import ask
from cdb.bench.case import Case, measure, measure_here
from cdb.bench.database import Database
from cdb.bench.results import check
from cdb.bench.truth import Truth, find_truth
from cdb.bench.workloads import DIGEST, workloads
from cdb.bench.workloads.open import load_and_die
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.durability import Durability
from cdb.lab.process import KilledError, NotMeasuredError, fresh
from cdb.report.model import Case as ReportCase
from cdb.report.sections import TELL_APART
from cdb.schemas import find_schema
from cdb.schemas.memory import MemorySchema
from tests.bench.conftest import Databases
from tests.bench.results import document
from tests.conftest import SMALL_COINS, load_all, own_schemas, text_of

Loaded = Callable[[str], Path]

FLOOR = "cdb.bench.floor"
LIMIT_BYTES = 10**9
SCHEMAS = [each for each in own_schemas() if each.values[0] in ("memory", "flat_file", "coin_log")]
LATENCIES = {f"call_{name}_microseconds" for name in ("p50", "p99", "max")}
READ = {"names_per_second", *LATENCIES}
SCAN = {"rows", "rows_per_second", "first_page_microseconds", "memory_bytes"}
SIZES = {"size_bytes", "allocated_bytes"}
PHASES = {f"{phase}_seconds" for phase in ("open", "parse", "accept", "flush", "close")}
FIGURES = {
    "load": {
        *("wall_seconds", "user_seconds", "system_seconds", "coins_per_second", *PHASES, *SIZES),
        *("written_bytes", "disk_written_bytes", "device_written_bytes", "device_read_bytes"),
        *("syncs", "device_flushes", "flushes", "peak_rss_bytes", "page_cache_bytes"),
        *(f"flush_{name}_microseconds" for name in ("p50", "p99", "max")),
    },
    "settle": {"wall_seconds", "written_bytes", *SIZES},
    "append": {
        *("commits", "coins_per_second", "bare_p50_microseconds", "ratio"),
        *(f"commit_{name}_microseconds" for name in ("p50", "p99", "max")),
    },
    "read_random": READ,
    "read_sequential": READ,
    "read_iterate": {"blocks_per_second", "coins_per_second"},
    "latest": SCAN,
    "historical": {*READ, "plain_names_per_second", "plain_ratio"},
    "archival": {"rows", "rows_per_second", "memory_bytes", *LATENCIES},
    "rewind": {"milliseconds", "coins"},
    "open": {"milliseconds", "memory_bytes"},
    "objects": {"coins_per_second"},
    "read_beside": {*LATENCIES, "call_p999_microseconds", "coins_per_second"},
    "snapshot": {"ratio", "coins_per_second", "growth_bytes", "plain_growth_bytes"},
    "memory": {"limited_seconds", "unlimited_seconds", "ratio", "limit_bytes"},
}


def run(workload: str, database: Database) -> list[Case]:
    """Its cases, measured in this process."""
    return measure_here(workload, database)


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("workload", workloads()[1:-1])
def test_a_workload(
    schema: str, workload: str, loaded: Loaded, database: Databases, digest: str, tmp_path: Path
) -> None:
    held = database(schema, loaded(schema))
    before = {each.name for each in tmp_path.iterdir()}
    cases = run(workload, held)
    check_cases(workload, cases)
    assert run(DIGEST, held) == []
    left = {each.name for each in tmp_path.iterdir()} - before
    assert left <= {f"{schema}.db.lock"}


def check_cases(workload: str, cases: list[Case]) -> None:
    """They are as results have them; each is measured, or says why not."""
    check(document(cases=[asdict(case) for case in cases]), workload)
    names = [(case.workload, tuple(sorted(case.parameters.items()))) for case in cases]
    assert len(set(names)) == len(names)
    assert {case.outcome for case in cases} <= {"measured", "not_measured"}
    assert any(case.outcome == "measured" for case in cases)
    for case in cases:
        if case.outcome == "measured":
            assert case.figures.keys() == figures_of(case)
        else:
            assert case.reason
            assert case.figures == {}


def figures_of(case: Case) -> set[str]:
    """The names of its figures."""
    is_cold = case.parameters.get("cache") == "cold"
    if "scan" in case.parameters:
        return SCAN | ({"pages_per_row"} if is_cold else set())
    if is_cold:
        return READ | {"pages_per_name"}
    return FIGURES[case.workload]


@pytest.mark.parametrize("schema", [*SCHEMAS, "null", FLOOR])
def test_a_load(schema: str, database: Databases) -> None:
    new = database(schema)
    load, *unsettled = run("load", new)
    check_cases("load", [load, *unsettled])
    figures = {name: value for name, value in load.figures.items() if value is not None}
    phases = sum(figures[phase] for phase in PHASES)
    assert phases == pytest.approx(figures["wall_seconds"])
    assert figures["flushes"] > 1
    assert load.samples == []  # none of 50,000 coins
    if find_schema(schema).spec.keeps_contract:
        assert {case.parameters["state"] for case in unsettled} == {"unsettled"}
        assert {case.workload for case in unsettled} == {"read_random", "historical"}
        assert figures["size_bytes"] > 0
        assert run(DIGEST, new) == []
    else:
        assert unsettled == []


def test_what_the_page_tells_engines_apart_by_is_measured(
    loaded: Loaded, database: Databases
) -> None:
    cases = [
        *run("load", database("coin_log")),
        *run("read_random", database("coin_log", loaded("coin_log"))),
        *run("latest", database("coin_log", loaded("coin_log"))),
        *run("snapshot", database("coin_log", loaded("coin_log"))),
    ]
    made = {ReportCase.of(case.workload, case.parameters) for case in cases}
    for label, any_of, _ in TELL_APART:
        assert made & {*any_of}, label


def test_samples_of_a_load(
    database: Databases, monkeypatch: pytest.MonkeyPatch, blocks: tuple[BlockSpendInfo, ...]
) -> None:
    monkeypatch.setattr("cdb.bench.loading.SAMPLE_COINS", 700)
    load = run("load", database("memory"))[0]
    coins = [coins for coins, _ in load.samples]
    seconds = [seconds for _, seconds in load.samples]
    assert len(load.samples) == SMALL_COINS // 700
    assert all(count >= 700 * number for number, count in enumerate(coins, 1))
    assert seconds == sorted(seconds)
    assert seconds[-1] <= (load.figures["wall_seconds"] or 0)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("durability", list(Durability))
def test_the_floor(
    database: Databases, threads: int, durability: Durability, monkeypatch: pytest.MonkeyPatch
) -> None:
    syncs: list[int] = []
    monkeypatch.setattr(os, "fsync", syncs.append)
    new = database(FLOOR, threads=threads, durability=durability.value, flush_coins=1)
    figures = run("load", new)[0].figures
    assert figures["size_bytes"] == 80 * SMALL_COINS
    assert (len(syncs) > 1) == (durability is Durability.POWER)
    syncs.clear()
    run("load", database(FLOOR, threads=threads, durability=durability.value, flush_coins=10**6))
    assert len(syncs) == (durability is Durability.POWER)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_what_a_slow_commit_leaves_no_time_for_comes_in_the_next_case(
    schema: str, loaded: Loaded, database: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SECONDS", "QUICK_SECONDS"):
        monkeypatch.setattr(f"cdb.bench.workloads.append.{name}", 1e-9)
    monkeypatch.setattr("cdb.bench.workloads.append.COMMITS", {45: 300, 46: 300, 47: 300})
    held = database(schema, loaded(schema))
    assert [case.figures.get("commits") for case in run("append", held)] == [1, 1, 1]
    assert run(DIGEST, held) == []


def test_a_schema_may_settle(
    database: Databases, blocks: tuple[BlockSpendInfo, ...], tmp_path: Path
) -> None:
    with MemorySchema(tmp_path / "db") as schema:
        load_all(schema, blocks)
    run("settle", database("tests.broken.memory:Settles"))
    assert (tmp_path / "db.settled").exists()


def test_too_small_for_a_limit_on_memory(database: Databases, loaded: Loaded) -> None:
    (case,) = measure("memory", database("memory", loaded("memory")))
    assert case.outcome == "not_measured"
    assert "too few for Python alone" in str(case.reason)


def test_memory(
    database: Databases, loaded: Loaded, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("cdb.bench.workloads.memory.size_bytes", lambda path: 3 * LIMIT_BYTES)
    try:
        (case,) = run("memory", database("memory", loaded("memory")))
    except NotMeasuredError as error:
        pytest.skip(str(error))
    check_cases("memory", [case])
    assert case.figures["limit_bytes"] == LIMIT_BYTES
    assert not list(tmp_path.glob("cdb-place-*"))


def test_kill_9_ends_a_load_with_everything_flushed(database: Databases) -> None:
    new = database("memory")
    with pytest.raises(KilledError, match="signal 9"):
        fresh(load_and_die, new)
    assert run(DIGEST, new) == []


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("batch", [1, 7, 100_000])
def test_each_name_is_asked_for_once(
    threads: int, batch: int, small: Truth, blocks: tuple[BlockSpendInfo, ...]
) -> None:
    asked: list[bytes] = []
    with MemorySchema() as schema:
        load_all(schema, blocks)
        lookups = ObjectLookups(schema)
        right = lookups.ask

        def ask_and_note(names: Any) -> Any:
            asked.extend(names)
            return right(names)

        lookups.ask = ask_and_note
        questions = small.questions("any", "warm")
        done = ask(lookups, questions, batch, seconds=60, threads=threads)
        assert done.names == len(asked) == len(set(asked)) == len(questions)
        assert len(done.calls) == -(-len(questions) // batch)
        in_no_time = ask(lookups, questions, batch, seconds=0, threads=threads)
        assert 0 < in_no_time.names <= threads * batch


def test_a_replay_of_a_few_coins(tmp_path: Path, blocks: tuple[BlockSpendInfo, ...]) -> None:
    (tmp_path / "replay.txt").write_bytes(text_of(blocks[:2]))
    truth = find_truth(str(tmp_path / "replay.txt"), str(tmp_path))
    held = Database(
        schema="memory",
        path=str(tmp_path / "db"),
        durability="power",
        flush_coins=1,
        replay=str(tmp_path / "replay.txt"),
        truth=truth,
        quick=True,
    )
    for workload in workloads()[:-1]:
        check(document(cases=[asdict(case) for case in run(workload, held)]), workload)


def test_a_failure_is_a_case(database: Databases) -> None:
    assert measure("load", database("tests.broken.memory:Buggy")) == [
        Case("load", outcome="failed", reason="KeyError: 'flush'")
    ]
    assert measure("load", database("tests.broken.memory:Dies")) == [
        Case("load", outcome="failed", reason="its process was killed by signal 9")
    ]
