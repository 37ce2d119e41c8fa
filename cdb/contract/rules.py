"""The rules of a block, in Python: for row stores, and to tell what a refused block breaks.

native/rules/block_rules.h has them for native stores. The reference model says them on its own, and
tests/test_rules.py holds all three to be the same.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from struct import Struct
from typing import NamedTuple, Protocol

from cdb.contract.blocks import BlockSpendInfo, NamedBlock, canonical, in_range
from cdb.contract.coins import MAX_U32, bytes32_unchecked
from cdb.contract.objects import packed_block
from cdb.contract.packed import INFO_BYTES, Packed, PackedBlocks, for_each
from cdb.errors import (
    AlreadySpentError,
    BlockError,
    BlockOrderError,
    DuplicateCoinError,
    InvalidBlockError,
    UnknownCoinError,
)

_NAME = Struct("32s")
_PARENT = Struct("32s40x")
_WORDS = INFO_BYTES // 4
"""Of a packed info: the last one is the spent index."""


class KnownCoins(Protocol):
    """What a store knows of the coins before some blocks; it calls each by a number."""

    def find(self, names: Sequence[bytes], /) -> Sequence[int | None]:
        """The coin of each name, in the order asked; None where there is none."""
        ...

    def spent(self, coins: Sequence[int], /) -> Iterable[tuple[int, int]]:
        """Those of the coins that are spent, each with the index of the block that spent it."""
        ...

    def parents_of_older(
        self, early: Sequence[bytes], spends: Sequence[bytes], /
    ) -> Collection[bytes] | None:
        """The parents whose children may be there, and have to be looked for. None: any parent's.

        A coin's name contains its parent's, and a coin is spent once. So a coin whose parent is
        spent, validly, by the very block that confirms it can be there only as an early child: an
        earlier block confirmed it without spending the parent. Hence two kinds of parents count:
        those of the blocks' own early children, if they may have a child, and those of the blocks'
        spends that may have an early child.
        """
        ...


@dataclass(frozen=True, slots=True)
class Faults:
    """What breaks the rules: nothing, if this is false. A field a rule, in the order of telling.

    order: of the blocks' indices. confirmed_twice, spent_twice: names that stand there twice.
    unknown: spends of coins that are neither there nor the block's own. spent: spends of coins that
    are spent, with the blocks that spent them. existing: confirms that are there already.
    """

    order: BlockError | None = None
    confirmed_twice: Collection[bytes] = ()
    spent_twice: Collection[bytes] = ()
    unknown: Collection[bytes] = ()
    spent: Mapping[bytes, int] = field(default_factory=dict)
    existing: Sequence[bytes] = ()

    def __bool__(self) -> bool:
        named = self.confirmed_twice, self.spent_twice, self.unknown, self.spent, self.existing
        return self.order is not None or any(named)

    def check(self, index: int) -> None:
        """Raise the BlockError of the block with this index, whose faults these are, if any.

        It names the first coin at fault, in canonical order.
        """
        if self.order is not None:
            raise self.order
        if self.confirmed_twice:
            raise DuplicateCoinError("it confirms a coin twice", index, min(self.confirmed_twice))
        if self.spent_twice:
            raise AlreadySpentError("it spends a coin twice", index, min(self.spent_twice))
        if self.unknown or self.spent:
            name = min([*self.unknown, *self.spent])
            if name not in self.spent:
                raise UnknownCoinError("it spends a coin that does not exist", index, name)
            reason = f"it spends a coin that block {self.spent[name]} spent already"
            raise AlreadySpentError(reason, index, name)
        if self.existing:
            reason = "it confirms a coin that exists already"
            raise DuplicateCoinError(reason, index, self.existing[0])


class Joined(NamedTuple):
    """Canonical blocks, and what they say of each other's coins.

    faults: what they break by themselves. coins: the number of each confirm, by its name and in
    packed order. own_spends: of each spend the number of a coin of theirs, or None; then it is one
    of outside_spends. parents: of each confirm; early_parents: of those that are confirmed without
    their parent's spend.
    """

    faults: Faults
    names: list[bytes]
    parents: list[bytes]
    spends: list[bytes]
    coins: dict[bytes, int]
    own_spends: list[int | None]
    outside_spends: list[bytes]
    early_parents: list[bytes]


def join(blocks: PackedBlocks, newest_index: int | None, first_coin: int = 0) -> Joined:
    """Hold blocks against the rules, as far as they can be broken without any other coin.

    newest_index: of the block before them. Their coins are numbered from first_coin on. Names are
    believed.
    """
    names, spends = _unpacked(_NAME, blocks.names), _unpacked(_NAME, blocks.spends)
    parents = _unpacked(_PARENT, blocks.confirms)
    coins = dict(zip(names, range(first_coin, first_coin + len(names)), strict=True))
    spending = dict(zip(spends, for_each(blocks.indices, blocks.spend_ends), strict=True))
    own = [coins.get(name) for name in spends]
    ends = for_each([first_coin + end for end in blocks.confirm_ends], blocks.spend_ends)
    ahead = [
        name
        for name, coin, end in zip(spends, own, ends, strict=True)
        if coin is not None and coin >= end
    ]
    confirming = for_each(blocks.indices, blocks.confirm_ends)
    early = [
        parent
        for parent, index in zip(parents, confirming, strict=True)
        if spending.get(parent) != index
    ]
    faults = Faults(
        _out_of_order(blocks, newest_index),
        _repeated(names) if len(coins) < len(names) else (),
        _repeated(spends) if len(spending) < len(spends) else (),
        ahead,
    )
    outside = [name for name, coin in zip(spends, own, strict=True) if coin is None]
    return Joined(faults, names, parents, spends, coins, own, outside, early)


def examine(joined: Joined, known: KnownCoins) -> tuple[Faults, list[int]]:
    """Hold blocks against all rules, by one look-up of the coins before them.

    Gives all faults and, where there are none, the number of the coin of each spend.
    """
    names, outside = joined.names, joined.outside_spends
    suspects = known.parents_of_older(joined.early_parents, joined.spends)
    doubtful = names if suspects is None else []
    if suspects:
        each = zip(names, joined.parents, strict=True)
        doubtful = [name for name, parent in each if parent in suspects]
    found = known.find([*outside, *doubtful])
    older, again = found[: len(outside)], found[len(outside) :]
    there = [coin for coin in older if coin is not None]
    spent_by = dict(known.spent(there))
    faults = replace(
        joined.faults,
        unknown=[*joined.faults.unknown, *_those(outside, (coin is None for coin in older))],
        spent={
            name: spent_by[coin]
            for name, coin in zip(outside if spent_by else (), older, strict=False)
            if coin is not None and coin in spent_by
        },
        existing=_those(doubtful, (coin is not None for coin in again)),
    )
    oldest_first = iter(there)
    own = () if faults else joined.own_spends
    return faults, [next(oldest_first) if coin is None else coin for coin in own]


class LookedUp:
    """KnownCoins of a backend's find(), or anything like it: coins by their places in its answer.

    infos: of the last answer.
    """

    def __init__(self, lookup: Callable[[bytes], tuple[Packed, Packed]]) -> None:
        self._lookup = lookup
        self.infos: Packed = b""

    def find(self, names: Sequence[bytes]) -> list[int | None]:
        """See KnownCoins."""
        self.infos, found = self._lookup(b"".join(names))
        return [place if is_found else None for place, is_found in enumerate(found)]

    def spent(self, coins: Sequence[int]) -> list[tuple[int, int]]:
        """See KnownCoins."""
        indices = memoryview(self.infos).cast("I")[_WORDS - 1 :: _WORDS].tolist()
        return [(coin, indices[coin]) for coin in coins if indices[coin]]

    def parents_of_older(self, early: Sequence[bytes], spends: Sequence[bytes]) -> None:
        """See KnownCoins: nobody has kept account."""


def named_block(
    block: BlockSpendInfo, newest_index: int | None, known: KnownCoins | None = None
) -> NamedBlock:
    """Put a block in order and name its coins, if it breaks no rule.

    newest_index: of the block before it. known: what can't be checked without the coin set is left
    out, unless this is given. Raises InvalidBlockError, BlockOrderError, DuplicateCoinError,
    AlreadySpentError or UnknownCoinError; and ValueError as with_plain_fields().
    """
    block = in_range(block)
    packed = packed_block(block)
    assert packed is not None, "a field is out of its range"  # noqa: S101
    joined = join(packed, newest_index)
    faults = joined.faults if known is None else examine(joined, known)[0]
    faults.check(block.index)
    ordered, make = canonical(block), bytes32_unchecked
    return NamedBlock(
        block.index,
        block.timestamp,
        ordered.spends,
        ordered.confirms,
        [make(name) for name in joined.names],
        [make(name) for name in joined.outside_spends],
    )


def check_against_state(
    block: NamedBlock, spent: Sequence[int | None], exists: Sequence[bool]
) -> None:
    """Check the block against the coin set that it follows.

    spent[i] is the spent index of outside_spends[i] (0: unspent, None: no such coin);
    exists[i] tells whether names[i] is taken. Raises UnknownCoinError, AlreadySpentError or
    DuplicateCoinError for the first coin at fault.
    """
    spends = [*zip(block.outside_spends, spent, strict=True)]
    Faults(
        unknown=[name for name, index in spends if index is None],
        spent={name: index for name, index in spends if index},
        existing=_those(block.names, exists),
    ).check(block.index)


def _out_of_order(blocks: PackedBlocks, newest: int | None) -> BlockError | None:
    bounds = pairwise([0, *blocks.spend_ends])
    for index, (start, end) in zip(blocks.indices, bounds, strict=True):
        if index > MAX_U32:
            return InvalidBlockError(f"its index is not in 0 … {MAX_U32}", index)
        if index == 0 and end > start:
            reason = "block 0 can spend nothing, because spent index 0 means unspent"
            return InvalidBlockError(reason, index, bytes(blocks.spends[: _NAME.size]))
        if newest is not None and index <= newest:
            return BlockOrderError(f"the newest block is {newest} already", index)
        newest = index
    return None


def _unpacked(item: Struct, packed: Packed) -> list[bytes]:
    return [field for (field,) in item.iter_unpack(packed)]


def _those(names: Sequence[bytes], are: Iterable[bool]) -> list[bytes]:
    return [name for name, it_is in zip(names, are, strict=True) if it_is]


def _repeated(names: Sequence[bytes]) -> set[bytes]:
    return {one for one, following in pairwise(sorted(names)) if one == following}
