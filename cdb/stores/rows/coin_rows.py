"""Coins and blocks in one SQLite file: what reads them, and what changes them."""

import sqlite3
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TypeVar

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import bytes32
from cdb.contract.durability import Durability
from cdb.contract.packed import CONFIRM_BYTES, MOST_ENTRIES, PackedBlocks, in_packs
from cdb.contract.packed_state import names_of
from cdb.disk.files import fsync_dir, fsync_file
from cdb.disk.home import check_in_place
from cdb.errors import CorruptDatabaseError, DatabaseNotFoundError, known_path
from cdb.stores.rows.batch import Batch
from cdb.stores.rows.coin_table import CoinTable
from cdb.stores.rows.index import Branch
from cdb.stores.rows.snapshot import NEW_DATABASE, Snapshot, check_not_emptied
from cdb.stores.rows.sqlite import (
    connect,
    create_tables,
    from_signed,
    select_in,
    sqlite_errors,
    stored_data,
    transaction,
)
from cdb.stores.rows.stored import BLOCK_COLUMNS, BlockRow, StoredCoin, block_checksum

T = TypeVar("T")


class CoinReader:
    """Reads coins and blocks through one connection.

    reading: a context that turns the errors of a read into ours, such as stored_data.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        table: CoinTable,
        reading: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._connection = connection
        self._path = Path(known_path(path))
        self.reading = reading
        self._select_coins = f"SELECT {table.columns} FROM {table.table} WHERE rowid"
        self._select_blocks = f"SELECT {BLOCK_COLUMNS} FROM {table.block_table}"

    def coins(self, rows: Sequence[int]) -> list[StoredCoin]:
        """The coins of these row ids, in their order."""
        with self.reading():
            return self._coins(rows)

    def named_coins(
        self, rows: Sequence[int | None], names: Sequence[bytes]
    ) -> list[StoredCoin | None]:
        """The coin of each row, None for None, verified to have the name beside it."""
        asked = [(row, name) for row, name in zip(rows, names, strict=True) if row is not None]
        with self.reading():
            coins = self._coins([row for row, _ in asked])
            confirms = b"".join([coin.confirm() for coin in coins])
            are_named = len(confirms) == CONFIRM_BYTES * len(coins) and names_of(
                confirms
            ) == b"".join([name for _, name in asked])
            for coin, (_, name) in zip(coins, asked, strict=True):
                if not coin.has_possible_indices() or (not are_named and coin.name() != name):
                    raise self.damaged(f"coin row {coin.row} does not hold coin {name.hex()}")
        found = iter(coins)
        return [None if row is None else next(found) for row in rows]

    def _coins(self, rows: Sequence[int]) -> list[StoredCoin]:
        selected = select_in(self._connection, self._select_coins, rows)
        found = {coin.row: coin for coin in map(StoredCoin._make, selected)}
        try:
            return [found[row] for row in rows]
        except KeyError as missing:
            raise self.damaged(f"coin row {missing} is missing") from None

    def names_between(self, first_row: int, last_row: int) -> Iterator[bytes32]:
        """The names of rows first_row … last_row, both included, in that order."""
        row = first_row
        with self.reading():
            for coin in self.coins_between(first_row, last_row):
                if coin.row != row:
                    break
                yield coin.name()
                row += 1
        if row <= last_row:
            raise self.damaged(f"coin row {row} is missing")

    def coins_between(self, first_row: int, last_row: int) -> Iterator[StoredCoin]:
        """The coins of rows first_row … last_row, both included, in that order."""
        query = f"{self._select_coins} BETWEEN ? AND ? ORDER BY rowid"
        with self.reading():
            selected = self._connection.execute(query, (first_row, last_row))
            yield from map(StoredCoin._make, selected)

    def blocks_above(self, block_index: int) -> Iterator[BlockRow]:
        """The blocks with a higher index, in order."""
        query = f"{self._select_blocks} WHERE block_index > ? ORDER BY block_index"
        with self.reading():
            yield from map(BlockRow.of, self._connection.execute(query, (block_index,)))

    def block(self, block_index: int) -> BlockSpendInfo | None:
        """The block at an index; None where there is none."""
        query = f"{self._select_blocks} WHERE block_index = ?"
        with self.reading():
            found = self._connection.execute(query, (block_index,)).fetchone()
            row = None if found is None else BlockRow.of(found)
        return None if row is None else self.assemble(row).block(0)

    def assemble(self, row: BlockRow) -> PackedBlocks:
        """The block that a block row stands for, checked against its checksum."""
        return self.assembled(row, *self.coins_of(row))

    def packs(self, first: int, last: int, entries: int) -> Iterator[PackedBlocks]:
        """The blocks first … last, without names, in packs of about so many coins and spends."""
        rows = takewhile(lambda row: row.block_index <= last, self.blocks_above(first - 1))
        return in_packs(map(self.assemble, rows), min(entries, MOST_ENTRIES))

    def coins_of(self, row: BlockRow) -> tuple[list[StoredCoin], list[StoredCoin]]:
        """The coins that the block of a block row confirms, and those that it spends."""
        with self.reading():
            last_row = row.first_row + row.n_confirms - 1
            return list(self.coins_between(row.first_row, last_row)), self.coins(row.spent())

    def assembled(
        self, row: BlockRow, coins: Sequence[StoredCoin], spent: Sequence[StoredCoin]
    ) -> PackedBlocks:
        """The block of a block row and its coins_of(), without names, checked against its
        checksum."""
        with self.reading():
            spends = b"".join([coin.name() for coin in spent])
            packed = b"".join([coin.confirm() for coin in coins])
            timestamp = from_signed(row.timestamp)
            checksum = block_checksum(row.block_index, timestamp, spends, packed)
            if checksum != row.checksum:
                raise self.damaged(f"block {row.block_index} fails its checksum")
            return PackedBlocks(
                array("Q", [row.block_index]),
                array("Q", [timestamp]),
                array("Q", [len(spent)]),
                array("Q", [len(coins)]),
                spends,
                packed,
                b"",
            )

    def damaged(self, problem: str) -> CorruptDatabaseError:
        """The error for rows that are not as they should be."""
        return CorruptDatabaseError(self._path, problem)


class CoinRows:
    """The coins and blocks of one SQLite file. Not safe for threads: its owner holds a lock.

    ``row_count`` and ``newest_index`` count what is not committed yet, too. A read-only object
    shows the state of the moment at which it was opened.

    was_made: a writer is not to make what is missing, because it was there. Raises
    CorruptDatabaseError where that is so, or a -wal says it.
    """

    def __init__(
        self,
        path: Path,
        table: CoinTable,
        durability: Durability,
        *,
        read_only: bool,
        was_made: bool = False,
    ) -> None:
        check_not_emptied(path)
        self.path = path
        self._durability = durability
        self.row_count = 0
        self._has_branch = False  # of its own, which comes with what it adds first
        self.newest_index: int | None = None
        self._table = table
        self._snapshot = Snapshot(path, table.tables) if read_only else None
        if self._snapshot is None:
            self.connection = connect(path, durability, table.tables)
            self.read = CoinReader(self.connection, path, table, partial(stored_data, path))
        else:
            self.connection = self._snapshot.connection
            self.read = self._reader_of(self._snapshot)
        try:
            with sqlite_errors(path):
                if self._one("SELECT count(*) FROM sqlite_master") == 0:
                    self._check_unmade(read_only=read_only, was_made=was_made)
                if not read_only:
                    create_tables(self.connection, table.create)
                with self.read.reading():
                    self._read_ends()
            if not read_only:
                self._status = path.stat()
                self._check_ends()
        except BaseException:
            self.connection.close()
            raise

    def _check_unmade(self, *, read_only: bool, was_made: bool) -> None:
        if was_made:
            problem = "it was emptied, or lost its -wal"
            raise CorruptDatabaseError(self.path, problem, NEW_DATABASE)
        if read_only:
            problem = "its making was cut short, and it holds nothing; load into it again"
            raise DatabaseNotFoundError(self.path, problem)

    def check_in_place(self) -> None:
        """Of a writer: raise StorageError where the path no longer leads to its file."""
        check_in_place(self.path, self._status, self.path)

    def spent(self, rows: Sequence[int]) -> list[tuple[int, int]]:
        """See KnownCoins."""
        with stored_data(self.path):
            return self._table.spent(self.connection, rows)

    def parents_of_older(self, early: Sequence[bytes], spends: Sequence[bytes]) -> set[bytes]:
        """See KnownCoins."""
        with stored_data(self.path):
            may_have_child = self._table.may_have_child(self.connection, early)
            return may_have_child | self._table.may_have_early_child(self.connection, spends)

    def append(self, batch: Batch) -> None:
        """Add the blocks of a batch that begins at row row_count + 1."""
        with sqlite_errors(self.path):
            transaction(self.connection)
            if not self._has_branch:
                self._table.begin_branch(self.connection, self.row_count)
                self._has_branch = True
            self._table.append(self.connection, batch)
            self.connection.executemany(
                f"INSERT INTO {self._table.block_table}({BLOCK_COLUMNS}) VALUES (?,?,?,?,?,?)",
                batch.block_rows(),
            )
        self.row_count += len(batch.rows)
        self.newest_index = batch.packed.indices[-1]

    def commit(self) -> None:
        """Make what was appended durable."""
        if self.connection.in_transaction:
            with sqlite_errors(self.path):
                self.connection.execute("COMMIT")

    def sync(self) -> None:
        """See Numbered. At POWER each commit is durable."""
        wal = self.path.with_name(f"{self.path.name}-wal")
        if self._durability is Durability.PROCESS and wal.exists():
            fsync_file(wal)
            fsync_dir(wal.parent)

    def branches(self) -> Iterator[Branch]:
        """See Numbered."""
        with self.read.reading():
            yield from self._table.branches(self.connection)

    def rows_kept_by(self, block_index: int) -> int:
        """How many coin rows a rewind to block_index leaves."""
        above = next(self.read.blocks_above(block_index), None)
        return self.row_count if above is None else above.first_row - 1

    def rewind(self, block_index: int) -> None:
        """Drop every block above block_index, durably and in one transaction."""
        kept = self.rows_kept_by(block_index)
        blocks = self._table.block_table
        with sqlite_errors(self.path):
            transaction(self.connection)
            for block in self.read.blocks_above(block_index):
                spent = [row for row in block.spent() if row <= kept]
                self._table.unspend(self.connection, spent)
            self._table.drop_above(self.connection, kept)
            self.connection.execute(f"DELETE FROM {blocks} WHERE block_index > ?", (block_index,))
            self._table.begin_branch(self.connection, kept)
            self._has_branch = True
            self.connection.execute("COMMIT")
            self._read_ends()

    def read_now(self, read: Callable[[CoinReader], Iterator[T]]) -> Iterator[T]:
        """What is read of all that is committed, lazily, as of now; read-only, as of then."""
        if self._snapshot is not None:
            return read(self.read)
        snapshot = Snapshot(self.path, self._table.tables)
        self.check_in_place()
        return _closing(snapshot, read(self._reader_of(snapshot)))

    def close(self) -> None:
        """Release the file. What was not committed is lost."""
        with sqlite_errors(self.path):
            self.connection.close()

    def _reader_of(self, snapshot: Snapshot) -> CoinReader:
        return CoinReader(snapshot.connection, self.path, self._table, snapshot.reading)

    def _read_ends(self) -> None:
        coins, blocks = self._table.table, self._table.block_table
        self.row_count = self._one(f"SELECT max(rowid) FROM {coins}") or 0
        self.newest_index = self._one(f"SELECT max(block_index) FROM {blocks}")

    def _check_ends(self) -> None:
        """What is added to rows that damage has cut off would hide it."""
        newest = -1 if self.newest_index is None else self.newest_index
        last = next(self.read.blocks_above(newest - 1), None)
        last_row = 0 if last is None else last.first_row + last.n_confirms - 1
        if last_row != self.row_count:
            problem = f"its coins end at row {self.row_count}, and its blocks at row {last_row}"
            raise self.read.damaged(problem)

    def _one(self, query: str) -> int | None:
        value: int | None = self.connection.execute(query).fetchone()[0]
        return value


def _closing(snapshot: Snapshot, items: Iterator[T]) -> Iterator[T]:
    with snapshot:
        yield from items
