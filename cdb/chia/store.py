"""chia-blockchain's CoinStore over a coin log; see docs/why/node-coin-store.md.

The methods are chia's, with chia's parameter names, answers and errors. Coins come from the log and
hints from SQLite. Beyond chia's contract: a block is added as a whole or not at all, and blocks
come in rising order; the newest may be extended.
"""

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Any, ClassVar, TypeVar

from chia.full_node import coin_store as chia_coin_store
from chia.types.mempool_item import UnspentLineageInfo
from chia_rs import Coin, CoinRecord, CoinState

from cdb.chia import convert
from cdb.chia.opening import follower_of
from cdb.chia.questions import ANY, UNSPENT, changes_above, lineages, page
from cdb.chia.rules import check, merged
from cdb.chia.signatures import check_signatures, default_of
from cdb.contract.coin_query import COIN_BYTES, MAX_INDEX, CoinKey, CoinQuery
from cdb.contract.coins import MAX_U64, NAME_BYTES
from cdb.contract.packed import Packed
from cdb.node import marked_table, worker
from cdb.node.follower import Follower
from cdb.node.marked_table import Changes, Marked
from cdb.node.operation import Block

log = logging.getLogger(__name__)
T = TypeVar("T")

_THEIRS = chia_coin_store.CoinStore
"""chia's own; what stands in for it may take its place in that module later."""
_MAX_ITEMS = 50_000
_MAX_CHILDREN = default_of(_THEIRS.get_coin_records_by_parent_ids, "max_items", -1)
"""Before 2.7.1 children have no limit."""
_SLOW_BLOCK_SECONDS = 10


@dataclass(eq=False)
class CoinStore:
    """The coins of a node's database. See chia's class of this name for the methods."""

    db_wrapper: Any
    _follower: Follower

    MAX_PUZZLE_HASH_BATCH_SIZE: ClassVar[int] = _THEIRS.MAX_PUZZLE_HASH_BATCH_SIZE
    interlock: ClassVar[bool] = True
    """Whether a plain node is kept from the file; not where both stores' coins are in one."""

    @classmethod
    async def create(cls, db_wrapper: Any) -> "CoinStore":
        """The store of a wrapper's database. Raises CdbError where that or its log can't be had."""
        if db_wrapper.db_version != 2:
            problem = f"does not support database schema v{db_wrapper.db_version}"
            raise RuntimeError(f"CoinStore {problem}")
        check_signatures(_THEIRS, cls)
        return cls(db_wrapper, await follower_of(db_wrapper, interlock=cls.interlock))

    # Writing

    async def new_block(
        self,
        height: int,
        timestamp: int,
        included_reward_coins: Collection[Coin],
        tx_additions: Collection[tuple[bytes, Coin, bool]],
        tx_removals: list[bytes],
    ) -> None:
        """Add a transaction block, or extend the newest one."""
        started = monotonic()
        n_rewards = len(included_reward_coins)
        _assert(n_rewards == 0 if height == 0 else n_rewards >= 2)
        _assert(not tx_removals or height > 0)
        coins = [*included_reward_coins, *(coin for _, coin, _ in tx_additions)]
        marked = [
            (bytes(coin.puzzle_hash), bytes(name)) for name, coin, same in tx_additions if same
        ]
        confirms = b"".join(sorted(map(bytes, coins)))
        await self._add(height, timestamp, confirms, tx_removals, marked)
        seconds = monotonic() - started
        log.log(
            logging.WARNING if seconds > _SLOW_BLOCK_SECONDS else logging.DEBUG,
            f"Height {height}: It took {seconds:0.2f}s to apply {len(tx_additions)} additions and "
            f"{len(tx_removals)} removals to the coin store.",
        )

    async def _set_spent(self, coin_names: list[bytes], index: int) -> None:
        _assert(not coin_names or index > 0)
        if coin_names:
            await self._add(index, None, b"", coin_names)

    async def rollback_to_block(self, block_index: int) -> dict[bytes, CoinRecord]:
        """Take away all blocks above a height; what became of their coins, by name."""
        async with self.db_wrapper.writer_maybe_transaction() as connection:
            view = await self._follower.view(self.db_wrapper)
            if self._follower.newest(view).height <= block_index:
                return {}
            above = max(0, int(block_index) + 1)
            asked = partial(changes_above, view, above)
            records, marked = await self._follower.in_turn(asked, _MAX_ITEMS)
            await self._follower.stage(self.db_wrapper, connection, view, above, None, marked)
        return records

    async def _add(
        self,
        height: int,
        timestamp: int | None,
        confirms: bytes,
        spends: list[bytes],
        marked: Collection[Marked] = (),
    ) -> None:
        """Add a block above the newest one, or more to that; timestamp: None if it has one.

        marked: those of its coins that are their parent again.
        """
        if not 0 <= height <= MAX_INDEX or not 0 <= (timestamp or 0) <= MAX_U64:
            raise ValueError(f"a block at height {height} with timestamp {timestamp} can't be kept")
        async with self.db_wrapper.writer_maybe_transaction() as connection:
            view = await self._follower.view(self.db_wrapper)
            newest = self._follower.newest(view).height
            if height < newest or (timestamp is None and height != newest):
                problem = f"the newest block is {newest}; roll back before adding to {height}"
                raise ValueError(problem)
            former = self._follower.newest_block(view) if height == newest else None
            if timestamp is None:
                timestamp = former.timestamp if former is not None else 0
            block = Block(int(height), int(timestamp), convert.joined(sorted(spends)), confirms)
            checking = partial(check, view, block, len(spends))
            spent = await self._follower.in_turn(checking, block.n_coins)
            own_spends = {*spends} if marked else ()
            changes = Changes([each for each in marked if each[1] not in own_spends], spent)
            if former is not None:
                block = merged(former, block)
            await self._follower.stage(
                self.db_wrapper, connection, view, block.height, block, changes
            )

    # Reading

    async def num_unspent(self) -> int:
        """The number of unspent coins."""
        return await self._follower.read(self.db_wrapper, lambda view: view.count_unspent(), 1)

    async def is_empty(self) -> bool:
        """Whether there are no coins."""
        return not await self._records(CoinQuery(limit=1))

    async def get_coin_record(self, coin_name: bytes) -> CoinRecord | None:
        """The coin of a name."""
        return next(iter(await self._records(convert.by_name([coin_name]))), None)

    async def get_coin_records(self, names: Collection[bytes]) -> list[CoinRecord]:
        """The coins of these names that there are.

        A block is validated with them: so they are read in turn with blocks, and wait for nobody
        else's reads.
        """
        query = convert.by_name(names)
        view = await self._follower.view(self.db_wrapper)
        return await self._follower.in_turn(
            lambda: convert.records(view.coins_packed(query)), len(names)
        )

    async def get_coins_added_at_height(self, height: int) -> list[CoinRecord]:
        """What the block at a height confirmed."""
        return await self._records(CoinQuery(confirmed=(height, height)))

    async def get_coins_removed_at_height(self, height: int) -> list[CoinRecord]:
        """What the block at a height spent."""
        return await self._records(CoinQuery(spent=(max(1, height), height)))

    async def get_coin_records_by_puzzle_hash(
        self,
        include_spent_coins: bool,
        puzzle_hash: bytes,
        start_height: int = 0,
        end_height: int = MAX_INDEX,
    ) -> list[CoinRecord]:
        """The coins of a puzzle hash with start ≤ confirmed < end."""
        return await self.get_coin_records_by_puzzle_hashes(
            include_spent_coins, [puzzle_hash], start_height, end_height
        )

    async def get_coin_records_by_puzzle_hashes(
        self,
        include_spent_coins: bool,
        puzzle_hashes: list[bytes],
        start_height: int = 0,
        end_height: int = MAX_INDEX,
    ) -> list[CoinRecord]:
        """The coins of these puzzle hashes with start ≤ confirmed < end."""
        values, heights = convert.joined(puzzle_hashes), (start_height, end_height - 1)
        query = CoinQuery(CoinKey.PUZZLE_HASH, values, heights, _spent(include_spent_coins))
        return await self._records(query)

    async def get_coin_records_by_names(
        self,
        include_spent_coins: bool,
        names: list[bytes],
        start_height: int = 0,
        end_height: int = MAX_INDEX,
    ) -> list[CoinRecord]:
        """The coins of these names with start ≤ confirmed < end."""
        heights = (start_height, end_height - 1)
        return await self._records(
            convert.by_name(names, confirmed=heights, spent=_spent(include_spent_coins))
        )

    async def get_coin_records_by_parent_ids(
        self,
        include_spent_coins: bool,
        parent_ids: list[bytes],
        start_height: int = 0,
        end_height: int = MAX_INDEX,
        *,
        max_items: int = _MAX_CHILDREN,
    ) -> list[CoinRecord]:
        """The children of these coins with start ≤ confirmed < end."""
        values, heights = convert.joined(parent_ids), (start_height, end_height - 1)
        spent, limit = _spent(include_spent_coins), _limit(max_items)
        return await self._records(CoinQuery(CoinKey.PARENT, values, heights, spent, limit=limit))

    async def get_coin_states_by_puzzle_hashes(
        self,
        include_spent_coins: bool,
        puzzle_hashes: set[bytes],
        min_height: int = 0,
        *,
        max_items: int = _MAX_ITEMS,
    ) -> set[CoinState]:
        """The states of coins of these puzzle hashes that changed at a height or above."""
        query = CoinQuery(
            CoinKey.PUZZLE_HASH,
            convert.joined(puzzle_hashes),
            spent=_spent(include_spent_coins),
            changed_from=min_height,
            limit=_limit(max_items),
        )
        return set(await self._states(query))

    async def get_coin_states_by_ids(
        self,
        include_spent_coins: bool,
        coin_ids: Collection[bytes],
        min_height: int = 0,
        *,
        max_height: int = MAX_INDEX,
        max_items: int = _MAX_ITEMS,
    ) -> list[CoinState]:
        """The states of these coins that changed at min_height or above, and not above max."""
        heights = (0, max_height)
        return await self._states(
            convert.by_name(
                coin_ids,
                confirmed=heights,
                spent=heights if include_spent_coins else UNSPENT,
                changed_from=min_height,
                limit=_limit(max_items),
            )
        )

    async def batch_coin_states_by_puzzle_hashes(
        self,
        puzzle_hashes: list[bytes],
        *,
        min_height: int = 0,
        include_spent: bool = True,
        include_unspent: bool = True,
        include_hinted: bool = True,
        min_amount: int = 0,
        max_items: int = _MAX_ITEMS,
    ) -> tuple[list[CoinState], int | None]:
        """A page of states by the block that changed them, and the height that follows it."""
        _assert(len(puzzle_hashes) <= CoinStore.MAX_PUZZLE_HASH_BATCH_SIZE)
        if not puzzle_hashes or not (include_spent or include_unspent):
            return [], None
        query = CoinQuery(
            CoinKey.PUZZLE_HASH,
            convert.joined(puzzle_hashes),
            spent=(0 if include_unspent else 1, MAX_INDEX if include_spent else 0),
            changed_from=min_height,
            least_amount=min_amount,
            by_change=True,
            limit=max_items + 1,
            any_of_block=True,
        )
        before = self._follower.n_begun
        names = await self._hinted(puzzle_hashes) if include_hinted else b""
        while True:
            found = await self._follower.read(
                self.db_wrapper,
                partial(page, query=query, names=names),
                _MAX_ITEMS,
                in_steps=bool(names),
            )
            if not include_hinted or self._follower.n_begun == before:
                return found
            # Coins may have come behind the hints that were read: theirs have to be among them.
            before, former = self._follower.n_begun, names
            names = await self._hinted(puzzle_hashes)
            if names == former:
                return found

    async def get_unspent_lineage_info_for_puzzle_hash(
        self, puzzle_hash: bytes
    ) -> UnspentLineageInfo | None:
        """The one unspent coin of a puzzle hash whose spent parent had the same, and its amount."""
        found = await self._lineages(puzzle_hash)
        if len(found) != 1:
            problem = f"Expected 1 unspent with puzzle hash {puzzle_hash.hex()}"
            log.debug(f"{problem}, but found {len(found)}")
            return None
        [(name, parent, grandparent)] = found
        return UnspentLineageInfo(
            convert.sized(name), convert.sized(parent), convert.sized(grandparent)
        )

    async def _records(self, query: CoinQuery) -> list[CoinRecord]:
        return await self._answer(query, convert.records)

    async def _states(self, query: CoinQuery) -> list[CoinState]:
        return await self._answer(query, convert.states)

    async def _answer(self, query: CoinQuery, make: Callable[[Packed], list[T]]) -> list[T]:
        """The coins of a query, on the loop where they turn out to be few, in any order."""
        query = replace(query, any_of_block=True)
        read = partial(self._follower.read, self.db_wrapper)
        n_values = len(query.values) // NAME_BYTES
        if query.key is CoinKey.NAME:
            return await read(lambda view: make(view.coins_packed(query)), n_values)
        few = query
        if query.limit is None or query.limit > worker.SMALL_COINS:
            few = replace(query, limit=worker.SMALL_COINS + 1)
        if n_values <= worker.SMALL_COINS:
            coins = await read(lambda view: view.coins_packed(few), n_values)
            if few is query or len(coins) <= worker.SMALL_COINS * COIN_BYTES:
                return make(coins)
        return await read(lambda view: make(view.coins_packed(query)), _MAX_ITEMS)

    async def _lineages(self, puzzle_hash: bytes) -> list[tuple[bytes, bytes, bytes]]:
        """See lineages(); of the marked coins of a puzzle hash."""
        while True:
            before = self._follower.n_begun
            async with self.db_wrapper.reader_no_transaction() as connection:
                names = await marked_table.names_of(connection, puzzle_hash)
            n_names = len(names) // NAME_BYTES
            found = await self._follower.read(
                self.db_wrapper, partial(lineages, names=names), 2 * n_names, in_steps=True
            )
            # Else a block that came in between may have spent one, and marked another.
            if len(found) == n_names or self._follower.n_begun == before:
                return found

    async def _hinted(self, hints: list[bytes]) -> bytes:
        """The names of the coins with these hints."""
        marks = ",".join("?" * len(hints))
        # Tens of thousands of rows: SQLite joins them, and reads them in the order of its pages.
        select = (
            "SELECT CAST(group_concat(coin_id, '') AS BLOB) FROM ("
            f"SELECT rowid AS place FROM hints INDEXED BY hint_index WHERE hint IN ({marks})"
            " ORDER BY place) CROSS JOIN hints ON hints.rowid = place"
            f" WHERE length(coin_id) = {NAME_BYTES}"
        )
        async with self.db_wrapper.reader_no_transaction() as connection:
            [(names,)] = await connection.execute_fetchall(select, tuple(hints))
        return names or b""


def _assert(condition: bool) -> None:
    """What chia asserts, in its way: also where Python leaves assertions out."""
    if not condition:
        raise AssertionError


def _spent(include_spent: bool) -> tuple[int, int]:
    return ANY if include_spent else UNSPENT


def _limit(max_items: int) -> int | None:
    """As SQLite has it: a negative one is none."""
    return None if max_items < 0 else max_items
