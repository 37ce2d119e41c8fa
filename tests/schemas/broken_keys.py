"""Schemas that each break the contract of secondary keys in one way; the rest is memory's."""

from collections.abc import Sequence
from typing import Any

from cdb.contract.coin_query import CoinKey, CoinQuery
from cdb.contract.coins import Coin, CoinInfo, bytes32, is_reward
from cdb.schemas.memory import MemorySchema


class OrdersByName(MemorySchema):
    """The blocks that confirmed the coins are left out of account."""

    def _infos_of(self, query: CoinQuery) -> list[CoinInfo]:
        return sorted(super()._infos_of(query), key=lambda info: info.coin.name())


class OrdersByArrival(MemorySchema):
    """Within a block coins stand as they came."""

    def _infos_of(self, query: CoinQuery) -> list[CoinInfo]:
        places = {name: place for place, name in enumerate(self._coins)}
        return sorted(super()._infos_of(query), key=lambda info: places[info.coin.name()])


class LimitsBeforeItFilters(MemorySchema):
    """Spent coins take the places of others."""

    def _infos_of(self, query: CoinQuery) -> list[CoinInfo]:
        unfiltered = CoinQuery(query.key, query.values, query.confirmed, limit=query.limit)
        wanted = super()._infos_of(query.checked())
        return [info for info in super()._infos_of(unfiltered) if info in wanted]


class LimitsEachValue(MemorySchema):
    """The limit is of each hash, not of all."""

    def _infos_of(self, query: CoinQuery) -> list[CoinInfo]:
        if query.key is CoinKey.NONE:
            return super()._infos_of(query)
        found = []
        for value in sorted(query.checked().separate_values()):
            of_value = CoinQuery(query.key, value, query.confirmed, query.spent, limit=query.limit)
            found += super()._infos_of(of_value)
        return sorted(found, key=lambda info: (info.confirmed_index, info.coin.name()))


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


class MissesRewards(MemorySchema):
    """Of parents only those are known that blocks spend."""

    def _infos_of(self, query: CoinQuery) -> list[CoinInfo]:
        found = super()._infos_of(query)
        if query.key is not CoinKey.PARENT:
            return found
        return [info for info in found if not is_reward(info.coin.parent_coin_name)]


class MissesEarlyChildren(MemorySchema):
    """Children are looked for in the block that spends their parent, if one does."""

    def _infos_of(self, query: CoinQuery) -> list[CoinInfo]:
        found = super()._infos_of(query)
        if query.key is not CoinKey.PARENT:
            return found
        return [info for info in found if self._is_with_its_parents_spend(info)]

    def _is_with_its_parents_spend(self, info: CoinInfo) -> bool:
        spent_index = self._spent.get(info.coin.parent_coin_name)
        return spent_index in (None, info.confirmed_index)


class GivesTwice(MemorySchema):
    """A hash that is asked for twice gives its coins twice."""

    def coin_infos_for_puzzle_hashes(
        self, puzzle_hashes: list[bytes32], **filters: Any
    ) -> list[CoinInfo]:
        """See IndexedSchema."""
        once = super().coin_infos_for_puzzle_hashes(puzzle_hashes, **filters)
        return [info for info in once for _ in range(puzzle_hashes.count(info.coin.puzzle_hash))]


class MixesHashes(MemorySchema):
    """Hashes are the same for it when their first 40 bits are."""

    def coins_packed(self, query: CoinQuery) -> bytes:
        """See QueriesPacked."""
        heads = {value[:5] for value in query.checked().separate_values()}
        coins: Sequence[Coin] = [*self._coins.values()]
        match query.key:
            case CoinKey.PUZZLE_HASH:
                values = {coin.puzzle_hash for coin in coins if coin.puzzle_hash[:5] in heads}
            case CoinKey.PARENT:
                parents = [coin.parent_coin_name for coin in coins]
                values = {parent for parent in parents if parent[:5] in heads}
            case _:
                return super().coins_packed(query)
        filters = (query.confirmed, query.spent, query.changed_from, query.least_amount)
        mixed = CoinQuery(query.key, b"".join(values), *filters, query.by_change, query.limit)
        return super().coins_packed(mixed)


class TakesUnspentForSpentAt0(MemorySchema):
    """Index 0 stands for "unspent" in a coin, and in a question, too."""

    def coin_infos_spent_at(self, block_index: int) -> list[CoinInfo]:
        """See IndexedSchema."""
        if block_index == 0:
            return self._infos_of(CoinQuery(spent=(0, 0)))
        return super().coin_infos_spent_at(block_index)


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


class ForgetsWhenItIsOpened(MemorySchema):
    """Keys find what came since the database was opened."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._there = {*self._coins}

    def _infos_of(self, query: CoinQuery) -> list[CoinInfo]:
        return [info for info in super()._infos_of(query) if info.coin.name() not in self._there]


class ForgetsTheLeastAmount(MemorySchema):
    """Packed queries leave the amount out of account."""

    def coins_packed(self, query: CoinQuery) -> bytes:
        """See QueriesPacked."""
        fields = (query.key, query.values, query.confirmed, query.spent, query.changed_from)
        return super().coins_packed(
            CoinQuery(*fields, by_change=query.by_change, limit=query.limit)
        )


class ForgetsTheOrder(MemorySchema):
    """Packed queries come by the block that confirmed the coins whatever they say."""

    def coins_packed(self, query: CoinQuery) -> bytes:
        """See QueriesPacked."""
        fields = (query.key, query.values, query.confirmed, query.spent, query.changed_from)
        return super().coins_packed(CoinQuery(*fields, query.least_amount, limit=query.limit))
