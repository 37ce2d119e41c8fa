"""A peer that means harm: blocks that are valid, or must be refused, and are made to hurt.

Each attack goes beside the reference model, which says what is right.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import MAX_U32, MAX_U64, Coin, bytes32
from cdb.errors import (
    AlreadySpentError,
    BlockOrderError,
    DuplicateCoinError,
    InvalidBlockError,
    UnknownCoinError,
)
from cdb.testing.chains import EDGE_AMOUNTS, block_at, child, hash_of, reward
from cdb.testing.crafts import CRAFTS, MANY, SAMPLE, near
from cdb.testing.side_by_side import CALLS, CLOSE, SideBySide

FEW = 24
"""Coins in an attack that tests can afford."""
MASSES = 100_000
PACK_BLOCKS = 4
FAR_INDICES = (-(2**63) - 1, -(2**31), -1, 2**31, MAX_U32 + 1, 2**63, MAX_U64 + 1)
Attack = Callable[[SideBySide, Random, int], None]
"""Tells both the same, with so many coins, and compares. Raises AssertionError."""


def _craft(make: Callable[[int], list[Coin]]) -> Attack:
    def attack(both: SideBySide, random: Random, n: int) -> None:
        _live_through(both, random, make(n))

    return attack


def _live_through(both: SideBySide, random: Random, coins: Sequence[Coin]) -> None:
    """All that can happen to coins: twice, for a rewind takes it back."""
    start = both.chain.newest_index
    some = [coin.name() for coin in random.sample(coins, min(SAMPLE, len(coins)))]
    for packed in (True, False):
        both.accept(_in_blocks(both, coins), packed=packed)
        _refuse(both, random, DuplicateCoinError, confirms=coins[:1])
        both.look_up([*some, *(each for name in some for each in near(name))])
        both.accept([both.chain.next(spends=some)], packed=not packed)
        both.reopen()
        _refuse(both, random, AlreadySpentError, spends=some[:1])
        _refuse(both, random, DuplicateCoinError, confirms=coins[-1:])
        both.agree()
        if packed:
            both.rewind(start)
            _refuse(both, random, UnknownCoinError, spends=some[:1])


def _rewound(both: SideBySide, random: Random, n: int) -> None:
    """Coins of a branch that was abandoned are spent, and come again on the other."""
    kept = _rewards(both, n)
    both.accept([both.chain.next(confirms=kept)], packed=True)
    fork = both.chain.newest_index
    gone = _rewards(both, n, 1)
    both.accept([both.chain.next(spends=_names(kept), confirms=gone)], packed=True)
    both.flush()
    both.rewind(fork)
    both.accept(_in_blocks(both, _rewards(both, n, 2)), packed=True)
    for then, coin in zip(CALLS, gone, strict=False):
        _refuse(both, random, UnknownCoinError, spends=[coin.name()], then=then)
    both.accept([both.chain.next(spends=_names(kept[: n // 2]), confirms=gone)], packed=True)
    both.accept([both.chain.next(spends=_names(gone[: n // 2]))])
    _refuse(both, random, AlreadySpentError, spends=_names(gone[:1]))
    both.reopen()
    both.agree()


def _later(both: SideBySide, random: Random, n: int) -> None:
    """Coins are spent before a later block confirms them; or in the block that does, in a chain."""
    index = both.chain.next_index - 1
    coins = _rewards(both, n)
    for coin in coins[:SAMPLE]:
        spending = BlockSpendInfo(index + 1, 0, [coin.name()], [])
        confirming = BlockSpendInfo(index + 2, 0, [], coins)
        error = both.offer([spending, confirming], packed=True, then=_call(random))
        assert error is UnknownCoinError
    line = [reward(index + 3, 1)]
    while len(line) < min(n, 10 * FEW):
        line.append(child(line[-1].name()))
    both.accept(
        [
            BlockSpendInfo(index + 2, 0, [], coins),
            BlockSpendInfo(index + 3, 0, _names(line[:0:-1]), line[::-1]),
            BlockSpendInfo(index + 4, 0, _names(coins), []),
        ],
        packed=True,
    )
    both.agree()


def _near_names(both: SideBySide, random: Random, n: int) -> None:
    """Names are spent that nobody has, but nearly."""
    coins = _rewards(both, n)
    both.accept(_in_blocks(both, coins), packed=True)
    for coin in coins[:2]:
        for name in near(coin.name()):
            _refuse(both, random, UnknownCoinError, spends=[name])
    both.reopen()
    both.look_up([name for coin in coins[: MASSES // 10] for name in near(coin.name())])
    both.agree()


def _early_children(both: SideBySide, random: Random, n: int) -> None:
    """Coins come before their parents are spent, or are there: in masses, and then once more."""
    parents = _rewards(both, n)
    names = _names(parents)
    start = both.chain.newest_index
    early = [child(name) for name in names]
    # Within one block a parent may stand behind its child, and never be spent.
    both.accept([both.chain.next(confirms=[*early[: n // 2], *parents])], packed=True)
    both.accept(_in_blocks(both, early[n // 2 :]), packed=True)
    for again in (early[0], early[-1]):
        spends = [again.parent_coin_name]
        _refuse(both, random, DuplicateCoinError, spends=spends, confirms=[again])
    both.reopen()
    _refuse(both, random, DuplicateCoinError, spends=names[1:2], confirms=early[1:2])
    both.accept([both.chain.next(spends=names, confirms=[child(name, 1) for name in names])])
    both.agree()
    both.rewind(start)
    both.accept([both.chain.next(confirms=parents)], packed=True)
    both.accept([both.chain.next(spends=names, confirms=early)], packed=True)
    both.agree()


def _many_spends(both: SideBySide, random: Random, n: int) -> None:
    """One block spends everything; first with one coin more that is unknown."""
    coins = _rewards(both, MANY * n)
    both.accept([both.chain.next(confirms=coins)], packed=True)
    fork = both.chain.newest_index
    for packed in (True, False):
        _refuse(both, random, UnknownCoinError, spends=[*_names(coins), hash_of("nobody")])
        both.accept([both.chain.next(spends=_names(coins))], packed=packed)
        both.rewind(fork)
    both.accept([both.chain.next(spends=_names(coins))], packed=True)
    both.agree()


def _limits(both: SideBySide, random: Random, n: int) -> None:
    """Every number at its limits, and asked for beyond them."""
    start = both.chain.newest_index
    coins = [
        Coin(hash_of("limit", place), hash_of(place), amount)
        for place, amount in enumerate(EDGE_AMOUNTS)
    ]
    both.accept([both.chain.next(confirms=coins)], packed=True)
    for timestamp in (0, 2**63 - 1, 2**63, MAX_U64):
        index = both.chain.next_index
        both.accept([BlockSpendInfo(index, timestamp, [], [reward(index, 1)])])
    both.reopen()
    for index in (2**31 - 1, 2**31, MAX_U32):
        both.accept([block_at(index, 1)], packed=True)
    for index, error in ((MAX_U32, BlockOrderError), (MAX_U32 + 1, InvalidBlockError)):
        assert both.offer([BlockSpendInfo(index, 0, [], [])], packed=False) is error
    both.reopen()
    for index in FAR_INDICES:
        block = both.schema.block_info_for_block_index(index)
        assert block == both.model.block_info_for_block_index(index), f"block {index} differs"
    both.agree()
    for index in (MAX_U64 + 1, 2**63, MAX_U32, start):
        both.rewind(index)
        both.agree()


ATTACKS: Mapping[str, Attack] = {
    **{name: _craft(make) for name, make in CRAFTS.items()},
    "rewound": _rewound,
    "later": _later,
    "near-names": _near_names,
    "early-children": _early_children,
    "many-spends": _many_spends,
    "limits": _limits,
}
"""Each ends in a chain that the next one can follow."""


def _in_blocks(both: SideBySide, coins: Sequence[Coin]) -> list[BlockSpendInfo]:
    index, step = both.chain.next_index, -(-len(coins) // PACK_BLOCKS)
    parts = (coins[begin : begin + step] for begin in range(0, len(coins), step))
    return [BlockSpendInfo(index + n, n, [], [*part]) for n, part in enumerate(parts)]


def _rewards(both: SideBySide, n: int, branch: int = 0) -> list[Coin]:
    """Coins that were never there."""
    return [reward(both.chain.next_index, MASSES * MANY * branch + place) for place in range(n)]


def _names(coins: Iterable[Coin]) -> list[bytes32]:
    return [coin.name() for coin in coins]


def _call(random: Random) -> str:
    return random.choice([call for call in CALLS if call != CLOSE])


def _refuse(
    both: SideBySide,
    random: Random,
    error: type[Exception],
    *,
    spends: Sequence[bytes32] = (),
    confirms: Sequence[Coin] = (),
    then: str | None = None,
) -> None:
    """A block is refused alone, and in a pack behind one that is not."""
    bad = both.chain.next(spends=spends, confirms=confirms)
    assert both.offer([bad], packed=False) is error
    good = both.chain.next(confirms=[reward(bad.index, -1)])
    bad = BlockSpendInfo(good.index + 1, 0, bad.spends, bad.confirms)
    assert both.offer([good, bad], packed=True, then=then or _call(random)) is error
