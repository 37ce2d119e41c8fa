"""fjall_kv: what its making, its journal and its readers' mirror are to the contract."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cdb.contents.state import verify
from cdb.errors import CorruptDatabaseError, StorageError
from cdb.schemas.fjall_kv import KIND
from cdb.testing.base import accept_all, expected_state
from tests.engine_suite import CHAIN, StayingReaders

pytestmark = pytest.mark.skipif(
    KIND.engine.missing() is not None, reason=str(KIND.engine.missing())
)


class TestFjall(StayingReaders):
    kind = KIND
    schema = "fjall_kv"

    @pytest.fixture(autouse=True)
    def no_mirrors_are_left(self) -> Iterator[None]:
        yield
        assert not list(Path(tempfile.gettempdir()).glob(f"cdb-reads-{os.getpid()}-*"))

    def test_a_reader_takes_nobodys_directory(
        self, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Of processes in containers that share TMPDIR many have the same number."""
        with self.small(path) as schema:
            accept_all(schema, CHAIN.blocks)
        theirs = [tmp_path / f"cdb-reads-{os.getpid()}-{number}" for number in range(50)]
        for directory in theirs:
            directory.mkdir()
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        with self.small(path, read_only=True) as schema:
            assert verify(schema) == expected_state(CHAIN.blocks)
        assert all(directory.exists() for directory in theirs)
        monkeypatch.setenv("TMPDIR", str(tmp_path / "absent"))
        with pytest.raises(StorageError, match=r"for a reader in .*absent: .* by TMPDIR"):
            self.small(path, read_only=True)

    def test_a_making_that_was_cut_short_is_made_again(self, path: Path) -> None:
        with self.opened(path):
            pass
        (path / "NEWEST").unlink()
        (path / "db/data").rename(path / "db/unfinished")
        shutil.rmtree(path / "db/unfinished/keyspaces/2")
        with self.small(path) as schema:
            accept_all(schema, CHAIN.blocks)
        with self.small(path) as schema:
            assert verify(schema) == expected_state(CHAIN.blocks)

    def test_a_keyspace_that_is_lost_is_damage(self, path: Path) -> None:
        with self.small(path) as schema:
            accept_all(schema, CHAIN.blocks)
        (path / "db/data/keyspaces/3/current").unlink()
        with pytest.raises(CorruptDatabaseError, match="it has no"):
            self.small(path)

    @pytest.mark.parametrize(
        ("lost", "told"), [("v*", "a file that it names is missing"), ("tables/*", "Unrecoverable")]
    )
    def test_a_file_that_a_keyspace_names_and_is_lost_is_damage(
        self, path: Path, lost: str, told: str
    ) -> None:
        with self.small(path) as schema:
            accept_all(schema, CHAIN.blocks)
            schema.settle()
        for file in (path / "db/data/keyspaces/3").glob(lost):
            file.unlink()
        with pytest.raises(CorruptDatabaseError, match=told):
            self.small(path)

    def test_a_batch_of_which_a_power_cut_left_parts_is_no_damage(self, path: Path) -> None:
        self._load_and_die(path)
        [journal] = (path / "db/data").glob("*.jnl")
        whole = bytearray(journal.read_bytes())
        end = whole.rfind(b"FJL\x03")
        key = whole.rfind(b"writes", 0, end)
        whole[key + 6] ^= 1  # of the last batch's number of writes
        journal.write_bytes(whole)
        for read_only in (True, False):
            with self.small(path, read_only=read_only) as schema:
                index = schema.last_block_index
                assert index is not None
                kept = [block for block in CHAIN.blocks if block.index <= index]
                assert verify(schema) == expected_state(kept)
