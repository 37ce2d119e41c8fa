"""The coins as a writer sees them before its transaction is committed: the log's, and changes.

It is plain Python and goes over all new coins for what is not asked by name: only the task that
writes reads here, and it asks for little.
"""

from collections.abc import Iterable, Iterator
from struct import iter_unpack, pack
from typing import Protocol

from cdb.contract.coin_query import COIN_FORMAT, CoinKey, CoinQuery
from cdb.contract.coins import MAX_U32, NAME_BYTES
from cdb.contract.packed import CONFIRM_BYTES, INFO_BYTES, INFO_FORMAT, Packed
from cdb.contract.schema import QueriesPacked
from cdb.node.log import Log
from cdb.node.operation import Block, Operation
from cdb.node.rows import CONFIRMED, NAME, PARENT, PUZZLE_HASH, SPENT, Row, changed_at, coin_rows


class View(QueriesPacked, Protocol):
    """The coins as one task has to see them: a log's, or an Overlay's."""

    def coin_infos_packed(self, coin_names: bytes, /) -> tuple[Packed, Packed]:
        """See ReadsPacked."""
        ...

    def count_unspent(self) -> int:
        """How many coins are unspent."""
        ...


class Overlay:
    """Answers queries for a log's coins after operations that it hasn't seen."""

    def __init__(self, log: Log, operations: Iterable[Operation]) -> None:
        self._log = log
        self._below = MAX_U32 + 1
        """What the log confirms or spends in blocks from here on doesn't count."""
        self._blocks: list[Block] = []
        self._rows: dict[bytes, Row] = {}
        """The coins of these blocks by name, with the spent index 0."""
        self._spent: dict[bytes, int] = {}
        for operation in operations:
            self.add(operation)

    @property
    def newest(self) -> Block | None:
        """The newest block; None where it is the log's."""
        return self._blocks[-1] if self._blocks else None

    @property
    def below(self) -> int:
        """Blocks of the log with this height or more are gone."""
        return self._below

    def add(self, operation: Operation) -> None:
        """Apply one more operation."""
        self._below = min(self._below, operation.height)
        while self._blocks and self._blocks[-1].height >= operation.height:
            self._take_away(self._blocks.pop())
        if operation.block is not None:
            self._put(operation.block)

    def newest_below(self, height: int) -> Block | None:
        """The newest of the new blocks that has coins and is below a height."""
        for block in reversed(self._blocks):
            if block.height < height and block.confirms:
                return block
        return None

    def coins_packed(self, query: CoinQuery) -> bytes:
        """See QueriesPacked."""
        query = query.checked()
        rows = [row for row in self._all(query) if _is_wanted(query, row)]
        rows.sort(key=_by_change if query.by_change else _by_confirm)
        return b"".join(pack(COIN_FORMAT, *row) for row in rows[: query.limit])

    def coin_infos_packed(self, coin_names: bytes) -> tuple[bytes, bytes]:
        """See ReadsPacked."""
        coins = coin_rows(self.coins_packed(CoinQuery(CoinKey.NAME, coin_names)))
        infos = {row[NAME]: pack(INFO_FORMAT, *row[PARENT : SPENT + 1]) for row in coins}
        found = [infos.get(name) for name in _names(coin_names)]
        unknown = bytes(INFO_BYTES)
        return b"".join([info or unknown for info in found]), bytes(map(bool, found))

    def count_unspent(self) -> int:
        """See View. Each spend of these blocks is of a coin of theirs, or of an unspent one."""
        return self._log.count_unspent(self._below - 1) + len(self._rows) - len(self._spent)

    def _put(self, block: Block) -> None:
        self._blocks.append(block)
        for name, parent, puzzle_hash, amount in _confirms(block):
            fields = (parent, puzzle_hash, int.from_bytes(amount, "big"))
            self._rows[name] = (name, *fields, block.height, 0, block.timestamp)
        self._spent.update(dict.fromkeys(_names(block.spends), block.height))

    def _take_away(self, block: Block) -> None:
        for name in _names(block.names):
            del self._rows[name]
        for name in _names(block.spends):
            del self._spent[name]

    def _all(self, query: CoinQuery) -> Iterator[Row]:
        """The coins that have the query's key and are confirmed in its range, as they are now."""
        for row in self._log_rows(query):
            yield _with_spent(row, self._spent_index(row))
        for row in self._new_rows(query):
            yield _with_spent(row, self._spent.get(row[NAME], 0))

    def _log_rows(self, query: CoinQuery) -> Iterable[Row]:
        first, last = query.confirmed
        confirmed = (first, min(last, self._below - 1))
        if confirmed[0] > confirmed[1]:
            return []
        if query.key is not CoinKey.NONE or not query.spent[0]:
            wide = CoinQuery(query.key, query.values, confirmed)
            return coin_rows(self._log.coins_packed(wide))
        # By a range of spending blocks: those that the log finds, and those that new blocks spend.
        in_log = CoinQuery(confirmed=confirmed, spent=query.spent)
        by_name = CoinQuery(CoinKey.NAME, b"".join(self._spent), confirmed)
        asked = (self._log.coins_packed(each) for each in (in_log, by_name))
        return {row[NAME]: row for coins in asked for row in coin_rows(coins)}.values()

    def _new_rows(self, query: CoinQuery) -> Iterable[Row]:
        if query.key is CoinKey.NONE:
            return self._rows.values()
        values = dict.fromkeys(_names(query.values))
        if query.key is CoinKey.NAME:
            return [self._rows[name] for name in values if name in self._rows]
        if query.key is CoinKey.PARENT:
            return [row for row in self._rows.values() if row[PARENT] in values]
        return [row for row in self._rows.values() if row[PUZZLE_HASH] in values]

    def _spent_index(self, row: Row) -> int:
        """Of a coin of the log: what spends it now."""
        spent = row[SPENT]
        return self._spent.get(row[NAME], 0) if not spent or spent >= self._below else spent


def _is_wanted(query: CoinQuery, row: Row) -> bool:
    _, _, _, amount, confirmed, spent, _ = row
    return (
        query.confirmed[0] <= confirmed <= query.confirmed[1]
        and query.spent[0] <= spent <= query.spent[1]
        and query.changed_from <= max(confirmed, spent)
        and query.least_amount <= amount
    )


def _with_spent(row: Row, spent: int) -> Row:
    if row[SPENT] == spent:
        return row
    name, parent, puzzle_hash, amount, confirmed, _, timestamp = row
    return name, parent, puzzle_hash, amount, confirmed, spent, timestamp


def _by_change(row: Row) -> tuple[int, bytes]:
    return changed_at(row), row[NAME]


def _by_confirm(row: Row) -> tuple[int, bytes]:
    return row[CONFIRMED], row[NAME]


def _confirms(block: Block) -> Iterator[tuple[bytes, bytes, bytes, bytes]]:
    coins = iter_unpack(f"32s32s{CONFIRM_BYTES - 2 * NAME_BYTES}s", block.confirms)
    for name, (parent, puzzle_hash, amount) in zip(_names(block.names), coins, strict=True):
        yield name, parent, puzzle_hash, amount


def _names(joined: Packed) -> Iterator[bytes]:
    for (name,) in iter_unpack(f"{NAME_BYTES}s", joined):
        yield name
