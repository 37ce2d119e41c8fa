"""Blocks, their canonical order, and what their fields may be."""

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter, index, is_not

from cdb.contract.coins import MAX_U32, MAX_U64, NAME_BYTES, Coin, bytes32, bytes32_unchecked
from cdb.errors import InvalidBlockError, brief

canonical_coin_key = attrgetter("parent_coin_name", "puzzle_hash", "amount")


@dataclass(slots=True)
class BlockSpendInfo:
    """What one block does to the coin set.

    index: 0 … 2^32-1; timestamp: seconds since the Unix epoch, 0 … 2^64-1;
    spends: names of the coins it spends; confirms: the coins it creates.
    """

    index: int
    timestamp: int
    spends: list[bytes32]
    confirms: list[Coin]


def canonical(block: BlockSpendInfo) -> BlockSpendInfo:
    """The same block with spends sorted by name, confirms by (parent, puzzle hash, amount)."""
    return BlockSpendInfo(
        block.index,
        block.timestamp,
        sorted(block.spends),
        sorted(block.confirms, key=canonical_coin_key),
    )


@dataclass(frozen=True, slots=True)
class NamedBlock:
    """A canonical block that is valid in itself, with what a schema needs to place it.

    names[i] is the name of confirms[i]; outside_spends are the sorted spends of coins that this
    very block does not confirm (the others are ephemeral).
    """

    index: int
    timestamp: int
    spends: list[bytes32]
    confirms: list[Coin]
    names: list[bytes32]
    outside_spends: list[bytes32]

    def plain(self) -> BlockSpendInfo:
        """The block without the names."""
        return BlockSpendInfo(self.index, self.timestamp, self.spends, self.confirms)


def checked_names(names: Iterable[bytes32], what: str = "a coin name") -> list[bytes32]:
    """The names to look up, or `what` is like them. Raises ValueError unless each is bytes, and 32
    of them."""
    if isinstance(names, (str, bytes, bytearray, memoryview)):
        raise ValueError(f"{what} stands alone; give a list of them")
    listed = _plain_bytes(list(names), what)
    if not {NAME_BYTES}.issuperset(map(len, listed)):
        name = next(name for name in listed if len(name) != NAME_BYTES)
        raise ValueError(f"{what} has {NAME_BYTES} bytes, not {len(name)}: {name[:64].hex()}")
    return listed


def checked_index(block_index: int) -> int:
    """The block index that a caller asks for, of any size, as one of -1 … 2^32.

    -1 stands for all that are below every block, and 2^32 for all that are above: a store need not
    hold any others. Raises ValueError for what is no integer.
    """
    return max(-1, min(plain_integer(block_index, "a block's index"), MAX_U32 + 1))


def in_lists(block: BlockSpendInfo) -> BlockSpendInfo:
    """The block, whose spends and confirms can be gone over more than once."""
    if type(block.spends) is list and type(block.confirms) is list:
        return block
    return BlockSpendInfo(block.index, block.timestamp, list(block.spends), list(block.confirms))


def with_plain_fields(block: BlockSpendInfo) -> BlockSpendInfo:
    """The block with its integers and bytes as plain ones, of no class with rules of its own.

    Whatever Python takes for an integer is one. Raises ValueError where a field is of another type.
    Nothing is said of ranges and lengths.
    """
    confirms = list(block.confirms)
    parents = [coin.parent_coin_name for coin in confirms]
    puzzle_hashes = [coin.puzzle_hash for coin in confirms]
    amounts = [coin.amount for coin in confirms]
    plain = (
        _plain_bytes(parents, "a coin's parent name"),
        _plain_bytes(puzzle_hashes, "a coin's puzzle hash"),
        _plain_integers(amounts, "a coin's amount"),
    )
    is_changed = any(map(is_not, plain, (parents, puzzle_hashes, amounts)))
    if is_changed or not _are_all(confirms, Coin):
        confirms = [Coin(*fields) for fields in zip(*plain, strict=True)]
    return BlockSpendInfo(
        plain_integer(block.index, "a block's index"),
        plain_integer(block.timestamp, "a block's timestamp"),
        _plain_bytes(list(block.spends), "a spend"),
        confirms,
    )


def in_range(block: BlockSpendInfo) -> BlockSpendInfo:
    """The block with_plain_fields(). Raises InvalidBlockError where one is out of its range."""
    block = with_plain_fields(block)
    if not 0 <= block.index <= MAX_U32:
        raise InvalidBlockError(f"its index is not in 0 … {MAX_U32}", block.index)
    if not 0 <= block.timestamp <= MAX_U64:
        reason = f"its timestamp {brief(block.timestamp)} is not in 0 … {MAX_U64}"
        raise InvalidBlockError(reason, block.index)
    for name in block.spends:
        if len(name) != NAME_BYTES:
            raise InvalidBlockError(f"a spend has {len(name)} bytes, not 32", block.index, name)
    for coin in block.confirms:
        if not 0 <= coin.amount <= MAX_U64:
            reason = f"a coin's amount {brief(coin.amount)} is not in 0 … {MAX_U64}"
            raise InvalidBlockError(reason, block.index)
        if len(coin.parent_coin_name) != NAME_BYTES or len(coin.puzzle_hash) != NAME_BYTES:
            reason = "a coin's parent name and puzzle hash must have 32 bytes each"
            raise InvalidBlockError(reason, block.index)
    return block


def plain_integer(value: int, what: str) -> int:
    """Whatever Python takes for an integer, as a plain one. Raises ValueError for anything else."""
    try:
        return index(value)
    except TypeError:
        raise ValueError(f"{what} is an integer, not of type {type(value).__name__}") from None


def _are_all(values: Iterable[object], *kinds: type) -> bool:
    """Whether each is of one of these very classes; others may say that they are equal to them."""
    return set(map(id, kinds)).issuperset(map(id, map(type, values)))


def _plain_integers(values: list[int], what: str) -> list[int]:
    if _are_all(values, int):
        return values
    return [plain_integer(value, what) for value in values]


def _plain_bytes(values: list[bytes32], what: str) -> list[bytes32]:
    if _are_all(values, bytes, bytes32):
        return values
    for value in values:
        if not issubclass(type(value), bytes):
            advice = "; bytes.fromhex() reads hex digits" if issubclass(type(value), str) else ""
            raise ValueError(f"{what} is bytes, not of type {type(value).__name__}{advice}")
    return [bytes32_unchecked(bytes(memoryview(value))) for value in values]
