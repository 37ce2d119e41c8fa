"""bbolt_kv: what bbolt, in a library of Go, is to the contract."""

from pathlib import Path

import pytest

from cdb.contents.state import verify
from cdb.errors import DatabaseClosedError
from cdb.schemas.bbolt_kv import KIND
from cdb.testing.base import accept_all, expected_state
from tests.engine_suite import CHAIN, OneFileTests

pytestmark = pytest.mark.skipif(
    KIND.engine.missing() is not None, reason=str(KIND.engine.missing())
)


class TestBbolt(OneFileTests):
    kind = KIND
    schema = "bbolt_kv"
    file = "bbolt.db"

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
