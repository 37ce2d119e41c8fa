"""cdb bench node on a few coins: what it measures, and that it finds other answers."""

import asyncio
from contextlib import nullcontext
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

pytest.importorskip("chia", reason="chia-blockchain is not installed here; make chia-tests has it")
pytest.importorskip("jsonschema", reason="results are checked by jsonschema")
pytest.importorskip("psutil", reason="machines are described by psutil")

from cdb.bench.campaign import Campaign, Experiment, Note
from cdb.bench.matrix import Matrix
from cdb.bench.page_cache import drop, resident_bytes
from cdb.bench.results import Document, read_results
from cdb.chia.bench import comparison
from cdb.chia.bench.calls import opened_cold
from cdb.chia.bench.chain import SMALL_BLOCK_COINS, loaded
from cdb.chia.bench.load import load
from cdb.chia.bench.stores import opened
from cdb.chia.bench.terms import Files
from cdb.chia.bench.timing import watched_loop
from cdb.lab.profile import FAST

COINS = 10_000
CALLS = {
    "get_coin_records",
    "get_coin_records_by_puzzle_hashes",
    "get_coin_records_by_parent_ids",
    "batch_coin_states_by_puzzle_hashes",
    "new_block",
}


def campaign(experiment: Experiment, place: Path, note: Note, **others: Any) -> Campaign:
    """Two rounds, below the directory."""
    told: dict[str, Any] = {
        "experiment": experiment,
        "matrix": Matrix.new("a command", 2, experiment.settings),
        "profiles": [FAST],
        "parent": place / "here",
        "results": place / "results",
        "machine": "here",
        "note": note,
    }
    (place / "here").mkdir(exist_ok=True)
    return Campaign(**told | others)


def called(document: Document, cache: str) -> set[str]:
    """Which methods were measured so."""
    return {
        case["workload"] for case in document["cases"] if case["parameters"].get("cache") == cache
    }


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> list[Document]:
    """Two quick rounds, broken off behind the first run and gone on with; nothing else is left."""
    place, notes = tmp_path_factory.mktemp("bench"), list[str]()
    calls = comparison.experiment(COINS, quick=True)
    begun = campaign(calls, place, notes.append).run()
    next(begun)
    del begun
    assert not [*(place / "here").iterdir()]
    matrix = Matrix.new("a command", 2, calls.settings).resumed(read_results([place]))
    made = [*campaign(calls, place, notes.append, matrix=matrix).run()]
    assert len(made) == 3
    assert notes[0] == "run 1 of 4: FAST, round 1, chia: load 10,000 coins"
    assert not [*(place / "here").iterdir()]
    return sorted(read_results([place]), key=lambda each: each["run"])


def test_a_comparison_is_a_result(documents: list[Document]) -> None:
    turns = {(each["contestant"]["name"], each["run"]) for each in documents}
    assert turns == {("chia", 1), ("cdb", 1), ("cdb", 2), ("chia", 2)}
    for document in documents:
        assert {case["outcome"] for case in document["cases"]} == {"measured"}
        assert called(document, "cold") == CALLS
        assert called(document, "warm") == CALLS | {"rollback_to_block"}
        assert document["software"]["chia_version"]
    # The first run in a place loads the store.
    loads = [each["cases"][0]["workload"] == "load" for each in documents]
    assert sorted(loads) == [False, True, True, True]


def test_each_round_asks_the_same_and_leaves_all_as_it_was(documents: list[Document]) -> None:
    told = [
        [(case["workload"], case["answers"]) for case in each["cases"] if case["answers"]]
        for each in documents
    ]
    assert len(told[0]) == 15
    assert told.count(told[0]) == 4


def test_a_loop_that_is_held_up_is_seen() -> None:
    async def late(*, ours: bool) -> float:
        async with watched_loop() as loop:
            await asyncio.sleep(0.05)
            with loop.aside() if ours else nullcontext():
                _block(0.2)
            await asyncio.sleep(0.01)
        return max(loop.late)

    assert asyncio.run(late(ours=False)) > 0.15
    assert asyncio.run(late(ours=True)) < 0.15


def _block(seconds: float) -> None:
    started = perf_counter()
    while perf_counter() - started < seconds:
        pass


def test_cold_calls_find_as_little_in_memory_in_the_first_round_as_behind_it(
    tmp_path: Path,
) -> None:
    files = Files("cdb", tmp_path, 100_000, quick=True)
    log = files.directory / "node.sqlite.cdb" / "log"

    async def left_in_memory() -> float:
        """The share of the log whose pages opening has mapped: these stay."""
        async with opened_cold(files):
            return (resident_bytes([log]) or 0) / log.stat().st_size

    async def shares() -> tuple[float, float]:
        await load(files)
        drop([log])
        if resident_bytes([log]) != 0:
            pytest.skip("here no page can be dropped, or nobody can tell")
        first = await left_in_memory()
        chain = loaded(files)
        height = chain.height
        async with opened(files.store, files.directory) as store:
            for _ in range(5):
                await store.add(chain.block(SMALL_BLOCK_COINS))
            await store.roll_back(height)
        return first, await left_in_memory()

    first, behind = asyncio.run(shares())
    assert first < 0.5
    assert abs(first - behind) < 0.1  # a record here or there
