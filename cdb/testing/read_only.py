"""What a schema promises of openings with read_only; where it takes no such option, nothing."""

import shutil
from collections.abc import Callable, Mapping
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

import pytest

from cdb.contents.state import StateSummary, verify
from cdb.contract.packed import PackedBlocks
from cdb.errors import (
    DatabaseNotFoundError,
    UnsupportedError,
)
from cdb.schemas import find_schema, offer_of
from cdb.schemas.registry import takes
from cdb.testing.base import SchemaTests, accept_all, expected_state
from cdb.testing.chains import block_at, sample_chain
from cdb.testing.faults.remote import RemoteSchema
from cdb.testing.held import TAKEN_AWAY, TOLD
from cdb.testing.side_by_side import settle

N_SHOWN, N_KEPT = 20, 5
"""How many blocks are there when a reader comes, and how many a rewind leaves of them later."""


class ReadOnlyTests(SchemaTests):
    """One moment, not a byte changed, and nothing that writes."""

    def test_opened_read_only_it_changes_no_byte(self, path: Path) -> None:
        self._skip_without_read_only()
        chain = sample_chain()
        with self.open(path) as schema:
            accept_all(schema, chain.blocks)
        before = self._files(path)
        with self.open(path, read_only=True) as schema:
            assert verify(schema) == expected_state(chain.blocks)
            schema.flush()
            assert self._files(path) == before
        assert self._files(path) == before

    def test_opened_read_only_it_refuses_what_writes(self, path: Path) -> None:
        self._skip_without_read_only()
        chain = sample_chain()
        with self.open(path) as schema:
            accept_all(schema, chain.blocks)
        with self.open(path, read_only=True) as schema:
            newer = block_at(chain.newest_index + 1)
            for index in (-1, chain.blocks[3].index, newer.index):
                with pytest.raises(UnsupportedError):
                    schema.rewind_to_block_index(index)
            with pytest.raises(UnsupportedError):
                schema.accept_block(newer)
            offer = offer_of(schema)
            if offer.accepts_packed is not None:
                with pytest.raises(UnsupportedError):
                    offer.accepts_packed.accept_packed(PackedBlocks.of([newer]))
            if offer.settles is not None:
                with pytest.raises(UnsupportedError):
                    offer.settles.settle()
            assert verify(schema) == expected_state(chain.blocks)

    def test_opened_read_only_nothing_is_made(self, path: Path) -> None:
        self._skip_without_read_only()
        with pytest.raises(DatabaseNotFoundError):
            self.open(path, read_only=True)
        assert self._files(path) == {}

    def test_opened_read_only_beside_a_writer_it_shows_one_moment(self, path: Path) -> None:
        self._skip_without_read_only()
        chain = sample_chain()
        shown = expected_state(chain.blocks[:N_SHOWN])
        with self.open(path) as writer:
            accept_all(writer, chain.blocks[:N_SHOWN])
            writer.flush()
            with RemoteSchema(self.spec(), path, read_only=True) as reader:
                assert reader.do(verify) == shown
                accept_all(writer, chain.blocks[N_SHOWN:])
                writer.flush()
                _check_moment(reader, shown)
                settle(writer)
                _check_moment(reader, shown)
                writer.rewind_to_block_index(chain.blocks[N_KEPT - 1].index)
                _check_moment(reader, shown)
                settle(writer)
                _check_moment(reader, shown)
            with RemoteSchema(self.spec(), path, read_only=True) as reader:
                assert reader.do(verify) == expected_state(chain.blocks[:N_KEPT])

    def test_opened_read_only_before_a_writer_it_shows_one_moment(self, path: Path) -> None:
        self._skip_without_read_only()
        chain = sample_chain()
        shown = expected_state(chain.blocks[:N_SHOWN])
        with self.open(path) as writer:
            accept_all(writer, chain.blocks[:N_SHOWN])
        with RemoteSchema(self.spec(), path, read_only=True) as reader:
            with self.open(path) as writer:
                accept_all(writer, chain.blocks[N_SHOWN:])
            _check_moment(reader, shown)

    def test_opened_read_only_it_outlives_its_directory(self, path: Path) -> None:
        """It shows its moment, or says what others have done, and never calls that damage."""
        self._skip_without_read_only()
        chain = sample_chain()
        shown = expected_state(chain.blocks)
        for fate, is_sound in FATES.items():
            place = path.parent / fate.__name__ / "place"
            place.mkdir(parents=True)
            with self.open(place / "database") as schema:
                accept_all(schema, chain.blocks)
            with RemoteSchema(self.spec(), place / "database", read_only=True) as reader:
                fate(place, self._open_and_write)
                told = _told(partial(reader.do, verify), shown)
            assert TOLD.search(told) if told else True, f"{fate.__name__}: {told}"
            assert not told or not is_sound, f"{fate.__name__}: what is sound can be read: {told}"

    def _open_and_write(self, path: Path) -> None:
        """Take blocks away, and have others in their places."""
        kept = sample_chain().up_to(sample_chain().blocks[N_KEPT].index)
        with self.open(path) as schema:
            schema.rewind_to_block_index(kept.newest_index)
            accept_all(schema, [block_at(kept.newest_index + n, n) for n in range(1, N_SHOWN)])
            settle(schema)

    def _skip_without_read_only(self) -> None:
        schema = type(self).schema
        factory = find_schema(schema).spec.factory if isinstance(schema, str) else schema
        if not takes(factory, "read_only"):
            pytest.skip("it can't be opened only for reading")

    def _files(self, path: Path) -> dict[str, bytes]:
        """All that is in the database or beside it, but for files that count for nothing."""
        schema = type(self).schema
        not_durable = find_schema(schema).spec.not_durable if isinstance(schema, str) else ()
        files = {
            str(file).replace(str(path), "db", 1): file.read_bytes()
            for file in path.parent.rglob("*")
            if file.is_file()
        }
        return {
            name: contents
            for name, contents in files.items()
            if not any(fnmatch(name, pattern) for pattern in not_durable)
        }


def _told(read: Callable[[], StateSummary], shown: StateSummary) -> str:
    """Why it shows nothing; "" where it shows its moment."""
    try:
        found = read()
    except TAKEN_AWAY as error:
        return error.problem
    assert found == shown, "it shows another moment than that of its opening"
    return ""


def _moved(place: Path, write: Callable[[Path], None]) -> None:
    place.rename(place.with_name("elsewhere"))


def _moved_and_written(place: Path, write: Callable[[Path], None]) -> None:
    write(place.rename(place.with_name("elsewhere")) / "database")


def _removed(place: Path, write: Callable[[Path], None]) -> None:
    shutil.rmtree(place)


def _replaced(place: Path, write: Callable[[Path], None]) -> None:
    place.rename(place.with_name("elsewhere"))
    place.mkdir()
    write(place / "database")


FATES: Mapping[Callable[[Path, Callable[[Path], None]], None], bool] = {
    _moved: True,
    _moved_and_written: False,
    _removed: False,
    _replaced: True,
}
"""What becomes of a directory, and whether who has its files open must be able to go on."""


def _check_moment(reader: RemoteSchema, shown: StateSummary) -> None:
    _told(partial(reader.do, verify), shown)
