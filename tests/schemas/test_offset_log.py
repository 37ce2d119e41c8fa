"""offset_log: what its two files promise."""

import os
import struct
import tracemalloc
from pathlib import Path

import pytest

from cdb.contents.state import verify
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.packed import PackedBlocks
from cdb.contract.schema import offer_of
from cdb.errors import CorruptDatabaseError
from cdb.schemas import offset_log
from cdb.schemas.offset_log import SCHEMA, check_log, open_log, repair_log
from cdb.testing.base import accept_all, expected_state
from cdb.testing.chains import block_at, reward, sample_chain

CHAIN = sample_chain(30)
ENTRY_BYTES = 28


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "database"
    with open_log(path) as schema:
        accept_all(schema, CHAIN.blocks)
    return path


def check(path: Path) -> list[str]:
    return [damage.path.name for damage in check_log(path, lambda _: None)]


@pytest.mark.parametrize("left", range(0, 5 * ENTRY_BYTES, 5))
def test_what_offsets_lacks_is_in_data(path: Path, left: int) -> None:
    os.truncate(path / "offsets", left)
    with open_log(path, read_only=True) as schema:
        assert verify(schema) == expected_state(CHAIN.blocks)
    with open_log(path) as schema:
        assert verify(schema) == expected_state(CHAIN.blocks)
    assert (path / "offsets").stat().st_size == ENTRY_BYTES * len(CHAIN.blocks)
    assert check(path) == []


@pytest.mark.parametrize("cut", [1, 3, 50, 4_000])
def test_data_that_lacks_what_offsets_says_is_damage(path: Path, cut: int) -> None:
    data = path / "data"
    os.truncate(data, data.stat().st_size - cut)
    for read_only in (True, False):
        with pytest.raises(CorruptDatabaseError, match="data: it is cut at byte"):
            open_log(path, read_only=read_only)
    assert "data" in check(path)


def test_a_torn_record_is_dropped(path: Path) -> None:
    size = (path / "data").stat().st_size
    with (path / "data").open("ab") as data:
        data.write(bytes(10_000))
    with open_log(path) as schema:
        assert verify(schema) == expected_state(CHAIN.blocks)
        assert (path / "data").stat().st_size == size
    assert check(path) == []


def test_a_length_that_lies_costs_no_memory(path: Path) -> None:
    data = path / "data"
    size = data.stat().st_size
    with data.open("ab") as file:
        file.write(struct.pack("<4IQ", len(CHAIN.blocks), 2**31, 1_000_000, 0, 0))
    os.truncate(data, size + 80_000_000)
    tracemalloc.start()
    try:
        with open_log(path, read_only=True) as schema:
            assert len(list(schema.blocks())) == len(CHAIN.blocks)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_dropped_blocks_stay_for_iterations_and_do_not_come_back(path: Path) -> None:
    kept = CHAIN.blocks[:5]
    with open_log(path) as schema:
        blocks = schema.blocks()
        first = next(blocks)
        schema.rewind_to_block_index(kept[-1].index)
        schema.accept_block(block_at(1_000))
        schema.flush()
        assert len([first, *blocks]) == len(CHAIN.blocks)
    os.truncate(path / "offsets", 10 * ENTRY_BYTES)
    with open_log(path) as schema:
        assert verify(schema) == expected_state([*kept, block_at(1_000)])
    assert check(path) == []


@pytest.mark.parametrize("place", range(0, 2_000, 97))
def test_each_changed_byte_is_found(path: Path, place: int) -> None:
    for name in ("data", "offsets"):
        file = path / name
        whole = file.read_bytes()
        changed = bytearray(whole)
        changed[place % len(whole)] ^= 1
        file.write_bytes(changed)
        assert name in check(path)
        try:
            with open_log(path, read_only=True) as schema:
                assert verify(schema) == expected_state(CHAIN.blocks)
        except CorruptDatabaseError:
            pass
        file.write_bytes(whole)


def test_offsets_and_the_index_are_repaired_from_data(path: Path) -> None:
    (path / "offsets").write_bytes(b"x" * 100)
    for run in (path / "index").glob("run-*"):
        run.write_bytes(run.read_bytes()[:-1] + b"?")
    for _ in range(2):  # what is derived from the rest is looked at when that is sound
        damages = list(check_log(path, lambda _: None))
        assert damages
        repair_log(path, damages, lambda _: None)
        if not check(path):
            break
    assert check(path) == []
    with open_log(path) as schema:
        assert verify(schema) == expected_state(CHAIN.blocks)


def test_an_iteration_holds_no_list_of_the_blocks(tmp_path: Path) -> None:
    with open_log(tmp_path / "database") as schema:
        packed = offer_of(schema).accepts_packed
        assert packed is not None
        packed.accept_packed(PackedBlocks.of([block_at(index) for index in range(1, 8_000)]))
        tracemalloc.start()
        try:
            next(iter(schema.blocks()))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 1_000_000  # with all heads it is twice that


def test_a_check_reads_no_block_again_for_each_few_names(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_read = 0

    def read(file: offset_log._File, n_bytes: int, start: int) -> bytes:
        nonlocal n_read
        n_read += n_bytes
        return read_it(file, n_bytes, start)

    with open_log(path) as schema:
        schema.accept_block(BlockSpendInfo(1_000, 0, [], [reward(1_000, n) for n in range(500)]))
    read_it = offset_log._File.read
    monkeypatch.setattr(offset_log._File, "read", read)
    monkeypatch.setattr("cdb.stores.rows.check.CHECKED_NAMES", 10)
    assert check(path) == []
    assert n_read < 3 * (path / "data").stat().st_size


@pytest.mark.parametrize("change", ["missing", "longer"])
def test_offsets_that_is_missing_or_longer_is_repaired(path: Path, change: str) -> None:
    offsets = path / "offsets"
    if change == "missing":
        offsets.unlink()
        with open_log(path, read_only=True) as schema:
            assert verify(schema) == expected_state(CHAIN.blocks)
    else:
        offsets.write_bytes(offsets.read_bytes() + bytes(3 * ENTRY_BYTES))
        with pytest.raises(CorruptDatabaseError, match="offsets: it ends in bytes that are no "):
            open_log(path)
    damages = list(check_log(path, lambda _: None))
    assert [(damage.path.name, damage.repairable_from) for damage in damages] == [
        ("offsets", "data")
    ]
    repair_log(path, damages, lambda _: None)
    assert check(path) == []
    with open_log(path) as schema:
        assert verify(schema) == expected_state(CHAIN.blocks)


def test_it_promises_power() -> None:
    assert [level.name for level in SCHEMA.durabilities] == ["POWER"]
