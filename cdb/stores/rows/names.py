"""From a coin's name to its row: a memtable in front of an index that is derived from the rows."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from cdb.contract.durability import Durability
from cdb.disk.files import finish_removal, remove_dir
from cdb.errors import CorruptDatabaseError
from cdb.stores.rows.index import (
    KnowsIfSettled,
    NameIndex,
    Numbered,
    held_twice,
    is_of,
    lowered,
    written,
)


class Names(Protocol):
    """Finds the rows of coins by name. Names are added and dropped together with their rows."""

    @property
    def newest_stored_row(self) -> int:
        """The newest row that may be found by what is on disk, not by what was added."""
        ...

    def find(self, names: Sequence[bytes]) -> list[int | None]:
        """The row id of each name, in the order asked; None where there is no such coin."""
        ...

    def add(self, rows: dict[bytes, int]) -> None:
        """Take the names of new rows, in the rows' order."""
        ...

    def committed(self) -> None:
        """Learn that all rows are durable whose names were added."""
        ...

    def rewind(self, rows: int) -> None:
        """Forget, durably, every row above ``rows``. The rows themselves are still there."""
        ...

    def checkpoint(self) -> None:
        """Bring all committed rows into durable form, so that the next open need not."""
        ...

    def settle(self) -> None:
        """Do the same, and all the compaction that is owed, durably."""
        ...

    @property
    def is_settled(self) -> bool | None:
        """Whether settle() would have nothing to do; None where nobody knows."""
        ...

    def close(self) -> None:
        """Release files."""
        ...


class StaleIndexError(CorruptDatabaseError):
    """An index of other rows than there are. Beside a writer, it may be the next moment's."""


class IndexedNames:
    """Names in a memtable (the newest rows) and in a NameIndex (all older ones).

    The rows are the truth. The index never holds a row that is not durable, and what a crash has
    cost it is taken from the rows when the database is opened. So an index whose watermark is of
    other rows is damage: commits were lost. Only where power loss may take rows, it is thrown away
    and built again.
    """

    def __init__(
        self,
        rows: Numbered,
        index_path: Path,
        open_index: Callable[[Path], NameIndex],
        *,
        memtable_coins: int,
        durability: Durability,
        read_only: bool,
    ) -> None:
        self._rows = rows
        self._memtable_coins = memtable_coins
        self._read_only = read_only
        self._memtable: dict[bytes, int] = {}  # in the rows' order
        if not read_only:
            finish_removal(index_path)
        self._index = open_index(index_path)
        try:
            if not is_of(self._index.covered, rows):
                if read_only or durability is Durability.POWER:
                    problem = f"it is of coins that {rows.path.name} lacks: commits were lost"
                    raise StaleIndexError(index_path, problem)
                self._index.close()
                remove_dir(index_path)
                self._index = open_index(index_path)
            self._catch_up()
        except BaseException:
            self._index.close()
            raise

    @property
    def newest_stored_row(self) -> int:
        """See Names."""
        return self._index.covered.rows

    def find(self, names: Sequence[bytes]) -> list[int | None]:
        """See Names."""
        rows = [self._memtable.get(name) for name in names]
        older = [place for place, row in enumerate(rows) if row is None]
        found = self._index.find([names[place] for place in older])
        for place, row in zip(older, found, strict=True):
            rows[place] = row
        return rows

    def add(self, rows: dict[bytes, int]) -> None:
        """See Names."""
        self._memtable.update(rows)

    def committed(self) -> None:
        """See Names."""
        if len(self._memtable) >= self._memtable_coins:
            self.checkpoint()

    def rewind(self, rows: int) -> None:
        """See Names."""
        self._memtable = {name: row for name, row in self._memtable.items() if row <= rows}
        covered = self._index.covered
        if covered.rows > rows:
            dropped = self._rows.read.names_between(rows + 1, covered.rows)
            self._index.rewind(lowered(covered, self._rows, rows), dropped)

    def checkpoint(self) -> None:
        """See Names."""
        if self._memtable:
            last_name = next(reversed(self._memtable))
            self._rows.sync()  # the index may be durable, and is not to speak of rows that are not
            covered = written(self._rows, self._memtable[last_name], last_name)
            self._index.write(list(self._memtable), covered)
            self._memtable.clear()

    def settle(self) -> None:
        """See Names."""
        self.checkpoint()
        self._index.settle()

    @property
    def is_settled(self) -> bool | None:
        """See Names."""
        if self._memtable:
            return False
        return self._index.is_settled if isinstance(self._index, KnowsIfSettled) else None

    def close(self) -> None:
        """See Names."""
        self._index.close()

    def _catch_up(self) -> None:
        first_row = self._index.covered.rows + 1
        names = self._rows.read.names_between(first_row, self._rows.row_count)
        for row, name in enumerate(names, first_row):
            if name in self._memtable:
                raise held_twice(self._rows, name, self._memtable[name], row)
            self._memtable[name] = row
            if not self._read_only:
                self.committed()
