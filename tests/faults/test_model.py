"""Walks, loads, readers and rivals catch who promises or shows what is not so.

And what they found once, each with a test of its own.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from cdb.contents.state import verify
from cdb.schemas import SchemaInfo, open_schema
from cdb.testing.base import expected_state
from cdb.testing.chains import sample_chain
from cdb.testing.faults import CATALOGUE, BrokenPromiseError, memory_slope, scratch

BROKEN = "tests.broken.files"


@pytest.mark.parametrize(
    ("spec", "trial", "problem"),
    [
        (
            f"{BROKEN}:FlushesLater",
            "kill-load",
            r"step \d+ was (acknowledged|begun last), but the database is (back )?at step",
        ),
        (f"{BROKEN}:FlushesLater", "walk", "promised up to block"),
        (f"{BROKEN}:ForgetsThePack", "walk", "AssertionError"),
        (f"{BROKEN}:ForgetsThePack", "hostile", "other blocks than those before the error"),
        (f"{BROKEN}:ShowsHalfABlock", "beside", "beside a writer: "),
        (f"{BROKEN}:LetsChildrenWrite", "rivals", r"made by fork\(\) may accept a block"),
    ],
)
def test_a_broken_promise_is_caught(spec: str, trial: str, problem: str) -> None:
    with scratch() as directory, pytest.raises(BrokenPromiseError, match=problem):
        CATALOGUE[trial].trial(spec, 1, directory, most=None, only=None)


def test_a_walk_ends_again_at_the_step_that_is_told() -> None:
    spec = f"{BROKEN}:FlushesLater"
    with scratch() as directory, pytest.raises(BrokenPromiseError) as caught:
        CATALOGUE["walk"].trial(spec, 1, directory, most=None, only=None)
    point = caught.value.case.point
    with scratch() as directory, pytest.raises(BrokenPromiseError) as again:
        CATALOGUE["walk"].trial(spec, 1, directory, most=None, only=point)
    assert again.value.case.point == point


def test_memory_that_leaks_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_slope, "LEAST_STEPS", 6)
    monkeypatch.setattr(memory_slope, "WINDOW_STEPS", 2)
    with pytest.raises(BrokenPromiseError, match=r"memory still grows, by [0-9.]+ bytes"):
        CATALOGUE["memory"].trial(f"{BROKEN}:Leaks", 1, tmp_path, most=None, only="6")


def test_who_keeps_nothing_needs_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_slope, "LEAST_STEPS", 6)
    monkeypatch.setattr(memory_slope, "WINDOW_STEPS", 2)
    monkeypatch.setattr(memory_slope, "MOST_BYTES_A_COIN", 1000)  # it isn't warm yet
    with pytest.raises(BrokenPromiseError, match="it keeps memory small, and not block 25"):
        CATALOGUE["memory"].trial("null", 1, tmp_path, most=None, only="6")


def test_memory_may_grow_and_shrink_again() -> None:
    sawtooth = [50_000_000 + 1_000_000 * (step % 5) for step in range(memory_slope.LEAST_STEPS)]
    assert memory_slope.bytes_a_coin(sawtooth) == 0
    growing = [size + 11 * memory_slope.COINS_A_STEP * n for n, size in enumerate(sawtooth)]
    assert memory_slope.bytes_a_coin(growing) > memory_slope.MOST_BYTES_A_COIN


FORK = """
import gc, os, sys
from cdb.stores.rows import sqlite
from cdb.errors import DatabaseClosedError
from cdb.schemas import open_schema
from cdb.testing.chains import sample_chain

sqlite.PAGE_CACHE_BYTES = 1024  # so that changes are in the -wal before they are committed
blocks = sample_chain(300).blocks
schema = open_schema(*sys.argv[1:])
# RocksDB would wait at Python's end for threads that a child has not.
exit_child = os._exit if "rocks" in sys.argv[1] else sys.exit
for block in blocks[:-1]:
    schema.accept_block(block)
child = os.fork()
if child == 0:
    try:
        schema.flush()
    except DatabaseClosedError:
        schema.close()
        del schema
        gc.collect()
        exit_child(0)
assert os.waitpid(child, 0)[1] == 0
schema.accept_block(blocks[-1])
schema.flush()
os._exit(0)
"""


def test_a_child_that_ends_as_python_does_harms_nothing(
    own_schema: SchemaInfo, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", FORK, own_schema.name, str(tmp_path / "db")]
    subprocess.run(command, check=True, timeout=60)
    with own_schema.open(tmp_path / "db") as schema:
        assert verify(schema) == expected_state(sample_chain(300).blocks)


STRANGER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
connection.close()
"""
BESIDE_A_STRANGER = """
import os, subprocess, sys
from cdb.schemas import open_schema
from cdb.testing.chains import sample_chain

path, stranger = sys.argv[1:]
blocks = sample_chain(6).blocks
schema = open_schema("blockchain_v2", path)
schema.accept_block(blocks[0])
schema.flush()
open_schema("blockchain_v2", path, read_only=True).close()
subprocess.run([sys.executable, "-c", stranger, path], check=True)
for block in blocks[1:]:
    schema.accept_block(block)
schema.flush()
os._exit(0)
"""


def test_a_reader_in_the_writers_process_does_not_let_strangers_delete_its_wal(
    tmp_path: Path,
) -> None:
    path = tmp_path / "db"
    command = [sys.executable, "-c", BESIDE_A_STRANGER, str(path), STRANGER]
    subprocess.run(command, check=True, timeout=60)
    with open_schema("blockchain_v2", path) as schema:
        assert verify(schema) == expected_state(sample_chain(6).blocks)
