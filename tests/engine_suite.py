"""What engines of ordered keys promise by their own code, as tests to inherit.

In an engine's own tests a class of them says what differs.
"""

import os
import re
import resource
import signal
import subprocess
import sys
from fnmatch import fnmatch
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import pytest

from cdb.contents.state import verify
from cdb.contract.blocks import BlockSpendInfo, canonical
from cdb.contract.durability import Durability
from cdb.errors import (
    CorruptDatabaseError,
    DatabaseClosedError,
    DatabaseLockedError,
    DatabaseNotFoundError,
    StorageError,
    UnsupportedError,
)
from cdb.process.children import fork
from cdb.schemas import find_schema
from cdb.stores.coin_set.binding import CoinSet, Options
from cdb.stores.coin_set.schema import CoinSetSchema, Kind
from cdb.stores.coin_set.spec import SMALL_SIZES
from cdb.testing.base import accept_all, expected_state
from cdb.testing.chains import block_at, hash_of, sample_chain
from tests.conftest import ROOT, contents, largest_file
from tests.in_fork import exit_code

CHAIN = sample_chain(30)
MANY = 2_000
FEW_ADDRESSES = 900 << 20
FIRST_MAP_BYTES = 64 << 20
LAST_REWRITTEN = 1_009
LOAD_AND_DIE = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from cdb.contract.durability import Durability
from tests.engine_suite import CHAIN, SMALL_SIZES, accept_all, find_schema
found = find_schema(sys.argv[2])
schema = found.spec.factory(sys.argv[3], durability=Durability(sys.argv[4]), **SMALL_SIZES)
accept_all(schema, CHAIN.blocks)
schema.flush()
os.kill(os.getpid(), signal.SIGKILL)
"""


def rewrite_all(writer: CoinSetSchema) -> None:
    """Rewind, and write as much as uses every free page again, and merges runs."""
    writer.rewind_to_block_index(CHAIN.blocks[3].index)
    for index in range(1_000, LAST_REWRITTEN + 1):
        writer.accept_block(block_at(index, coins=200))
        writer.flush()
    writer.settle()


def write_much(writer: CoinSetSchema) -> None:
    for index in range(1_000, 1_100):
        writer.accept_block(block_at(index, coins=MANY))
        writer.flush()


def have_few_addresses() -> None:
    """Let this process have so few that the first map is FIRST_MAP_BYTES."""
    with Path("/proc/self/status").open() as status:
        [used_kib] = [int(line.split()[1]) for line in status if line.startswith("VmSize")]
    most = (used_kib << 10) + FEW_ADDRESSES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


class EngineTests:
    """Promises of an engine's own code, as tests to inherit.

    kind: of the schema, which is found by its name. failed: a pattern of what the error says of a
    write that fails. largest_bytes: how long files may be where one has to fail; None: no longer
    than they are.
    """

    kind: ClassVar[Kind]
    schema: ClassVar[str]
    failed: ClassVar[str] = "(?i)file too large"
    largest_bytes: ClassVar[int | None] = None

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return tmp_path / "database"

    @classmethod
    def opened(cls, path: Path, **options: Any) -> CoinSetSchema:
        return CoinSetSchema(cls.kind, path, **options)

    @classmethod
    def small(cls, path: Path, **options: Any) -> CoinSetSchema:
        return cls.opened(path, **SMALL_SIZES, **options)

    def test_a_value_of_a_megabyte_is_written_in_a_commit(self, path: Path) -> None:
        """The log's entry of a block with many spends, where no run is built."""
        coins = block_at(1, coins=40_000)
        spends = [coin.name() for coin in coins.confirms]
        blocks = [coins, BlockSpendInfo(2, 0, spends, [])]
        with self.opened(path, ingest_entries=1_000_000) as database:
            accept_all(database, blocks)
            database.flush()
        with self.opened(path) as database:
            assert verify(database) == expected_state(blocks)

    def _load_and_die(self, path: Path, level: Durability = Durability.POWER) -> None:
        """In a process of its own, as a child of one that has used a library may have no threads of
        it; it does not close what it has flushed."""
        line = [sys.executable, "-c", LOAD_AND_DIE, str(ROOT), self.schema, str(path), level.value]
        assert subprocess.run(line, check=False, timeout=60).returncode == -signal.SIGKILL

    def _durable(self, path: Path) -> dict[str, bytes | None]:
        """All that counts for something after a power cut."""
        ignored = find_schema(self.schema).spec.not_durable
        return {
            name: data
            for name, data in contents(path).items()
            if not any(fnmatch(f"db/{name}", pattern) for pattern in ignored)
        }

    def test_a_reader_keeps_its_moment_beside_the_writer(self, path: Path) -> None:
        with pytest.raises(DatabaseNotFoundError):
            self.opened(path, read_only=True)
        with self.small(path) as writer:
            accept_all(writer, CHAIN.blocks[:20])
            writer.flush()
            with self.opened(path, read_only=True) as reader:
                accept_all(writer, CHAIN.blocks[20:])
                rewrite_all(writer)
                assert verify(reader) == expected_state(CHAIN.blocks[:20])
            with self.opened(path, read_only=True) as reader:
                assert reader.last_block_index == LAST_REWRITTEN

    def test_readers_that_began_one_after_the_other_keep_their_moments(self, path: Path) -> None:
        """The writer has gone on between them, and goes on beside them."""
        at = (10, 15, 20)
        with self.small(path) as writer:
            accept_all(writer, CHAIN.blocks[: at[0]])
            writer.flush()
            readers = [self.opened(path, read_only=True)]
            for start, end in pairwise(at):
                for block in CHAIN.blocks[start:end]:
                    writer.accept_block(block)
                    writer.flush()
                readers.append(self.opened(path, read_only=True))
            accept_all(writer, CHAIN.blocks[at[-1] :])
            for index in range(1_000, 1_050):
                writer.accept_block(block_at(index, coins=200))
                writer.flush()
            for n_blocks, reader in zip(at, readers, strict=True):
                with reader:
                    assert verify(reader) == expected_state(CHAIN.blocks[:n_blocks])

    def test_what_was_flushed_survives_a_kill(self, path: Path) -> None:
        """And is read as it is."""
        path.mkdir()
        for level in {*find_schema(self.schema).spec.durabilities} - {Durability.NONE}:
            self._load_and_die(path / level.value, level)
            before = self._durable(path / level.value)
            with self.opened(path / level.value, read_only=True) as reader:
                assert verify(reader) == expected_state(CHAIN.blocks)
            assert self._durable(path / level.value) == before
            with self.small(path / level.value) as writer:
                assert verify(writer) == expected_state(CHAIN.blocks)

    def test_other_levels_are_refused(self, path: Path) -> None:
        found = find_schema(self.schema)
        offered = ", ".join(level.value for level in found.spec.durabilities)
        for level in {*Durability} - {*found.spec.durabilities}:
            with pytest.raises(UnsupportedError, match=f"'{level.value}'; it offers {offered}$"):
                found.open(path, durability=level)

    def test_a_second_writer_is_refused_by_the_engine_itself(self, path: Path) -> None:
        options = Options("interval", False, False, True, 1, 1, 1)
        with self.opened(path):
            for _ in range(2):
                with pytest.raises(DatabaseLockedError, match="somebody has it open for writing"):
                    CoinSet(self.kind.engine, path / "db", options)
        CoinSet(self.kind.engine, path / "db", options).close()

    def test_an_iteration_sees_its_moment(self, path: Path) -> None:
        with self.small(path) as schema:
            accept_all(schema, CHAIN.blocks)
            schema.flush()
            blocks = schema.blocks()
            rewrite_all(schema)
            assert list(blocks) == [canonical(block) for block in CHAIN.blocks]

    def test_a_write_that_fails_is_final_and_costs_nothing(self, path: Path) -> None:
        with self.small(path) as schema:
            accept_all(schema, CHAIN.blocks)
            schema.flush()
            sizes = [file.stat().st_size for file in (path / "db").rglob("*") if file.is_file()]
            largest = max(sizes) if self.largest_bytes is None else self.largest_bytes
            with largest_file(largest), pytest.raises(StorageError, match=self.failed):
                write_much(schema)
            with pytest.raises(DatabaseClosedError):
                schema.flush()
        with self.small(path) as schema:
            schema.rewind_to_block_index(CHAIN.newest_index)
            assert verify(schema) == expected_state(CHAIN.blocks)


class LimitedIterations(EngineTests):
    """Where an open iteration costs something. most_iterations: that may be open."""

    most_iterations: ClassVar[int]

    def test_too_many_are_one_clear_error(self, path: Path) -> None:
        most = self.most_iterations
        with self.small(path) as schema:
            accept_all(schema, CHAIN.blocks)
            schema.flush()
            iterations = [schema.blocks() for _ in range(most)]
            for each in iterations[-3:]:
                assert next(each) == canonical(CHAIN.blocks[0])
            with pytest.raises(UnsupportedError, match=f"{most} iterations are open; end those th"):
                schema.blocks()
            schema.accept_block(block_at(1_000, coins=MANY))  # nor do they keep others out
            schema.flush()
            iterations.clear()
            assert verify(schema).newest_index == 1_000


class StayingReaders(EngineTests):
    """Where readers also keep their moment beside the next writer."""

    def test_a_reader_keeps_its_moment_beside_any_number_of_writers(self, path: Path) -> None:
        with self.small(path) as writer:
            accept_all(writer, CHAIN.blocks[:10])
            writer.flush()
            reader = self.opened(path, read_only=True)  # in the same process
            accept_all(writer, CHAIN.blocks[10:20])
            writer.flush()
            later = self.opened(path, read_only=True)
        with self.opened(path) as writer:
            rewrite_all(writer)
            for each, blocks in ((reader, CHAIN.blocks[:10]), (later, CHAIN.blocks[:20])):
                assert verify(each) == expected_state(blocks)
        with reader, later, self.opened(path) as writer:
            assert verify(reader) == expected_state(CHAIN.blocks[:10])
            assert verify(writer).newest_index == LAST_REWRITTEN

    def test_so_does_one_of_what_a_killed_writer_has_left(self, path: Path) -> None:
        self._load_and_die(path)
        with self.opened(path, read_only=True) as reader:
            with self.small(path) as writer:
                rewrite_all(writer)
                assert verify(reader) == expected_state(CHAIN.blocks)
            assert verify(reader) == expected_state(CHAIN.blocks)


class OneFileTests(EngineTests):
    """Of an engine that keeps all in one file, whose values the coin set verifies."""

    file: ClassVar[str]
    """Its name, in db/."""

    @pytest.fixture
    def loaded(self, path: Path) -> Path:
        with self.opened(path) as schema:
            accept_all(schema, CHAIN.blocks)
        return path

    def test_a_making_that_was_cut_short_is_made_again(self, path: Path) -> None:
        self.opened(path).close()
        (path / "NEWEST").unlink()
        data = path / "db" / self.file
        data.rename(data.with_stem("unfinished"))
        with self.small(path) as schema:
            accept_all(schema, CHAIN.blocks)
        with self.small(path) as schema:
            assert verify(schema) == expected_state(CHAIN.blocks)

    @pytest.mark.parametrize("read_only", [True, False])
    def test_an_empty_file_is_no_new_database(self, loaded: Path, read_only: bool) -> None:
        os.truncate(loaded / "db" / self.file, 0)
        with pytest.raises(CorruptDatabaseError, match=rf"{re.escape(self.file)}: it is cut"):
            self.opened(loaded, read_only=read_only)
        assert (loaded / "db" / self.file).stat().st_size == 0

    def change(self, path: Path, old: bytes, new: bytes) -> None:
        """In each place of the file where it is."""
        data = (path / "db" / self.file).read_bytes()
        assert data.count(old)
        (path / "db" / self.file).write_bytes(data.replace(old, new))

    def test_damage_to_a_value_is_found_by_every_reading(self, loaded: Path) -> None:
        coin = next(coin for block in CHAIN.blocks for coin in block.confirms)
        self.change(loaded, coin.puzzle_hash, hash_of("another one"))
        wrong = rf"{re.escape(self.file)}: an entry of it does not match its checksum; "
        with self.opened(loaded, read_only=True) as schema:
            with pytest.raises(CorruptDatabaseError, match=wrong):
                schema.coin_infos_for_coin_names([coin.name()])
            with pytest.raises(CorruptDatabaseError, match=wrong):
                list(schema.blocks())
        with pytest.raises(CorruptDatabaseError, match=wrong):
            list(self.kind.check(loaded, lambda _: None))


class CopyOnWriteTests(OneFileTests):
    """Of one that writes changed pages elsewhere, and keeps the old ones for who reads."""

    def test_pages_are_used_again_when_nobody_reads_any_more(self, path: Path) -> None:
        def rewrite(writer: CoinSetSchema) -> int:
            for index in range(100, 110):
                writer.accept_block(block_at(index, coins=MANY))
                writer.flush()
            writer.rewind_to_block_index(99)
            return (path / "db" / self.file).stat().st_size

        with self.small(path) as writer:
            accept_all(writer, CHAIN.blocks[:3])
            rewrite(writer)
            before = rewrite(writer)
            with self.opened(path, read_only=True):
                held = rewrite(writer)
            assert held > 1.3 * before
            rewrite(writer)
            assert rewrite(writer) < 1.2 * held


class MappedTests(CopyOnWriteTests):
    """Of one that maps its file, and has no threads."""

    cut_by: ClassVar[int] = 40_950
    left_bytes: ClassVar[int] = 3 * 4_096
    """Of a file that is cut while it is open: its first pages, which it looks at again."""

    def test_a_child_holds_no_lock_and_writes_a_database_of_its_own(self, path: Path) -> None:
        wait_for_end, end = os.pipe()
        wait_for_child, lives = os.pipe()

        def live() -> None:
            os.close(end)
            with self.opened(path.parent / "own") as own:
                accept_all(own, CHAIN.blocks)
            os.write(lives, b".")
            os.read(wait_for_end, 1)

        schema = self.opened(path)
        child = fork(live)
        assert os.read(wait_for_child, 1) == b"."
        schema.close()
        try:
            with self.opened(path) as schema:
                accept_all(schema, CHAIN.blocks)
        finally:
            for each in (end, wait_for_end, wait_for_child, lives):
                os.close(each)
            os.waitpid(child, 0)
        with self.opened(path.parent / "own") as schema:
            assert verify(schema) == expected_state(CHAIN.blocks)

    @pytest.mark.parametrize("is_writer", [True, False])
    def test_a_file_that_is_cut_is_an_error(self, loaded: Path, is_writer: bool) -> None:
        file = loaded / "db" / self.file

        def read_cut(left: int) -> None:
            os.truncate(file, left)
            try:
                with self.opened(loaded, read_only=not is_writer) as schema:
                    assert verify(schema) == expected_state(CHAIN.blocks)
            except (CorruptDatabaseError, StorageError):
                pass

        for left in range(file.stat().st_size - 1, -1, -self.cut_by):
            assert exit_code(partial(read_cut, left)) == 0

    def test_one_that_is_cut_while_it_is_open(self, loaded: Path) -> None:
        lost = rf"{re.escape(self.file)}: a part of it cannot be"

        def read_what_was_cut() -> None:
            with self.opened(loaded) as schema:
                blocks = schema.blocks()
                os.truncate(loaded / "db" / self.file, self.left_bytes)
                for read in (lambda: verify(schema), lambda: next(blocks), schema.settle):
                    with pytest.raises(StorageError, match=lost):
                        read()

        assert exit_code(read_what_was_cut) == 0
