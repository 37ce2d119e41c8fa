"""Blocks to test secondary keys with, whatever keeps them."""

from dataclasses import replace

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import Coin
from cdb.testing.chains import Chain, hash_of, paid, sample_chain
from cdb.testing.keys import kin

PAYEE = hash_of("payee")


def chain_with_kin() -> Chain:
    """With children of every kind."""
    chain = sample_chain(15)
    before = chain.newest_index + 1
    for block in kin():
        chain.append(replace(block, index=before + block.index))
    return chain


def masses(n: int) -> list[BlockSpendInfo]:
    """n coins of one puzzle hash, PAYEE, 20 a block, and one that is alone with its own."""
    coins = [Coin(hash_of("payer", place), PAYEE, 1) for place in range(n)]
    return [
        BlockSpendInfo(index, 0, [], [*coins[20 * index - 20 : 20 * index], _lonely(index)])
        for index in range(1, n // 20 + 1)
    ]


def _lonely(n: int) -> Coin:
    return Coin(hash_of("lonely", n), hash_of("only", n), 1)


def late_rewards() -> list[BlockSpendInfo]:
    """Heights without a block pay their rewards in the next one."""
    return [
        BlockSpendInfo(index, 0, [], [paid(height) for height in range(index - 3, index)])
        for index in range(3, 300, 3)
    ]
