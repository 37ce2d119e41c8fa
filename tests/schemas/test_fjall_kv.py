"""fjall_kv: what its making, its journal and its readers' mirror are to the contract."""

import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import pytest

from cdb.contents.state import verify
from cdb.errors import CorruptDatabaseError
from cdb.schemas.fjall_kv import KIND
from cdb.stores.coin_set.schema import CoinSetSchema
from cdb.testing.base import accept_all, expected_state
from cdb.testing.chains import block_at, sample_chain
from tests.conftest import contents

pytestmark = pytest.mark.skipif(
    KIND.engine.missing() is not None, reason=str(KIND.engine.missing())
)

opened = partial(CoinSetSchema, KIND)
SMALL = partial(opened, commit_entries=40, ingest_entries=15)
CHAIN = sample_chain(30)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "database"


def load_and_die(path: Path) -> None:
    """In another process, which does not close what it has flushed."""
    code = f"""
import os, sys
sys.path[:0] = [{str(Path(__file__).parents[2])!r}]
from tests.schemas.test_fjall_kv import CHAIN, SMALL, accept_all
schema = SMALL({str(path)!r})
accept_all(schema, CHAIN.blocks)
schema.flush()
os._exit(9)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9


def test_what_a_killed_writer_has_left_is_read_and_not_changed(path: Path) -> None:
    load_and_die(path)
    before = contents(path)
    with opened(path, read_only=True) as reader:
        assert verify(reader) == expected_state(CHAIN.blocks)
        assert contents(path) == before
        with SMALL(path) as writer:
            writer.rewind_to_block_index(CHAIN.blocks[3].index)
            for index in range(1_000, 1_010):
                writer.accept_block(block_at(index, coins=200))
                writer.flush()
            writer.settle()
            assert verify(reader) == expected_state(CHAIN.blocks)
        assert verify(reader) == expected_state(CHAIN.blocks)
    assert not list(Path(tempfile.gettempdir()).glob("cdb-reads-*"))


def test_a_making_that_was_cut_short_is_made_again(path: Path) -> None:
    with opened(path):
        pass
    (path / "NEWEST").unlink()
    (path / "db/data").rename(path / "db/unfinished")
    shutil.rmtree(path / "db/unfinished/keyspaces/2")
    with SMALL(path) as schema:
        accept_all(schema, CHAIN.blocks)
    with SMALL(path) as schema:
        assert verify(schema) == expected_state(CHAIN.blocks)


def test_a_keyspace_that_is_lost_is_damage(path: Path) -> None:
    with SMALL(path) as schema:
        accept_all(schema, CHAIN.blocks)
    (path / "db/data/keyspaces/3/current").unlink()
    with pytest.raises(CorruptDatabaseError, match="it has no"):
        SMALL(path)


def test_a_batch_of_which_a_power_cut_left_parts_is_no_damage(path: Path) -> None:
    load_and_die(path)
    [journal] = (path / "db/data").glob("*.jnl")
    whole = bytearray(journal.read_bytes())
    end = whole.rfind(b"FJL\x03")
    key = whole.rfind(b"writes", 0, end)
    whole[key + 6] ^= 1  # of the last batch's number of writes
    journal.write_bytes(whole)
    for read_only in (True, False):
        with SMALL(path, read_only=read_only) as schema:
            index = schema.last_block_index
            assert index is not None
            kept = [block for block in CHAIN.blocks if block.index <= index]
            assert verify(schema) == expected_state(kept)
