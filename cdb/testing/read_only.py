"""What a schema promises of openings with read_only; where it takes no such option, nothing."""

from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path

import pytest

from cdb.errors import (
    DatabaseClosedError,
    DatabaseNotFoundError,
    StorageError,
    UnsupportedError,
)
from cdb.packed import PackedBlocks
from cdb.schemas import find_schema, offer_of
from cdb.schemas.registry import takes
from cdb.state import StateSummary, verify
from cdb.testing.base import SchemaTests, accept_all, block_at, expected_state
from cdb.testing.chains import sample_chain
from cdb.testing.faults.remote import RemoteSchema
from cdb.testing.side_by_side import settle

TAKEN_AWAY = (DatabaseClosedError, StorageError)
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

    def _skip_without_read_only(self) -> None:
        schema = type(self).schema
        factory = find_schema(schema).factory if isinstance(schema, str) else schema
        if not takes(factory, "read_only"):
            pytest.skip("it can't be opened only for reading")

    def _files(self, path: Path) -> dict[str, bytes]:
        """All that is in the database or beside it, but for files that count for nothing."""
        schema = type(self).schema
        not_durable = find_schema(schema).not_durable if isinstance(schema, str) else ()
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


def _check_moment(reader: RemoteSchema, shown: StateSummary) -> None:
    with suppress(*TAKEN_AWAY):
        assert reader.do(verify) == shown, "it shows another moment than that of its opening"
