"""Work that is only faster in several threads goes on in one where no others are to be had."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cdb.testing.faults import missing
from cdb.testing.faults.shim import LIBRARY
from cdb.text.mainnet_shape import mainnet_shaped_blocks
from tests.conftest import PACKAGE_PARENT, digest_of, ready_schemas
from tests.engines import OTHER_SCHEMA

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

COINS = 8_000
ROCKSDB_THREADS = 3
PROGRAM = """
import json, sys
from cdb.errors import StorageError
from cdb.contents.loader import accept
from cdb.text.mainnet_shape import mainnet_shaped_blocks
from cdb.contract.packed import PackedBlocks
from cdb.schemas import find_schema
from cdb.contents.state import verify
from cdb.testing.faults.shim import Shim
from cdb.testing.side_by_side import settle

spec, path, coins, threads = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
blocks = list(mainnet_shaped_blocks(coins=coins))
names = [coin.name() for block in blocks for coin in block.confirms]
half, info, shim, asked = len(blocks) // 2, find_schema(spec), Shim(), {}

def told(what):
    asked[what] = asked.get(what, 0) + shim.calls() - sum(asked.values())

def load(database, blocks):
    for first in range(0, len(blocks), 40):
        accept(database, PackedBlocks.of(blocks[first : first + 40]))
        database.flush()

def look_up(database, n):
    assert len(database.coin_infos_for_coin_names(names)) == n

shim.allow_threads(threads)
try:
    with info.open(path) as database:
        told("opening")
        load(database, blocks[:half])
        told("writing")
        settle(database)
        look_up(database, sum(len(block.confirms) for block in blocks[:half]))
        told("looking up")
        database.rewind_to_block_index(blocks[half // 2].index)
        accept(database, PackedBlocks.of(blocks[half // 2 + 1 :]))
        told("writing")
    with info.open(path, read_only=True) as database:
        digest = verify(database, lambda n: None).digest
        told("verifying")
        look_up(database, len(names))
        print(json.dumps([digest, asked]))
except StorageError as error:
    print(json.dumps([str(error), {}]))
"""
ASKED = {
    "coin_log": {"writing", "verifying"},
    "coin_log:SMALL": {"writing", "verifying"},
    "coin_log:INDEXED": {"writing", "verifying"},
    **{f"{OTHER_SCHEMA}{twin}": {"writing", "looking up", "verifying"} for twin in ("", ":SMALL")},
    "rocks": {"opening", "verifying"},
    "rocks_kv:SMALL": {"opening", "writing", "looking up", "verifying"},
}
"""What asks for threads, at least."""
IN_ROCKSDB = ("rocks", "rocks_kv:SMALL")


@pytest.fixture(scope="module")
def digest() -> str:
    return digest_of(mainnet_shaped_blocks(coins=COINS))


def life(spec: str, path: Path, threads: int) -> tuple[str, dict[str, int]]:
    """A short life of a database beside so many threads: its digest, or a StorageError's text, and
    how many threads each part of it asked for.
    """
    if spec.partition(":")[0] not in ready_schemas():
        pytest.skip(f"{spec} can't be used here")
    line = [sys.executable, "-c", PROGRAM, spec, str(path), str(COINS), str(threads)]
    environment = os.environ | {"LD_PRELOAD": str(LIBRARY), "PYTHONPATH": str(PACKAGE_PARENT)}
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    told, asked = json.loads(done.stdout)
    return told, asked


@pytest.mark.parametrize("threads", [0, 1])
@pytest.mark.parametrize("spec", [spec for spec in ASKED if spec not in IN_ROCKSDB])
def test_all_goes_well_with_few_threads_or_none(
    spec: str, threads: int, tmp_path: Path, digest: str
) -> None:
    told, asked = life(spec, tmp_path / "db", threads)
    assert told == digest
    assert {what for what, n in asked.items() if n} >= ASKED[spec]


@pytest.mark.parametrize(("spec", "threads"), [("rocks", 2), ("rocks_kv:SMALL", 0)])
def test_rocksdb_says_what_it_cannot_do_without(
    spec: str, threads: int, tmp_path: Path, digest: str
) -> None:
    problem, _ = life(spec, tmp_path / "db", threads)
    assert problem.startswith(str(tmp_path / "db"))
    needs = f"RocksDB needs {ROCKSDB_THREADS} threads, and the system gives {threads}; "
    assert problem.endswith(f": {needs}allow more of them (ulimit -u) or more memory (ulimit -v)")
    assert life(spec, tmp_path / "db", ROCKSDB_THREADS)[0] == digest


@pytest.mark.parametrize(
    ("spec", "threads"), [("rocks", ROCKSDB_THREADS + 1), ("rocks_kv:SMALL", 100)]
)
def test_rocksdb_goes_on_with_what_it_needs(
    spec: str, threads: int, tmp_path: Path, digest: str
) -> None:
    told, asked = life(spec, tmp_path / "db", threads)
    assert told == digest
    assert {what for what, n in asked.items() if n} >= ASKED[spec]
