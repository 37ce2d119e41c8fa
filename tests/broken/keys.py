"""Faults of what secondary keys find; the rest is memory's."""

from dataclasses import replace
from typing import Any

from cdb.contract.coin_query import CoinKey, CoinQuery
from cdb.contract.coins import CoinInfo, bytes32, is_reward
from cdb.schemas.memory import MemorySchema
from tests.broken.table import Faults

broken = Faults(__name__, MemorySchema)


def _limited_by_value(_: Any, right: Any, query: CoinQuery) -> list[CoinInfo]:
    if query.key is CoinKey.NONE:
        return right(query)  # type: ignore[no-any-return]
    values = query.checked().separate_values()
    found = [info for value in values for info in right(replace(query, values=value))]
    return sorted(found, key=lambda info: (info.confirmed_index, info.coin.name()))


def _mixed(store: Any, right: Any, query: CoinQuery) -> Any:
    fields = {CoinKey.PUZZLE_HASH: "puzzle_hash", CoinKey.PARENT: "parent_coin_name"}
    if query.key not in fields:
        return right(query)
    heads = {value[:5] for value in query.checked().separate_values()}
    there = {getattr(coin, fields[query.key]) for coin in store._coins.values()}
    values = b"".join(value for value in there if value[:5] in heads)
    return right(replace(query, values=values))


broken(
    "_infos_of",
    # The blocks that confirmed the coins are left out of account.
    OrdersByName=lambda _, right, query: sorted(right(query), key=lambda info: info.coin.name()),
    # Within a block coins stand as they came.
    OrdersByArrival=lambda store, right, query: sorted(
        right(query), key=lambda info: [*store._coins].index(info.coin.name())
    ),
    # Spent coins take the places of others.
    LimitsBeforeItFilters=lambda _, right, query: [
        info
        for info in right(CoinQuery(query.key, query.values, query.confirmed, limit=query.limit))
        if info in right(query.checked())
    ],
    # The limit is of each hash, not of all.
    LimitsEachValue=_limited_by_value,
    # Of parents only those are known that blocks spend.
    MissesRewards=lambda _, right, query: [
        info
        for info in right(query)
        if query.key is not CoinKey.PARENT or not is_reward(info.coin.parent_coin_name)
    ],
    # Children are looked for in the block that spends their parent, if one does.
    MissesEarlyChildren=lambda store, right, query: [
        info
        for info in right(query)
        if query.key is not CoinKey.PARENT
        or store._spent.get(info.coin.parent_coin_name) in (None, info.confirmed_index)
    ],
)
broken(
    "coin_infos_for_puzzle_hashes",
    # A hash that is asked for twice gives its coins twice.
    GivesTwice=lambda _, right, hashes, **filters: [
        info
        for info in right(hashes, **filters)
        for _ in range(hashes.count(info.coin.puzzle_hash))
    ],
)
broken(
    "coin_infos_spent_at",
    # Index 0 stands for "unspent" in a coin, and in a question, too.
    TakesUnspentForSpentAt0=lambda store, right, block_index: (
        right(block_index) if block_index else store._infos_of(CoinQuery(spent=(0, 0)))
    ),
)
broken(
    "coins_packed",
    # Hashes are the same for it when their first 40 bits are.
    MixesHashes=_mixed,
    # Packed queries leave the amount out of account.
    ForgetsTheLeastAmount=lambda _, right, query: right(replace(query, least_amount=0)),
    # Packed queries come by the block that confirmed the coins whatever they say.
    ForgetsTheOrder=lambda _, right, query: right(replace(query, by_change=False)),
)


@broken.keep
class KeepsAbandoned(MemorySchema):
    """After a rewind puzzle hashes still lead to the coins that it took back."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._abandoned: dict[bytes32, CoinInfo] = {}
        super().__init__(*arguments, **options)

    def rewind_to_block_index(self, block_index: int) -> None:
        """See Schema."""
        before = self.coin_infos_for_coin_names([*self._coins])
        super().rewind_to_block_index(block_index)
        gone = {info.coin.name(): info for info in before if info.coin.name() not in self._coins}
        self._abandoned.update(gone)

    def _infos_of(self, query: CoinQuery) -> list[CoinInfo]:
        values = query.checked().separate_values()
        stale = [info for info in self._abandoned.values() if info.coin.puzzle_hash in values]
        return super()._infos_of(query) + (stale if query.key is CoinKey.PUZZLE_HASH else [])


@broken.keep
class SeesOnlyWhatIsFlushed(MemorySchema):
    """Blocks are found by keys once they are flushed."""

    _flushed = -1

    def flush(self) -> None:
        """See Schema."""
        super().flush()
        self._flushed = -1 if self.last_block_index is None else self.last_block_index

    def _infos_of(self, query: CoinQuery) -> list[CoinInfo]:
        found = super()._infos_of(query)
        return [info for info in found if info.confirmed_index <= self._flushed]


@broken.keep
class ForgetsWhenItIsOpened(MemorySchema):
    """Keys find what came since the database was opened."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._there = {*self._coins}

    def _infos_of(self, query: CoinQuery) -> list[CoinInfo]:
        return [info for info in super()._infos_of(query) if info.coin.name() not in self._there]
