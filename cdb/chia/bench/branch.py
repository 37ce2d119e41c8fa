"""A branch that loses: what a node sees of the chain's next blocks before it sees the chain's."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from cdb.bench.tail import in_order
from cdb.contract.blocks import BlockSpendInfo, canonical
from cdb.contract.coins import bytes32

_OTHER_FARMER = bytes32(b"farmer of a branch that was lost")


def branch_that_loses(blocks: Iterable[BlockSpendInfo]) -> Iterator[BlockSpendInfo]:
    """The same transactions with other rewards, without those that spend what the rewards were."""
    lost: set[bytes] = set()
    for block in blocks:
        made = BlockSpendInfo(block.index, block.timestamp, [], [])
        for spend, children in in_order(block):
            if spend is None:
                made.confirms += [replace(coin, puzzle_hash=_OTHER_FARMER) for coin in children]
            elif spend not in lost:
                made.spends.append(spend)
                made.confirms += children
                continue
            lost.update(coin.name() for coin in children)
        yield canonical(made)
