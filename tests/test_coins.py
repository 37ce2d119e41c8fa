"""Coins have the names that they have on mainnet; bytes32 has 32 bytes."""

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdb.contract.coins import (
    MAX_U64,
    Coin,
    CoinInfo,
    bytes32,
    bytes32_unchecked,
    clvm_int,
    coin_name,
)
from tests.conftest import CALM

PARENT = bytes32(bytes(range(32)))
PUZZLE_HASH = bytes32(bytes(range(32, 64)))


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, ""),
        (1, "01"),
        (127, "7f"),
        (128, "0080"),
        (255, "00ff"),
        (256, "0100"),
        (32_767, "7fff"),
        (32_768, "008000"),
        (2**63 - 1, "7fffffffffffffff"),
        (2**63, "008000000000000000"),
        (2**64 - 1, "00ffffffffffffffff"),
    ],
)
def test_clvm_int_of_the_specification(value: int, encoded: str) -> None:
    assert clvm_int(value).hex() == encoded


@settings(CALM)
@given(st.integers(1, MAX_U64))
def test_clvm_int_is_the_shortest_that_reads_back(value: int) -> None:
    encoded = clvm_int(value)
    assert int.from_bytes(encoded, "big", signed=True) == value
    assert int.from_bytes(encoded[1:], "big", signed=True) != value


# Of mainnet's heights 0 … 63, as a full node stores them; the last amount is above 2^63.
@pytest.mark.parametrize(
    ("name", "parent", "puzzle_hash", "amount"),
    [
        (
            "00412e820ed14e4d2db5bd0b752cc67fc39c49e456d58deddc89282ed7981e1e",
            "ccd5bb71183532bff220ba46c268991a00000000000000000000000000000008",
            "b8c7d35ebee33de6e6429309eb395ab942437091ff2b581648e154c5abf848c4",
            1_750_000_000_000,
        ),
        (
            "0a575bd6ebddc39fd8ccad64fa4a1a5a92a3d53dd5c9e4c26730ab937acc87de",
            "3ff07eb358e8255a65c30a2dce0e5fbb0000000000000000000000000000002e",
            "7d8e0e7b0c14c00bf04e10bf6cb6d27ede9ddbf240c7efdf009bb673067d75fc",
            250_000_000_000,
        ),
        (
            "1fd60c070e821d785b65e10e5135e52d12c8f4d902a506f48bc1c5268b7bb45b",
            "ccd5bb71183532bff220ba46c268991a00000000000000000000000000000000",
            "d23da14695a188ae5708dd152263c4db883eb27edeb936178d4d988b8f3ce5fc",
            18_375_000_000_000_000_000,
        ),
    ],
)
def test_names_are_those_of_mainnet(name: str, parent: str, puzzle_hash: str, amount: int) -> None:
    coin = Coin(bytes32.fromhex(parent), bytes32.fromhex(puzzle_hash), amount)
    assert coin.name().hex() == name
    assert coin_name(coin.parent_coin_name, coin.puzzle_hash, amount).hex() == name
    assert type(coin.name()) is bytes32


@pytest.mark.parametrize(
    ("amount", "encoded"), [(0, b""), (128, b"\0\x80"), (MAX_U64, b"\0" + b"\xff" * 8)]
)
def test_a_name_hashes_the_clvm_form_of_the_amount(amount: int, encoded: bytes) -> None:
    expected = hashlib.sha256(PARENT + PUZZLE_HASH + encoded).digest()
    assert Coin(PARENT, PUZZLE_HASH, amount).name() == expected


@pytest.mark.parametrize("length", [0, 1, 31, 33, 64])
def test_bytes32_of_another_length_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match=f"32 bytes, not {length}$"):
        bytes32(bytes(length))
    with pytest.raises(ValueError, match=f"32 bytes, not {length}$"):
        bytes32.fromhex("00" * length)


def test_hex_digits_are_no_bytes32() -> None:
    with pytest.raises(TypeError, match=r"not text; bytes\.fromhex\(\) reads hex digits"):
        bytes32("00" * 32)  # type: ignore[arg-type]


def test_bytes32_is_bytes() -> None:
    plain = bytes(range(32))
    value = bytes32(plain)
    assert value == plain == bytes32_unchecked(plain)
    assert hash(value) == hash(plain)
    assert {plain: 1}[value] == 1
    assert type(bytes32.fromhex(plain.hex())) is bytes32
    assert type(bytes32_unchecked(plain)) is bytes32
    assert bytes32(b"\0" * 32) < value


def test_coins_are_values() -> None:
    coin = Coin(PARENT, PUZZLE_HASH, 7)
    assert coin == Coin(bytes32(bytes(PARENT)), PUZZLE_HASH, 7)
    assert len({coin, Coin(PARENT, PUZZLE_HASH, 7), Coin(PARENT, PUZZLE_HASH, 8)}) == 2
    assert CoinInfo(coin, 1, 0) == CoinInfo(Coin(PARENT, PUZZLE_HASH, 7), 1, 0)
    assert CoinInfo(coin, 1, 0) != CoinInfo(coin, 1, 2)
    with pytest.raises(AttributeError):
        coin.amount = 8  # type: ignore[misc]
