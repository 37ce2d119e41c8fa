"""What a schema that takes packs promises of them; where it takes none, these tests are skipped."""

from array import array
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cdb.contract.blocks import BlockSpendInfo, canonical_coin_key
from cdb.contract.coins import bytes32
from cdb.contract.packed import PackedBlocks, pack_unnamed
from cdb.contract.packed_state import with_names
from cdb.contract.schema import Schema, offer_of
from cdb.errors import AlreadySpentError, DuplicateCoinError, InvalidBlockError, UnknownCoinError
from cdb.testing.base import SchemaTests
from cdb.testing.chains import (
    BREACHES,
    Chain,
    block_at,
    child,
    paid,
    random_block,
    reward,
    sample_chain,
)
from cdb.testing.faults.remote import RemoteSchema, remotely
from cdb.testing.side_by_side import CALLS, CLOSE, SideBySide

PACKABLE = [
    name
    for name, breach in BREACHES.items()
    # A field that is out of its range can't be packed.
    if breach.error is not InvalidBlockError or name == "block 0 spends"
]
LARGE_BLOCKS, LARGE_COINS = 10, 120
"""Of a pack with more bytes than are written at once."""

_FIELDS = (
    *("indices", "timestamps", "spend_ends", "confirm_ends"),
    *("spends", "confirms", "names"),
)
_Tampering = Callable[[PackedBlocks], PackedBlocks]


class Unchecked(PackedBlocks):
    """Says that it is in order."""

    def checked(self) -> PackedBlocks:
        """See PackedBlocks."""
        return self


class LyingBytes(bytes):
    """Has a length of its own."""

    length: int

    def __len__(self) -> int:
        return self.length


class LyingArray(array):  # type: ignore[type-arg]
    """Has a length and items of its own."""

    length: int

    def __new__(cls, items: Any) -> Any:
        return super().__new__(cls, "Q", items)

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, place: Any) -> Any:
        return super().__getitem__(0) if isinstance(place, int) else array("Q", self)


class PackTests(SchemaTests):
    """accept_packed: as if each block were accepted alone, but that a refusal may come later."""

    def test_in_a_pack_a_block_is_refused_as_alone_wherever_it_is(self, path: Path) -> None:
        random = Random(1)  # noqa: S311 - reproducible, not secret
        with self._both(path) as both:
            both.accept(sample_chain(12).blocks)
            for breach in PACKABLE:
                for n_before in (0, 1, 5):
                    *blocks, last = _next(both.chain, n_before + 1, random)
                    chain = Chain.of([*both.chain.blocks, *blocks])
                    bad = BREACHES[breach].make(chain, last)
                    assert bad is not None
                    later = block_at(last.index + 9)
                    then = random.choice([call for call in CALLS if call != CLOSE])
                    error = both.offer([*blocks, bad, later], packed=True, then=then)
                    assert error is BREACHES[breach].error
            both.agree()

    def test_of_two_bad_blocks_the_first_is_named(self, path: Path) -> None:
        random = Random(1)  # noqa: S311 - reproducible, not secret
        with self._both(path) as both:
            both.accept(sample_chain(12).blocks)
            for first in PACKABLE:
                for second in PACKABLE:
                    good, valid = _next(both.chain, 2, random)
                    chain = Chain.of([*both.chain.blocks, good])
                    bad = BREACHES[first].make(chain, valid)
                    worse = BREACHES[second].make(chain, replace(valid, index=valid.index + 1))
                    assert bad is not None
                    assert worse is not None
                    error = both.offer([good, bad, worse], packed=True)
                    assert error is BREACHES[first].error
            both.agree()

    def test_a_coin_that_a_later_block_confirms_is_unknown(self, path: Path) -> None:
        with self._both(path) as both:
            both.accept(sample_chain(12).blocks)
            index = both.chain.newest_index + 1
            coin = reward(index + 1, 7)
            spending = BlockSpendInfo(index, 0, [coin.name()], [reward(index)])
            confirming = BlockSpendInfo(index + 1, 0, [], [coin])
            good = BlockSpendInfo(index + 2, 0, [coin.name()], [])
            assert both.offer([spending, confirming], packed=True) is UnknownCoinError
            assert both.offer([spending, good, confirming], packed=True) is UnknownCoinError
            both.agree()
            assert both.offer([confirming, good], packed=True) is None
            both.agree()

    def test_a_coin_is_spent_once_in_a_pack_and_across_packs(self, path: Path) -> None:
        old, young = reward(1), reward(2, 1)
        with self._both(path) as both:
            assert both.offer([BlockSpendInfo(1, 0, [], [old])], packed=True) is None
            pack = [
                BlockSpendInfo(2, 0, [], [young]),
                BlockSpendInfo(3, 0, [young.name()], []),
                BlockSpendInfo(4, 0, [young.name()], [reward(4)]),
            ]
            assert both.offer(pack, packed=True) is AlreadySpentError
            twice = [BlockSpendInfo(n, 0, [old.name()], [reward(n)]) for n in (5, 6)]
            assert both.offer(twice, packed=True) is AlreadySpentError
            both.agree()
            for coin in (old, young):
                again = [
                    block_at(7),
                    BlockSpendInfo(8, 0, [coin.name()], []),
                ]
                assert both.offer(again, packed=True) is AlreadySpentError
                both.rewind(6)
            both.agree()

    def test_a_coin_is_confirmed_once_in_a_pack_and_across_packs(self, path: Path) -> None:
        coins = [reward(1), reward(2)]
        with self._both(path) as both:
            pack = [
                BlockSpendInfo(1, 0, [], [coins[0]]),
                BlockSpendInfo(2, 0, [coins[0].name()], [coins[1], child(coins[0].name())]),
            ]
            assert (
                both.offer([*pack, BlockSpendInfo(3, 0, [], [coins[0]])], packed=True)
                is DuplicateCoinError
            )
            both.agree()
            for coin in both.chain.blocks[1].confirms:
                good = block_at(5)
                bad = BlockSpendInfo(6, 0, [], [reward(6), coin])
                assert both.offer([good, bad], packed=True) is DuplicateCoinError
                both.rewind(4)
            both.agree()

    def test_rewards_whose_heights_fall_are_confirmed_once(self, path: Path) -> None:
        """Who keeps a newest height of rewards takes the highest, not the last."""
        high, low = paid(9), paid(3)
        with self._both(path) as both:
            pack = [BlockSpendInfo(10, 0, [], [high]), BlockSpendInfo(11, 0, [], [low])]
            assert both.offer(pack, packed=True) is None
            for coin in (high, low):
                again = [BlockSpendInfo(12, 0, [], [coin])]
                assert both.offer(again, packed=True) is DuplicateCoinError
            both.agree()

    def test_a_block_that_is_not_canonical_is_a_value_error(self, path: Path) -> None:
        coins = sorted([reward(1, n) for n in range(3)], key=canonical_coin_key)
        spends = sorted(coin.name() for coin in coins)
        with self._both(path) as both:
            both.accept([BlockSpendInfo(1, 0, [], coins)])
            falling = sorted([reward(2, n) for n in range(3)], key=canonical_coin_key)[::-1]
            packing = offer_of(both.schema).accepts_packed
            assert packing is not None
            for block in (
                BlockSpendInfo(2, 0, [], falling),
                BlockSpendInfo(2, 0, spends[::-1], []),
                BlockSpendInfo(2, 0, [*spends[:1], *spends[:0:-1]], [falling[0]]),
            ):
                with pytest.raises(ValueError, match="block 2 is not in canonical form"):
                    packing.accept_packed(with_names(pack_unnamed([block])))
                both.agree()
            both.accept([BlockSpendInfo(2, 0, spends, falling)], packed=True)
            both.agree()

    @pytest.mark.parametrize("between", ["one pack", "two packs", "a flush", "a reopening"])
    def test_a_coin_that_came_before_its_parent_was_spent_comes_no_second_time(
        self, path: Path, between: str
    ) -> None:
        with self._both(path) as both:
            both.accept([block_at(1, coins=40)], packed=True)
            parents = list(both.chain.unspent)
            early = [child(parent, 5) for parent in parents]
            again = [
                block_at(3),
                BlockSpendInfo(4, 0, parents[:1], early[:1]),
            ]
            first = BlockSpendInfo(2, 0, [], early)
            if between == "one pack":
                again = [first, *again]
            else:
                both.accept([first], packed=True)
            if between == "a flush":
                both.accept([block_at(n, coins=40) for n in range(100, 105)], packed=True)
                both.flush()
            elif between == "a reopening":
                both.reopen()
            base = both.chain.newest_index + 1
            again = [replace(each, index=base + n) for n, each in enumerate(again)]
            assert both.offer(again, packed=True) is DuplicateCoinError
            last = both.chain.newest_index
            assert both.offer([BlockSpendInfo(last + 1, 0, parents[:1], [])], packed=True) is None
            alone = BlockSpendInfo(last + 2, 0, parents[1:2], early[1:2])
            assert both.offer([alone], packed=False) is DuplicateCoinError
            both.agree()

    @pytest.mark.parametrize("sealed", [False, True])
    def test_after_a_rewind_a_coin_of_the_abandoned_branch_is_unknown(
        self, path: Path, sealed: bool
    ) -> None:
        """Whatever was left over of it: at once, or with the next call of any kind."""
        with self._both(path) as both:
            abandoned = iter(_abandon(both, sealed=sealed))
            for then in CALLS:
                index, name = both.chain.newest_index + 1, next(abandoned)
                pack = [
                    block_at(index),
                    BlockSpendInfo(index + 1, 0, [name], [reward(index + 1)]),
                    block_at(index + 2),
                ]
                assert both.offer(pack, packed=True, then=then) is UnknownCoinError
                assert both.schema.last_block_index == index
                assert both.offer([pack[1]], packed=False) is UnknownCoinError
                both.accept(pack[2:], packed=True)
                both.agree()
            both.reopen()
            both.agree()

    def test_what_is_refused_later_is_not_there_after_a_kill(self, path: Path) -> None:
        with self._remotely(path) as (both, opened):
            for name in _abandon(both, sealed=False)[:2]:
                index = both.chain.newest_index + 1
                bad = BlockSpendInfo(index + 1, 0, [name], [reward(index + 1)])
                pack = [block_at(index, coins=3), bad, *_large_pack(index + 2)]
                both.offer_and_kill(pack, lambda: opened[-1].kill())
                both.accept([block_at(both.chain.newest_index + 1, coins=3)], packed=True)
                both.flush()
            both.reopen()
            both.agree()

    def test_a_large_pack_survives_its_flush_its_close_and_a_rewind_into_it(
        self, path: Path
    ) -> None:
        with self._both(path) as both:
            both.accept(_large_pack(1), packed=True)
            both.reopen()
            both.agree()
            both.accept(_large_pack(101), packed=True)
            both.flush()
            both.rewind(110)
            both.accept(_large_pack(201), packed=True)
            both.rewind(210)
            both.reopen()
            both.agree()

    def test_buffers_whose_lengths_disagree_are_a_value_error_and_nothing_happens(
        self, path: Path
    ) -> None:
        # Where nobody checks them, the process may die.
        with self._remotely(path) as (both, opened):
            chain = sample_chain(12)
            both.accept(chain.blocks[:8])
            packed = PackedBlocks.of(chain.blocks[8:])
            for what, tamper in _TAMPERINGS.items():
                with pytest.raises(ValueError, match="packed blocks"):
                    opened[-1].accept_packed(tamper(packed))
                assert both.schema.last_block_index == both.model.last_block_index, what
            both.agree()
            both.accept(chain.blocks[8:], packed=True)
            both.agree()

    def test_an_empty_pack_changes_nothing(self, path: Path) -> None:
        with self._both(path) as both:
            both.accept([], packed=True)
            both.accept(sample_chain(3).blocks, packed=True)
            both.accept([], packed=True)
            both.agree()

    @contextmanager
    def _both(self, path: Path) -> Iterator[SideBySide]:
        """The schema beside the model."""
        both = SideBySide(lambda: self.open(path))
        try:
            if not _takes_packs(both.schema):
                pytest.skip("it takes no packs")
            yield both
        finally:
            both.schema.close()

    @contextmanager
    def _remotely(self, path: Path) -> Iterator[tuple[SideBySide, list[RemoteSchema]]]:
        """The same in a process of its own. See remotely()."""
        with remotely(self.spec(), path) as (both, opened):
            if not opened[-1].do(_takes_packs):
                pytest.skip("it takes no packs")
            yield both, opened


def _takes_packs(schema: Schema) -> bool:
    return offer_of(schema).accepts_packed is not None


def _next(chain: Chain, n_blocks: int, random: Random) -> list[BlockSpendInfo]:
    """Blocks that can follow; the last one spends and confirms."""
    grown = chain.grown(n_blocks - 1, lambda grown: random_block(grown, random))
    while not (last := random_block(grown, random)).spends:
        pass
    return [*grown.above(chain.newest_index), last]


def _large_pack(first_index: int) -> list[BlockSpendInfo]:
    return [block_at(first_index + n, coins=LARGE_COINS) for n in range(LARGE_BLOCKS)]


def _abandon(both: SideBySide, *, sealed: bool) -> list[bytes32]:
    """Rewind a block, and let another branch take the place of its coins: their names.

    sealed: the database is closed before.
    """
    both.accept([block_at(1, coins=5), block_at(2, coins=60)], packed=True)
    gone = [coin.name() for coin in both.chain.blocks[-1].confirms]
    if sealed:
        both.reopen()
    both.rewind(1)
    both.accept([block_at(3 + n, coins=20) for n in range(10)], packed=True)
    both.flush()
    return gone


def _shorter(field: str) -> _Tampering:
    return lambda packed: replace(packed, **{field: getattr(packed, field)[:-1]})


def _longer(field: str) -> _Tampering:
    return lambda packed: replace(packed, **{field: getattr(packed, field) * 2})


def _with_ends(field: str, change: Callable[["array[int]"], list[int]]) -> _Tampering:
    def tamper(packed: PackedBlocks) -> PackedBlocks:
        changed: Any = {field: array("Q", change(getattr(packed, field)))}
        return replace(packed, **changed)

    return tamper


def _lying(field: str, kind: Callable[[Any], Any]) -> _Tampering:
    """One item in the buffer, or one byte, and the length of all."""

    def tamper(packed: PackedBlocks) -> PackedBlocks:
        true = getattr(packed, field)
        lying = kind(true[:1])
        lying.length = len(true)
        return replace(packed, **{field: lying})

    return tamper


_TAMPERINGS: Mapping[str, _Tampering] = {
    **{f"{field} are shorter": _shorter(field) for field in _FIELDS},
    **{f"{field} are longer": _longer(field) for field in _FIELDS},
    **{
        f"{field} {what}": _with_ends(field, change)
        for field in ("spend_ends", "confirm_ends")
        for what, change in (
            ("end later", lambda ends: [*ends[:-1], ends[-1] + 1]),
            ("end far behind", lambda ends: [*ends[:-1], 2**61]),
            ("fall", lambda ends: [ends[-1], *ends[1:]]),
        )
    },
    "a class that checks nothing": lambda packed: Unchecked(
        *(packed.indices, packed.timestamps, packed.spend_ends, packed.confirm_ends),
        *(packed.spends, packed.confirms[:-1], packed.names),
    ),
    "numbers of four bytes": lambda packed: replace(packed, indices=array("I", packed.indices)),
    **{
        f"{field} of a class whose length lies": _lying(field, kind)
        for field, kind in (
            *((field, LyingArray) for field in _FIELDS[:4]),
            *((field, LyingBytes) for field in _FIELDS[4:]),
        )
    },
}
