"""Coins, their names, and what tells a reward of mainnet's from other coins."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Self

NAME_BYTES = 32
MAX_U32 = 2**32 - 1
MAX_U64 = 2**64 - 1


class bytes32(bytes):  # noqa: N801 - the name is the field's own
    """Exactly 32 bytes: a coin name or a puzzle hash. Other lengths raise ValueError."""

    __slots__ = ()

    def __new__(cls, value: bytes) -> Self:
        if len(value) != NAME_BYTES:
            if isinstance(value, str):
                raise TypeError("bytes32 takes bytes, not text; bytes.fromhex() reads hex digits")
            raise ValueError(f"bytes32 takes {NAME_BYTES} bytes, not {len(value)}")
        return super().__new__(cls, value)


# For values whose length is known already: half the price of bytes32(value).
bytes32_unchecked: Callable[[bytes], bytes32] = partial(bytes.__new__, bytes32)


def clvm_int(value: int) -> bytes:
    """The shortest big-endian two's-complement form of a non-negative integer; 0 is empty."""
    return value.to_bytes((value.bit_length() + 8) >> 3, "big") if value else b""


def coin_name(parent_coin_name: bytes, puzzle_hash: bytes, amount: int) -> bytes32:
    """SHA-256(parent ‖ puzzle hash ‖ clvm_int(amount)); amount in mojos."""
    preimage = parent_coin_name + puzzle_hash + clvm_int(amount)
    return bytes32_unchecked(hashlib.sha256(preimage).digest())


@dataclass(frozen=True, slots=True)
class Coin:
    """One coin; amount in mojos, 0 … 2^64-1."""

    parent_coin_name: bytes32
    puzzle_hash: bytes32
    amount: int

    def name(self) -> bytes32:
        """The coin's 32-byte name, computed at each call."""
        return coin_name(self.parent_coin_name, self.puzzle_hash, self.amount)


@dataclass(frozen=True, slots=True)
class CoinInfo:
    """A coin and the blocks that confirmed and spent it; ``spent_index == 0`` means unspent."""

    coin: Coin
    confirmed_index: int
    spent_index: int


REWARD_PREFIX_BYTES = 16
_REWARD_ZEROS = slice(REWARD_PREFIX_BYTES, NAME_BYTES - 4)


def is_reward(parent_coin_name: bytes) -> bool:
    """Whether a coin with this parent is a reward: no coin has such a name.

    It is 16 bytes of the network's, zeros, and a height of 4 bytes. To make a coin of such a name
    would take 2^96 hashes.
    """
    return not any(parent_coin_name[_REWARD_ZEROS])
