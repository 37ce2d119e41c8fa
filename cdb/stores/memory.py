"""Coins in dictionaries, without the front that other stores share: it is held against them."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from io import FileIO
from os import PathLike
from pathlib import Path
from struct import pack
from typing import TYPE_CHECKING

from sortedcontainers import SortedDict

from cdb.contract.blocks import (
    BlockSpendInfo,
    NamedBlock,
    canonical,
    checked_index,
    checked_names,
    in_range,
)
from cdb.contract.coin_query import COIN_FORMAT, CoinKey, CoinQuery
from cdb.contract.coins import Coin, CoinInfo, bytes32
from cdb.contract.durability import Durability
from cdb.contract.facts import Facts
from cdb.contract.history import ABOVE_ALL, checked_height
from cdb.contract.secondary_keys import Indexed
from cdb.disk.files import fsync_dir, fsync_file, temporary
from cdb.disk.home import Format, Lock, check_in_place
from cdb.disk.paths import check_file, located, own
from cdb.disk.sharing import Shared, reading, weakly, whole, writing
from cdb.errors import (
    AlreadySpentError,
    BlockOrderError,
    DuplicateCoinError,
    InvalidBlockError,
    UnknownCoinError,
    storage_errors,
)
from cdb.text import replay_file


class MemorySchema(Shared, Indexed):
    """Keeps everything in dictionaries; see cdb.schemas.Schema for the methods. By secondary keys
    it finds coins by going over all of them, and as of a height by doing again what all blocks did:
    so that no schema shares a way with it.

    path: where flush() keeps a copy; None keeps none, and then nothing survives.
    """

    def __init__(
        self,
        path: str | PathLike[str] | None = None,
        *,
        durability: Durability = Durability.POWER,
        read_only: bool = False,
    ) -> None:
        self._path = None if path is None else located(path, read_only=read_only)
        super().__init__(self._path or "memory", read_only=read_only)
        self._coins: dict[bytes32, Coin] = {}
        self._confirmed: dict[bytes32, int] = {}
        self._spent: dict[bytes32, int] = {}
        self._blocks: SortedDict[int, NamedBlock] = SortedDict()
        self._durable = durability is Durability.POWER
        self._flock: Lock | None = None
        self._file: FileIO | None = None
        self._dirty = False
        if self._path is not None:
            self._open(self._path)

    @property
    def last_block_index(self) -> int | None:
        """See Schema."""
        return self._blocks.peekitem()[0] if self._blocks else None

    @writing
    def accept_block(self, block_spend_info: BlockSpendInfo) -> None:
        """See Schema."""
        block = self._checked(block_spend_info)
        with self.guard.write():
            self._apply(block)
            self._dirty = True

    @reading
    def flush(self) -> None:
        """See Schema."""
        self._flush()

    def coin_infos_for_coin_names(self, coin_names: list[bytes32]) -> list[CoinInfo]:
        """See Schema."""
        return self._infos(checked_names(coin_names))

    @reading
    def facts(self) -> Facts:
        """See TellsFacts."""
        return Facts(coins=len(self._coins), is_settled=True)

    @reading
    def coins_packed(self, query: CoinQuery) -> bytes:
        """See QueriesPacked."""
        query = query.checked()
        coins = sorted(self._asked(query))
        return b"".join(packed for _, _, packed in coins[: query.limit])

    @reading
    def block_info_for_block_index(self, block_index: int) -> BlockSpendInfo | None:
        """See Schema."""
        block = self._blocks.get(checked_index(block_index))
        return None if block is None else canonical(block.plain())

    @writing
    def rewind_to_block_index(self, block_index: int) -> None:
        """See Schema."""
        block_index = checked_index(block_index)
        with self.guard.write():
            for index in list(self._blocks.irange(block_index, inclusive=(False, True))):
                block = self._blocks.pop(index)
                for name in block.spends:
                    del self._spent[name]
                for name in block.names:
                    del self._coins[name], self._confirmed[name]
                self._dirty = True
        self._flush()

    @reading
    def blocks(self) -> Iterable[BlockSpendInfo]:
        """See Schema. Blocks never change once accepted, so a list of them is a snapshot."""
        return self.iteration(canonical(block.plain()) for block in list(self._blocks.values()))

    def coin_infos_as_of(self, coin_names: list[bytes32], height: int) -> list[CoinInfo]:
        """See HistorySchema."""
        names, coins = checked_names(coin_names), self._coins_at(checked_height(height))
        return [coins[name] for name in names if name in coins]

    @reading
    def state_at(self, height: int) -> Iterator[CoinInfo]:
        """See HistorySchema."""
        blocks = self._blocks_up_to(checked_height(height))
        return self.iteration(info for coins in _replayed(blocks) for info in coins.values())

    @reading
    def unspent(self) -> Iterator[CoinInfo]:
        """See HistorySchema."""
        states = _replayed(self._blocks_up_to(ABOVE_ALL))
        infos = (info for coins in states for info in coins.values())
        return self.iteration(info for info in infos if not info.spent_index)

    @reading
    def versions(self, first: int, last: int) -> Iterator[CoinInfo]:
        """See HistorySchema."""
        first = checked_height(first)
        return self.iteration(_versions(self._blocks_up_to(checked_height(last)), first))

    @whole
    def close(self) -> None:
        """See Schema."""
        if self.guard.disowned:
            return
        try:
            if not self.guard.closed and not self.guard.failed and not self.read_only:
                self._flush()
        finally:
            self.guard.closed = True
            self._release()

    def _flush(self) -> None:
        with self.guard.write():
            if self._path is not None and self._dirty:
                blocks = (block.plain() for block in self._blocks.values())
                replay_file.save(self._path, blocks, durable=self._durable)
                self._hold(self._path)
            self._dirty = False

    @reading
    def _coins_at(self, height: int) -> dict[bytes32, CoinInfo]:
        return next(_replayed(self._blocks_up_to(height)))

    def _blocks_up_to(self, height: int) -> list[NamedBlock]:
        """Blocks never change once accepted, so this is a snapshot."""
        return [self._blocks[block_index] for block_index in self._blocks.irange(maximum=height)]

    @reading
    def _infos(self, coin_names: list[bytes32]) -> list[CoinInfo]:
        return [
            CoinInfo(self._coins[name], self._confirmed[name], self._spent.get(name, 0))
            for name in coin_names
            if name in self._coins
        ]

    def _asked(self, query: CoinQuery) -> Iterator[tuple[int, bytes32, bytes]]:
        """Of each coin that is asked for the block by which it is ordered, its name, and itself."""
        wanted = query.separate_values()
        for name, coin in self._coins.items():
            keys = {
                CoinKey.NAME: name,
                CoinKey.PUZZLE_HASH: coin.puzzle_hash,
                CoinKey.PARENT: coin.parent_coin_name,
            }
            confirmed, spent = self._confirmed[name], self._spent.get(name, 0)
            changed = max(confirmed, spent)
            if (
                (query.key is CoinKey.NONE or keys[query.key] in wanted)
                and query.confirmed[0] <= confirmed <= query.confirmed[1]
                and query.spent[0] <= spent <= query.spent[1]
                and query.changed_from <= changed
                and query.least_amount <= coin.amount
            ):
                fields = (coin.parent_coin_name, coin.puzzle_hash, coin.amount, confirmed, spent)
                timestamp = self._blocks[confirmed].timestamp
                packed = pack(COIN_FORMAT, name, *fields, timestamp)
                yield changed if query.by_change else confirmed, name, packed

    def _open(self, path: Path) -> None:
        if not self.read_only:
            # Before the lock file is made: nothing is put beside what is not ours.
            if path.exists():
                replay_file.check_format(path)
            with storage_errors(path):
                for file in (path, temporary(path)):
                    check_file(file, read_only=False)
            self._flock = Lock(path.with_name(path.name + ".lock"), path)
            self.guard.check_place = weakly(self._check_place)
        try:
            if not self.read_only and not path.exists():
                replay_file.save(path, [], durable=self._durable)
            elif not self.read_only and self._durable:
                # A process that was killed may have replaced it just before, and below POWER
                # without a sync.
                fsync_file(path)
                fsync_dir(path.parent)  # fault: found-name-not-synced
            if not self.read_only:
                self._hold(path)
            for block in replay_file.load(path):
                self._apply(self._checked(block))
        except BaseException:
            self._release()
            raise

    def _checked(self, block_spend_info: BlockSpendInfo) -> NamedBlock:
        """The block, if it may follow. The rules are said again, coin by coin: what other stores
        have of them (cdb.contract.rules) is held against this."""
        block = canonical(in_range(block_spend_info))
        index, spends, newest = block.index, block.spends, self.last_block_index
        if index == 0 and spends:
            reason = "block 0 can spend nothing, because spent index 0 means unspent"
            raise InvalidBlockError(reason, index, spends[0])
        if newest is not None and newest >= index:
            raise BlockOrderError(f"the newest block is {newest} already", index)
        names = [coin.name() for coin in block.confirms]
        confirmed, spent = Counter(names), Counter(spends)
        for name in sorted(names):
            if confirmed[name] > 1:
                raise DuplicateCoinError("it confirms a coin twice", index, name)
        for name in spends:
            if spent[name] > 1:
                raise AlreadySpentError("it spends a coin twice", index, name)
        outside = [name for name in spends if name not in confirmed]
        for name in outside:
            if name not in self._coins:
                raise UnknownCoinError("it spends a coin that does not exist", index, name)
            if name in self._spent:
                reason = f"it spends a coin that block {self._spent[name]} spent already"
                raise AlreadySpentError(reason, index, name)
        for name in names:
            if name in self._coins:
                raise DuplicateCoinError("it confirms a coin that exists already", index, name)
        return NamedBlock(index, block.timestamp, spends, block.confirms, names, outside)

    def _apply(self, block: NamedBlock) -> None:
        for name, coin in zip(block.names, block.confirms, strict=True):
            self._coins[name] = coin
            self._confirmed[name] = block.index
        self._spent.update(dict.fromkeys(block.spends, block.index))
        self._blocks[block.index] = block

    def _hold(self, path: Path) -> None:
        """Have the file that a flush replaces open: so no other one gets its number."""
        if self._file is not None:
            self._file.close()
        with storage_errors(path):
            self._file = open(path, "rb", buffering=0, opener=own)  # noqa: SIM115

    def _check_place(self) -> None:
        if self._flock is not None:
            self._flock.check_in_place()
        if self._file is not None and self._path is not None:
            check_in_place(self._path, os.fstat(self._file.fileno()), self._path)

    def _release(self) -> None:
        if self._file is not None:
            self._file.close()
        if self._flock is not None:
            self._flock.release()


def _replayed(blocks: Iterable[NamedBlock]) -> Iterator[dict[bytes32, CoinInfo]]:
    """What blocks leave of all coins, by name, in the order in which they came: one state."""
    coins: dict[bytes32, CoinInfo] = {}
    for block in blocks:
        _replay(block, coins)
    yield coins


def _versions(blocks: Iterable[NamedBlock], first: int) -> Iterator[CoinInfo]:
    """What each block from an index on leaves of the coins that it touches."""
    coins: dict[bytes32, CoinInfo] = {}
    for block in blocks:
        touched = _replay(block, coins)
        if block.index >= first:
            yield from [coins[name] for name in sorted(touched)]


def _replay(block: NamedBlock, coins: dict[bytes32, CoinInfo]) -> set[bytes32]:
    """Do what a block does, and tell to which coins."""
    named = zip(block.names, block.confirms, strict=True)
    confirmed = {name: CoinInfo(coin, block.index, 0) for name, coin in named}
    coins.update(confirmed)
    for name in block.spends:
        coins[name] = CoinInfo(coins[name].coin, coins[name].confirmed_index, block.index)
    return {*confirmed, *block.spends}


def format_of(path: Path) -> Format | None:
    """See FormatOf: by the first line."""
    version = replay_file.version_of(path)
    return None if version is None else Format("memory", version)


if TYPE_CHECKING:
    from cdb.contract.schema import HistorySchema

    _keeps: type[HistorySchema] = MemorySchema
