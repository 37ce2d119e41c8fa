"""mdbx_kv: what MDBX and the checksums of its values are to the contract."""

import struct
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cdb.contract.blocks import BlockSpendInfo
from cdb.errors import CorruptDatabaseError
from cdb.lab.process import fresh
from cdb.schemas.mdbx_kv import KIND
from cdb.stores.coin_set.schema import CoinSetSchema
from cdb.testing.base import accept_all
from cdb.testing.chains import block_at
from tests.conftest import PACKAGE_PARENT
from tests.engine_suite import CHAIN, MappedTests, StayingReaders
from tests.engines import check_a_commit_fits

pytestmark = pytest.mark.skipif(
    KIND.engine.missing() is not None, reason=str(KIND.engine.missing())
)


PAGE_BYTES = 4_096
HEAD, LEAF = struct.Struct("<QHHHHI"), 2
"""Of a page: its transaction, a size, its flags, the end of its places, the beginning of its
entries, and its number."""


def break_leaves(file: Path) -> None:
    """Have an entry of each leaf lie behind its page."""
    pages = bytearray(file.read_bytes())
    for start in range(0, len(pages), PAGE_BYTES):
        _, _, flags, places_bytes, _, number = HEAD.unpack_from(pages, start)
        if flags == LEAF and number == start // PAGE_BYTES:
            struct.pack_into("<H", pages, start + HEAD.size + places_bytes // 4 * 2, 0xFFF0)
    file.write_bytes(pages)


def is_right_or_damaged(schema: CoinSetSchema, blocks: Sequence[BlockSpendInfo]) -> bool:
    """Look for each coin; whether damage was found."""
    found = False
    for name in (coin.name() for block in blocks for coin in block.confirms):
        try:
            assert len(schema.coin_infos_for_coin_names([name])) == 1
        except CorruptDatabaseError:
            found = True
    return found


class TestMdbx(StayingReaders, MappedTests):
    kind = KIND
    schema = "mdbx_kv"
    file = "mdbx.dat"
    failed = r"mdbx\.dat"

    def test_a_page_that_was_written_anew_is_checked_anew(self, path: Path) -> None:
        """Else coins are absent, whose entries lie nowhere."""
        blocks = [block_at(index, coins=100) for index in range(1, 40)]
        with self.small(path) as schema:
            for block in blocks:
                schema.accept_block(block)
                schema.flush()
                assert not is_right_or_damaged(schema, [block])
            newest = block_at(40, coins=100)
            schema.accept_block(newest)
            schema.flush()
            break_leaves(path / "db" / self.file)
            assert is_right_or_damaged(schema, [newest])


@pytest.mark.parametrize("read_only", [False, True])
def test_threads_read_in_transactions_of_their_own(tmp_path: Path, *, read_only: bool) -> None:
    """In a process of its own, which dies where one looks through cursors that others close."""
    path = tmp_path / "database"
    with TestMdbx.opened(path) as schema:
        accept_all(schema, CHAIN.blocks)
    fresh(_look_up_in_threads, path, read_only)


def _look_up_in_threads(path: Path, read_only: bool) -> None:
    names = [coin.name() for block in CHAIN.blocks for coin in block.confirms][:7]
    newest = CHAIN.blocks[-1].index
    with (
        TestMdbx.opened(path, read_only=read_only) as schema,
        ThreadPoolExecutor(4) as threads,
    ):

        def look_up(n: int) -> int:
            asked = names * 5_000
            if n % 2:
                return sum(len(schema.coin_infos_as_of([name], newest)) for name in asked)
            return sum(len(schema.coin_infos_for_coin_names([name])) for name in asked)

        found = [*threads.map(look_up, range(4))]
    assert found == [35_000] * 4


def test_a_child_of_a_process_that_has_loaded_it_says_nothing() -> None:
    code = """
import os
from cdb.schemas.mdbx_kv import KIND
KIND.engine.load()
child = os.fork()
os._exit(0) if child == 0 else os.waitpid(child, 0)
"""
    line = [sys.executable, "-c", code]
    done = subprocess.run(line, check=True, capture_output=True, text=True, cwd=PACKAGE_PARENT)
    assert done.stdout + done.stderr == ""


@pytest.mark.parametrize("is_iterating", [False, True])
def test_its_map_grows_where_there_are_few_addresses(tmp_path: Path, is_iterating: bool) -> None:
    path = tmp_path / "database"
    code = f"""
import sys; sys.path[:0] = [{str(Path(__file__).parents[2])!r}]
from pathlib import PosixPath
from tests.engine_suite import FIRST_MAP_BYTES, MANY, block_at, expected_state
from tests.engine_suite import have_few_addresses, verify
from tests.schemas.test_mdbx_kv import TestMdbx
path = {path!r}
have_few_addresses()
blocks = []
with TestMdbx.opened(path, commit_entries=4_000, ingest_entries=3_000) as schema:
    while (path / "db/mdbx.dat").stat().st_size <= FIRST_MAP_BYTES:
        blocks.append(block_at(len(blocks) + 1, coins=MANY))
        schema.accept_block(blocks[-1])
        schema.flush()
        if len(blocks) == 1 and {is_iterating}:
            iteration = schema.blocks()
            next(iteration)
    assert verify(schema) == expected_state(blocks)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    if is_iterating:
        assert "end all iterations" in done.stderr
    else:
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("memory", "entries"), [(24 * 10**9, 6_000_000), (300 * 10**6, 10_009), (10**6, 2_000)]
)
def test_a_commit_fits_into_memory(
    memory: int, entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_a_commit_fits(KIND, memory, entries, monkeypatch)
