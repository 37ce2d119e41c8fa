"""sqlite_kv: what SQLite as an engine of keys and values is to the contract."""

import os
import resource
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from cdb.contents.loader import acceptor
from cdb.contract.coins import NAME_BYTES
from cdb.errors import CorruptDatabaseError, UnsupportedError
from cdb.lab.process import fresh
from cdb.process.children import fork
from cdb.schemas import find_schema, offer_of
from cdb.schemas.sqlite_kv import KIND
from cdb.testing.base import accept_all
from tests.engine_suite import CHAIN, LimitedIterations, OneFileTests, StayingReaders
from tests.schemas.test_coin_log_cold import BLOCKS, made_block

pytestmark = pytest.mark.skipif(
    KIND.engine.missing() is not None, reason=str(KIND.engine.missing())
)

OPENED = find_schema("sqlite_kv")
BATCH_NAMES, THREADS, CACHE_MB = 1_000, 64, 64
ITERATIONS, LOOKUPS = 10, 20
MOST_GROWN_BYTES = 100 << 20
"""Half of the cache, what 32 connections take beside, and the stacks and answers of threads."""


class TestSqlite(StayingReaders, OneFileTests, LimitedIterations):
    kind = KIND
    schema = "sqlite_kv"
    file = "data.sqlite"
    failed = r"data\.sqlite"
    most_iterations = 250

    def test_a_log_is_emptied_when_nobody_reads_it_any_more(self, path: Path) -> None:
        with self.small(path) as writer:
            accept_all(writer, CHAIN.blocks)
            writer.flush()
            with self.opened(path, read_only=True):
                writer.rewind_to_block_index(CHAIN.blocks[3].index)
                writer.settle()
            writer.settle()
            assert (path / "db/data.sqlite-wal").stat().st_size == 0

    def test_a_child_opens_none_and_holds_no_lock(self, path: Path) -> None:
        wait_for_end, end = os.pipe()

        def be_refused() -> None:
            os.close(end)
            with pytest.raises(UnsupportedError, match="start a new process"):
                self.opened(path, read_only=True)
            os.read(wait_for_end, 1)

        schema = self.opened(path)
        child = fork(be_refused)
        schema.close()
        try:
            with self.opened(path) as schema:
                accept_all(schema, CHAIN.blocks)
        finally:
            os.close(end)
            os.close(wait_for_end)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    @pytest.mark.parametrize(
        "program",
        [
            "CREATE TRIGGER extra AFTER INSERT ON rows BEGIN DELETE FROM rows; END",
            "CREATE VIEW extra AS SELECT * FROM rows",
            "DROP TABLE rows; CREATE TABLE rows(k, v, PRIMARY KEY(k)) WITHOUT ROWID",
            "DROP TABLE rows",
        ],
    )
    @pytest.mark.parametrize("read_only", [True, False])
    def test_other_tables_are_refused(self, loaded: Path, program: str, read_only: bool) -> None:
        with closing(sqlite3.connect(loaded / "db/data.sqlite")) as connection:
            connection.executescript(program)
        with pytest.raises(CorruptDatabaseError, match=r"(extra|rows) (does not|is not)"):
            self.opened(loaded, read_only=read_only)


def test_many_threads_read_with_the_caches_of_a_few(tmp_path: Path) -> None:
    """Each of them read by four connections at once, whose caches were all alike."""
    path = tmp_path / "database"
    random, names = Random(1), bytearray()
    with OPENED.open(path) as schema:
        for index in range(BLOCKS):
            block = made_block(index, random)
            names += block.names
            acceptor(schema)(block)
    grown = fresh(grown_by_threads, str(path), bytes(names))
    assert grown < MOST_GROWN_BYTES


def test_a_look_up_beside_many_iterations_opens_no_connection(tmp_path: Path) -> None:
    """They have all connections with large caches: each look-up had to open one of its own."""
    names = [CHAIN.blocks[0].confirms[0].name()]
    with OPENED.open(tmp_path / "database") as schema:
        accept_all(schema, CHAIN.blocks)
        schema.flush()
        iterations = [iter(schema.blocks()) for _ in range(ITERATIONS)]
        assert all(next(each) for each in iterations)
        schema.coin_infos_for_coin_names(names)
        before = n_reads()
        for _ in range(LOOKUPS):
            schema.coin_infos_for_coin_names(names)
        assert n_reads() - before < LOOKUPS
        iterations.clear()


def n_reads() -> int:
    """The system calls by which this process has read."""
    told = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(told["syscr"])


def grown_by_threads(path: str, names: bytes) -> int:
    """By how much many threads that look names up at once make a process's memory grow."""
    batch = BATCH_NAMES * NAME_BYTES
    batches = [names[at : at + batch] for at in range(0, THREADS * batch, batch)]
    with find_schema(f"sqlite_kv,cache_mb={CACHE_MB}").open(path) as schema:
        reads = offer_of(schema).reads_packed
        assert reads is not None
        reads.coin_infos_packed(batches[0])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with ThreadPoolExecutor(THREADS) as pool:
            for _, found in pool.map(reads.coin_infos_packed, batches):
                assert all(found)
        return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
