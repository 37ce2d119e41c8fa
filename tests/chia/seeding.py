"""What chia's tests do by SQL, done by blocks: any coin store can take those."""

from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Any

from chia_rs import Coin, CoinRecord
from chia_rs.sized_ints import uint32


@dataclass
class _Seeds:
    """What one block has to confirm and to spend."""

    coins: list[CoinRecord] = field(default_factory=list)
    spends: list[bytes] = field(default_factory=list)


async def add_coin_records_to_db(coin_store: Any, records: list[CoinRecord]) -> None:
    """Have a store hold these coins, and those that it had before: blocks rise, so all are made
    anew.

    Each height gets two rewards that no test asks for: chia wants a block to have them.
    """
    async with coin_store.db_wrapper.writer_maybe_transaction():
        blocks = _blocks_of([*await _taken_away(coin_store), *records])
        for height in sorted(blocks):
            await _add_block(coin_store, height, blocks[height])
    # A test may go on with blocks below its seeds, too.
    coin_store.new_block = partial(_new_block, coin_store)


async def _new_block(coin_store: Any, *block: Any) -> None:
    """new_block() of a store with seeds, where the block may be below some of them."""
    try:
        await type(coin_store).new_block(coin_store, *block)
    except ValueError as error:
        if "roll back before adding" not in str(error):
            raise
        height, timestamp, rewards, additions, removals = block
        coins = [*rewards, *(coin for _, coin, _ in additions)]
        made = [CoinRecord(coin, height, 0, coin in rewards, timestamp) for coin in coins]
        async with coin_store.db_wrapper.writer_maybe_transaction():
            blocks = _blocks_of([*made, *await _taken_away(coin_store)])
            blocks[height].spends += removals
            for each in sorted(blocks):
                await _add_block(coin_store, each, blocks[each])


async def _taken_away(coin_store: Any) -> list[CoinRecord]:
    """What a store held, which is empty from now on."""
    held: list[CoinRecord] = []
    try:
        async with coin_store.db_wrapper.writer():
            n_coins = len(await coin_store.rollback_to_block(-1))
            raise _UndoneError
    except _UndoneError:
        pass
    height = 0
    while len(held) < n_coins:
        held += await coin_store.get_coins_added_at_height(uint32(height))
        height += 1
    await coin_store.rollback_to_block(-1)
    return held


class _UndoneError(Exception):
    """What was done was only to find out what it would do."""


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
    rewards = [record.coin for record in seeds.coins if record.coinbase and height]
    if height and len(rewards) < 2:
        rewards += [_unasked_reward(height, which) for which in range(2)]
    others = [record.coin for record in seeds.coins if not (record.coinbase and height)]
    timestamp = seeds.coins[0].timestamp if seeds.coins else 0
    additions = [(coin.name(), coin, False) for coin in others]
    block = (uint32(height), timestamp, rewards, additions, seeds.spends)
    await type(coin_store).new_block(coin_store, *block)


def _unasked_reward(height: int, which: int) -> Coin:
    mark = sha256(b"a reward that no test asks for, %d" % which).digest()
    return Coin(mark[:16] + height.to_bytes(16, "big"), mark, 1)
