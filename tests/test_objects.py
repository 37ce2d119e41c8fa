"""Coins as objects: native/objects/ makes what Python makes."""

import sys
from collections.abc import Callable
from gc import collect, is_tracked
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdb.contract import objects
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import MAX_U32, MAX_U64, Coin, CoinInfo, bytes32, bytes32_unchecked
from cdb.contract.packed import INFO_BYTES, PackedBlocks, packed_infos

NAME = bytes32(bytes(range(32)))

made = pytest.fixture(
    lambda: objects._native.load().Coins(CoinInfo, Coin, bytes32), name="made", scope="module"
)

names = st.binary(min_size=32, max_size=32)
coins = st.tuples(
    names,
    names,
    st.integers(0, MAX_U64),
    st.integers(0, MAX_U32),
    st.integers(0, MAX_U32),
)


def test_this_machine_makes_them_natively() -> None:
    assert objects._native.missing() is None
    assert not isinstance(objects._made(), objects.PlainCoins)


@given(st.lists(coins | st.none(), max_size=20))
def test_coins_are_those_that_python_makes(made: Any, found: list[Any]) -> None:
    infos = packed_infos(found)
    coins = made.unpacked(*infos)
    plain = objects.PlainCoins().unpacked(*infos)
    assert coins == plain
    for native, other in zip(coins, plain, strict=True):
        assert type(native) is CoinInfo
        assert type(native.coin) is Coin
        assert type(native.coin.parent_coin_name) is type(native.coin.puzzle_hash) is bytes32
        assert hash(native) == hash(other)
        assert repr(native) == repr(other)
        assert native.coin.name() == other.coin.name()


def test_the_collector_of_cycles_has_nothing_to_look_at(made: Any) -> None:
    """It would go through all coins that a program keeps, again and again."""
    (info,) = made.unpacked(*packed_infos([(NAME, NAME, 1, 2, 3)]))
    coin = info.coin
    parts = (info, coin, coin.parent_coin_name, coin.puzzle_hash, coin.amount)
    assert not any(map(is_tracked, parts))


@given(st.lists(names | names.map(bytes32), max_size=20))
def test_names_are_those_that_python_joins(made: Any, names: list[bytes]) -> None:
    assert made.joined(names) == made.joined(tuple(names)) == b"".join(names)


class OwnBytes(bytes):
    """It may have a length of its own."""


@pytest.mark.parametrize(
    "odd",
    [
        [NAME, NAME[:31]],
        [NAME, NAME + b"x"],
        [NAME, bytearray(NAME)],
        [OwnBytes(NAME)],
        [NAME, None],
        NAME,
        iter([NAME]),
        {NAME: 1},
        None,
    ],
)
def test_names_of_other_kinds_are_left_to_python(made: Any, odd: object) -> None:
    assert made.joined(odd) is None


@given(
    st.lists(names | names.map(bytes32), max_size=20),
    st.lists(st.builds(Coin, names, names.map(bytes32), st.integers(0, MAX_U64)), max_size=20),
)
def test_blocks_are_those_that_python_packs(made: Any, spends: Any, confirms: Any) -> None:
    block = BlockSpendInfo(1, 2, spends, confirms)
    packed = made.packed(spends, confirms)
    assert packed == objects._packed(block)
    assert (block.spends, block.confirms) == (spends, confirms)
    assert objects.packed_block(block) == PackedBlocks.of([block])


class OwnCoin(Coin):
    """It may have fields of its own."""


class OwnList(list[Any]):
    """It may have items of its own."""


COIN = Coin(NAME, NAME, 1)


@pytest.mark.parametrize(
    ("spends", "confirms"),
    [
        ([NAME[1:]], [COIN]),
        ([OwnBytes(NAME)], [COIN]),
        (OwnList([NAME]), [COIN]),
        ([NAME], OwnList([COIN])),
        ([NAME], (COIN,)),
        ([NAME], [COIN, OwnCoin(NAME, NAME, 1)]),
        ([NAME], [Coin(bytes32_unchecked(NAME[1:]), NAME, 1)]),
        ([NAME], [Coin(NAME, OwnBytes(NAME), 1)]),  # type: ignore[arg-type]
        ([NAME], [Coin(NAME, NAME, -1)]),
        ([NAME], [Coin(NAME, NAME, MAX_U64 + 1)]),
        ([NAME], [Coin(NAME, NAME, True)]),
        ([NAME], [Coin(NAME, NAME, "1")]),  # type: ignore[arg-type]
        ([NAME], [object.__new__(Coin)]),
        ([NAME], [CoinInfo(COIN, 1, 0)]),
    ],
)
def test_blocks_of_other_kinds_are_left_to_python(made: Any, spends: Any, confirms: Any) -> None:
    assert made.packed(spends, confirms) is None


@pytest.mark.parametrize(
    "block",
    [
        BlockSpendInfo(-1, 0, [], [COIN]),
        BlockSpendInfo(2**64, 0, [], [COIN]),
        BlockSpendInfo(0, 2**64, [], [COIN]),
        BlockSpendInfo(0, 0, [bytes32_unchecked(NAME[1:])], [COIN]),
        BlockSpendInfo(0, 0, [], [Coin(NAME, NAME, MAX_U64 + 1)]),
    ],
)
def test_blocks_out_of_range_are_not_packed(block: BlockSpendInfo) -> None:
    assert objects.packed_block(block) is None


def test_blocks_of_other_kinds_are_packed_by_python() -> None:
    name: Any = OwnBytes(NAME)
    other = BlockSpendInfo(True, numpy_like(2), [name], [OwnCoin(NAME, NAME, numpy_like(1))])
    assert objects.packed_block(other) == PackedBlocks.of([BlockSpendInfo(1, 2, [NAME], [COIN])])
    with pytest.raises(ValueError, match="a coin's amount is an integer, not of type str"):
        objects.packed_block(BlockSpendInfo(0, 0, [], [Coin(NAME, NAME, "1")]))  # type: ignore[arg-type]


def numpy_like(value: int) -> Any:
    """Something that Python takes for an integer, and is none."""
    return type("uint64", (), {"__index__": lambda self: value})()


@pytest.mark.parametrize("found", [b"", b"\1\1"])
def test_answers_that_disagree_are_refused(made: Any, found: bytes) -> None:
    with pytest.raises(ValueError, match="an info, and whether it was found, of each name"):
        made.unpacked(bytes(INFO_BYTES), found)


@pytest.mark.parametrize("types", [(Coin, Coin, bytes32), (CoinInfo, Coin), (CoinInfo, Coin, 1)])
def test_classes_without_these_slots_are_refused(types: Any) -> None:
    kind = objects._native.load().Coins
    with pytest.raises((AttributeError, TypeError)):
        kind(*types)


def in_blocks(do: Callable[[], object]) -> int:
    """How many blocks of memory more there are after it was done a thousand times."""
    do()
    collect()
    before = sys.getallocatedblocks()
    for _ in range(1_000):
        do()
    collect()
    return sys.getallocatedblocks() - before


def test_nothing_is_kept_of_them(made: Any) -> None:
    infos, found = packed_infos([(NAME, NAME, MAX_U64, 1, 2), None, (NAME, NAME, 3, MAX_U32, 0)])

    def refused() -> None:
        with pytest.raises(ValueError, match="an info"):
            made.unpacked(infos, found[:-1])

    assert in_blocks(lambda: made.unpacked(infos, found)) < 100
    assert in_blocks(lambda: made.joined([NAME] * 20)) < 100
    assert in_blocks(lambda: made.joined([NAME, None])) < 100
    assert in_blocks(lambda: made.packed([NAME] * 5, [COIN] * 5)) < 100
    assert in_blocks(lambda: made.packed([NAME], [COIN, object.__new__(Coin)])) < 100
    assert in_blocks(lambda: made.packed([NAME], [Coin(NAME, NAME, -1)])) < 100
    assert in_blocks(refused) < 100


def test_without_it_python_makes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cdb.extensions._objects", None)
    objects._made.cache_clear()
    try:
        infos = packed_infos([(NAME, NAME, 1, 2, 3)])
        assert objects.unpacked_infos(*infos) == [CoinInfo(Coin(NAME, NAME, 1), 2, 3)]
        assert objects.joined_names([NAME, NAME]) == NAME * 2
        block = BlockSpendInfo(1, 2, [NAME], [COIN])
        assert objects.packed_block(block) == PackedBlocks.of([block])
        with pytest.raises(ValueError, match="a coin name has 32 bytes, not 31"):
            objects.joined_names([bytes(31)])  # type: ignore[list-item]
        assert isinstance(objects._made(), objects.PlainCoins)
    finally:
        objects._made.cache_clear()
