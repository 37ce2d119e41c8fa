"""A promise is read as it was written, or not at all."""

from pathlib import Path

import pytest

from cdb.coin_set.promise import Promise, read_promise, write_promise
from cdb.errors import CorruptDatabaseError

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
