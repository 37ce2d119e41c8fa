"""Reward coins are mainnet's own; made-up replays are valid, reproducible and in shape."""

import hashlib
import io
import subprocess
import sys
from collections.abc import Iterable
from itertools import islice, pairwise

import pytest

from cdb.contract.blocks import BlockSpendInfo, canonical
from cdb.contract.coins import Coin, bytes32
from cdb.text.mainnet import (
    FARMER_PARENT_PREFIX,
    FIRST_SPENDING_HEIGHT,
    HEIGHTS_PER_HALVING,
    POOL_PARENT_PREFIX,
    farmer_coin,
    pool_coin,
    reward_mojo,
    rewarded_heights,
    timestamp_at,
    transaction_heights,
)
from cdb.text.mainnet_shape import MODEL_COINS, MODEL_HEIGHTS, mainnet_shaped_blocks
from cdb.text.replay import block_text, read_blocks, write_blocks

PREFARM_POOL = bytes32.fromhex("d23da14695a188ae5708dd152263c4db883eb27edeb936178d4d988b8f3ce5fc")
PREFARM_FARMER = bytes32.fromhex("3d8765d3a597ec1d99663f6c9816d915b9f68613ac94009884c4addaefcce6af")
FARMER_OF_1 = bytes32.fromhex("f55e4a65688e32445b7825ebee3421dba900909e1e8d36b61ac680c6ff8498c1")

# The replay of 30,000 coins, seed 0. If its bytes change, so do the replays behind old results.
PINNED_COINS = 30_000
PINNED_SHA256 = "61c3f10adf45744e88061dfe6049e62104694bba78f642645995ca315fb3ca9b"


@pytest.mark.parametrize(
    ("coin", "name"),
    [
        (
            pool_coin(0, PREFARM_POOL),
            "1fd60c070e821d785b65e10e5135e52d12c8f4d902a506f48bc1c5268b7bb45b",
        ),
        (
            farmer_coin(0, PREFARM_FARMER),
            "dce550a4341e5ec31c7e3fe5c6ab9801c66ed02689725939537d8d4492465800",
        ),
        (
            pool_coin(1, FARMER_OF_1),
            "b2c46bac5aa840e6dda3b39711113e490db827ec9b5900cd11125002ab955d04",
        ),
        (
            farmer_coin(1, FARMER_OF_1),
            "bfcf45ac992744402416ad7e9679e50a7b1c7dcdcdbfaac99d6296e26c569db2",
        ),
    ],
)
def test_reward_coins_have_the_names_they_have_on_mainnet(coin: Coin, name: str) -> None:
    assert coin.name().hex() == name


def test_rewards_halve_and_then_stay() -> None:
    last_full, first_half = HEIGHTS_PER_HALVING - 1, HEIGHTS_PER_HALVING
    assert reward_mojo(last_full) == 2 * 10**12
    assert reward_mojo(first_half) == 10**12
    assert reward_mojo(4 * HEIGHTS_PER_HALVING) == reward_mojo(2**32 - 1) == 10**12 // 8


def test_the_farmer_gets_the_fees() -> None:
    without = farmer_coin(9, FARMER_OF_1)
    assert farmer_coin(9, FARMER_OF_1, fees_mojo=5).amount == without.amount + 5


def test_blocks_pay_rewards_as_on_mainnet() -> None:
    mainnet = [
        (1, [0]),
        (5, [1]),
        (8, [2, 3, 4, 5]),
        (11, [6, 7, 8]),
        (15, [9, 10, 11]),
        (16, [12, 13, 14, 15]),
        (17, [16]),
        (23, [17]),
    ]
    paid = rewarded_heights(iter([height for height, _ in mainnet]))
    assert [(height, list(rewarded)) for height, rewarded in paid] == mainnet


def test_transaction_heights_are_a_ring_of_gaps_round_the_recorded_ones() -> None:
    heights = list(islice(transaction_heights(), 530_000))
    assert heights[0] > 0
    assert all(a < b for a, b in pairwise(heights))
    first, last = heights.index(FIRST_SPENDING_HEIGHT), heights.index(1_481_511)
    assert last - first == 439_248
    gaps = [b - a for a, b in pairwise(heights)]
    assert gaps[:first] == gaps[last - first : last]
    assert gaps[last:] == gaps[first : first + len(gaps) - last]


@pytest.mark.parametrize("limits", [{"heights": 4_000}, {"coins": 60_000, "seed": 3}])
def test_every_block_is_valid_and_canonical(limits: dict[str, int]) -> None:
    unspent: set[bytes32] = set()
    ever: set[bytes32] = set()
    previous = -1
    for block in mainnet_shaped_blocks(**limits):
        names = {coin.name() for coin in block.confirms}
        assert block.index > previous
        assert len(names) == len(block.confirms)
        assert names.isdisjoint(ever)
        assert len(set(block.spends)) == len(block.spends)
        assert unspent | names >= set(block.spends)
        children = [coin for coin in block.confirms if not _is_reward(coin)]
        assert {coin.parent_coin_name for coin in children} <= set(block.spends)
        assert block == canonical(block)
        assert block.timestamp == timestamp_at(block.index)
        unspent |= names
        unspent -= set(block.spends)
        ever |= names
        previous = block.index


def test_the_first_blocks_hold_only_rewards() -> None:
    heights = 8_000
    first_spending = FIRST_SPENDING_HEIGHT * heights // MODEL_HEIGHTS
    blocks = list(mainnet_shaped_blocks(heights=heights))
    assert not any(block.spends for block in blocks if block.index < first_spending)
    assert sum(bool(block.spends) for block in blocks) > len(blocks) / 2
    assert blocks[-1].index < heights


@pytest.mark.parametrize("coins", [1, 2, 3, 1_000, 12_345])
def test_it_ends_after_exactly_so_many_coins(coins: int) -> None:
    assert sum(len(block.confirms) for block in mainnet_shaped_blocks(coins=coins)) == coins


def test_whichever_limit_comes_first_ends_it() -> None:
    by_heights = list(mainnet_shaped_blocks(heights=200, coins=10**9))
    assert by_heights == list(mainnet_shaped_blocks(heights=200))
    cut = list(mainnet_shaped_blocks(heights=200, coins=500))
    assert cut[:-1] == by_heights[: len(cut) - 1]
    assert sum(len(block.confirms) for block in cut) == 500


def test_spends_begin_where_they_are_asked_to() -> None:
    begun = [
        next(block.index for block in mainnet_shaped_blocks(heights=600, **more) if block.spends)
        for more in ({"spends_from": 20}, {"spends_from": 300}, {})
    ]
    assert 20 <= begun[0] < 40
    assert 300 <= begun[1] < 320
    assert begun[2] >= 600 * FIRST_SPENDING_HEIGHT // MODEL_HEIGHTS


def test_the_same_seed_gives_the_same_bytes_everywhere() -> None:
    assert hashlib.sha256(_replay(PINNED_COINS, 0)).hexdigest() == PINNED_SHA256
    assert _replay(1_000, 1) != _replay(1_000, 0)


def test_the_text_is_canonical() -> None:
    text = _replay(5_000, 0)
    assert b"".join(map(block_text, read_blocks(io.BytesIO(text)))) == text


@pytest.mark.long  # the pinned replay stands for it
def test_the_shape_is_mainnets() -> None:
    shape = _Shape(mainnet_shaped_blocks(coins=400_000))
    assert shape.spends / shape.coins == pytest.approx(5_840_449 / MODEL_COINS, rel=0.1)
    assert shape.last_index / shape.coins == pytest.approx(MODEL_HEIGHTS / MODEL_COINS, rel=0.15)
    assert shape.ephemeral / shape.spends == pytest.approx(0.095, abs=0.005)
    assert shape.old / shape.spends > 0.2
    assert shape.recreated / shape.spends == pytest.approx(0.02, abs=0.01)
    assert shape.reused / shape.coins == pytest.approx(0.45, abs=0.01)
    assert shape.largest_block > 2_000
    assert shape.text_bytes / shape.coins == pytest.approx(2.1 * 2**30 / MODEL_COINS, rel=0.05)


def test_the_command_writes_the_same_text() -> None:
    run = _make_replay("--coins", "1000", "--seed", "1")
    assert (run.returncode, run.stderr) == (0, b"")
    assert run.stdout == _replay(1_000, 1)


@pytest.mark.parametrize("wrong", ["--heights=0", "--coins=0", "--coins=-1", "--seed=-1"])
def test_the_command_refuses_wrong_numbers(wrong: str) -> None:
    run = _make_replay(wrong)
    assert (run.returncode, run.stdout) == (2, b"")
    assert wrong.partition("=")[0].encode() in run.stderr


def _make_replay(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "cdb.cmds.make_replay", *arguments]
    return subprocess.run(command, capture_output=True, check=False)


def _replay(coins: int, seed: int) -> bytes:
    stream = io.BytesIO()
    write_blocks(stream, mainnet_shaped_blocks(coins=coins, seed=seed))
    return stream.getvalue()


def _is_reward(coin: Coin) -> bool:
    return coin.parent_coin_name[:16] in (POOL_PARENT_PREFIX, FARMER_PARENT_PREFIX)


class _Shape:
    """Counts over a whole replay."""

    def __init__(self, blocks: Iterable[BlockSpendInfo]) -> None:
        self.coins = self.spends = self.ephemeral = self.old = self.recreated = 0
        self.reused = self.largest_block = self.text_bytes = self.last_index = 0
        self._made: dict[bytes32, tuple[int, Coin]] = {}
        self._puzzle_hashes: set[bytes32] = set()
        for block in blocks:
            self._count(block)

    def _count(self, block: BlockSpendInfo) -> None:
        made = self._made
        made |= {coin.name(): (block.index, coin) for coin in block.confirms}
        ages = [block.index - made[name][0] for name in block.spends]
        self.coins += len(block.confirms)
        self.spends += len(ages)
        self.ephemeral += ages.count(0)
        self.old += sum(age >= 4_000 for age in ages)
        self.largest_block = max(self.largest_block, len(block.confirms))
        self.text_bytes += len(block_text(block))
        self.last_index = block.index
        for coin in block.confirms:
            self.reused += coin.puzzle_hash in self._puzzle_hashes
            self._puzzle_hashes.add(coin.puzzle_hash)
            self.recreated += not _is_reward(coin) and self._is_like_its_parent(coin)

    def _is_like_its_parent(self, coin: Coin) -> bool:
        _, parent = self._made[coin.parent_coin_name]
        return (coin.puzzle_hash, coin.amount) == (parent.puzzle_hash, parent.amount)
