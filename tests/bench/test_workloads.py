"""Every workload on every schema: the figures' shape, that answers are checked, what is left."""

import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from cdb.bench import tip
from cdb.bench.answers import infos_of, names_of
from cdb.bench.digest import digest
from cdb.bench.floor import floor
from cdb.bench.load import load
from cdb.bench.lookups import cold_lookups, warm_lookups
from cdb.bench.objects import accept_objects
from cdb.bench.opening import load_and_die, open_again, open_underived
from cdb.bench.process import KilledError, NotMeasuredError, WorkloadError, fresh
from cdb.bench.rewind import rewind
from cdb.bench.truth import asked, find_truth, packs_above, tail_packs
from cdb.blocks import BlockSpendInfo
from cdb.coins import CoinInfo
from cdb.durability import Durability
from cdb.schemas import SchemaInfo
from cdb.schemas.memory import MemorySchema
from cdb.state import verify
from tests.bench.conftest import Replay
from tests.conftest import text_of

Blocks = tuple[BlockSpendInfo, ...]
POWER = Durability.POWER.value


def check_positive(figures: Any) -> None:
    """Every number of a dataclass is one, and above zero."""
    for field in fields(figures):
        value = getattr(figures, field.name)
        assert isinstance(value, bool) or value > 0, (field.name, value)


# The truth


def test_the_truth_is_that_of_the_text(small: Replay, blocks: Blocks, digest: str) -> None:
    truth = small.truth
    assert truth.blocks == len(blocks)
    assert truth.coins == 2_000
    assert truth.spends == sum(len(block.spends) for block in blocks)
    assert truth.newest_index == blocks[-1].index
    assert truth.digest == digest
    indices = [block.index for block in blocks]
    assert truth.tail_base_index in indices[: len(indices) // 2 + 1]
    assert truth.rewind_index in indices
    assert truth.tail_base_index <= truth.rewind_index < truth.newest_index
    base = indices.index(truth.tail_base_index)
    tail = Path(small.directory, "tail.txt").read_bytes()
    assert tail == text_of(blocks[base:])


def test_the_questions_are_of_different_coins(small: Replay, blocks: Blocks) -> None:
    spent = {name: block.index for block in blocks for name in block.spends}
    expected = {
        coin.name(): CoinInfo(coin, block.index, spent.get(coin.name(), 0))
        for block in blocks
        for coin in block.confirms
    }
    questions = asked(small.directory)
    found: dict[bytes, CoinInfo] = {}
    for part in (questions.warm_up, questions.warm, questions.cold):
        assert len(part) > 0
        found.update(zip(names_of(part.names), infos_of(part.infos), strict=True))
    assert found == expected  # so few coins that each is asked for once


@pytest.mark.parametrize("n_blocks", [0, 1])
def test_a_replay_that_is_too_short(tmp_path: Path, blocks: Blocks, n_blocks: int) -> None:
    path = tmp_path / "replay.txt"
    path.write_bytes(text_of(blocks[:n_blocks]))
    with pytest.raises(WorkloadError, match="too few blocks"):
        find_truth(str(path), str(tmp_path))


# Loads


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("flush_coins", [300, 1_000_000])
@pytest.mark.parametrize("durability", list(Durability))
def test_the_floor(
    small: Replay, tmp_path: Path, threads: int, flush_coins: int, durability: Durability
) -> None:
    path = tmp_path / "floor"
    figures = floor(small.path, str(path), threads, flush_coins, durability.value)
    check_positive(figures)
    truth = small.truth
    assert (figures.blocks, figures.coins, figures.spends, figures.newest_index) == (
        *(truth.blocks, truth.coins, truth.spends, truth.newest_index),
    )
    assert figures.size_bytes == path.stat().st_size == 80 * 2_000
    assert figures.bytes_written is None or figures.bytes_written >= figures.size_bytes


def test_the_floor_flushes_as_often_as_a_load(
    small: Replay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    syncs: list[int] = []
    monkeypatch.setattr(os, "fsync", syncs.append)
    floor(small.path, str(tmp_path / "floor"), 1, 1, POWER)
    often = len(syncs)
    syncs.clear()
    floor(small.path, str(tmp_path / "floor"), 1, 1_000_000, POWER)
    assert len(syncs) == 1 < often
    syncs.clear()
    floor(small.path, str(tmp_path / "floor"), 1, 1, Durability.PROCESS.value)
    assert syncs == []


@pytest.mark.parametrize("text_in_memory", [True, False])
def test_a_load(
    own_schema: SchemaInfo, small: Replay, tmp_path: Path, text_in_memory: bool
) -> None:
    path = str(tmp_path / "db")
    figures = load(own_schema.name, path, small.path, 500, POWER, text_in_memory)
    check_positive(figures)
    assert (figures.coins, figures.newest_index) == (2_000, small.truth.newest_index)
    held = digest(own_schema.name, path)
    assert held.digest == small.truth.digest


# Workloads


@pytest.fixture(params=["warm", "cold", "rewind", "objects", "tip", "open"])
def workload(request: pytest.FixtureRequest, small: Replay) -> Callable[[str, str], object]:
    """Runs a workload on a schema and a path."""
    truth, there = small.truth, small.directory
    newest, base, back = truth.newest_index, truth.tail_base_index, truth.rewind_index
    runs: dict[str, Callable[[str, str], object]] = {
        "warm": lambda schema, path: warm_lookups(schema, path, POWER, there),
        "cold": lambda schema, path: cold_lookups(schema, path, POWER, there),
        "rewind": lambda schema, path: rewind(schema, path, POWER, there, back, newest),
        "objects": lambda schema, path: accept_objects(schema, path, POWER, there, base, newest),
        "tip": lambda schema, path: tip.tip(schema, path, POWER, there, base),
        "open": lambda schema, path: open_again(schema, path, POWER, there, newest),
    }
    return runs[request.param]


def test_workloads(
    own_schema: SchemaInfo,
    workload: Callable[[str, str], object],
    loaded: Callable[[str], Path],
    digest: str,
) -> None:
    path = loaded(own_schema.name)
    before = {each.name for each in path.parent.iterdir()}
    try:
        check_positive(workload(own_schema.name, str(path)))
    except NotMeasuredError as error:  # so small a database may have no page that opening spares
        assert "disk" in str(error)  # noqa: PT017
    with own_schema.open(path) as database:
        assert verify(database).digest == digest
    assert {each.name for each in path.parent.iterdir()} - before <= {f"{path.name}.lock"}


def test_opening_without_what_is_derived(
    own_schema: SchemaInfo, loaded: Callable[[str], Path], small: Replay
) -> None:
    path = loaded(own_schema.name)
    arguments = (own_schema.name, str(path), POWER, small.directory, small.truth.newest_index)
    if (path / "derived").is_dir():
        check_positive(open_underived(*arguments))
    else:
        with pytest.raises(NotMeasuredError):
            open_underived(*arguments)
    check_positive(open_again(*arguments))


def test_kill_9(own_schema: SchemaInfo, small: Replay, tmp_path: Path) -> None:
    path = str(tmp_path / "db")
    with pytest.raises(KilledError, match="signal 9"):
        fresh(load_and_die, own_schema.name, path, small.path, 500, POWER)
    newest = small.truth.newest_index
    check_positive(open_again(own_schema.name, path, POWER, small.directory, newest))


def test_small_blocks_do_what_the_tail_does(blocks: Blocks, small: Replay) -> None:
    base = small.truth.tail_base_index
    packs = packs_above(base, tail_packs(small.directory))
    made = [packed.block(0) for packed in tip.small_blocks(packs, base)]
    assert [block.index for block in made] == list(range(base + 1, base + 1 + len(made)))
    assert sum(len(block.confirms) for block in made[:20]) / 20 < 2 * tip.BLOCK_COINS
    with MemorySchema() as schema:
        for block in [each for each in blocks if each.index <= base] + made:
            schema.accept_block(block)
    tail = [block for block in blocks if block.index > base]
    coins = [coin for block in made for coin in block.confirms]
    left = {c for block in tail for c in block.confirms} - set(coins)
    assert len(left) < tip.BLOCK_COINS  # what did not fill a last block
    assert len(coins) == len(set(coins))
