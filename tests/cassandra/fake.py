"""A keyspace in dictionaries, for tests without a server: see cdb.stores.cassandra.tables."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from os import PathLike, fspath

from cdb.contract.durability import Durability
from cdb.errors import DatabaseLockedError
from cdb.schemas import SchemaFactory
from cdb.stores.cassandra.rows import Row, Table
from cdb.stores.cassandra.schema import CassandraSchema, Lock, opened
from cdb.stores.cassandra.state import State, view_of
from cdb.stores.cassandra.tables import CoinRow


@dataclass(repr=False)
class Keyspace:
    """What a cluster has. before: called with the name of each call, before it is answered; it may
    raise. written: how many calls of write() there were."""

    states: dict[str, State] = field(default_factory=dict)
    coins: dict[bytes, dict[int, dict[str, bytes]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(dict))
    )
    heads: dict[bytes, dict[tuple[int, int], bytes]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    parts: dict[bytes, dict[int, bytes]] = field(default_factory=lambda: defaultdict(dict))
    keyed: dict[bytes, set[tuple[int, bytes]]] = field(default_factory=lambda: defaultdict(set))
    before: Callable[[str], None] = lambda call: None


class FakeTables:
    """See Tables."""

    def __init__(self, keyspace: Keyspace, name: str) -> None:
        self._in = keyspace
        self._name = name

    def write(self, rows: Mapping[Table, Sequence[Row]]) -> None:
        """See Tables: row by row, so that what raises in between leaves some."""
        for table, some in rows.items():
            name, columns = table.value
            for row in some:
                self._in.before("write")
                self._write(name, dict(zip(columns, row, strict=True)))

    def _write(self, name: str, row: dict[str, bytes | int]) -> None:
        key = row.pop("key")
        assert isinstance(key, bytes)
        match name, [*row.values()]:
            case "coin", [int(run), *_]:
                cells = {column: cell for column, cell in row.items() if isinstance(cell, bytes)}
                self._in.coins[key][run].update(cells)
            case "head", [int(number), int(run), bytes(head)]:
                self._in.heads[key][number, run] = head
            case "part", [int(part), bytes(data)]:
                self._in.parts[key][part] = data
            case "keyed", [int(confirmed), bytes(coin)]:
                self._in.keyed[key].add((confirmed, coin))
            case _:
                raise AssertionError(name)

    def coins(self, keys: Sequence[bytes]) -> Iterator[CoinRow]:
        """See Tables."""
        self._in.before("coins")
        for key in {*keys}:
            for run, cells in {**self._in.coins.get(key, {})}.items():
                yield key, run, cells.get("born"), cells.get("spent")

    def heads(self, key: bytes) -> Sequence[tuple[int, int, bytes]]:
        """See Tables."""
        self._in.before("heads")
        heads = {**self._in.heads.get(key, {})}
        return [(number, run, head) for (number, run), head in sorted(heads.items())]

    def parts(self, keys: Sequence[tuple[bytes, int]]) -> Iterator[list[bytes]]:
        """See Tables."""
        for key, n_parts in keys:
            self._in.before("parts")
            found = self._in.parts.get(key, {})
            yield [found[part] for part in range(n_parts) if part in found]

    def keyed(self, keys: Iterable[bytes], first: int, last: int) -> Iterator[bytes]:
        """See Tables."""
        for key in keys:
            self._in.before("keyed")
            yield from (
                name for index, name in [*self._in.keyed.get(key, ())] if first <= index <= last
            )

    def state(self) -> State | None:
        """See Tables."""
        self._in.before("state")
        state = self._in.states.get(self._name)
        if state is not None:
            assert view_of(state.view.newest, state.view.packed_runs()) == state.view
        return state

    def make(self, state: State) -> bool:
        """See Tables."""
        self._in.before("make")
        return self._in.states.setdefault(self._name, state) is state

    def change(self, old: State, new: State) -> None:
        """See Tables."""
        self._in.before("change")
        if self._in.states[self._name] not in (old, new):
            raise DatabaseLockedError(self._name, "another writer has taken it over")
        self._in.states[self._name] = new

    def check_keeps(self, durability: Durability) -> None:
        """See Tables."""

    def close(self) -> None:
        """See Tables."""


def open_in(
    keyspace: Keyspace,
    path: str | PathLike[str],
    *,
    durability: Durability = Durability.POWER,
    read_only: bool = False,
    index: str = "",
    takeover: bool = False,
) -> CassandraSchema:
    """Open the chain of a path's name, as cassandra() does at a URL."""
    name = fspath(path)
    lock = None if read_only else Lock(takes_over=takeover)
    try:
        return opened(name, FakeTables(keyspace, name), lock, read_only=read_only, keys=index)
    except BaseException:
        if lock is not None:
            lock.release()
        raise


def fake_schema(index: str = "") -> SchemaFactory:
    """Opens chains in a keyspace of its own."""
    return partial(open_in, Keyspace(), index=index)
