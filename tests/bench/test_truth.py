"""What a replay's text alone says, and what is asked of databases that hold it."""

from pathlib import Path

import pytest

from cdb.bench.questions import Questions, infos_of, names_of
from cdb.bench.tail import SMALL_COINS, packs_of
from cdb.bench.truth import RECENT_PART, REWOUND_HEIGHTS, REWOUND_PART, Truth, find_truth
from cdb.contract.blocks import BlockSpendInfo
from cdb.lab.process import WorkloadError
from cdb.schemas.memory import MemorySchema
from tests.conftest import SMALL_COINS as REPLAY_COINS
from tests.conftest import load_all, text_of

Blocks = tuple[BlockSpendInfo, ...]


def test_totals_and_digest(small: Truth, blocks: Blocks, digest: str) -> None:
    assert small.blocks == len(blocks)
    assert small.coins == REPLAY_COINS
    assert small.spends == sum(len(block.spends) for block in blocks)
    assert small.newest_index == blocks[-1].index
    assert small.digest == digest


def test_the_tail(small: Truth, blocks: Blocks) -> None:
    indices = [block.index for block in blocks]
    assert small.tail_index <= small.accepted_index < small.newest_index
    assert indices.index(small.accepted_index) >= len(indices) // 2 - 1
    assert small.tail.read_bytes() == text_of(blocks[indices.index(small.tail_index) :])


def test_rewinds_begin_where_the_one_before_ended(small: Truth, blocks: Blocks) -> None:
    indices = [block.index for block in blocks]
    newest = small.newest_index
    assert small.rewound_to
    for heights, target in zip(REWOUND_HEIGHTS, small.rewound_to, strict=False):
        assert target == max(index for index in indices if index <= newest - heights)
        newest = target
    gone = len(indices) - 1 - indices.index(newest)
    assert gone <= len(indices) // REWOUND_PART
    assert small.tail_index <= newest
    next_heights = REWOUND_HEIGHTS[len(small.rewound_to)]
    further = [index for index in indices if newest - next_heights < index]
    assert len(further) > len(indices) // REWOUND_PART


def test_questions_are_of_different_coins(small: Truth, model: MemorySchema) -> None:
    expected = {info.coin.name(): info for info in model.state_at(small.newest_index)}
    in_order = list(expected)
    for kind, names in {
        "any": in_order,
        "recent": in_order[-REPLAY_COINS // RECENT_PART :],
        "sequence": in_order,
    }.items():
        parts = [small.questions(kind, purpose) for purpose in ("warm_up", "warm", "cold")]
        assert all(len(part) > 0 for part in parts)
        found = [name for part in parts for name in names_of(part.names)]
        assert sorted(found) == sorted(names)  # so few coins that each is asked for once
        assert (found == names) == (kind == "sequence")
        for part in parts:
            assert infos_of(part.infos) == [expected[name] for name in names_of(part.names)]


def test_answers_as_of_an_earlier_block(small: Truth, blocks: Blocks) -> None:
    asked = small.questions("any", "warm")
    assert small.questions("any", "warm", 10) == asked.part(0, 10)
    middle = len(blocks) // 2
    with MemorySchema() as schema:
        load_all(schema, blocks[:middle])
        held = schema.coin_infos_for_coin_names(names_of(asked.names))
    assert asked.as_of(blocks[middle - 1].index).answers() == held
    assert asked.answers() == asked.as_of(small.newest_index).answers() != held


def test_absent_names_have_no_answer() -> None:
    absent = Questions.absent(10)
    assert len(absent) == len(set(names_of(absent.names))) == 10
    assert absent.answers() == []
    assert len(absent.part(3, 7)) == 4


def test_small_blocks_do_what_the_tail_does(small: Truth, blocks: Blocks) -> None:
    base = small.accepted_index
    made = [pack.block(place) for pack in packs_of(small.small) for place in range(len(pack))]
    first = next(block.index for block in blocks if block.index > base)
    assert [block.index for block in made] == list(range(first, first + len(made)))
    assert sum(len(block.confirms) for block in made[:20]) / 20 < 2 * SMALL_COINS
    with MemorySchema() as schema:
        for block in [each for each in blocks if each.index <= base] + made:
            schema.accept_block(block)
    coins = [coin for block in made for coin in block.confirms]
    tail = {coin for block in blocks if block.index > base for coin in block.confirms}
    assert len(coins) == len(set(coins))
    assert set(coins) <= tail
    assert len(tail) - len(coins) < SMALL_COINS  # what did not fill a last block


def test_a_range_of_blocks(small: Truth, blocks: Blocks) -> None:
    first, last = blocks[-20].index, blocks[-10].index
    packs = packs_of(small.tail, above=first, up_to=last)
    found = [pack.block(place) for pack in packs for place in range(len(pack))]
    assert found == list(blocks[-19:-9])


@pytest.mark.parametrize("n_blocks", [0, 1])
def test_a_replay_that_is_too_short(tmp_path: Path, blocks: Blocks, n_blocks: int) -> None:
    path = tmp_path / "replay.txt"
    path.write_bytes(text_of(blocks[:n_blocks]))
    with pytest.raises(WorkloadError, match="too few blocks"):
        find_truth(str(path), str(tmp_path))


def test_the_shortest_replay(tmp_path: Path, blocks: Blocks) -> None:
    path = tmp_path / "replay.txt"
    path.write_bytes(text_of(blocks[:2]))
    truth = find_truth(str(path), str(tmp_path))
    assert truth.rewound_to == [blocks[0].index]
    assert truth.accepted_index == truth.tail_index == blocks[0].index
