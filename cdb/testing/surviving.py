"""What a schema promises across closing, rewinds, rivals and damage."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from cdb.contents.state import summarize, verify
from cdb.errors import CdbError, CorruptDatabaseError, DatabaseLockedError, WrongDatabaseError
from cdb.process.children import DiedError, SilentError
from cdb.testing.base import SchemaTests, accept_all, expected_state
from cdb.testing.chains import Chain, block_at, other_branch, sample_chain
from cdb.testing.faults.remote import RemoteSchema
from cdb.testing.side_by_side import settle


class SurvivingTests(SchemaTests):
    """Durability, rewinds, locks, damage, and what is not the schema's own."""

    def test_closing_keeps_everything(self, path: Path) -> None:
        chain = sample_chain()
        for block in chain.blocks:
            with self.open(path) as schema:
                schema.accept_block(block)
        with self.open(path) as schema:
            assert verify(schema) == expected_state(chain.blocks)

    def test_settling_changes_nothing_that_can_be_read(self, path: Path) -> None:
        chain = sample_chain()
        kept = chain.up_to(chain.blocks[25].index)
        with self.open(path) as schema:
            settle(schema)
            assert list(schema.blocks()) == []
            accept_all(schema, chain.blocks)
            settle(schema)
            assert verify(schema) == expected_state(chain.blocks)
            schema.rewind_to_block_index(kept.newest_index)
            settle(schema)
            assert verify(schema) == expected_state(kept.blocks)
        with self.open(path) as schema:
            assert verify(schema) == expected_state(kept.blocks)
            settle(schema)
            accept_all(schema, chain.blocks[26:])
            assert verify(schema) == expected_state(chain.blocks)

    def test_rewind_to_anywhere_gives_the_state_of_then(self, path: Path) -> None:
        chain = sample_chain(30)
        with self.open(path) as schema:
            accept_all(schema, chain.blocks)
            schema.flush()
            for index in range(chain.newest_index + 1, -2, -1):
                schema.rewind_to_block_index(index)
                kept = chain.up_to(index)
                assert summarize(schema) == expected_state(kept.blocks)
                gone = [name for name in chain.names if name not in set(kept.names)]
                assert schema.coin_infos_for_coin_names(gone) == []
            accept_all(schema, chain.blocks)
            assert verify(schema) == expected_state(chain.blocks)

    @pytest.mark.parametrize("flushed", [True, False])
    def test_a_rewind_is_durable_and_accepting_goes_on(self, path: Path, flushed: bool) -> None:
        chain = sample_chain(30)
        fork = chain.up_to(chain.blocks[10].index)
        with self.open(path) as schema:
            accept_all(schema, chain.blocks)
            if flushed:
                schema.flush()
            schema.rewind_to_block_index(fork.newest_index)
        with self.open(path) as schema:
            assert verify(schema) == expected_state(fork.blocks)
            branch = other_branch(fork, 5)
            accept_all(schema, branch.above(fork.newest_index))
        with self.open(path) as schema:
            assert verify(schema) == expected_state(branch.blocks)

    def test_a_rewind_below_the_first_block_empties_the_database(self, path: Path) -> None:
        with self.open(path) as schema:
            accept_all(schema, [block_at(5), block_at(9, 1)])
            schema.rewind_to_block_index(4)
            assert schema.last_block_index is None
            assert list(schema.blocks()) == []
            schema.accept_block(block_at(2, 2))
        with self.open(path) as schema:
            assert schema.last_block_index == 2

    def test_a_second_writer_is_refused_at_once(self, path: Path) -> None:
        with self.open(path) as schema:
            schema.accept_block(block_at(1))
            with pytest.raises(DatabaseLockedError, match=str(path)):
                self.open(path)
            schema.accept_block(block_at(2, 1))
        with self.open(path) as schema:
            assert schema.last_block_index == 2

    def test_a_truncated_file_is_never_served(self, path: Path, tmp_path: Path) -> None:
        chain = sample_chain()
        with self.open(path) as schema:
            accept_all(schema, chain.blocks)
        files = [file for file in [path, *path.rglob("*")] if file.is_file()]
        found, damaged = [], tmp_path / "damaged"
        _copy(path, damaged)
        assert not self._is_found(damaged, chain), "the whole copy is called damaged"
        for file in files:
            _copy(path, damaged)
            target = damaged / file.relative_to(path) if path.is_dir() else damaged
            os.truncate(target, target.stat().st_size // 2)
            if self._is_found(damaged, chain):
                found.append(file)
        assert found

    def test_what_is_not_ours_is_refused_and_left_alone(self, tmp_path: Path) -> None:
        for foreign in _foreign_databases(tmp_path / "foreign"):
            before = _contents(foreign)
            with pytest.raises((WrongDatabaseError, CorruptDatabaseError), match=str(foreign)):
                self.open(foreign)
            assert _contents(foreign) == before

    def test_a_parent_directory_that_is_missing_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(CdbError):
            self.open(tmp_path / "missing" / "database")
        assert not (tmp_path / "missing").exists()

    def _is_found(self, damaged: Path, chain: Chain) -> bool:
        """Whether damage is reported; if it is not, every answer must be right.

        Another process looks: a schema may die of it, as one that reads behind the end of a file.
        """
        try:
            with RemoteSchema(self.spec(), damaged) as schema:
                assert schema.do(verify) == expected_state(chain.blocks)
        except CorruptDatabaseError:
            return True
        except (DiedError, SilentError) as error:
            pytest.fail(f"who looks at {damaged} dies: {error}")
        return False


def _copy(source: Path, target: Path) -> None:
    if target.is_dir():
        shutil.rmtree(target)
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copyfile(source, target)


def _foreign_databases(parent: Path) -> Iterator[Path]:
    """Things at a path that no schema may take for its own, or for empty."""
    parent.mkdir()
    file = parent / "file"
    file.write_bytes(b"somebody's notes\n" * 500)
    yield file
    directory = parent / "directory"
    directory.mkdir()
    (directory / "notes").write_bytes(b"somebody's notes\n")
    yield directory
    other = parent / "other-schema"
    other.mkdir()
    (other / "FORMAT").write_text("cdb somebody_elses 1\n")
    yield other


def _contents(path: Path) -> dict[str, bytes]:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return {str(file): file.read_bytes() for file in files}
