"""Canonical order, and the checks that all schemas share: what is refused, and what is named."""

from copy import deepcopy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdb.contract.blocks import (
    BlockSpendInfo,
    canonical,
    checked_names,
)
from cdb.contract.coins import MAX_U32, MAX_U64, Coin, bytes32, bytes32_unchecked
from cdb.contract.rules import check_against_state, named_block
from cdb.errors import (
    AlreadySpentError,
    BlockError,
    BlockOrderError,
    CdbError,
    DuplicateCoinError,
    InvalidBlockError,
    UnknownCoinError,
)
from cdb.testing.chains import hash_of, reward
from tests.conftest import CALM

COIN = reward(9)
OTHER = reward(9, 1)
OLD = reward(1)
SHORT = bytes32_unchecked(bytes(31))


def block(
    index: int = 9,
    timestamp: int = 0,
    spends: list[bytes32] | None = None,
    confirms: list[Coin] | None = None,
) -> BlockSpendInfo:
    return BlockSpendInfo(index, timestamp, spends or [], confirms or [])


@settings(CALM)
@given(st.permutations([(p, h, a) for p in "ab" for h in "ab" for a in (2, 10, 256)]))
def test_canonical_order_is_by_parent_then_puzzle_hash_then_amount(
    shuffled: list[tuple[str, str, int]],
) -> None:
    def coins(keys: list[tuple[str, str, int]]) -> list[Coin]:
        return [Coin(bytes32(p.encode() * 32), bytes32(h.encode() * 32), a) for p, h, a in keys]

    spends = [bytes32(bytes([i]) * 32) for i in (3, 0x7F, 0x80, 0xFF)]
    given_block = BlockSpendInfo(5, 6, spends[::-1], coins(shuffled))
    before = deepcopy(given_block)
    ordered = canonical(given_block)
    assert ordered == BlockSpendInfo(5, 6, spends, coins(sorted(shuffled)))
    assert canonical(ordered) == ordered
    assert given_block == before, "canonical() changed its argument"


def test_a_valid_block_is_put_in_order_and_named() -> None:
    ephemeral = OTHER.name()
    named = named_block(block(9, 77, [OLD.name(), ephemeral], [COIN, OTHER]), 8)
    assert (named.index, named.timestamp) == (9, 77)
    assert named.confirms == canonical(block(confirms=[COIN, OTHER])).confirms
    assert named.names == [coin.name() for coin in named.confirms]
    assert named.spends == sorted([OLD.name(), ephemeral])
    assert named.outside_spends == [OLD.name()]


@pytest.mark.parametrize("newest", [None, 0])
def test_the_limits_themselves_are_fine(newest: int | None) -> None:
    for amount in (0, 1, MAX_U64):
        named_block(block(MAX_U32, MAX_U64, [COIN.name()], [reward(1, 0, amount)]), newest)
    assert named_block(block(0, 0, [], [COIN]), None).index == 0
    assert named_block(block(), 8).confirms == []


@pytest.mark.parametrize("newest", [9, 10, MAX_U32])
def test_an_index_at_or_below_the_newest_is_refused(newest: int) -> None:
    with pytest.raises(BlockOrderError, match=rf"block 9 refused: .* {newest} ") as caught:
        named_block(block(), newest)
    assert (caught.value.block_index, caught.value.coin_name) == (9, None)


def test_index_0_after_index_0_is_refused() -> None:
    with pytest.raises(BlockOrderError):
        named_block(block(0), 0)


@pytest.mark.parametrize(
    ("bad", "coin_name"),
    [
        (block(-1), None),
        (block(MAX_U32 + 1), None),
        (block(timestamp=-1), None),
        (block(timestamp=MAX_U64 + 1), None),
        (block(confirms=[reward(1, 0, -1)]), None),
        (block(confirms=[COIN, reward(1, 0, MAX_U64 + 1)]), None),
        (block(confirms=[Coin(SHORT, COIN.puzzle_hash, 1)]), None),
        (block(confirms=[Coin(COIN.parent_coin_name, SHORT, 1)]), None),
        (block(spends=[SHORT]), SHORT),
        (block(0, spends=[OLD.name()]), OLD.name()),
        (block(0, spends=[COIN.name()], confirms=[COIN]), COIN.name()),
    ],
)
def test_a_field_out_of_its_range_is_refused(bad: BlockSpendInfo, coin_name: bytes | None) -> None:
    with pytest.raises(InvalidBlockError) as caught:
        named_block(bad, None)
    assert (caught.value.block_index, caught.value.coin_name) == (bad.index, coin_name)


def test_what_a_block_says_twice_is_refused() -> None:
    with pytest.raises(AlreadySpentError) as spent:
        named_block(block(spends=[hash_of(1), OLD.name(), hash_of(2), OLD.name()]), 8)
    assert (spent.value.block_index, spent.value.coin_name) == (9, OLD.name())
    with pytest.raises(DuplicateCoinError) as confirmed:
        named_block(block(confirms=[OTHER, COIN, reward(9, 2), COIN]), 8)
    assert (confirmed.value.block_index, confirmed.value.coin_name) == (9, COIN.name())


class TestAgainstState:
    """check_against_state: spent[i] belongs to outside_spends[i], exists[i] to names[i]."""

    spends = sorted([hash_of(1), hash_of(2), hash_of(3)])
    named = named_block(block(spends=[*spends, COIN.name()], confirms=[COIN, OTHER]), 8)

    def test_unspent_coins_can_be_spent_and_new_ones_confirmed(self) -> None:
        check_against_state(self.named, [0, 0, 0], [False, False])

    def test_the_first_unknown_coin_is_named(self) -> None:
        with pytest.raises(UnknownCoinError) as caught:
            check_against_state(self.named, [0, None, None], [False, False])
        assert caught.value.coin_name == self.spends[1]
        assert caught.value.block_index == 9

    def test_the_first_spent_coin_is_named_with_its_block(self) -> None:
        with pytest.raises(AlreadySpentError, match="block 4 spent") as caught:
            check_against_state(self.named, [0, 0, 4], [False, False])
        assert caught.value.coin_name == self.spends[2]

    @pytest.mark.parametrize("place", [0, 1])
    def test_a_coin_that_exists_is_named(self, place: int) -> None:
        with pytest.raises(DuplicateCoinError) as caught:
            check_against_state(self.named, [0, 0, 0], [place == 0, place == 1])
        assert caught.value.coin_name == self.named.names[place]

    def test_answers_that_are_too_few_are_a_mistake(self) -> None:
        with pytest.raises(ValueError, match="shorter"):
            check_against_state(self.named, [0, 0], [False, False])


def test_a_block_error_is_one_line_with_block_and_coin() -> None:
    error = BlockError("because", 12, hash_of(1))
    assert str(error) == f"block 12 refused: because: coin {hash_of(1).hex()}"
    assert str(BlockError("because", 12)) == "block 12 refused: because"
    assert isinstance(error, CdbError)


def test_names_of_another_length_are_refused() -> None:
    whole = [bytes32(bytes(32)), COIN.name()]
    assert [checked_names(names) for names in ([], whole)] == [[], whole]
    for wrong in map(bytes32_unchecked, (b"", bytes(31), bytes(33))):
        with pytest.raises(ValueError, match=f"32 bytes, not {len(wrong)}"):
            checked_names([*whole, wrong])


def test_text_and_a_name_alone_are_no_list_of_names() -> None:
    name = COIN.name()
    with pytest.raises(
        ValueError, match=r"is bytes, not of type str; bytes\.fromhex\(\) reads hex"
    ):
        checked_names([name, name.hex()])  # type: ignore[list-item]
    for alone in (name, name.hex(), bytearray(name), memoryview(name)):
        with pytest.raises(ValueError, match="a coin name stands alone; give a list of them"):
            checked_names(alone)  # type: ignore[arg-type]
