"""Schemas that each break the contract of history in one way; the rest is memory's."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from struct import pack
from typing import Any

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import CoinInfo, bytes32
from cdb.contract.history import as_of
from cdb.contract.packed import INFO_FORMAT
from cdb.schemas.memory import MemorySchema


class _Masking(MemorySchema):
    """Answers by a mask over rows: where a schema may go wrong in most ways."""

    def coin_infos_as_of(self, coin_names: list[bytes32], height: int) -> list[CoinInfo]:
        """See HistorySchema."""
        infos = self.coin_infos_for_coin_names(coin_names)
        super().coin_infos_as_of(coin_names, height)
        masked = (self.masked(info, height) for info in infos)
        return [info for info in masked if info is not None]

    def state_at(self, height: int) -> Iterator[CoinInfo]:
        """See HistorySchema."""
        super().state_at(height)
        infos = [
            CoinInfo(self._coins[name], self._confirmed[name], self._spent.get(name, 0))
            for name in self._coins
        ]
        masked = [self.masked(info, height) for info in infos]
        return self.iteration(info for info in masked if info is not None)

    def masked(self, info: CoinInfo, height: int) -> CoinInfo | None:
        """A coin as of a height."""
        return as_of(info, height)


class ForgetsToMaskSpends(_Masking):
    """A coin that is spent later is spent."""

    def masked(self, info: CoinInfo, height: int) -> CoinInfo | None:
        """See _Masking."""
        return info if info.confirmed_index <= height else None


class ForgetsToMaskCoins(_Masking):
    """A coin that is confirmed later is there, unspent."""

    def masked(self, info: CoinInfo, height: int) -> CoinInfo | None:
        """See _Masking."""
        return as_of(info, height) or replace(info, spent_index=0)


class LeavesOutSpentCoins(_Masking):
    """Spent coins are no part of a state."""

    def masked(self, info: CoinInfo, height: int) -> CoinInfo | None:
        """See _Masking."""
        found = as_of(info, height)
        return None if found is None or found.spent_index else found


class SeeksBefore(_Masking):
    """The block at the height itself does not count."""

    def masked(self, info: CoinInfo, height: int) -> CoinInfo | None:
        """See _Masking."""
        return as_of(info, height - 1)


class SeeksBehind(_Masking):
    """In a gap the later block counts already."""

    def masked(self, info: CoinInfo, height: int) -> CoinInfo | None:
        """See _Masking."""
        later = next(iter(self._blocks.irange(minimum=height)), height)
        return as_of(info, max(later, height))


class TakesEphemeralsForUnspent(_Masking):
    """At the height that confirms and spends a coin it is unspent."""

    def masked(self, info: CoinInfo, height: int) -> CoinInfo | None:
        """See _Masking."""
        found = as_of(info, height)
        if found is not None and found.confirmed_index == found.spent_index == height:
            return replace(found, spent_index=0)
        return found


class WrapsAt32Bits(_Masking):
    """Heights are cut to 32 bits."""

    def masked(self, info: CoinInfo, height: int) -> CoinInfo | None:
        """See _Masking."""
        return as_of(info, height % 2**32)


class TakesHeightsForSigned(_Masking):
    """From 2^31 on heights are below zero."""

    def masked(self, info: CoinInfo, height: int) -> CoinInfo | None:
        """See _Masking."""
        return as_of(info, height - 2**32 if 2**31 <= height < 2**32 else height)


class ComparesLittleEndian(_Masking):
    """Heights are compared by their bytes, the lowest first."""

    def masked(self, info: CoinInfo, height: int) -> CoinInfo | None:
        """See _Masking."""
        if not 0 <= height < 2**32:
            return as_of(info, height)
        at = height.to_bytes(4, "little")
        if info.confirmed_index.to_bytes(4, "little") > at:
            return None
        is_spent = info.spent_index.to_bytes(4, "little") <= at
        return info if is_spent else replace(info, spent_index=0)


class FindsByPrefix(MemorySchema):
    """Names are the same for it when their first 16 bytes are."""

    def coin_infos_as_of(self, coin_names: list[bytes32], height: int) -> list[CoinInfo]:
        """See HistorySchema."""
        super().coin_infos_as_of(coin_names, height)
        heads = {name[:16]: name for name in self._coins}
        names = [heads.get(name[:16], name) for name in coin_names]
        return super().coin_infos_as_of(names, height)


class TakesTheNextName(MemorySchema):
    """A name that is not there leads to the next one: the seek's answer is not compared."""

    def coin_infos_as_of(self, coin_names: list[bytes32], height: int) -> list[CoinInfo]:
        """See HistorySchema."""
        super().coin_infos_as_of(coin_names, height)
        ordered = sorted(self._coins)
        names = [next((each for each in ordered if each >= name), name) for name in coin_names]
        return super().coin_infos_as_of(names, height)


class KeepsAStaleCache(MemorySchema):
    """What was found once as of a height is found for ever."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._cache: dict[tuple[bytes32, int], CoinInfo | None] = {}
        super().__init__(*arguments, **options)

    def coin_infos_as_of(self, coin_names: list[bytes32], height: int) -> list[CoinInfo]:
        """See HistorySchema."""
        super().coin_infos_as_of(coin_names, height)
        new = [name for name in coin_names if (name, height) not in self._cache]
        found = {info.coin.name(): info for info in super().coin_infos_as_of(new, height)}
        self._cache.update({(name, height): found.get(name) for name in new})
        infos = (self._cache[name, height] for name in coin_names)
        return [info for info in infos if info is not None]


class KeepsAStaleIndex(MemorySchema):
    """By a coin's last change it knows its versions, and a rewind leaves that alone."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._changed: dict[bytes32, int] = {}
        super().__init__(*arguments, **options)

    def accept_block(self, block_spend_info: BlockSpendInfo) -> None:
        """See Schema."""
        super().accept_block(block_spend_info)
        names = [*block_spend_info.spends, *(coin.name() for coin in block_spend_info.confirms)]
        self._changed.update(dict.fromkeys(names, block_spend_info.index))

    def coin_infos_as_of(self, coin_names: list[bytes32], height: int) -> list[CoinInfo]:
        """See HistorySchema."""
        found = super().coin_infos_as_of(coin_names, height)
        return [
            replace(info, spent_index=changed)
            if info.confirmed_index < (changed := self._changed.get(info.coin.name(), 0)) <= height
            else info
            for info in found
        ]


class ReadsLive(MemorySchema):
    """A state is looked up as it is read."""

    def state_at(self, height: int) -> Iterator[CoinInfo]:
        """See HistorySchema."""
        super().state_at(height)
        return self.iteration(self._live(height))

    def _live(self, height: int) -> Iterator[CoinInfo]:
        for name in [*self._coins]:
            infos = (as_of(info, height) for info in self.coin_infos_for_coin_names([name]))
            yield from (info for info in infos if info is not None)


class BeginsLate(MemorySchema):
    """A snapshot is that of the first row."""

    def versions(self, first: int, last: int) -> Iterator[CoinInfo]:
        """See HistorySchema."""
        super().versions(first, last)
        return self.iteration(self._late(first, last))

    def _late(self, first: int, last: int) -> Iterator[CoinInfo]:
        yield from super().versions(first, last)


class ReadsUnspentLive(MemorySchema):
    """What is unspent is told as it is read."""

    def unspent(self) -> Iterator[CoinInfo]:
        """See HistorySchema."""
        infos = super().unspent()
        return self.iteration(i for i in infos if i.coin.name() not in self._spent)


class TakesADeltaForAState(MemorySchema):
    """A state is what its last block has changed."""

    def state_at(self, height: int) -> Iterator[CoinInfo]:
        """See HistorySchema."""
        super().state_at(height)
        last = next(iter(self._blocks.irange(maximum=height, reverse=True)), -1)
        return super().versions(last, last)


class GivesStatesTwice(MemorySchema):
    """A coin that was spent comes with both of its versions."""

    def state_at(self, height: int) -> Iterator[CoinInfo]:
        """See HistorySchema."""
        super().state_at(height)
        return super().versions(-1, height)


class OrdersVersionsByName(MemorySchema):
    """Versions come by name, and then by height."""

    def versions(self, first: int, last: int) -> Iterator[CoinInfo]:
        """See HistorySchema."""
        rows = list(super().versions(first, last))
        return self.iteration(iter(sorted(rows, key=lambda info: info.coin.name())))


class OrdersSpendsFirst(MemorySchema):
    """Of a block spends come first, and then creations."""

    def versions(self, first: int, last: int) -> Iterator[CoinInfo]:
        """See HistorySchema."""
        rows = list(super().versions(first, last))
        height = {id(row): max(row.confirmed_index, row.spent_index) for row in rows}
        return self.iteration(iter(sorted(rows, key=lambda r: (height[id(r)], not r.spent_index))))


class LeavesOutAnEnd(MemorySchema):
    """The last height of a window is not of it."""

    def versions(self, first: int, last: int) -> Iterator[CoinInfo]:
        """See HistorySchema."""
        super().versions(first, last)
        return super().versions(first, last - 1)


class TellsVersionsAsOfNow(MemorySchema):
    """A creation tells of the spend that came later."""

    def versions(self, first: int, last: int) -> Iterator[CoinInfo]:
        """See HistorySchema."""
        rows = list(super().versions(first, last))
        now = [replace(info, spent_index=self._spent.get(info.coin.name(), 0)) for info in rows]
        return self.iteration(iter(now))


class KeepsVersionsOfRewound(MemorySchema):
    """What a rewind took back is still told as of heights above it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._gone: list[CoinInfo] = []
        super().__init__(*arguments, **options)

    def rewind_to_block_index(self, block_index: int) -> None:
        """See Schema."""
        self._gone += list(super().versions(max(block_index, -1) + 1, 2**40))
        super().rewind_to_block_index(block_index)

    def state_at(self, height: int) -> Iterator[CoinInfo]:
        """See HistorySchema."""
        there = [*super().state_at(height)]
        names = {info.coin.name() for info in there}
        gone = {info.coin.name(): info for info in self._gone if info.confirmed_index <= height}
        return self.iteration(iter([*there, *(i for n, i in gone.items() if n not in names)]))


class RefusesFarHeights(MemorySchema):
    """A height beyond the newest block is nobody's."""

    def state_at(self, height: int) -> Iterator[CoinInfo]:
        """See HistorySchema."""
        newest = self.last_block_index
        return super().state_at(height if newest is not None and height <= newest else -1)


class SkipsRepeatedNames(MemorySchema):
    """A name that is asked for twice is answered once."""

    def coin_infos_as_of(self, coin_names: list[bytes32], height: int) -> list[CoinInfo]:
        """See HistorySchema."""
        super().coin_infos_as_of(coin_names, height)
        return super().coin_infos_as_of([*dict.fromkeys(coin_names)], height)


class TellsErrorsLate(MemorySchema):
    """What is no height is told with the first row."""

    def state_at(self, height: int) -> Iterator[CoinInfo]:
        """See HistorySchema."""
        yield from super().state_at(height)


class TakesAnythingForAHeight(MemorySchema):
    """A float is a height, too."""

    def versions(self, first: int, last: int) -> Iterator[CoinInfo]:
        """See HistorySchema."""
        try:
            return super().versions(first, last)
        except TypeError:
            return super().versions(0, 0)


class ForgetsWhenItIsOpened(MemorySchema):
    """It has versions since the database was opened."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._there = -1 if self.last_block_index is None else self.last_block_index

    def versions(self, first: int, last: int) -> Iterator[CoinInfo]:
        """See HistorySchema."""
        super().versions(first, last)
        return super().versions(max(first, self._there + 1), last)


class GivesAHalfEmptyPage(MemorySchema):
    """In packed form the last row of a page is missing."""

    def unspent_packed(self) -> Iterator[tuple[bytes, bytes]]:
        """See HistoryPacked."""
        rows = list(self.unspent())[:-1]
        if rows:
            yield _packed(rows)


class NamesOtherRows(MemorySchema):
    """In packed form names stand beside the infos of others."""

    def versions_packed(self, first: int, last: int) -> Iterator[tuple[bytes, bytes]]:
        """See HistoryPacked."""
        rows = list(self.versions(first, last))
        if rows:
            names, _ = _packed(rows[::-1])
            yield names, _packed(rows)[1]


class NeverLetsGo(MemorySchema):
    """Its iterators can't be closed."""

    def state_at(self, height: int) -> Iterator[CoinInfo]:
        """See HistorySchema."""
        return islice(super().state_at(height), None)


def _packed(rows: Sequence[CoinInfo]) -> tuple[bytes, bytes]:
    """A page of rows."""
    infos = [
        pack(
            INFO_FORMAT,
            info.coin.parent_coin_name,
            info.coin.puzzle_hash,
            info.coin.amount,
            info.confirmed_index,
            info.spent_index,
        )
        for info in rows
    ]
    return b"".join([info.coin.name() for info in rows]), b"".join(infos)
