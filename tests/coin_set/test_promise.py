"""A promise is read as it was written, or not at all."""

import shutil
from pathlib import Path

import pytest

from cdb.errors import CorruptDatabaseError
from cdb.schemas import find_schema
from cdb.stores.coin_set.promise import Promise, read_promise, write_promise
from cdb.testing.base import accept_all
from cdb.testing.chains import block_at
from tests.engines import OTHER, SCHEMAS

PROMISES = [Promise(-1, 0), Promise(5, 17), Promise(2**32 - 1, 2**64 - 1)]


@pytest.mark.parametrize("promise", PROMISES)
def test_it_is_read_as_it_was_written(tmp_path: Path, promise: Promise) -> None:
    assert read_promise(tmp_path / "NEWEST") is None
    write_promise(tmp_path / "NEWEST", promise)
    assert read_promise(tmp_path / "NEWEST") == promise


@pytest.mark.parametrize("promise", PROMISES)
def test_any_flipped_bit_and_any_cut_is_found(tmp_path: Path, promise: Promise) -> None:
    path = tmp_path / "NEWEST"
    write_promise(path, promise)
    line = path.read_bytes()
    changed = [line[:place] for place in range(len(line))]
    for bit in range(8 * len(line)):
        flipped = bytearray(line)
        flipped[bit // 8] ^= 1 << bit % 8
        changed.append(bytes(flipped))
    for each in changed:
        path.write_bytes(each)
        with pytest.raises(CorruptDatabaseError, match="NEWEST: damaged"):
            read_promise(path)


@pytest.mark.parametrize("name", [*SCHEMAS, f"option_1@{OTHER}", "mono_space@rocksdb"])
@pytest.mark.parametrize("read_only", [True, False])
def test_files_of_before_a_rewind_are_not_those_that_were_promised(
    tmp_path: Path, name: str, *, read_only: bool
) -> None:
    """They end at the same block, and are of another branch."""
    found = find_schema(name)
    if found.missing is not None:
        pytest.skip(found.missing)
    path, earlier = tmp_path / "database", tmp_path / "earlier"
    with found.open(path) as schema:
        accept_all(schema, [block_at(n) for n in range(1, 6)])
    shutil.copytree(path / "db", earlier)
    with found.open(path) as schema:
        schema.rewind_to_block_index(3)
        accept_all(schema, [block_at(n, 1) for n in (4, 5)])
    shutil.rmtree(path / "db")
    earlier.rename(path / "db")
    with pytest.raises(CorruptDatabaseError, match="damaged: it ends at block 5, sequence "):
        found.open(path, read_only=read_only)
