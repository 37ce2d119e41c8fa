"""Faults of what is told of the past; the rest is memory's."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from struct import pack
from typing import Any

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import CoinInfo, bytes32
from cdb.contract.history import as_of
from cdb.contract.packed import INFO_FORMAT
from cdb.schemas.memory import MemorySchema
from tests.broken.memory import known, unspent
from tests.broken.table import Faults

broken = Faults(__name__, MemorySchema)
misled = Faults(__name__, MemorySchema)
"""Those that only a bench has to notice."""

Mask = Callable[[Any, CoinInfo, int], CoinInfo | None]
Rows = Callable[[Any, list[CoinInfo]], Iterable[CoinInfo]]


def _masked(mask: Mask) -> dict[str, Any]:
    """Answers by a mask over rows: where a schema may go wrong in most ways."""

    def kept(store: Any, infos: Iterable[CoinInfo], height: int) -> list[CoinInfo]:
        masked = [mask(store, info, height) for info in infos]
        return [info for info in masked if info is not None]

    def coin_infos_as_of(store: Any, right: Any, names: Any, height: int) -> list[CoinInfo]:
        right(names, height)
        return kept(store, store.coin_infos_for_coin_names(names), height)

    def state_at(store: Any, right: Any, height: int) -> Any:
        right(height)
        infos = store.coin_infos_for_coin_names([*store._coins])
        return store.iteration(iter(kept(store, infos, height)))

    return {"coin_infos_as_of": coin_infos_as_of, "state_at": state_at}


def _names(change: Callable[[Any, Sequence[bytes]], list[bytes]]) -> dict[str, Any]:
    """Looks up other names than it is asked for."""

    def coin_infos_as_of(store: Any, right: Any, names: Any, height: int) -> Any:
        right(names, height)
        return right(change(store, names), height)

    return {"coin_infos_as_of": coin_infos_as_of}


def _versions(change: Rows) -> dict[str, Any]:
    """Gives other versions than there are."""
    return {
        "versions": lambda store, right, first, last: store.iteration(
            iter(change(store, list(right(first, last))))
        )
    }


def _by_bytes(height: int) -> bytes:
    return height.to_bytes(4, "little")


def _compared_little_endian(store: Any, info: CoinInfo, height: int) -> CoinInfo | None:
    if not 0 <= height < 2**32:
        return as_of(info, height)
    if _by_bytes(info.confirmed_index) > _by_bytes(height):
        return None
    is_spent = _by_bytes(info.spent_index) <= _by_bytes(height)
    return info if is_spent else replace(info, spent_index=0)


def _packed(rows: Sequence[CoinInfo], names_of: Sequence[CoinInfo]) -> Iterator[Any]:
    """A page of rows, if there are any, with the names of others."""
    infos = [
        pack(
            *(INFO_FORMAT, info.coin.parent_coin_name, info.coin.puzzle_hash, info.coin.amount),
            *(info.confirmed_index, info.spent_index),
        )
        for info in rows
    ]
    if rows:
        yield b"".join(info.coin.name() for info in names_of), b"".join(infos)


def _late(ask: Callable[..., Iterator[CoinInfo]], *heights: int) -> Iterator[CoinInfo]:
    """What is asked with the first row."""
    yield from ask(*heights)


def _live(store: Any, height: int) -> Iterator[CoinInfo]:
    for name in [*store._coins]:
        infos = (as_of(info, height) for info in store.coin_infos_for_coin_names([name]))
        yield from (info for info in infos if info is not None)


broken(
    _masked,
    # A coin that is spent later is spent.
    ForgetsToMaskSpends=lambda _, info, height: info if info.confirmed_index <= height else None,
    # A coin that is confirmed later is there, unspent.
    ForgetsToMaskCoins=lambda _, info, height: as_of(info, height) or replace(info, spent_index=0),
    # Spent coins are no part of a state.
    LeavesOutSpentCoins=lambda _, info, height: (
        None if (found := as_of(info, height)) is None or found.spent_index else found
    ),
    # The block at the height itself does not count.
    SeeksBefore=lambda _, info, height: as_of(info, height - 1),
    # In a gap the later block counts already.
    SeeksBehind=lambda store, info, height: as_of(
        info, max(height, next(iter(store._blocks.irange(minimum=height)), height))
    ),
    # At the height that confirms and spends a coin it is unspent.
    TakesEphemeralsForUnspent=lambda _, info, height: (
        replace(info, spent_index=0)
        if info.confirmed_index == info.spent_index == height
        else as_of(info, height)
    ),
    # Heights are cut to 32 bits.
    WrapsAt32Bits=lambda _, info, height: as_of(info, height % 2**32),
    # From 2^31 on heights are below zero.
    TakesHeightsForSigned=lambda _, info, height: as_of(
        info, height - 2**32 if 2**31 <= height < 2**32 else height
    ),
    # Heights are compared by their bytes, the lowest first.
    ComparesLittleEndian=_compared_little_endian,
)
broken(
    _names,
    # Names are the same for it when their first 16 bytes are.
    FindsByPrefix=lambda store, names: [
        {each[:16]: each for each in store._coins}.get(name[:16], name) for name in names
    ],
    # A name that is not there leads to the next one: the seek's answer is not compared.
    TakesTheNextName=lambda store, names: [
        min((each for each in store._coins if each >= name), default=name) for name in names
    ],
    # A name that is asked for twice is answered once.
    SkipsRepeatedNames=lambda store, names: [*dict.fromkeys(names)],
)
broken(
    "state_at",
    # A state is looked up as it is read.
    ReadsLive=lambda store, right, height: right(height) and store.iteration(_live(store, height)),
    # A state is what its last block has changed.
    TakesADeltaForAState=lambda store, right, height: (
        right(height)
        and store.versions(*[next(store._blocks.irange(None, height, reverse=True), -1)] * 2)
    ),
    # A coin that was spent comes with both of its versions.
    GivesStatesTwice=lambda store, right, height: right(height) and store.versions(-1, height),
    # A height beyond the newest block is nobody's.
    RefusesFarHeights=lambda store, right, height: right(
        height if height <= (store.last_block_index or -1) else -1
    ),
    # What is no height is told with the first row.
    TellsErrorsLate=lambda _, right, height: _late(right, height),
    # Its iterators can't be closed.
    NeverLetsGo=lambda store, right, height: islice(right(height), None),
)
broken(
    "versions",
    # The last height of a window is not of it.
    LeavesOutAnEnd=lambda _, right, first, last: right(first, last) and right(first, last - 1),
    # A float is a height, too.
    TakesAnythingForAHeight=lambda _, right, first, last: right(
        *(each if isinstance(each, int) else 0 for each in (first, last))
    ),
    # A snapshot is that of the first row.
    BeginsLate=lambda store, right, first, last: (
        right(first, last) and store.iteration(_late(right, first, last))
    ),
)
broken(
    "unspent",
    # What is unspent is told as it is read.
    ReadsUnspentLive=lambda store, right: (
        lambda rows: store.iteration(i for i in rows if i.coin.name() not in store._spent)
    )(right()),
)
broken(
    _versions,
    # Versions come by name, and then by height.
    OrdersVersionsByName=lambda _, rows: sorted(rows, key=lambda info: info.coin.name()),
    # Of a block spends come first, and then creations.
    OrdersSpendsFirst=lambda _, rows: sorted(
        rows, key=lambda i: (max(i.confirmed_index, i.spent_index), not i.spent_index)
    ),
    # A creation tells of the spend that came later.
    TellsVersionsAsOfNow=lambda store, rows: [
        replace(info, spent_index=store._spent.get(info.coin.name(), 0)) for info in rows
    ],
)
broken(
    "unspent_packed",
    # The last row of a page is missing.
    GivesAHalfEmptyPage=lambda store: _packed(rows := list(store.unspent())[:-1], rows),
)
broken(
    "versions_packed",
    # Names stand beside the infos of others.
    NamesOtherRows=lambda store, first, last: _packed(
        rows := list(store.versions(first, last)), rows[::-1]
    ),
)
misled(
    "unspent",
    # What is unspent are all coins.
    TakesSpentForUnspent=lambda store, right: store.state_at(store.last_block_index or 0),
)
misled(
    "coin_infos_as_of",
    # A look-up as of the newest block's height finds no coin spent.
    ForgetsAsOfTheTip=lambda store, right, names, height: (
        unspent(right(names, height)) if height == store.last_block_index else right(names, height)
    ),
)
# A look-up of unknown names as of a height finds something.
misled(_names, KnowsTooMuchAsOf=known)
misled.add(
    "KeepsNoHistory",
    "It breaks nothing.",
    **dict.fromkeys(("coin_infos_as_of", "state_at", "unspent", "versions")),
)
misled("versions", KeepsHalfAHistory=None)


@broken.keep
class KeepsAStaleCache(MemorySchema):
    """What was found once as of a height is found for ever."""

    def coin_infos_as_of(self, coin_names: list[bytes32], height: int) -> list[CoinInfo]:
        """See HistorySchema."""
        cache: dict[Any, Any] = self.__dict__.setdefault("_cache", {})
        super().coin_infos_as_of(coin_names, height)
        new = [name for name in coin_names if (name, height) not in cache]
        found = {info.coin.name(): info for info in super().coin_infos_as_of(new, height)}
        cache.update({(name, height): found.get(name) for name in new})
        return [info for name in coin_names if (info := cache[name, height]) is not None]


@broken.keep
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
        return [
            replace(info, spent_index=changed)
            if info.confirmed_index < (changed := self._changed.get(info.coin.name(), 0)) <= height
            else info
            for info in super().coin_infos_as_of(coin_names, height)
        ]


@broken.keep
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


@broken.keep
class ForgetsWhenItIsOpened(MemorySchema):
    """It has versions since the database was opened."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._there = -1 if self.last_block_index is None else self.last_block_index

    def versions(self, first: int, last: int) -> Iterator[CoinInfo]:
        """See HistorySchema."""
        super().versions(first, last)
        return super().versions(max(first, self._there + 1), last)
