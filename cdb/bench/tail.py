"""The tail: a replay's last blocks, to be rewound and accepted again."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import Coin, bytes32
from cdb.contract.packed import PackedBlocks
from cdb.text.scanner import scan_packed

SMALL_COINS = 45  # as many as mainnet's transaction blocks have


def packs_of(path: str | Path, above: int = -1, up_to: int | None = None) -> Iterator[PackedBlocks]:
    """The blocks of a replay whose index is above one, and not above another."""
    with Path(path).open("rb", buffering=0) as stream:
        for packed in scan_packed(stream):
            start = bisect_right(packed.indices, above)
            stop = len(packed) if up_to is None else bisect_right(packed.indices, up_to)
            if start < stop:
                yield packed.part(start, stop)
            if stop < len(packed):
                return


def small_blocks(packs: Iterable[PackedBlocks]) -> Iterator[BlockSpendInfo]:
    """The same spends and coins in blocks of SMALL_COINS, or more where one spend makes more.

    Their indices count on from the first block's. What doesn't fill a last block is left out.
    """
    index, spends, coins = None, list[bytes32](), list[Coin]()
    for packed in packs:
        index = packed.indices[0] if index is None else index
        for place in range(len(packed)):
            block = packed.block(place)
            for spend, children in in_order(block):
                spends += [] if spend is None else [spend]
                coins += children
                if len(coins) >= SMALL_COINS:
                    yield BlockSpendInfo(index, block.timestamp, spends, coins)
                    index += 1
                    spends, coins = [], []


def in_order(block: BlockSpendInfo) -> Iterator[tuple[bytes32 | None, list[Coin]]]:
    """What a block does, step by step: a spend and its children, or a coin that has no parent.

    A coin that is made and spent in the block is made first.
    """
    children = defaultdict(list)
    for coin in block.confirms:
        children[coin.parent_coin_name].append(coin)
    spends = set(block.spends)
    made = {coin.name(): coin for coin in block.confirms}
    ready = [name for name in block.spends if name not in made]
    for name, coin in made.items():
        if coin.parent_coin_name not in spends:
            yield None, [coin]
            if name in spends:
                ready.append(name)
    while ready:
        spend = ready.pop(0)
        yield spend, children[spend]
        ready += [name for name in map(Coin.name, children[spend]) if name in spends]
