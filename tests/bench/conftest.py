"""A small replay as a file, with what is true of it, and databases that hold it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cdb.bench.database import Database
from cdb.bench.truth import Truth, find_truth
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.durability import Durability
from cdb.schemas.memory import MemorySchema
from tests.conftest import load_all

Databases = Callable[..., Database]


@pytest.fixture
def small(tmp_path: Path, replay: bytes) -> Truth:
    """What is true of the blocks of 2,000 coins, which are in tmp_path/replay.txt."""
    path = tmp_path / "replay.txt"
    path.write_bytes(replay)
    directory = tmp_path / "truth"
    directory.mkdir()
    return find_truth(str(path), str(directory))


@pytest.fixture
def model(blocks: tuple[BlockSpendInfo, ...]) -> Iterator[MemorySchema]:
    """The reference model with the replay's blocks."""
    with MemorySchema() as schema:
        load_all(schema, blocks)
        yield schema


@pytest.fixture
def database(tmp_path: Path, small: Truth) -> Databases:
    """The database of a schema, as workloads take it; by default one that is not there yet."""

    def make(schema: str, path: Path = tmp_path / "db", **others: object) -> Database:
        fields = {
            "schema": schema,
            "path": str(path),
            "durability": Durability.POWER.value,
            "flush_coins": 500,
            "replay": str(tmp_path / "replay.txt"),
            "truth": small,
            "quick": True,
        }
        return Database(**fields | others)  # type: ignore[arg-type]

    return make
