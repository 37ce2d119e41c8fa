"""What chia's tests do by SQL, done by blocks: any coin store can take those."""

from collections import defaultdict
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from weakref import WeakKeyDictionary

from chia_rs import Coin, CoinRecord
from chia_rs.sized_ints import uint32

_SEEDED: "WeakKeyDictionary[Any, list[CoinRecord]]" = WeakKeyDictionary()
"""What each store was given before: more of it may belong into the same blocks."""


@dataclass
class _Seeds:
    """What one block has to confirm and to spend."""

    coins: list[CoinRecord] = field(default_factory=list)
    spends: list[bytes] = field(default_factory=list)


async def add_coin_records_to_db(coin_store: Any, records: list[CoinRecord]) -> None:
    """Have a store hold these coins, and those that it was given so before.

    Each height gets two rewards that no test asks for: chia wants a block to have them.
    """
    before = _SEEDED.setdefault(coin_store, [])
    async with coin_store.db_wrapper.writer_maybe_transaction():
        if before:
            await coin_store.rollback_to_block(-1)
        before += records
        blocks = _blocks_of(before)
        for height in sorted(blocks):
            await _add_block(coin_store, height, blocks[height])


async def all_non_reward_coins(simulator: Any) -> list[Coin]:
    """Of a SpendSim: its coins that are unspent and no rewards."""
    by_height = [
        await simulator.coin_store.get_coins_added_at_height(uint32(height))
        for height in range(simulator.block_height + 1)
    ]
    return [
        record.coin
        for records in by_height
        for record in records
        if not record.coinbase and not record.spent_block_index
    ]


def _blocks_of(records: list[CoinRecord]) -> dict[int, _Seeds]:
    blocks: dict[int, _Seeds] = defaultdict(_Seeds)
    for record in records:
        blocks[record.confirmed_block_index].coins.append(record)
        if record.spent_block_index:
            blocks[record.spent_block_index].spends.append(record.coin.name())
    return blocks


async def _add_block(coin_store: Any, height: int, seeds: _Seeds) -> None:
    rewards = [record.coin for record in seeds.coins if record.coinbase]
    if height:
        rewards += [_unasked_reward(height, which) for which in range(2)]
    others = [record.coin for record in seeds.coins if not record.coinbase]
    timestamp = seeds.coins[0].timestamp if seeds.coins else 0
    additions = [(coin.name(), coin, False) for coin in others]
    await coin_store.new_block(uint32(height), timestamp, rewards, additions, seeds.spends)


def _unasked_reward(height: int, which: int) -> Coin:
    mark = sha256(b"a reward that no test asks for, %d" % which).digest()
    return Coin(mark[:16] + height.to_bytes(16, "big"), mark, 1)
