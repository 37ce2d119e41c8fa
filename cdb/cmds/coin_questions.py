"""What cdb coins can be asked: coins by keys, and all as of a height."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TypedDict

from cdb.contents.history_digest import (
    RowsDigest,
    digest_of_state,
    digest_of_versions,
    is_spent,
    state_rows,
    unspent_rows,
    version_rows,
)
from cdb.contract.coins import CoinInfo, bytes32
from cdb.contract.location import Location
from cdb.contract.printable import shell_word
from cdb.errors import SchemaError, UnsupportedError
from cdb.schemas import (
    HistorySchema,
    IndexedSchema,
    Schema,
    SchemaInfo,
    find_schema,
    offer_of,
    schema_names,
)


@dataclass(frozen=True, slots=True)
class Keys:
    """By what coins are asked for."""

    puzzle_hashes: tuple[bytes32, ...]
    parents: tuple[bytes32, ...]
    confirmed: tuple[int, ...]
    spent: tuple[int, ...]
    unspent: bool

    @property
    def n_kinds(self) -> int:
        """How many kinds of keys there are."""
        kinds = (self.puzzle_hashes, self.parents, self.confirmed, self.spent)
        return sum(map(bool, kinds))

    def find(
        self, schema: SchemaInfo, location: Location, database: Schema, limit: int | None
    ) -> list[CoinInfo]:
        """The coins. Raises UnsupportedError where the database has no secondary keys."""
        keys = offer_of(database).indexed
        if keys is None:
            raise UnsupportedError(_no_keys(schema, location))
        options: _Options = {"include_spent": not self.unspent, "limit": limit}
        if self.puzzle_hashes:
            return keys.coin_infos_for_puzzle_hashes([*self.puzzle_hashes], **options)
        if self.parents:
            return keys.coin_infos_for_parents([*self.parents], **options)
        return list(islice(self._of_blocks(keys), at_most(limit)))

    def _of_blocks(self, keys: IndexedSchema) -> Iterator[CoinInfo]:
        of_blocks = chain(
            map(keys.coin_infos_confirmed_at, sorted(set(self.confirmed))),
            map(keys.coin_infos_spent_at, sorted(set(self.spent))),
        )
        infos = chain.from_iterable(of_blocks)
        return (info for info in infos if not (self.unspent and info.spent_index))


class _Options(TypedDict):
    include_spent: bool
    limit: int | None


@dataclass(frozen=True, slots=True)
class Past:
    """What of history is asked for."""

    height: int | None
    window: tuple[int, int] | None
    unspent: bool

    @property
    def is_asked(self) -> bool:
        """Whether anything is."""
        return self.unspent or self.height is not None or self.window is not None

    def rows(self, history: HistorySchema) -> Iterator[CoinInfo]:
        """The coins, or versions."""
        if self.window is not None:
            return history.versions(*self.window)
        if self.height is None:
            return history.unspent()
        infos = history.state_at(self.height)
        return (info for info in infos if not (self.unspent and info.spent_index))

    def digest(self, history: HistorySchema) -> RowsDigest:
        """The same as a digest."""
        if self.window is not None:
            return digest_of_versions(version_rows(history, *self.window))
        if self.height is None:
            return digest_of_state(unspent_rows(history))
        rows = state_rows(history, self.height)
        return digest_of_state(row for row in rows if not (self.unspent and is_spent(row)))


def at_most(limit: int | None) -> int | None:
    """As islice takes it."""
    return None if limit is None else min(limit, sys.maxsize)


def _no_keys(schema: SchemaInfo, location: Location) -> str:
    """What to say of a database without secondary keys."""
    if schema.indexed is not None:
        made = f"'cdb load_blocks {schema.indexed} --db NEW --input REPLAY' makes one with them"
        if isinstance(location, Path) and location.is_dir():
            # its FORMAT can say that it has them from now on
            line = f"cdb load_blocks {schema.indexed} --db {shell_word(location)} --input /dev/null"
            made = f"'{line}' gives it some"
        return f"{location}: this database has no secondary keys; {made}"
    others = [found for name in schema_names() if (found := _keyed_spec(name)) is not None]
    line = "cdb load_blocks SCHEMA --db NEW --input REPLAY"
    made = f"'{line}' makes one, where SCHEMA is {' or '.join(others)}"
    return f"{location}: {schema.name} has no secondary keys; {made}"


def _keyed_spec(name: str) -> str | None:
    try:
        schema = find_schema(name)
        return schema.indexed if schema.missing is None else None
    except SchemaError:
        return None
