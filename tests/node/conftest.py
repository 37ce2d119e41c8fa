"""The node databases and the truth about them, which chia-blockchain itself was asked for."""

import json
import lzma
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import cdb
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import Coin, CoinInfo, bytes32
from cdb.schemas import SchemaInfo
from cdb.schemas.registry import find_schema, names_at_paths
from cdb.text.replay import block_text
from tests.conftest import own_schemas

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "node-databases"
NODE_DATABASES = ("mainnet_0_63", "node_small", "node_live_wal")
SUFFIXES = ("", "-wal", "-shm")
FOUND = [find_schema(name) for name in names_at_paths()]
SCHEMAS = [each.name for each in FOUND if each.spec.keeps_contract]


class RawCoin(NamedTuple):
    """One coin_record row in the truth's words."""

    name: bytes32
    confirmed_index: int
    spent_index: int
    raw_spent_index: int
    coinbase: int
    puzzle_hash: bytes32
    parent: bytes32
    amount: int
    timestamp: int

    @property
    def columns(self) -> tuple[Any, ...]:
        """The row as a node stores it, in the order of its columns."""
        amount = self.amount.to_bytes(8, "big")
        return (
            bytes(self.name),
            self.confirmed_index,
            self.raw_spent_index,
            self.coinbase,
            bytes(self.puzzle_hash),
            bytes(self.parent),
            amount,
            self.timestamp,
        )

    @property
    def coin(self) -> Coin:
        """The row as a Coin."""
        return Coin(self.parent, self.puzzle_hash, self.amount)


@dataclass(frozen=True)
class State:
    """All coins, sorted by name, and all blocks."""

    coins: list[RawCoin]
    blocks: list[BlockSpendInfo]

    @cached_property
    def infos(self) -> list[CoinInfo]:
        """What a lookup of every name gives."""
        return [CoinInfo(row.coin, row.confirmed_index, row.spent_index) for row in self.coins]

    @cached_property
    def coin_list(self) -> list[Coin]:
        """The coins alone, in the order of their names."""
        return [row.coin for row in self.coins]

    @cached_property
    def columns(self) -> list[tuple[Any, ...]]:
        """The table coin_record."""
        return [row.columns for row in self.coins]

    @cached_property
    def replay(self) -> bytes:
        """The canonical replay."""
        return b"".join(map(block_text, self.blocks))

    @property
    def newest_index(self) -> int | None:
        """The index of the last block."""
        return self.blocks[-1].index if self.blocks else None


@dataclass(frozen=True)
class Rollback:
    """What chia's rollback_to_block(height) left."""

    height: int
    state: State
    n_coins: int
    n_unspent: int

    def infos_of(self, names: list[bytes32]) -> list[CoinInfo]:
        """What a lookup of these names gives."""
        infos = dict(zip((row.name for row in self.state.coins), self.state.infos, strict=True))
        return [infos[name] for name in names if name in infos]


class NodeDatabase:
    """One node's database as it was handed over, and the truth about it. Copy it; never open it."""

    def __init__(self, directory: Path, name: str) -> None:
        self.name = name
        self._path = directory / f"{name}.sqlite"
        truth = json.loads((directory / f"{name}.truth.json").read_bytes())
        self.replay_sha256: str = truth["replay_sha256"]
        self.replay_bytes: int = truth["replay_bytes"]
        coins = [_raw_coin(row) for row in truth["coins"]]
        self.state = State(coins, [_block(block, coins) for block in truth["blocks"]])
        self.names = [row.name for row in coins]
        self._rollbacks: list[dict[str, Any]] = truth["rollbacks"]

    @cached_property
    def rollbacks(self) -> list[Rollback]:
        """Every rollback of the truth."""
        return [self._rollback(rollback) for rollback in self._rollbacks]

    def copy_to(self, path: Path) -> Path:
        """The file and its -wal as path; returns path."""
        for suffix in SUFFIXES:
            source = self._path.with_name(self._path.name + suffix)
            if source.exists():
                shutil.copyfile(source, path.with_name(path.name + suffix))
        return path

    def _rollback(self, truth: dict[str, Any]) -> Rollback:
        deleted = set(truth["deleted"])
        respent = dict(truth["respent_raw"])
        coins = [
            row._replace(spent_index=0, raw_spent_index=respent[place]) if place in respent else row
            for place, row in enumerate(self.state.coins)
            if place not in deleted
        ]
        height = truth["height"]
        blocks = [block for block in self.state.blocks if block.index <= height]
        state = State(coins, [replace(block) for block in blocks])
        return Rollback(height, state, truth["n_coins_after"], truth["num_unspent_after"])


def _raw_coin(row: list[Any]) -> RawCoin:
    name, confirmed, spent, raw, coinbase, puzzle_hash, parent, amount, timestamp = row
    hashes = (bytes32(bytes.fromhex(value)) for value in (name, puzzle_hash, parent))
    name, puzzle_hash, parent = hashes
    return RawCoin(name, confirmed, spent, raw, coinbase, puzzle_hash, parent, amount, timestamp)


def _block(block: dict[str, Any], coins: list[RawCoin]) -> BlockSpendInfo:
    return BlockSpendInfo(
        block["index"],
        block["timestamp"],
        [coins[place].name for place in block["spends"]],
        [coins[place].coin for place in block["confirms"]],
    )


@pytest.fixture(scope="session", autouse=True)
def node_database(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], NodeDatabase]:
    """Unpacks a node database by name, once."""
    if not DATA.is_dir():
        pytest.skip("no node databases: ../shared/data/node-databases, seen from the repository")
    directory = tmp_path_factory.mktemp("node-databases")
    unpacked: dict[str, NodeDatabase] = {}

    def unpack(name: str) -> NodeDatabase:
        if name not in unpacked:
            for packed in DATA.glob(f"{name}.*.xz"):
                (directory / packed.stem).write_bytes(lzma.decompress(packed.read_bytes()))
            unpacked[name] = NodeDatabase(directory, name)
        return unpacked[name]

    return unpack


@pytest.fixture(scope="session", params=NODE_DATABASES)
def node(
    request: pytest.FixtureRequest, node_database: Callable[[str], NodeDatabase]
) -> NodeDatabase:
    """Each of the node databases."""
    return node_database(request.param)


@pytest.fixture(scope="session")
def mainnet(node_database: Callable[[str], NodeDatabase]) -> NodeDatabase:
    """The real one: heights 0 … 63, no spends."""
    return node_database("mainnet_0_63")


@pytest.fixture(scope="session")
def small(node_database: Callable[[str], NodeDatabase]) -> NodeDatabase:
    """The one with reorgs, ephemeral coins and spent_index -1."""
    return node_database("node_small")


@pytest.fixture(scope="session")
def live(node_database: Callable[[str], NodeDatabase]) -> NodeDatabase:
    """The one whose last 5 blocks are only in its -wal file."""
    return node_database("node_live_wal")


@pytest.fixture(scope="session", params=own_schemas())
def schema(request: pytest.FixtureRequest) -> SchemaInfo:
    """Each schema that keeps the contract and can be had."""
    return find_schema(request.param)


@pytest.fixture
def contents(tmp_path: Path) -> Callable[[], dict[str, tuple[bytes, int]]]:
    """Reads the bytes and the time of change of every file beside the database.

    Never while this process has it open: closing a file drops this process's locks on it.
    """

    def read() -> dict[str, tuple[bytes, int]]:
        return {
            path.name: (path.read_bytes(), path.stat().st_mtime_ns)
            for path in sorted(tmp_path.iterdir())
        }

    return read


@pytest.fixture(scope="session")
def command_environment() -> dict[str, str]:
    """The environment for ``python -m cdb.…`` in any directory, with the cdb under test."""
    paths = [str(Path(cdb.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


@pytest.fixture(scope="session")
def dump_command() -> list[str]:
    """Dumps a node's database."""
    return [sys.executable, "-m", "cdb.cmds.dump_blocks", "blockchain_v2"]
