"""Secondary keys as objects, for a schema that answers packed queries; and what FORMAT and messages
call them."""

from abc import ABC, abstractmethod
from pathlib import Path

from cdb.contract.blocks import checked_index
from cdb.contract.coin_query import MAX_INDEX, CoinKey, CoinQuery, joined_values, unpacked_coins
from cdb.contract.coins import CoinInfo, bytes32
from cdb.contract.packed import Packed
from cdb.contract.printable import shell_word
from cdb.errors import UnsupportedError

PUZZLE_HASH = "puzzle_hash"
"""The index that a database can be made with."""
EXTRAS = (f"index={PUZZLE_HASH}",)
"""What FORMAT says of such a database; see cdb.disk.home."""


def extra_for(schema: str, index: str) -> str:
    """What FORMAT is to say of a database with an index, or "".

    Raises UnsupportedError for an index that a schema does not have.
    """
    if index not in ("", PUZZLE_HASH):
        raise UnsupportedError(f"{schema} has no index by {index!r}; it has {PUZZLE_HASH!r}")
    return EXTRAS[0] if index else ""


def how_to_index(schema: str, path: Path) -> str:
    """What to type for a database without an index."""
    name, comma, options = schema.partition(",")
    spec = f"{name}:INDEXED{comma}{options}"
    return f"'cdb load_blocks {spec} --db {shell_word(path)} --input /dev/null' gives it one"


class Indexed(ABC):
    """The methods of IndexedSchema, by those of QueriesPacked. See cdb.contract.schema."""

    @abstractmethod
    def coins_packed(self, query: CoinQuery) -> Packed:
        """See QueriesPacked."""

    def coin_infos_for_puzzle_hashes(
        self,
        puzzle_hashes: list[bytes32],
        *,
        first: int = 0,
        last: int = MAX_INDEX,
        include_spent: bool = True,
        limit: int | None = None,
    ) -> list[CoinInfo]:
        """See IndexedSchema."""
        values, spent = joined_values(puzzle_hashes), _spent(include_spent)
        return self._infos_of(
            CoinQuery(CoinKey.PUZZLE_HASH, values, (first, last), spent, limit=limit)
        )

    def coin_infos_for_parents(
        self,
        parent_coin_names: list[bytes32],
        *,
        include_spent: bool = True,
        limit: int | None = None,
    ) -> list[CoinInfo]:
        """See IndexedSchema."""
        values, spent = joined_values(parent_coin_names), _spent(include_spent)
        return self._infos_of(CoinQuery(CoinKey.PARENT, values, spent=spent, limit=limit))

    def coin_infos_confirmed_at(self, block_index: int) -> list[CoinInfo]:
        """See IndexedSchema."""
        block_index = checked_index(block_index)
        return self._infos_of(CoinQuery(confirmed=(block_index, block_index)))

    def coin_infos_spent_at(self, block_index: int) -> list[CoinInfo]:
        """See IndexedSchema."""
        block_index = checked_index(block_index)
        return self._infos_of(CoinQuery(spent=(max(1, block_index), block_index)))

    def _infos_of(self, query: CoinQuery) -> list[CoinInfo]:
        return unpacked_coins(self.coins_packed(query))


def _spent(include_spent: bool) -> tuple[int, int]:
    return (0, MAX_INDEX if include_spent else 0)
