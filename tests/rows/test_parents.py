"""No coin is confirmed twice, though most new coins are not looked for among the old ones."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import cast

import pytest

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import Coin
from cdb.contract.packed import PackedBlocks
from cdb.contract.rules import Faults, Joined, KnownCoins, examine
from cdb.errors import DuplicateCoinError
from cdb.schemas import open_schema
from cdb.stores.rows.opening import CoinStore
from cdb.testing.chains import child, hash_of, reward
from cdb.text.mainnet import farmer_coin, pool_coin

PARENT = reward(1)
EARLY = child(PARENT.name())
PUZZLE_HASH = hash_of("farmer")

Open = Callable[[], CoinStore]


@pytest.fixture(params=["sqlite_v3", "blockchain_v2"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens the database anew each time it is called."""
    opened: list[CoinStore] = []

    def reopened() -> CoinStore:
        for store in opened:
            store.close()
        store = cast(CoinStore, open_schema(request.param, tmp_path / "database"))
        opened.append(store)
        return store

    yield reopened
    for store in opened:
        store.close()


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The names that examinations look for."""
    names: list[bytes] = []

    def noting(joined: Joined, known: KnownCoins) -> tuple[Faults, list[int]]:
        find = known.find

        def noting_find(asked: Sequence[bytes]) -> Sequence[int | None]:
            names.extend(asked)
            return find(asked)

        monkeypatch.setattr(known, "find", noting_find)
        return examine(joined, known)

    monkeypatch.setattr("cdb.stores.rows.backend.examine", noting)
    return names


def block(index: int, *confirms: Coin, spends: tuple[Coin, ...] = ()) -> BlockSpendInfo:
    return BlockSpendInfo(index, 1000 + index, [coin.name() for coin in spends], list(confirms))


AGAIN = block(9, EARLY, spends=(PARENT,))
"""Confirms the child as the spend of its parent does, for the second time."""


@pytest.mark.parametrize(
    "before",
    [
        pytest.param([block(1, PARENT), block(2, EARLY)], id="parent-first"),
        pytest.param([block(1, EARLY), block(2, PARENT)], id="child-first"),
        pytest.param([block(1, EARLY, PARENT)], id="same-block"),
    ],
)
@pytest.mark.parametrize("how", ["accept", "reopen", "packed"])
def test_an_early_child_is_not_confirmed_again_by_its_parents_spend(
    open_store: Open, before: list[BlockSpendInfo], how: str
) -> None:
    store = open_store()
    if how == "packed":
        with pytest.raises(DuplicateCoinError) as raised:
            store.accept_packed(PackedBlocks.of([*before, AGAIN]))
    else:
        for one in before:
            store.accept_block(one)
        if how == "reopen":
            store = open_store()
        with pytest.raises(DuplicateCoinError) as raised:
            store.accept_block(AGAIN)
    assert raised.value.coin_name == EARLY.name()
    store.accept_block(block(9, child(PARENT.name(), 1), spends=(PARENT,)))


def test_an_early_child_that_was_rewound_can_be_confirmed_by_its_parents_spend(
    open_store: Open,
) -> None:
    store = open_store()
    store.accept_block(block(1, PARENT))
    store.accept_block(block(2, EARLY))
    store.rewind_to_block_index(1)
    store.accept_block(AGAIN)
    assert store.last_block_index == 9


@pytest.mark.parametrize("make", [pool_coin, farmer_coin])
@pytest.mark.parametrize("reopen", [False, True])
def test_a_reward_is_not_confirmed_again(
    open_store: Open, make: Callable[..., Coin], reopen: bool
) -> None:
    store = open_store()
    rewards = [make(height, PUZZLE_HASH) for height in range(6)]
    store.accept_block(block(1, *rewards[:3]))
    store.accept_block(block(5, *rewards[4:]))
    if reopen:
        store = open_store()
    for again in (rewards[0], rewards[4], rewards[5]):
        with pytest.raises(DuplicateCoinError):
            store.accept_block(block(6, again))
    store.accept_block(block(6, rewards[3]))
    store.rewind_to_block_index(2)
    store.accept_block(block(7, *rewards[3:]))
    with pytest.raises(DuplicateCoinError):
        store.accept_block(block(8, rewards[5]))


@pytest.mark.parametrize("open_store", ["sqlite_v3"], indirect=True)
def test_only_older_spends_and_early_children_are_looked_up(
    open_store: Open, looked_up: list[bytes]
) -> None:
    store = open_store()
    rewards = [pool_coin(height, PUZZLE_HASH) for height in range(3)]
    store.accept_block(block(1, *rewards))
    store.accept_block(block(2, child(rewards[0].name()), spends=(rewards[0],)))
    store.accept_block(block(3, EARLY))
    assert looked_up == [rewards[0].name(), EARLY.name()]
