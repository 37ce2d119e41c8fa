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

from cdb.bench.page_cache import drop, resident_bytes
from cdb.bench.results import Document, check
from cdb.chia.bench.comparison import Comparison
from cdb.chia.bench.measuring import Setting
from cdb.chia.bench.round import SMALL_BLOCK_COINS, Files, load, opened_cold
from cdb.chia.bench.stores import opened
from cdb.chia.bench.timing import watched_loop
from cdb.lab.process import WrongAnswerError, fresh_within
from cdb.lab.profile import FAST

COINS = 10_000
CALLS = {
    "get_coin_records",
    "get_coin_records_by_puzzle_hashes",
    "get_coin_records_by_parent_ids",
    "batch_coin_states_by_puzzle_hashes",
    "new_block",
}


def compared(place: Path, runs: int = 1) -> Document:
    """A quick comparison; nothing of it is left in the directory."""
    notes: list[str] = []
    setting = Setting(runs, FAST, place, "here", "a command", notes.append)
    document = Comparison(COINS, True, setting).run()
    assert notes[0] == "FAST, chia: load 10,000 coins"
    assert not [*place.iterdir()]
    return document


def called(document: Document, cache: str) -> set[str]:
    """Which methods were measured so."""
    return {
        case["workload"]
        for case in document["rounds"][0]["cases"]
        if case["parameters"].get("cache") == cache
    }


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Document:
    """Two rounds."""
    return compared(tmp_path_factory.mktemp("bench"), runs=2)


def test_a_comparison_is_a_result(document: Document) -> None:
    check(document, "it")
    turns = [(each["store"], each["run"]) for each in document["rounds"]]
    assert turns == [("chia", 1), ("cdb", 1), ("cdb", 2), ("chia", 2)]
    assert called(document, "cold") == CALLS
    assert called(document, "warm") == CALLS | {"rollback_to_block"}
    assert document["software"]["chia_version"]


def test_each_round_asks_the_same_and_leaves_all_as_it_was(document: Document) -> None:
    told = [
        [(case["workload"], case["answers"]) for case in each["cases"] if case["answers"]]
        for each in document["rounds"]
    ]
    assert len(told[0]) == 15
    assert told.count(told[0]) == 4


def test_a_store_that_answers_otherwise_leaves_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lying(*arguments: Any) -> Any:
        made = fresh_within(*arguments)
        if arguments[-1]["store"] == "cdb":
            for case in made:
                case["answers"] = case["answers"] and "0" * 64
        return made

    monkeypatch.setattr("cdb.chia.bench.comparison.fresh_within", lying)
    with pytest.raises(WrongAnswerError, match=r"the answers of cdb in round 1 are others"):
        compared(tmp_path)


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
    files = Files("cdb", tmp_path / "store", tmp_path / "chain", quick=True)
    log = files.directory / "node.sqlite.cdb" / "log"

    async def left_in_memory() -> float:
        """The share of the log whose pages opening has mapped: these stay."""
        async with opened_cold(files):
            return (resident_bytes([log]) or 0) / log.stat().st_size

    async def shares() -> tuple[float, float]:
        await load(files, 100_000)
        drop([log])
        if resident_bytes([log]) != 0:
            pytest.skip("here no page can be dropped, or nobody can tell")
        first = await left_in_memory()
        chain = files.loaded()
        height = chain.height
        async with opened(files.store, files.directory) as store:
            for _ in range(5):
                await store.add(chain.block(SMALL_BLOCK_COINS))
            await store.roll_back(height)
        return first, await left_in_memory()

    first, behind = asyncio.run(shares())
    assert first < 0.5
    assert abs(first - behind) < 0.1  # a record here or there
