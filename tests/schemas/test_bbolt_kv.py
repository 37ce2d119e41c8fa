"""bbolt_kv: what bbolt, in a library of Go, is to the contract."""

import struct
from pathlib import Path

import pytest

from cdb.contents.state import verify
from cdb.errors import CorruptDatabaseError, DatabaseClosedError
from cdb.schemas.bbolt_kv import KIND
from cdb.testing.base import accept_all, expected_state
from cdb.testing.chains import block_at
from tests.engine_suite import CHAIN, OneFileTests

PAGE_BYTES = 4_096
HEAD, BRANCH = struct.Struct("<QHHI"), 1
"""Of a page: its number, flags, how many entries it has, and pages that belong to it."""

pytestmark = pytest.mark.skipif(
    KIND.engine.missing() is not None, reason=str(KIND.engine.missing())
)


class TestBbolt(OneFileTests):
    kind = KIND
    schema = "bbolt_kv"
    file = "bbolt.db"

    def test_pages_that_lead_in_a_circle_are_damage(self, path: Path) -> None:
        with self.small(path) as writer:
            accept_all(writer, [block_at(index, coins=100) for index in range(1, 40)])
        file = path / "db" / self.file
        pages = bytearray(file.read_bytes())
        for start in range(0, len(pages), PAGE_BYTES):
            number, flags, entries, _ = HEAD.unpack_from(pages, start)
            if flags == BRANCH:
                for at in range(entries):
                    struct.pack_into("<Q", pages, start + HEAD.size + 16 * at + 8, number)
        file.write_bytes(pages)
        for read_only in (True, False):
            with (
                pytest.raises(CorruptDatabaseError, match="lead in a circle"),
                self.small(path, read_only=read_only) as database,
            ):
                verify(database)

    def test_of_a_writer_that_is_gone(self, path: Path) -> None:
        """The next one does not know what it sees, and tells it so."""
        with self.small(path) as writer:
            accept_all(writer, CHAIN.blocks[:10])
            writer.flush()
            reader = self.opened(path, read_only=True)
            accept_all(writer, CHAIN.blocks[10:20])
            writer.flush()
        assert verify(reader) == expected_state(CHAIN.blocks[:10])
        with self.opened(path) as writer:
            accept_all(writer, CHAIN.blocks[20:])
            writer.flush()
            with pytest.raises(DatabaseClosedError, match="does not keep what it shows"):
                verify(reader)
