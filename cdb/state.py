"""What a schema holds, independent of how: its digest, its invariants, and where two differ.

Everything is read through the contract alone: blocks() and lookups by name, each held against the
other. So an equal digest says that lookups, spends and blocks are right, not only that rows exist.
"""

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from cdb.blocks import BlockSpendInfo, canonical
from cdb.coins import CoinInfo, bytes32
from cdb.damage import Progress
from cdb.errors import ChainMismatchError, InvariantError
from cdb.schemas.protocol import Schema

LOOKUP_COINS = 10_000


@dataclass(frozen=True, slots=True)
class BlockState:
    """A block, the names of the coins that it confirms, and what a lookup says of them."""

    block: BlockSpendInfo
    names: list[bytes32]
    infos: list[CoinInfo]


@dataclass(frozen=True, slots=True)
class StateSummary:
    """What a database holds; digest: 64 hex digits."""

    blocks: int
    coins: int
    spends: int
    newest_index: int | None
    digest: str


def summarize(schema: Schema, progress: Progress = lambda coins: None) -> StateSummary:
    """Count and digest the state. progress is told the number of coins of each block.

    The digest is SHA-256 over every block in order: its index (4 bytes, big endian), timestamp (8)
    and number of confirms (4), then for each coin in canonical order its name (32), confirmed
    index (4) and spent index (4; 0 for unspent).

    Raises InvariantError where a lookup contradicts a block.
    """
    digest = hashlib.sha256()
    blocks = coins = spends = 0
    newest_index = None
    for state in block_states(schema):
        block = state.block
        digest.update(struct.pack(">IQI", block.index, block.timestamp, len(state.names)))
        for name, info in zip(state.names, state.infos, strict=True):
            digest.update(name + struct.pack(">II", info.confirmed_index, info.spent_index))
        blocks += 1
        coins += len(state.names)
        spends += len(block.spends)
        newest_index = block.index
        progress(len(state.names))
    return StateSummary(blocks, coins, spends, newest_index, digest.hexdigest())


def verify(schema: Schema, progress: Progress = lambda coins: None) -> StateSummary:
    """Check every invariant, and summarize the state. Raises InvariantError at the first breach.

    Beyond what summarize() checks: blocks come in canonical form and rising order, and each alone
    as in the iteration; every spend is of a coin that says so, and no other coin says it is spent;
    names that differ in their last byte are unknown.
    """
    spent_by_coins = spent_by_blocks = 0
    previous: int | None = None
    for state in block_states(schema):
        block = state.block
        _check_block(schema, block, previous)
        _check_spends(schema, block)
        _check_absent(schema, state.names)
        spent_by_blocks += len(block.spends)
        spent_by_coins += sum(info.spent_index > 0 for info in state.infos)
        previous = block.index
        progress(len(state.names))
    if previous != schema.last_block_index:
        problem = f"the last block is {previous}, and the newest {schema.last_block_index}"
        raise InvariantError(problem)
    if spent_by_coins != spent_by_blocks:
        problem = (
            f"{spent_by_coins} coins say that they are spent, and blocks spend {spent_by_blocks}"
        )
        raise InvariantError(problem)
    return summarize(schema, progress)


def compare(one: Schema, other: Schema, progress: Progress = lambda coins: None) -> None:
    """Raise ChainMismatchError at the first block where two databases differ."""
    for a, b in zip_longest(block_states(one), block_states(other)):
        if a is None or b is None or a != b:
            raise ChainMismatchError(_difference(a, b))
        progress(len(a.names))


def block_states(schema: Schema) -> Iterator[BlockState]:
    """Every block with what lookups say of its coins; lookups go in batches over many blocks."""
    batch: list[tuple[BlockSpendInfo, list[bytes32]]] = []
    coins = 0
    for block in schema.blocks():
        names = [coin.name() for coin in block.confirms]
        batch.append((block, names))
        coins += len(names)
        if coins >= LOOKUP_COINS:
            yield from _look_up(schema, batch)
            batch, coins = [], 0
    yield from _look_up(schema, batch)


def _look_up(
    schema: Schema, batch: list[tuple[BlockSpendInfo, list[bytes32]]]
) -> Iterator[BlockState]:
    asked = [name for _, names in batch for name in names]
    answers = schema.coin_infos_for_coin_names(asked)
    if len(answers) != len(asked):
        _report_missing(schema, batch)
    remaining = iter(answers)
    for block, names in batch:
        infos = [next(remaining) for _ in names]
        for name, coin, info in zip(names, block.confirms, infos, strict=True):
            if info.coin != coin or info.confirmed_index != block.index:
                problem = (
                    f"block {block.index} confirms coin {name.hex()}, but a lookup says {info}"
                )
                raise InvariantError(problem)
        yield BlockState(block, names, infos)


def _report_missing(schema: Schema, batch: list[tuple[BlockSpendInfo, list[bytes32]]]) -> None:
    for block, names in batch:
        for name in names:
            if len(schema.coin_infos_for_coin_names([name])) != 1:
                problem = f"block {block.index} confirms coin {name.hex()}, but a lookup misses it"
                raise InvariantError(problem)
    raise InvariantError("a lookup of many names gives other answers than lookups of one")


def _check_block(schema: Schema, block: BlockSpendInfo, previous: int | None) -> None:
    if previous is not None and block.index <= previous:
        raise InvariantError(f"block {block.index} comes after block {previous}")
    if block != canonical(block):
        raise InvariantError(f"block {block.index} is not in canonical order")
    if block != schema.block_info_for_block_index(block.index):
        raise InvariantError(f"block {block.index} alone differs from the one in the iteration")


def _check_spends(schema: Schema, block: BlockSpendInfo) -> None:
    infos = schema.coin_infos_for_coin_names(block.spends)
    if len(infos) != len(block.spends):
        raise InvariantError(f"block {block.index} spends a coin that no lookup finds")
    for name, info in zip(block.spends, infos, strict=True):
        if info.spent_index != block.index:
            problem = (
                f"block {block.index} spends coin {name.hex()}, but it says {info.spent_index}"
            )
            raise InvariantError(problem)


def _check_absent(schema: Schema, names: list[bytes32]) -> None:
    absent = [bytes32(name[:-1] + bytes([name[-1] ^ 1])) for name in names]
    if schema.coin_infos_for_coin_names(absent):
        raise InvariantError("a lookup finds coins that no block confirms")


def _difference(a: BlockState | None, b: BlockState | None) -> str:
    if a is None or b is None:
        present, where = (b, "second") if a is None else (a, "first")
        index = "?" if present is None else present.block.index
        return f"block {index} is only in the {where} database"
    if a.block.index != b.block.index:
        where = "first" if a.block.index < b.block.index else "second"
        return f"block {min(a.block.index, b.block.index)} is only in the {where} database"
    where = f"block {a.block.index} differs"
    if a.block.timestamp != b.block.timestamp:
        return f"{where}: timestamps {a.block.timestamp} and {b.block.timestamp}"
    if a.block.spends != b.block.spends:
        name = min(set(a.block.spends) ^ set(b.block.spends))
        return f"{where}: only one of them spends coin {name.hex()}"
    if a.names != b.names:
        name = min(set(a.names) ^ set(b.names))
        return f"{where}: only one of them confirms coin {name.hex()}"
    for name, one, other in zip(a.names, a.infos, b.infos, strict=True):
        if one != other:
            return f"{where}: coin {name.hex()} is spent at {one.spent_index}, {other.spent_index}"
    return where
