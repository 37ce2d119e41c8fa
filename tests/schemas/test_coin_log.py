"""coin_log: the contract, and what only its files can suffer."""

import os
import random
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
import xxhash

from cdb.contents.loader import Loader
from cdb.contents.state import summarize, verify
from cdb.contract.blocks import BlockSpendInfo, canonical
from cdb.contract.coins import Coin, bytes32
from cdb.contract.durability import Durability
from cdb.contract.packed import PackedBlocks
from cdb.errors import (
    AlreadySpentError,
    BlockError,
    CorruptDatabaseError,
    DatabaseClosedError,
    DuplicateCoinError,
    InvalidBlockError,
    StorageError,
    UnknownCoinError,
    UnsupportedError,
    WrongDatabaseError,
)
from cdb.schemas.coin_log import CoinLogSchema, check, repair
from cdb.stores.coin_log.binding import Sizes, missing
from cdb.stores.coin_log.check import MANIFEST
from cdb.testing import SchemaConformance
from cdb.testing.base import accept_all, expected_state
from cdb.testing.chains import Chain, block_at, child, dealt, hash_of, paid, reward, sample_chain
from cdb.testing.faults import missing as faults_missing
from cdb.testing.faults import scratch
from cdb.testing.faults.reopened import cut_after_reopening
from cdb.text.mainnet_shape import mainnet_shaped_blocks
from tests.conftest import PACKAGE_PARENT, contents, copy_at_rest, largest_file
from tests.native_sizes import native_size

preloads = pytest.mark.skipif(faults_missing() is not None, reason=str(faults_missing()))
pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

LOG_HEAD_BYTES = 24
SMALL = Sizes(memtable_coins=20, merge_runs=2, recent_bits=2, unverified_spends=5)
COLLIDING = Sizes(memtable_coins=20, merge_runs=3, name_bits=5, unverified_spends=0)
SOMETIMES_COLLIDING = Sizes(memtable_coins=20, merge_runs=3, name_bits=11, unverified_spends=0)
# Length 0, and the last sequence number of all, or the last epoch.
ACKED_NOTHING = 2 * bytes.fromhex("000000000000000000000000ffffffff2d8dd53f5d4f2957")
REWOUND_OFTEN = 2 * bytes.fromhex("0000000000000000ffffffff010000009c84619237ff45cb")
open_small = partial(CoinLogSchema, sizes=SMALL)
open_colliding = partial(CoinLogSchema, sizes=COLLIDING)


class TestCoinLogWithCollidingNames(SchemaConformance):
    schema = partial(CoinLogSchema, sizes=SOMETIMES_COLLIDING)
    many_names = 5_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "database"


@pytest.fixture
def chain() -> Chain:
    return sample_chain(15)


@pytest.fixture
def loaded(path: Path, chain: Chain) -> Path:
    """A closed database with base, history, runs and a tail of the log that they do not cover."""
    with open_small(path) as schema:
        accept_all(schema, chain.blocks[:14])
    with CoinLogSchema(path) as schema:
        accept_all(schema, chain.blocks[14:])
    names = {file.name.partition("-")[0] for file in path.rglob("*")}
    assert names >= {"log", "acked", "manifest", "base", "history", "run"}
    return path


def derived(path: Path, kind: str) -> list[Path]:
    """The derived files of a kind."""
    return sorted((path / "derived").glob(f"{kind}*"))


def crash(schema: CoinLogSchema) -> None:
    """Let go of the files as the end of the process would."""
    schema.guard.closed = True
    schema._backend.close()
    schema._release()


def accept_all_packed(schema: CoinLogSchema, calls: list[list[BlockSpendInfo]]) -> None:
    for blocks in calls:
        schema.accept_packed(PackedBlocks.of(blocks))


def copies(source: Path, target: Path) -> Callable[[], Path]:
    def copy() -> Path:
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target)
        return target

    return copy


def records_end(path: Path) -> int:
    """Where the last record of the log ends; behind it there may be zeros."""
    log, end = (path / "log").read_bytes(), LOG_HEAD_BYTES
    while log[end + 8 : end + 12] == b"CLR2":
        end += int.from_bytes(log[end + 12 : end + 16], "little")
    return end


def without_checksums(path: Path) -> bytes:
    """The records, but for what the log's own key decides."""
    log, records, end = (path / "log").read_bytes(), b"", LOG_HEAD_BYTES
    while log[end + 8 : end + 12] == b"CLR2":
        length = int.from_bytes(log[end + 12 : end + 16], "little")
        records += log[end + 8 : end + 16] + log[end + 24 : end + length]
        end += length
    return records


def own_files(path: Path) -> Iterator[Path]:
    ours = [file for file in sorted(path.rglob("*")) if file.is_file()]
    yield from (file.relative_to(path) for file in ours if file.name not in ("LOCK", "FORMAT"))


def everything(schema: CoinLogSchema, chain: Chain) -> object:
    """All that can be asked, and names that no coin has."""
    absent = [hash_of("nobody", n) for n in range(20)]
    return (
        list(schema.blocks()),
        schema.coin_infos_for_coin_names([*chain.names, *absent]),
        [schema.block_info_for_block_index(block.index) for block in chain.blocks],
    )


@pytest.mark.parametrize("step", [15, pytest.param(1, marks=pytest.mark.long)])
def test_every_changed_byte_is_found_or_harmless(path: Path, step: int) -> None:
    """Of the log, which is long and all alike, each fifteenth; of all else each, always."""
    chain, loaded = sample_chain(5), path
    with CoinLogSchema(path, sizes=Sizes(memtable_coins=12)) as schema:
        accept_all(schema, chain.blocks)
    with CoinLogSchema(loaded, read_only=True) as schema:
        expected = everything(schema, chain)
    missed = {}
    for name in own_files(loaded):
        original = (loaded / name).read_bytes()
        places = range(0, len(original), step if name.name == "log" else 1)
        kind = name.name.partition("-")[0]
        missed[kind] = len(places)
        for place in places:
            changed = bytearray(original)
            changed[place] ^= 1 << place % 8
            (loaded / name).write_bytes(changed)
            try:
                with CoinLogSchema(loaded, read_only=True) as schema:
                    assert everything(schema, chain) == expected, (name, place)
            except (CorruptDatabaseError, WrongDatabaseError):
                missed[kind] -= 1
        (loaded / name).write_bytes(original)
        # One slot of `acked` makes up for the other.
        assert kind == "acked" or missed[kind] == 0
    assert missed.keys() >= {"log", "acked", "manifest", "base", "history", "run"}


def test_a_changed_byte_is_found_by_whoever_may_write(
    loaded: Path, chain: Chain, tmp_path: Path
) -> None:
    copy = copies(loaded, tmp_path / "copy")
    places = random.Random(7)
    for name in own_files(loaded):
        size = (loaded / name).stat().st_size
        for place in {0, size - 1, *places.sample(range(size), 5)}:
            damaged = copy() / name
            changed = bytearray(damaged.read_bytes())
            changed[place] ^= 0xFF
            damaged.write_bytes(changed)
            with suppress(CorruptDatabaseError), CoinLogSchema(tmp_path / "copy") as schema:
                assert verify(schema) == expected_state(chain.blocks)


def test_a_log_cut_anywhere_before_what_was_acknowledged_is_damage(
    loaded: Path, tmp_path: Path
) -> None:
    copy = copies(loaded, tmp_path / "copy")
    size = records_end(loaded)
    for length in {*range(0, size, 197), *range(size - 100, size)}:
        os.truncate(copy() / "log", length)
        with pytest.raises(CorruptDatabaseError, match="log"):
            CoinLogSchema(tmp_path / "copy")


@pytest.mark.parametrize("fill", ["cut", "zeros", "garbage"])
def test_a_torn_tail_is_cut(path: Path, chain: Chain, tmp_path: Path, fill: str) -> None:
    schema = CoinLogSchema(path)
    accept_all(schema, chain.blocks[:12])
    schema.flush()
    flushed = records_end(path)
    accept_all(schema, chain.blocks[12:])
    crash(schema)
    whole = (path / "log").read_bytes()[: records_end(path)]
    copy = copies(path, tmp_path / "copy")
    seen = set()
    # All of a record's header, where most fields are, and some places of what follows.
    header = range(flushed, flushed + 80)
    for length in {*header, *range(flushed, len(whole), 11), *range(len(whole) - 9, len(whole))}:
        rest = len(whole) - length
        tails = {"cut": b"", "zeros": bytes(rest), "garbage": random.Random(length).randbytes(rest)}
        (copy() / "log").write_bytes(whole[:length] + tails[fill])
        with CoinLogSchema(tmp_path / "copy") as schema:
            kept = sum(1 for _ in schema.blocks())
            assert list(schema.blocks()) == [canonical(each) for each in chain.blocks[:kept]]
            seen.add(kept)
            accept_all(schema, chain.blocks[kept:])
        if length % 10 == 0:
            with CoinLogSchema(tmp_path / "copy") as schema:
                assert summarize(schema) == expected_state(chain.blocks)
    assert seen >= {12, 13}


def test_a_hole_in_what_a_later_record_says_was_durable_is_damage(path: Path, chain: Chain) -> None:
    schema = CoinLogSchema(path)
    accept_all(schema, chain.blocks[:12])
    schema.flush()
    flushed = records_end(path)
    accept_all(schema, chain.blocks[12:])
    crash(schema)
    lose_acked(path, ACKED_NOTHING)
    with (path / "log").open("r+b") as log:
        log.seek(flushed - 100)
        log.write(bytes(50))
    with pytest.raises(CorruptDatabaseError, match="damaged at byte"):
        CoinLogSchema(path)


def test_intact_records_behind_a_hole_that_nobody_was_promised_are_dropped(
    path: Path, chain: Chain
) -> None:
    schema = CoinLogSchema(path)
    accept_all(schema, chain.blocks[:5])
    schema.flush()
    flushed = records_end(path)
    accept_all(schema, chain.blocks[5:])
    crash(schema)
    with (path / "log").open("r+b") as log:
        log.seek(flushed + 80)
        log.write(bytes(8))
    for _ in range(2):
        with CoinLogSchema(path) as schema:
            assert summarize(schema) == expected_state(chain.blocks[:5])
    # Nor do they come back behind the very record that they follow.
    with CoinLogSchema(path) as schema:
        schema.accept_block(chain.blocks[5])
    with CoinLogSchema(path) as schema:
        assert summarize(schema) == expected_state(chain.blocks[:6])


def block_of_a_forged_record(index: int, offset: int, key: int) -> BlockSpendInfo:
    """A block whose record, at this offset, holds a record in the names of its coins' parents.

    It says that the log is durable beyond the offset, and is intact if the log has that key.
    """
    at, n_coins = offset + 72, 0x90
    others = sorted(b"\xff" + hash_of("other", n)[1:] for n in range(300))
    for timestamp in range(0x50, 1 << 20, 0x100):
        words = struct.pack("<QIIQQI", 0, 2**32 - 1, index, timestamp, offset + 1, 0)
        counts = struct.pack("<4I4B", 0, 0, 0, n_coins, 0, 1, 0, 0)
        body = b"CLR2" + struct.pack("<I", 72 + 33 * n_coins) + words + counts
        body += bytes(24) + b"".join(others)
        body = body[: 72 + 33 * n_coins - 8]
        record = struct.pack("<Q", xxhash.xxh3_64_intdigest(body, at ^ key)) + body
        parents = [record[place : place + 32] for place in (0, 32, 64)] + others
        if parents == sorted(parents):
            break
    return BlockSpendInfo(index, 1, [], [Coin(bytes32(each), hash_of(), 5) for each in parents])


def key_of(path: Path) -> int:
    return int.from_bytes((path / "log").read_bytes()[8:16], "little")


@pytest.mark.parametrize("is_cut", [True, False])
def test_a_record_that_a_peer_forged_within_a_torn_one_does_not_count(
    path: Path, chain: Chain, is_cut: bool
) -> None:
    schema = CoinLogSchema(path)
    accept_all(schema, chain.blocks)
    schema.flush()
    flushed = records_end(path)
    block = block_of_a_forged_record(chain.newest_index + 1, flushed, key_of(path))
    schema.accept_block(block)
    end = records_end(path)
    crash(schema)
    with (path / "log").open("r+b") as log:
        if is_cut:
            log.truncate(end - 3_000)
        else:
            log.seek(end - 3_000)
            log.write(bytes(3_000))
    assert list(check(path, lambda coins: None)) == []
    with CoinLogSchema(path) as schema:
        assert summarize(schema) == expected_state(chain.blocks)


@pytest.mark.parametrize("knows_key", [False, True])
def test_a_record_that_a_peer_forged_within_one_without_header_wants_the_key(
    path: Path, chain: Chain, knows_key: bool
) -> None:
    schema = CoinLogSchema(path)
    accept_all(schema, chain.blocks)
    schema.flush()
    flushed = records_end(path)
    key = key_of(path) if knows_key else 0
    schema.accept_block(block_of_a_forged_record(chain.newest_index + 1, flushed, key))
    crash(schema)
    with (path / "log").open("r+b") as log:
        log.seek(flushed)
        log.write(bytes(72))
    if knows_key:
        with pytest.raises(CorruptDatabaseError, match=r"log: .*damaged at byte"):
            CoinLogSchema(path)
        return
    with CoinLogSchema(path) as schema:
        assert summarize(schema) == expected_state(chain.blocks)


def test_every_log_has_a_key_of_its_own(path: Path) -> None:
    for n in range(2):
        CoinLogSchema(path.with_name(f"{n}")).close()
    assert key_of(path.with_name("0")) != key_of(path.with_name("1"))


def test_damage_says_what_to_type(tmp_path: Path, chain: Chain) -> None:
    path = tmp_path / "with blanks"
    with CoinLogSchema(path) as schema:
        accept_all(schema, chain.blocks)
    data = (path / "log").read_bytes()
    (path / "log").write_bytes(data[:100] + bytes(50) + data[150:])
    with pytest.raises(CorruptDatabaseError, match=f"; cdb verify coin_log --db '{path}' says"):
        CoinLogSchema(path)


def test_runs_that_were_merged_are_gone(path: Path) -> None:
    with open_small(path) as schema:
        for n in range(40):
            schema.accept_block(block_at(n, coins=9))
    left = {*path.glob("derived/*")}
    CoinLogSchema(path, sizes=SMALL).close()
    assert {*path.glob("derived/*")} == left, "opening removes what no manifest names"


@pytest.mark.parametrize("sound", [0, 1, 7, 14])
def test_the_blocks_before_the_first_damage_are_read(path: Path, chain: Chain, sound: int) -> None:
    with CoinLogSchema(path) as schema:
        accept_all(schema, chain.blocks[:sound])
        schema.flush()
        end = records_end(path)
        accept_all(schema, chain.blocks[sound:])
        change(path / "log", end + 60)
        blocks = schema.blocks()
        assert [next(blocks) for _ in range(sound)] == [canonical(b) for b in chain.blocks[:sound]]
        with pytest.raises(CorruptDatabaseError, match=f"log: .*damaged at byte {end}"):
            next(blocks)


@pytest.mark.parametrize("also", [None, "acked", "manifest", "base", "history", "run"])
@pytest.mark.parametrize("sizes", [Sizes(), SMALL], ids=["nothing covered", "covered"])
@pytest.mark.parametrize("how", ["crashed", "closed"])
@pytest.mark.parametrize("sound", [0, 9, 14])
def test_of_a_damaged_log_the_blocks_before_the_damage_are_read_and_nothing_else(
    path: Path, chain: Chain, sizes: Sizes, how: str, also: str | None, sound: int
) -> None:
    """Whatever of it derived files cover, and whatever else is damaged."""
    schema = CoinLogSchema(path, sizes=sizes)
    accept_all(schema, chain.blocks[:sound])
    schema.flush()
    end = records_end(path)
    accept_all(schema, chain.blocks[sound:])
    schema.flush()
    crash(schema) if how == "crashed" else schema.close()
    for file in [path / "acked"] if also == "acked" else derived(path, also) if also else []:
        change(file, file.stat().st_size // 2)
    change(path / "log", end + 60)

    with CoinLogSchema(path, read_only=True) as schema:
        blocks = schema.blocks()
        for block in chain.blocks[:sound]:
            assert next(blocks) == canonical(block)
            assert schema.block_info_for_block_index(block.index) == canonical(block)
        with pytest.raises(CorruptDatabaseError, match=f"log: .*damaged at byte {end}"):
            next(blocks)
        if sizes is SMALL:
            return  # damage to what is covered shows when it is read
        asks: list[Callable[[], object]] = [
            lambda: schema.last_block_index,
            lambda: schema.block_info_for_block_index(chain.newest_index),
            lambda: schema.coin_infos_for_coin_names(chain.names[:1]),
        ]
        for ask in asks:
            with pytest.raises(CorruptDatabaseError, match=r"log: .*damaged"):
                ask()


@pytest.mark.parametrize("is_reopened", [True, False])
@pytest.mark.parametrize("is_last", [True, False])
def test_a_record_that_was_rewound_is_not_served_where_a_write_was_lost(
    path: Path, chain: Chain, is_last: bool, is_reopened: bool
) -> None:
    """Its checksum is right, and it is as long as the one that took its place."""
    index = chain.newest_index + 1
    old, new = reward(index, 0), reward(index, 1)
    after = [] if is_last else [block_at(index + 1)]
    schema = open_small(path)
    accept_all(schema, chain.blocks)
    begin = records_end(path)
    accept_all(schema, [BlockSpendInfo(index, 0, [], [old])])
    stale = (path / "log").read_bytes()[begin : records_end(path)]
    schema.rewind_to_block_index(chain.newest_index)
    accept_all(schema, [BlockSpendInfo(index, 0, [], [new]), *after])
    if is_reopened:
        schema.close()
        schema = CoinLogSchema(path)
    with (path / "log").open("r+b") as log:
        log.seek(begin)
        log.write(stale)
    for _ in range(2):  # also once the damage has been seen
        with pytest.raises(CorruptDatabaseError, match="log: damaged in block"):
            schema.coin_infos_for_coin_names([new.name()])
    with suppress(CorruptDatabaseError):
        assert schema.coin_infos_for_coin_names([old.name()]) == []
    with pytest.raises(CorruptDatabaseError, match=f"log: .*damaged at byte {begin}"):
        schema.block_info_for_block_index(index)
    blocks = schema.blocks()
    assert [next(blocks) for _ in chain.blocks] == list(map(canonical, chain.blocks))
    with pytest.raises(CorruptDatabaseError, match=f"log: .*damaged at byte {begin}"):
        next(blocks)
    schema.close()


@preloads
@pytest.mark.parametrize("sync", [str(n) for n in range(1, 11)])
def test_what_a_failed_sync_may_have_dropped_is_written_again(sync: str) -> None:
    """The syncs that make the files, and the first of the log that have blocks to lose."""
    with scratch() as directory:
        spec = "coin_log:SMALL"
        coverage = cut_after_reopening(spec, 2, directory, trial="eio-reopen", only=sync)
    assert coverage.points == 1


@pytest.mark.parametrize("gone", ["derived", "history", "base", "manifest", "run"])
def test_missing_derived_files_are_rebuilt(loaded: Path, chain: Chain, gone: str) -> None:
    for file in derived(loaded, "" if gone == "derived" else gone):
        file.unlink()
    with open_small(loaded, read_only=True) as schema:
        assert summarize(schema) == expected_state(chain.blocks)
    for _ in range(2):
        with open_small(loaded) as schema:
            assert verify(schema) == expected_state(chain.blocks)


def forks_of_one_shape(n: int) -> list[list[BlockSpendInfo]]:
    """Chains whose files differ only in which coins are spent."""
    coins = [[reward(index, each) for each in range(n)] for index in range(16)]
    return [
        [BlockSpendInfo(0, 0, [], coins[0])]
        + [
            BlockSpendInfo(index, 0, [coins[index - 1][(fork + index) % n].name()], coins[index])
            for index in range(1, 16)
        ]
        for fork in range(n)
    ]


def test_a_derived_file_of_an_earlier_time_is_never_served(path: Path, tmp_path: Path) -> None:
    """A copy that was made while somebody wrote has such files; so has a backup of half of it."""
    states = []
    for kept, blocks in enumerate(forks_of_one_shape(4)):
        with open_small(path) as schema:
            schema.rewind_to_block_index(kept)
            accept_all(schema, blocks[(schema.last_block_index or -1) + 1 :])
        states.append({file.name: file.read_bytes() for file in derived(path, "")})
        if kept != 2:
            shutil.rmtree(path / "derived")
            open_small(path).close()
            states.append({file.name: file.read_bytes() for file in derived(path, "")})
    names = [coin.name() for block in blocks for coin in block.confirms]
    with CoinLogSchema(path, read_only=True) as reader:
        expected = reader.coin_infos_for_coin_names(names)
    assert len(expected) == len(names)
    now = states.pop()
    copy, detected = copies(path, tmp_path / "copy"), set()
    for name in now:
        for former in {state[name] for state in states if name in state} - {now[name]}:
            (copy() / "derived" / name).write_bytes(former)
            damages = list(check(tmp_path / "copy", lambda coins: None))
            try:
                with open_small(tmp_path / "copy") as schema:
                    assert schema.coin_infos_for_coin_names(names) == expected
            except CorruptDatabaseError:
                detected.add(name.partition("-")[0])
                repair(tmp_path / "copy", damages, lambda coins: None)
                with open_small(tmp_path / "copy") as schema:
                    assert schema.coin_infos_for_coin_names(names) == expected
    assert detected >= {"history", "run"}


def test_all_derived_files_of_two_rewinds_ago_are_made_anew(path: Path, tmp_path: Path) -> None:
    """Whether these led below where the files end, or above; those of one ago may be damage."""
    kept = (-1, 0, 9, 12)
    former = [tmp_path / str(n) for n in range(2 * len(kept))]
    chain: list[BlockSpendInfo] = []
    for n, blocks in enumerate(forks_of_one_shape(len(kept))):
        chain = [*chain[: kept[n] + 1], *blocks[kept[n] + 1 :]]
        middle = kept[n] + 3
        with open_small(path) as schema:
            schema.rewind_to_block_index(kept[n])
            accept_all(schema, chain[kept[n] + 1 : middle])
        shutil.copytree(path / "derived", former[2 * n])
        with open_small(path) as schema:
            accept_all(schema, chain[middle:])
        shutil.copytree(path / "derived", former[2 * n + 1])
    copy, damaged = copies(path, tmp_path / "copy"), []
    for n, files in enumerate(former):
        shutil.rmtree(copy() / "derived")
        shutil.copytree(files, tmp_path / "copy" / "derived")
        try:
            with open_small(tmp_path / "copy") as schema:
                assert verify(schema) == expected_state(chain)
        except CorruptDatabaseError:
            damaged.append(n)
    assert {*damaged} <= {4, 5}


@pytest.fixture
def acked_last(path: Path, chain: Chain) -> Path:
    """A database whose last two blocks only `acked` says to be durable, each flushed alone."""
    schema = CoinLogSchema(path)
    for blocks in (chain.blocks[:-2], chain.blocks[-2:-1], chain.blocks[-1:]):
        accept_all(schema, blocks)
        schema.flush()
    crash(schema)
    return path


def change(path: Path, place: int) -> None:
    """Flip a bit of a file."""
    changed = bytearray(path.read_bytes())
    changed[place] ^= 0x10
    path.write_bytes(changed)


def damaged_files(path: Path) -> list[str]:
    return [str(damage.path.relative_to(path)) for damage in check(path, lambda coins: None)]


def test_damage_to_a_slot_of_acked_is_found_mended_and_costs_no_promise(
    acked_last: Path, tmp_path: Path, chain: Chain
) -> None:
    copy = copies(acked_last, tmp_path / "copy")
    assert damaged_files(acked_last) == []
    for place in range(0, (acked_last / "acked").stat().st_size, 5):
        change(copy() / "acked", place)
        assert damaged_files(tmp_path / "copy") == ["acked"]
        with CoinLogSchema(tmp_path / "copy") as schema:
            assert schema.last_block_index == chain.newest_index
        assert damaged_files(tmp_path / "copy") == []

        change(copy() / "acked", place)
        change(tmp_path / "copy" / "log", records_end(acked_last) - 1)
        with pytest.raises(CorruptDatabaseError, match=r"log: .*damaged at byte"):
            CoinLogSchema(tmp_path / "copy")


def lose_acked(path: Path, left: bytes | None) -> None:
    """Leave this of `acked`, or no file."""
    (path / "acked").unlink()
    if left is not None:
        (path / "acked").write_bytes(left)


@pytest.mark.parametrize("left", [None, b"", bytes(48), bytes(20), b"x" * 48])
def test_a_lost_acked_is_damage_that_can_be_repaired(
    acked_last: Path, chain: Chain, left: bytes | None
) -> None:
    lose_acked(acked_last, left)
    before = contents(acked_last)
    for _ in range(2):
        with pytest.raises(CorruptDatabaseError, match=r"acked: .*--repair"):
            CoinLogSchema(acked_last)
    assert contents(acked_last) == before
    damages = list(check(acked_last, lambda coins: None))
    assert [str(damage.path) for damage in damages] == [str(acked_last / "acked")]
    repair(acked_last, damages, lambda coins: None)
    assert damaged_files(acked_last) == []
    with CoinLogSchema(acked_last) as schema:
        assert verify(schema) == expected_state(chain.blocks)


@pytest.mark.parametrize("left", [None, b"x" * 48])
def test_without_acked_what_is_intact_behind_damage_is_not_cut_off(
    acked_last: Path, chain: Chain, left: bytes | None
) -> None:
    lose_acked(acked_last, left)
    change(acked_last / "log", 300)
    before = contents(acked_last)
    damages = list(check(acked_last, lambda coins: None))
    assert [damage.path.name for damage in damages if damage.repairable_from is None] == ["log"]
    with pytest.raises(CorruptDatabaseError, match=r"log: .*damaged at byte"):
        repair(acked_last, damages, lambda coins: None)
    assert contents(acked_last) == before
    with CoinLogSchema(acked_last, read_only=True) as schema:
        shown = schema.blocks()
        assert next(shown) == canonical(chain.blocks[0])


@pytest.mark.parametrize("left", [None, b"", bytes(20), bytes(48)])
def test_a_crash_while_a_database_is_made_is_no_damage(path: Path, left: bytes | None) -> None:
    crash(CoinLogSchema(path))
    lose_acked(path, left)
    (path / "log").rename(path / "log.tmp")
    with CoinLogSchema(path) as schema:
        schema.accept_block(BlockSpendInfo(1, 0, [], []))
    assert damaged_files(path) == []


def test_a_log_of_another_format_is_refused_whatever_format_says(loaded: Path) -> None:
    log = bytearray((loaded / "log").read_bytes())
    struct.pack_into("<I", log, 4, 3)
    struct.pack_into("<Q", log, 16, xxhash.xxh3_64_intdigest(log[:16]))
    (loaded / "log").write_bytes(log)
    before = contents(loaded)
    for read_only in (False, True):
        with pytest.raises(WrongDatabaseError, match="log: its format is 3, and this cdb reads 2;"):
            CoinLogSchema(loaded, read_only=read_only)
    assert contents(loaded) == before


def test_a_log_longer_than_any_can_be_is_damage() -> None:
    """It took doubling for ever to find a mapping that is long enough."""
    with scratch() as directory:  # ext4 has no such long files
        path = directory / "database"
        CoinLogSchema(path).close()
        os.truncate(path / "log", 2**62 + 1)
        for read_only in (False, True):
            with pytest.raises(CorruptDatabaseError, match=f"log: .*{2**62 + 1} bytes"):
                CoinLogSchema(path, read_only=read_only)


@pytest.mark.parametrize("name", ["manifest", "run-*"])
def test_a_derived_file_that_a_hole_was_added_to_is_damage_at_once(loaded: Path, name: str) -> None:
    """It is not read: it has a thousand times the memory of a machine."""
    file = next((loaded / "derived").glob(name))
    os.truncate(file, 2**42)
    for read_only in (False, True):
        with pytest.raises(CorruptDatabaseError, match=f"{file.name}: "):
            CoinLogSchema(loaded, read_only=read_only)
    assert [damage.path for damage in check(loaded, lambda coins: None)] == [file]


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize("acked", ["as it was", None, b""])
@pytest.mark.parametrize("n", [0, 2])
def test_an_emptied_log_is_damage(
    path: Path, n: int, acked: str | bytes | None, read_only: bool
) -> None:
    """Below POWER nothing says how long it was, and it is not taken for a new one all the same."""
    schema = CoinLogSchema(path, durability=Durability.PROCESS)
    accept_all(schema, [BlockSpendInfo(index, 0, [], []) for index in range(n)])
    schema.flush()
    crash(schema)
    os.truncate(path / "log", 0)
    if not isinstance(acked, str):
        lose_acked(path, acked)
    with pytest.raises(CorruptDatabaseError, match="log: it is empty"):
        CoinLogSchema(path, read_only=read_only)
    assert "log" in {damage.path.name for damage in check(path, lambda coins: None)}


def test_the_history_does_not_grow_with_rewinds(path: Path) -> None:
    coins = [[reward(index, n) for n in range(8)] for index in range(15)]
    blocks = [BlockSpendInfo(0, 0, [], coins[0])] + [
        BlockSpendInfo(index, 0, [coin.name() for coin in coins[index - 1]], coins[index])
        for index in range(1, 15)
    ]
    sizes = []
    for kept in (0, 5, 6, 14, 7, 7, 13, 2, 3, 4, 9, 1, 12, 5, 6, 7, 8):
        with open_small(path) as schema:
            schema.rewind_to_block_index(kept)
            missing_blocks = [
                block for block in blocks if block.index > (schema.last_block_index or -1)
            ]
            accept_all(schema, missing_blocks)
            assert verify(schema) == expected_state(blocks)
        sizes.append(
            [file.stat().st_size for kind in ("history", "base") for file in derived(path, kind)]
        )
    for kind_sizes in zip(*sizes, strict=True):
        assert max(kind_sizes) < 2 * kind_sizes[0]


@pytest.mark.parametrize("is_cut_short", [False, True])
def test_a_rewind_leaves_nothing_in_the_history_in_which_nobody_sees_damage(
    path: Path, chain: Chain, tmp_path: Path, is_cut_short: bool
) -> None:
    with open_small(path) as schema:
        accept_all(schema, chain.blocks)
        schema.rewind_to_block_index(chain.blocks[4].index)
    (history,) = derived(path, "history")
    if is_cut_short:
        history.write_bytes(history.read_bytes() + b"rewound")
        open_small(path).close()
    copy = copies(path, tmp_path / "copy")
    for place in range(0, len(history.read_bytes().rstrip(b"\0")), 9):
        change(copy() / "derived" / history.name, place)
        assert list(check(tmp_path / "copy", lambda coins: None)), place


@pytest.mark.parametrize("index", [-(2**80), -(2**63) - 1, 2**63, 2**64, 2**80])
def test_block_indices_beyond_all_integers(path: Path, index: int) -> None:
    block = block_at(1)
    with CoinLogSchema(path) as schema:
        schema.accept_block(block)
        assert schema.block_info_for_block_index(index) is None
        with pytest.raises(InvalidBlockError):
            schema.accept_block(replace(block, index=index))
        schema.rewind_to_block_index(index)
        assert list(schema.blocks()) == ([block] if index > 0 else [])
        schema.accept_block(replace(block, index=2, confirms=[reward(2)]))


@pytest.mark.parametrize("acked", [ACKED_NOTHING, REWOUND_OFTEN])
def test_the_last_numbers_of_acked(path: Path, acked: bytes) -> None:
    crash(CoinLogSchema(path))
    lose_acked(path, acked)
    blocks = [block_at(index) for index in (1, 2)]
    schema = CoinLogSchema(path)
    accept_all(schema, blocks)
    schema.flush()
    if acked == REWOUND_OFTEN:
        with pytest.raises(UnsupportedError, match="rewound"):
            schema.rewind_to_block_index(1)
    crash(schema)
    with CoinLogSchema(path) as schema:
        assert list(schema.blocks()) == blocks
    assert damaged_files(path) == []


def test_a_missing_log_is_damage(loaded: Path) -> None:
    (loaded / "log").unlink()
    with pytest.raises(CorruptDatabaseError, match="log"):
        CoinLogSchema(loaded)


@pytest.mark.parametrize("opener", [CoinLogSchema, open_small])
def test_a_crash_between_the_two_steps_of_a_rewind_does_the_second_one_again(
    path: Path, chain: Chain, opener: Callable[[Path], CoinLogSchema]
) -> None:
    kept = chain.up_to(chain.blocks[6].index)
    with opener(path) as schema:
        accept_all(schema, chain.blocks)
    before = (path / "log").read_bytes()
    schema = opener(path)
    schema.rewind_to_block_index(kept.newest_index)
    crash(schema)
    (path / "log").write_bytes(before)
    for _ in range(2):
        with opener(path) as schema:
            assert verify(schema) == expected_state(kept.blocks)
    with opener(path) as schema:
        accept_all(schema, chain.blocks[7:])
    shutil.rmtree(path / "derived")
    with opener(path) as schema:
        assert verify(schema) == expected_state(chain.blocks)


@pytest.mark.parametrize("opener", [CoinLogSchema, open_small])
@pytest.mark.parametrize(("reached", "zeroed"), [("acked", 0), ("manifest", 0), ("log", 100)])
@pytest.mark.parametrize("derived", ["kept", "deleted", "without manifest"])
def test_a_crash_within_a_rewind_and_then_a_lost_index_bring_no_block_back(
    path: Path,
    chain: Chain,
    opener: Callable[[Path], CoinLogSchema],
    reached: str,
    zeroed: int,
    derived: str,
) -> None:
    kept = chain.up_to(chain.blocks[6].index)
    with opener(path) as schema:
        accept_all(schema, chain.blocks)
    before = path.with_name("before")
    shutil.copytree(path, before)
    schema = opener(path)
    schema.rewind_to_block_index(kept.newest_index)
    crash(schema)
    end = records_end(path)
    log = bytearray((before / "log").read_bytes())
    if reached == "acked":
        shutil.rmtree(path / "derived")
        shutil.copytree(before / "derived", path / "derived")
    log[end : end + zeroed] = bytes(zeroed)
    (path / "log").write_bytes(log)
    if derived == "deleted":
        shutil.rmtree(path / "derived")
    elif derived == "without manifest":
        (path / "derived" / "manifest").unlink(missing_ok=True)
    with CoinLogSchema(path, read_only=True) as schema:
        assert verify(schema) == expected_state(kept.blocks)
    for _ in range(2):
        with opener(path) as schema:
            assert verify(schema) == expected_state(kept.blocks)
        shutil.rmtree(path / "derived")
    with opener(path) as schema:
        accept_all(schema, chain.blocks[7:])
        assert verify(schema) == expected_state(chain.blocks)


def test_rewinds_and_crashes_in_any_order(path: Path) -> None:
    chain = sample_chain(60)
    dice = random.Random(5)
    reached = flushed = 0
    schema = open_small(path)
    for _ in range(150):
        match dice.randrange(5):
            case 0:
                schema.flush()
                flushed = reached
            case 1:
                reached = flushed = dice.randint(reached // 2, reached)
                last = chain.blocks[reached - 1].index if reached else -1
                schema.rewind_to_block_index(last)
            case 2:
                crash(schema)
                schema = open_small(path)
                assert flushed <= sum(1 for _ in schema.blocks()) <= reached
            case _:
                more = min(len(chain.blocks), reached + dice.randint(1, 6))
                accept_all(schema, chain.blocks[reached:more])
                reached = more
        blocks = chain.blocks[:reached]
        assert summarize(schema) == expected_state(blocks)
        height = dice.randint(-1, chain.newest_index + 1)
        assert schema.count_unspent(height) == n_unspent(blocks, height)
        assert schema.count_unspent() == n_unspent(blocks, chain.newest_index)
    schema.close()


def n_unspent(blocks: Iterable[BlockSpendInfo], height: int) -> int:
    """How many coins blocks leave unspent up to a height."""
    there = [block for block in blocks if block.index <= height]
    return sum(len(block.confirms) - len(block.spends) for block in there)


@pytest.mark.parametrize("opener", [CoinLogSchema, open_small, open_colliding])
@pytest.mark.parametrize("filler", [0, 30])
def test_a_child_confirmed_before_its_parent_was_spent_stays_unique(
    path: Path, opener: Callable[[Path], CoinLogSchema], filler: int
) -> None:
    """The one way to a duplicate whose parent the block spends: it came before, early."""
    parent = reward(1)
    early, other = child(parent.name()), child(parent.name(), 1)
    more = [reward(3, n) for n in range(filler)]
    for confirm_parent_first in (True, False):
        with opener(path) as schema:
            first, second = [parent], [early]
            if not confirm_parent_first:
                first, second = second, first
            schema.accept_block(BlockSpendInfo(1, 0, [], first))
            schema.accept_block(BlockSpendInfo(2, 0, [], second))
            schema.accept_block(BlockSpendInfo(3, 0, [], more))
            with pytest.raises(DuplicateCoinError) as refusal:
                schema.accept_block(BlockSpendInfo(4, 0, [parent.name()], [other, early]))
            assert refusal.value.coin_name == early.name()
            assert schema.coin_infos_for_coin_names([parent.name()])[0].spent_index == 0
            schema.accept_block(BlockSpendInfo(4, 0, [parent.name()], [other]))
            schema.rewind_to_block_index(-1)


@pytest.mark.parametrize("same_call", [True, False])
def test_an_ephemeral_parent_with_an_earlier_child(path: Path, same_call: bool) -> None:
    parent = reward(1)
    early = child(parent.name())
    blocks = [
        BlockSpendInfo(1, 0, [], [early]),
        BlockSpendInfo(2, 0, [parent.name()], [parent, early]),
    ]
    calls = [blocks] if same_call else [[block] for block in blocks]
    with CoinLogSchema(path) as schema, pytest.raises(DuplicateCoinError) as refusal:
        accept_all_packed(schema, calls)
    assert (refusal.value.block_index, refusal.value.coin_name) == (2, early.name())


def test_packed_blocks_before_a_bad_one_are_accepted(path: Path) -> None:
    coins = [reward(1, n) for n in range(3)]
    names = [coin.name() for coin in coins]
    good = [BlockSpendInfo(1, 0, [], coins), BlockSpendInfo(2, 0, names[:1], [child(names[0])])]
    nobody = hash_of("nobody")
    bad = {
        AlreadySpentError: ([names[0]], []),
        UnknownCoinError: ([nobody, names[1]], []),
        DuplicateCoinError: ([names[1]], [child(names[1]), coins[2]]),
    }
    after = BlockSpendInfo(4, 0, names[1:], [])
    for n, (error, (spends, confirms)) in enumerate(bad.items()):
        with open_small(path.with_name(f"{n}")) as schema:
            blocks = [*good, BlockSpendInfo(3, 0, spends, confirms), after]
            with pytest.raises(error) as refusal:
                schema.accept_packed(PackedBlocks.of(blocks))
            assert refusal.value.block_index == 3
            assert summarize(schema) == expected_state(good)
            schema.accept_packed(PackedBlocks.of([after]))
            assert summarize(schema) == expected_state([*good, after])


def test_packed_blocks_that_are_not_canonical_are_refused(path: Path) -> None:
    coins = [reward(1, n) for n in range(2)]
    packed = PackedBlocks.of([BlockSpendInfo(1, 0, [], coins)])
    turned = bytes(packed.confirms[72:]) + bytes(packed.confirms[:72])
    numbers = (packed.indices, packed.timestamps, packed.spend_ends, packed.confirm_ends)
    unsorted = PackedBlocks(*numbers, packed.spends, turned, packed.names)
    with CoinLogSchema(path) as schema:
        with pytest.raises(ValueError, match="canonical"):
            schema.accept_packed(unsorted)
        schema.accept_packed(packed)


@pytest.mark.parametrize("behind", [0, 1])
def test_a_pack_whose_names_lie_is_refused_where_two_coins_have_one(
    path: Path, behind: int
) -> None:
    """No rule finds it but that: each coin's parent is spent by its own block."""
    parents = [reward(1, n) for n in range(2 + behind)]
    blocks = [BlockSpendInfo(1, 0, [], parents)]
    for index, parent in enumerate(parents, 2):
        blocks.append(BlockSpendInfo(index, 0, [parent.name()], [child(parent.name())]))
    packed = PackedBlocks.of(blocks)
    names = [bytes(packed.names)[at : at + 32] for at in range(0, len(packed.names), 32)]
    names[len(parents) + 1] = names[len(parents)]
    with CoinLogSchema(path) as schema:
        with pytest.raises(ValueError, match="block 3 is not in canonical form"):
            schema.accept_packed(replace(packed, names=b"".join(names)))
        assert verify(schema) == expected_state(blocks[:2])
        accept_all(schema, blocks[2:])
        assert verify(schema) == expected_state(blocks)


def test_a_block_is_read_while_the_next_one_is_on_its_way_to_the_file(path: Path) -> None:
    """The record behind it is looked at, which here begins a page."""
    coins = [[reward(n, m) for m in range(6112)] for n in range(20)]
    packed = [PackedBlocks.of([BlockSpendInfo(n, 0, [], each)]) for n, each in enumerate(coins)]
    with CoinLogSchema(path) as schema:
        schema.accept_packed(packed[0])
        schema._backend.read_states(0, 0)  # it is in the file
        assert records_end(path) > LOG_HEAD_BYTES
        assert records_end(path) % 4096 == 0
        for n, each in enumerate(packed[1:]):
            reader = schema._backend.read_states(n, n)
            schema.accept_packed(each)
            read = reader.next()
            assert read is not None
            assert read.indices[0] == n


def test_a_coin_is_found_while_its_block_is_on_its_way_to_the_file(path: Path) -> None:
    """A look-up waits for the last piece that the writing thread has, and not for all but one."""
    with CoinLogSchema(path) as schema:
        for index in range(5):
            coins = [reward(index, n) for n in range(20_000)]
            schema.accept_packed(PackedBlocks.of([BlockSpendInfo(index, 0, [], coins)]))
            (info,) = schema.coin_infos_for_coin_names([coins[-1].name()])
            assert info.coin == coins[-1]


def test_any_split_into_calls_gives_the_same_files(tmp_path: Path) -> None:
    chain = sample_chain(40)
    logs = set()
    for size in (1, 3, 40):
        path = tmp_path / f"{size}"
        with CoinLogSchema(path) as schema:
            for start in range(0, 40, size):
                schema.accept_packed(PackedBlocks.of(chain.blocks[start : start + size]))
            assert verify(schema) == expected_state(chain.blocks)
        logs.add(without_checksums(path))
    assert len(logs) == 1


TRUSTING = Sizes(
    memtable_coins=50,
    merge_runs=3,
    name_bits=6,
    recent_bits=0,
    unverified_spends=999,
)


@pytest.mark.parametrize("blocks_at_once", [1, 4, 40])
def test_spends_that_were_given_the_wrong_coin_at_first_get_the_right_one(
    path: Path, blocks_at_once: int
) -> None:
    chain = sample_chain(40)
    with CoinLogSchema(path, sizes=TRUSTING) as schema:
        for start in range(0, 40, blocks_at_once):
            schema.accept_packed(PackedBlocks.of(chain.blocks[start : start + blocks_at_once]))
        assert verify(schema) == expected_state(chain.blocks)
    with CoinLogSchema(path, sizes=TRUSTING) as schema:
        assert verify(schema) == expected_state(chain.blocks)


@pytest.mark.parametrize("place", [0, 1, 7, 8, 254, 255, 256, 511, 518])
def test_a_false_spend_is_found_at_any_place_of_those_that_are_put_off(
    path: Path, place: int
) -> None:
    before, after = ([child(hash_of(n), each) for each in range(n)] for n in (place, 519 - place))
    gone, other = child(hash_of("gone")), child(hash_of("other"))
    spends = [coin.name() for coin in (*before, gone, *after)]
    with CoinLogSchema(path, sizes=Sizes(recent_bits=0, unverified_spends=999)) as schema:
        schema.accept_block(BlockSpendInfo(1, 0, [], before))
        schema.accept_block(BlockSpendInfo(2, 0, [], [gone]))
        schema.rewind_to_block_index(1)
        schema.accept_block(BlockSpendInfo(2, 0, [], [other]))
        schema.accept_block(BlockSpendInfo(3, 0, [], after))
        schema.accept_packed(PackedBlocks.of([BlockSpendInfo(4, 0, spends, [])]))
        with refusal(UnknownCoinError, 4, gone.name()):
            schema.flush()
        assert schema.last_block_index == 3


@dataclass
class PutOff:
    """A schema that has accepted a bad block in a pack, and one after it, and has yet to refuse it.

    kept: the blocks before it, which are flushed. name: of the coin that it must not spend.
    """

    path: Path
    schema: CoinLogSchema
    kept: list[BlockSpendInfo]
    bad: BlockSpendInfo
    name: bytes32

    def refused(self) -> AbstractContextManager[object]:
        """Expects the refusal."""
        return refusal(UnknownCoinError, self.bad.index, self.name)


@contextmanager
def refusal(error: type[BlockError], index: int, name: bytes32) -> Iterator[None]:
    with pytest.raises(error) as raised:
        yield
    assert (type(raised.value), raised.value.block_index, raised.value.coin_name) == (
        error,
        index,
        name,
    )


IN_MEMTABLE = Sizes(recent_bits=2)
IN_RUNS = Sizes(memtable_coins=20, merge_runs=2, recent_bits=2)


@pytest.fixture(params=[IN_MEMTABLE, IN_RUNS], ids=["in the memtable", "in runs"])
def put_off(path: Path, request: pytest.FixtureRequest) -> Iterator[PutOff]:
    """It spends a coin of an abandoned fork: the index has its name, at another coin's row."""
    abandoned = reward(0, 100).name()
    kept = [block_at(0, 0)]
    for index in range(1, 10):
        spends = [reward(index - 1, 1).name()] if index > 1 else []
        kept.append(BlockSpendInfo(index, 0, spends, [reward(index, n) for n in range(1, 5)]))
    schema = CoinLogSchema(path, sizes=request.param)
    schema.accept_block(block_at(0, 100))
    schema.rewind_to_block_index(-1)
    accept_all_packed(schema, [kept[:1], kept[1:]])
    schema.flush()
    bad = BlockSpendInfo(10, 0, [abandoned], [child(abandoned)])
    after = BlockSpendInfo(11, 0, [child(abandoned).name()], [reward(11)])
    schema.accept_packed(PackedBlocks.of([bad, after]))
    assert schema.last_block_index == after.index, "it is believed at first"
    yield PutOff(path, schema, kept, bad, abandoned)
    with suppress(UnknownCoinError):
        schema.close()


def test_a_refusal_that_was_put_off_names_the_block_and_what_came_before_goes_on(
    put_off: PutOff,
) -> None:
    schema = put_off.schema
    with put_off.refused():
        schema.flush()
    assert verify(schema) == expected_state(put_off.kept)
    right = replace(put_off.bad, spends=[], confirms=[reward(put_off.bad.index)])
    accept_all_packed(schema, [[right]])
    schema.flush()
    schema.close()
    with CoinLogSchema(put_off.path) as schema:
        assert verify(schema) == expected_state([*put_off.kept, right])
    assert damaged_files(put_off.path) == []


def test_a_refusal_that_is_interrupted_is_not_forgotten(
    put_off: PutOff, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("cdb.front.store.named_block", interrupt)
        with pytest.raises(KeyboardInterrupt):
            put_off.schema.flush()
    with pytest.raises(DatabaseClosedError, match="a write failed"):
        put_off.schema.flush()
    put_off.schema.close()
    with CoinLogSchema(put_off.path) as schema:
        assert verify(schema) == expected_state(put_off.kept)


@pytest.mark.parametrize(
    "call",
    [
        lambda schema: schema.flush(),
        lambda schema: schema.close(),
        lambda schema: schema.rewind_to_block_index(2),
        lambda schema: schema.coin_infos_for_coin_names([]),
        lambda schema: schema.block_info_for_block_index(0),
        lambda schema: schema.blocks(),
    ],
    ids=["flush", "close", "rewind", "look-up", "block info", "blocks"],
)
def test_whatever_comes_next_refuses_what_was_put_off(
    put_off: PutOff, call: Callable[[CoinLogSchema], object]
) -> None:
    with put_off.refused():
        call(put_off.schema)
    put_off.schema.close()
    with CoinLogSchema(put_off.path) as schema:
        assert verify(schema) == expected_state(put_off.kept)


def test_another_refusal_tells_first_what_was_put_off(put_off: PutOff) -> None:
    unknown = BlockSpendInfo(put_off.bad.index + 9, 0, [hash_of("nobody")], [])
    with put_off.refused():
        put_off.schema.accept_block(unknown)
    with refusal(UnknownCoinError, unknown.index, unknown.spends[0]):
        put_off.schema.accept_block(unknown)
    assert verify(put_off.schema) == expected_state(put_off.kept)


def test_a_block_that_is_wrong_by_itself_tells_first_what_would_have_been_put_off(
    put_off: PutOff,
) -> None:
    with put_off.refused():
        put_off.schema.flush()
    out_of_order = replace(put_off.bad, spends=[])
    with put_off.refused():
        put_off.schema.accept_packed(PackedBlocks.of([put_off.bad, out_of_order]))
    assert verify(put_off.schema) == expected_state(put_off.kept)


def test_what_was_put_off_is_never_acknowledged(put_off: PutOff, tmp_path: Path) -> None:
    """Neither beside the writer, nor when it was killed, at any place of the log."""
    with CoinLogSchema(put_off.path, read_only=True) as reader:
        assert verify(reader) == expected_state(put_off.kept)
    left = copy_at_rest(put_off.path, tmp_path / "left")
    for sizes in (IN_MEMTABLE, IN_RUNS):
        for read_only in (True, False):
            with CoinLogSchema(left, read_only=read_only, sizes=sizes) as schema:
                assert verify(schema) == expected_state(put_off.kept)
    assert damaged_files(left) == []


def test_a_load_that_meets_a_refusal_that_was_put_off_keeps_what_came_before(
    put_off: PutOff,
) -> None:
    loader = Loader(put_off.schema)
    with put_off.refused():
        loader.flush()
    newest = put_off.kept[-1].index
    assert loader.progress.accepted_index == newest
    loader.flush()
    assert loader.progress.flushed_index == newest


@pytest.mark.parametrize("step", ["accept_block", "begin_flush", "end_flush"])
def test_a_reader_in_another_thread_goes_on_and_the_writer_is_told(
    put_off: PutOff, step: str
) -> None:
    """Else the writer would go on behind blocks that are gone, and flush."""
    schema = put_off.schema
    last = BlockSpendInfo(put_off.bad.index + 2, 0, [], [reward(12)])
    schema.accept_block(last)
    if step == "end_flush":
        schema.begin_flush()
    with ThreadPoolExecutor(1) as other:
        assert other.submit(lambda: list(schema.blocks())).result() == [
            canonical(block) for block in put_off.kept
        ]
        counted = other.submit(schema.count_unspent).result()
        assert counted == n_unspent(put_off.kept, put_off.bad.index)
    with put_off.refused():
        if step == "accept_block":
            schema.accept_block(replace(last, index=last.index + 1))
        else:
            getattr(schema, step)()
    schema.flush()
    assert verify(schema) == expected_state(put_off.kept)


def test_damage_is_told_by_each_lookup_and_not_by_the_first_alone(
    loaded: Path, chain: Chain
) -> None:
    coin = chain.blocks[0].confirms[0]
    log = (loaded / "log").read_bytes()
    (loaded / "log").write_bytes(log.replace(coin.puzzle_hash, bytes(32), 1))
    assert (loaded / "log").read_bytes() != log
    with CoinLogSchema(loaded, read_only=True) as schema:
        for _ in range(2):
            with pytest.raises(CorruptDatabaseError, match="damaged in block"):
                schema.coin_infos_for_coin_names([coin.name()])


def test_a_rewind_that_nobody_can_be_told_of_yet_takes_nothing_from_the_log(path: Path) -> None:
    """Other processes read those records, until the manifest tells them of the rewind."""
    with CoinLogSchema(path) as schema:
        schema.accept_block(block_at(1, coins=2_000))
        schema.flush()
        for index, n_coins in ((2, 400), (3, 5)):
            schema.accept_block(block_at(index, coins=n_coins))
        with CoinLogSchema(path, read_only=True) as reader:
            before = (path / "log").read_bytes()
            (path / "derived" / "manifest.tmp").mkdir()
            with pytest.raises(StorageError):
                schema.rewind_to_block_index(2)
            assert (path / "log").read_bytes()[: len(before)] == before
            assert [block.index for block in reader.blocks()] == [1, 2, 3]


def test_a_record_is_checked_once_however_many_abandoned_names_lead_there(path: Path) -> None:
    abandoned = [reward(1, n) for n in range(300)]
    blocks = [BlockSpendInfo(1, 0, [], [reward(2, n) for n in range(300)])]
    with open_small(path) as schema:
        accept_all_packed(schema, [[BlockSpendInfo(1, 0, [], abandoned)]])
        schema.rewind_to_block_index(0)
        accept_all_packed(schema, [blocks])
        names = [coin.name() for coin in abandoned]
        before = schema._backend.records_checked
        for name in names[:3]:
            assert schema.coin_infos_for_coin_names([name]) == []
        assert schema.coin_infos_for_coin_names(names) == []
        assert schema._backend.records_checked - before == 1
        confirmed_again = [child(hash_of(), n) for n in range(3)]
        accept_all_packed(schema, [[BlockSpendInfo(2, 0, [], abandoned + confirmed_again)]])
        assert schema._backend.records_checked - before == 1
        assert len(schema.coin_infos_for_coin_names(names)) == 300
        schema.rewind_to_block_index(0)
        accept_all_packed(schema, [blocks])
        assert schema.coin_infos_for_coin_names(names) == []
        assert schema._backend.records_checked - before == 2


@pytest.mark.parametrize("n", range(12))
def test_of_two_spends_of_a_coin_the_later_one_is_refused(path: Path, n: int) -> None:
    """Also where only the first one was given another coin at first: one bit tells names apart."""
    coins = [reward(0, 10 * n + each) for each in range(9)]
    blocks = [
        BlockSpendInfo(1, 0, [], coins),
        BlockSpendInfo(2, 0, [coins[0].name()], []),
        block_at(3, n),
        BlockSpendInfo(4, 0, [coins[0].name()], []),
    ]
    schema = CoinLogSchema(path, sizes=Sizes(name_bits=1, recent_bits=0))
    with refusal(AlreadySpentError, 4, coins[0].name()):
        accept_all_packed(schema, [[block] for block in blocks])
        schema.flush()
    assert verify(schema) == expected_state(blocks[:3])
    schema.close()


@pytest.mark.parametrize("steps", ["flush", "begin_flush end_flush", "begin_flush begin_flush"])
def test_a_made_up_spend_that_was_believed_is_taken_back_before_it_is_acknowledged(
    path: Path, steps: str
) -> None:
    chain = sample_chain(10)
    next_index = chain.blocks[-1].index + 1
    schema = CoinLogSchema(path, sizes=TRUSTING)
    schema.accept_packed(PackedBlocks.of(chain.blocks))
    schema.flush()
    for n in range(1000):
        bad = BlockSpendInfo(next_index, 1, [hash_of("made up", n)], [reward(next_index, 0)])
        with pytest.raises(UnknownCoinError):
            schema.accept_block(bad)
        with suppress(UnknownCoinError):
            schema.accept_packed(PackedBlocks.of([bad]))
            break
    *first, last = steps.split()
    for step in first:
        getattr(schema, step)()
    schema.accept_packed(PackedBlocks.of([BlockSpendInfo(next_index + 1, 2, [], [])]))
    with refusal(UnknownCoinError, next_index, bad.spends[0]):
        getattr(schema, last)()
    assert verify(schema) == expected_state(chain.blocks)
    schema.accept_packed(PackedBlocks.of([BlockSpendInfo(next_index, 2, [], [])]))
    schema.close()
    with CoinLogSchema(path, sizes=TRUSTING) as schema:
        assert schema.last_block_index == next_index


@pytest.mark.parametrize("end", ["end_flush", "flush", "begin_flush"])
def test_a_flush_that_was_begun_acknowledges_at_its_end(path: Path, chain: Chain, end: str) -> None:
    def acked() -> int:
        return int(struct.unpack("<Q", (path / "acked").read_bytes()[:8])[0])

    with CoinLogSchema(path) as schema:
        accept_all(schema, chain.blocks[:5])
        before = acked()
        schema.begin_flush()
        begun = records_end(path)
        assert acked() == before < begun
        accept_all(schema, chain.blocks[5:6])
        assert acked() == before
        getattr(schema, end)()
        assert acked() == (records_end(path) if end == "flush" else begun)
        schema.begin_flush()
        schema.rewind_to_block_index(chain.blocks[2].index)
        schema.end_flush()
        accept_all(schema, chain.blocks[3:])
        assert verify(schema) == expected_state(chain.blocks)
    with CoinLogSchema(path) as schema:
        assert verify(schema) == expected_state(chain.blocks)


@pytest.mark.parametrize("durability", [Durability.PROCESS, Durability.POWER])
def test_what_is_flushed_is_in_the_file_and_not_on_its_way(
    path: Path, durability: Durability
) -> None:
    blocks = [(index, [reward(index, n) for n in range(40_000)]) for index in range(3)]
    packed = PackedBlocks.of(BlockSpendInfo(index, 0, [], coins) for index, coins in blocks)
    for number in range(8):  # a flush that waits for no writer is now and then late enough
        database = path.with_name(f"{path.name}{number}")
        with CoinLogSchema(database, durability=durability) as schema:
            schema.accept_packed(packed)
            schema.flush()
            at_flush = (database / "log").stat().st_size
        assert at_flush >= records_end(database)


def test_what_a_rewind_takes_from_a_reader_is_kept_for_it_however_much_it_is(path: Path) -> None:
    """It is copied in pieces."""
    copied = native_size("coin_log/store/readers.cpp", "kCopyBytes")
    coins = [Coin(hash_of("p", n), hash_of("h", n), n) for n in range(3 * copied // 64)]
    blocks = [*map(canonical, dealt(coins, 30, 0))]
    with CoinLogSchema(path) as schema:
        schema.accept_packed(PackedBlocks.of(blocks))
        reader = iter(schema.blocks())
        first = next(reader)
        schema.rewind_to_block_index(0)
        schema.accept_packed(PackedBlocks.of(replace(block, timestamp=1) for block in blocks[1:]))
        assert [first, *reader] == blocks


def test_a_checkpoint_that_fails_is_told_and_loses_nothing(path: Path, chain: Chain) -> None:
    schema = open_small(path)
    flushed: list[BlockSpendInfo] = []

    def load_all() -> None:
        for block in chain.blocks:
            schema.accept_block(block)
            schema.flush()
            flushed.append(block)
        schema.close()

    shutil.rmtree(path / "derived")
    with pytest.raises(StorageError, match="derived"):
        load_all()
    with pytest.raises(DatabaseClosedError):
        schema.accept_block(chain.blocks[-1])
    schema.close()
    with open_small(path) as schema:
        kept = len(list(schema.blocks()))
        assert kept >= len(flushed) > 0
        assert verify(schema) == expected_state(chain.blocks[:kept])


def test_packed_lookups(path: Path) -> None:
    coin = Coin(hash_of("p"), hash_of("h"), 2**64 - 1)
    with CoinLogSchema(path) as schema:
        schema.accept_block(BlockSpendInfo(7, 0, [], [coin]))
        asked = hash_of("nobody") + coin.name()
        infos, found = schema.coin_infos_packed(asked)
        for kind in (bytearray, memoryview):
            assert schema.coin_infos_packed(kind(asked)) == (infos, found)
        assert found == b"\0\1"
        assert infos[80:144] == coin.parent_coin_name + coin.puzzle_hash
        assert infos[144:] == b"\xff" * 8 + (7).to_bytes(8, "little")
        with pytest.raises(ValueError, match="32 bytes"):
            schema.coin_infos_packed(b"short")


def test_a_reader_notices_that_the_writer_has_rewound(path: Path, chain: Chain) -> None:
    with CoinLogSchema(path) as schema:
        accept_all(schema, chain.blocks)
        schema.flush()
        with CoinLogSchema(path, read_only=True) as reader:
            iteration = iter(reader.blocks())
            accept_all(schema, [BlockSpendInfo(10_000, 0, [], [])])
            assert reader.last_block_index == chain.newest_index
            assert summarize(reader) == expected_state(chain.blocks)
            schema.rewind_to_block_index(3)
            with pytest.raises((DatabaseClosedError, CorruptDatabaseError)):
                list(iteration)
            with pytest.raises((DatabaseClosedError, CorruptDatabaseError)):
                reader.coin_infos_for_coin_names(chain.names)
            with pytest.raises(DatabaseClosedError):
                reader.count_unspent()
            with pytest.raises(UnsupportedError):
                reader.rewind_to_block_index(0)


@pytest.mark.parametrize("is_lost", [True, False], ids=["repaired", "replaced"])
def test_a_reader_notices_a_rewind_also_where_acked_is_another_file(
    path: Path, chain: Chain, is_lost: bool
) -> None:
    """What it looks at is the one that it has opened."""
    with CoinLogSchema(path) as schema:
        accept_all(schema, chain.blocks)
    with CoinLogSchema(path, read_only=True) as reader:
        if is_lost:
            (path / "acked").unlink()
            repair(path, list(check(path, lambda coins: None)), lambda coins: None)
        else:
            shutil.copy(path / "acked", path / "another")
            (path / "another").replace(path / "acked")
        with CoinLogSchema(path) as schema:
            schema.rewind_to_block_index(3)
            accept_all(schema, [block_at(4), block_at(10_000)])
        with pytest.raises(DatabaseClosedError, match="rewound"):
            reader.coin_infos_for_coin_names(chain.names)
        with pytest.raises(DatabaseClosedError, match="rewound"):
            reader.count_unspent()


def test_a_block_that_is_refused_after_a_rewind_hides_no_coin(path: Path) -> None:
    """Its coins have the places of rewound ones, which later coins had to go past."""
    rewound = canonical(block_at(2, coins=3_000))
    kept = [reward(3, n) for n in range(1_500)]
    with CoinLogSchema(path) as schema:
        schema.accept_block(block_at(1))
        schema.accept_block(rewound)
        schema.rewind_to_block_index(1)
        schema.accept_block(BlockSpendInfo(3, 0, [], kept))
        with pytest.raises(UnknownCoinError):
            # Those whose rows were above what is kept.
            schema.accept_block(BlockSpendInfo(4, 0, [hash_of()], rewound.confirms[-1_000:]))
        found = schema.coin_infos_for_coin_names([coin.name() for coin in kept])
        assert len(found) == len(kept)


def test_a_reader_without_a_manifest_tells_an_opening_from_a_rewind(
    path: Path, chain: Chain
) -> None:
    with CoinLogSchema(path) as schema:
        accept_all(schema, [*chain.blocks, BlockSpendInfo(10_000, 0, [], [])])
        schema.rewind_to_block_index(9_999)
    (path / MANIFEST).unlink()
    with CoinLogSchema(path, read_only=True) as reader, CoinLogSchema(path) as schema:
        assert (path / MANIFEST).exists()
        assert summarize(reader) == expected_state(chain.blocks)
        schema.rewind_to_block_index(3)
        with pytest.raises(DatabaseClosedError, match="has rewound it"):
            reader.coin_infos_for_coin_names(chain.names)


def test_a_reader_of_a_rewind_that_a_crash_cut_short_is_told_of_no_other_one(
    path: Path, chain: Chain
) -> None:
    kept = chain.up_to(chain.blocks[6].index)
    with open_small(path) as schema:
        accept_all(schema, chain.blocks)
    manifest = (path / MANIFEST).read_bytes()
    schema = open_small(path)
    schema.rewind_to_block_index(kept.newest_index)
    crash(schema)
    (path / MANIFEST).write_bytes(manifest)
    with open_small(path, read_only=True) as reader:
        assert verify(reader) == expected_state(kept.blocks)
        with open_small(path) as schema:  # it ends the rewind, and so writes the manifest
            assert (path / MANIFEST).read_bytes() != manifest
            assert verify(reader) == expected_state(kept.blocks)
            schema.rewind_to_block_index(3)
        with pytest.raises(DatabaseClosedError, match="has rewound it"):
            verify(reader)


def replace_log(path: Path, other: Path) -> None:
    (other / "log").replace(path / "log")
    shutil.copytree(other / "derived", path / "derived", dirs_exist_ok=True)


def overwrite(path: Path, other: Path) -> None:
    shutil.copytree(other, path, dirs_exist_ok=True)


def remove_and_replace(path: Path, other: Path) -> None:
    shutil.rmtree(path)
    other.rename(path)


def move_and_rewind(path: Path, other: Path) -> None:
    path.rename(path.with_name("moved"))
    other.rename(path)
    with open_small(path.with_name("moved")) as schema:
        schema.rewind_to_block_index(3)
        accept_all(schema, [block_at(n, 99, timestamp=9) for n in range(4, 60)])


@pytest.mark.parametrize(
    ("happens", "told"),
    [
        (replace_log, None),
        (remove_and_replace, None),
        (overwrite, "its log was overwritten; open it again"),
        (
            move_and_rewind,
            "the one who writes has rewound it, and its directory was moved, and another is in its"
            " place; open it again",
        ),
    ],
)
def test_a_reader_says_what_others_have_done_to_the_files(
    path: Path, chain: Chain, happens: Callable[[Path, Path], None], told: str | None
) -> None:
    other = path.with_name("other")
    with open_small(path) as schema, open_small(other) as another:
        accept_all(schema, chain.blocks)
        accept_all(another, [block_at(n, 99, timestamp=9) for n in range(4, 60)])
        another.rewind_to_block_index(50)
    with open_small(path, read_only=True) as reader:
        opened = reader.blocks()
        happens(path, other)
        if told is None:
            assert verify(reader) == expected_state(chain.blocks)
            assert list(opened) == [canonical(block) for block in chain.blocks]
            return
        for read in (
            lambda: verify(reader),
            lambda: list(opened),
            lambda: reader.coin_infos_for_coin_names(chain.names),
            lambda: reader.block_info_for_block_index(chain.newest_index),
            lambda: list(reader.state_at(chain.newest_index)),
            lambda: list(reader.versions(0, chain.newest_index)),
        ):
            with pytest.raises(DatabaseClosedError) as error:
                read()
            assert str(error.value) == f"{path}: {told}"


def test_a_writer_goes_on_where_its_directory_was_moved(path: Path, chain: Chain) -> None:
    """And does nothing to the database that has its place now."""
    moved = path.with_name("moved")
    with open_small(path) as schema:
        accept_all(schema, chain.blocks[:9])
        path.rename(moved)
        with open_small(path) as another:
            accept_all(another, chain.blocks[:1])
            before = contents(path)
            accept_all(schema, chain.blocks[9:])
            schema.rewind_to_block_index(chain.blocks[-2].index)
            schema.accept_block(chain.blocks[-1])
            assert contents(path) == before
    for where, blocks in ((moved, chain.blocks), (path, chain.blocks[:1])):
        with open_small(where) as schema:
            assert verify(schema) == expected_state(blocks)


def test_iterations_keep_what_rewinds_take(path: Path) -> None:
    chain = sample_chain(40)
    expected = [canonical(block) for block in chain.blocks]
    with open_small(path) as schema:
        accept_all(schema, chain.blocks)
        iterations = [iter(schema.blocks()) for _ in range(3)]
        for kept, iteration in zip((30, 12, 0), iterations, strict=True):
            schema.rewind_to_block_index(chain.blocks[kept].index)
            accept_all(schema, [BlockSpendInfo(100_000 + kept, 1, [], [])])
            schema.rewind_to_block_index(chain.blocks[kept].index)
            assert list(iteration) == expected
        late = iter(schema.blocks())
    with pytest.raises(DatabaseClosedError):
        next(late)


@pytest.mark.parametrize("durability", Durability)
def test_every_durability_keeps_a_closed_database(
    path: Path, chain: Chain, durability: Durability
) -> None:
    with CoinLogSchema(path, durability=durability) as schema:
        accept_all(schema, chain.blocks)
    with CoinLogSchema(path) as schema:
        assert verify(schema) == expected_state(chain.blocks)


@pytest.mark.parametrize("name_bits", [1, 2, 5, 9, 20])
def test_names_that_differ_only_in_what_the_index_does_not_see(path: Path, name_bits: int) -> None:
    coins = [reward(1, n) for n in range(300)]
    names = [coin.name() for coin in coins]
    sizes = Sizes(memtable_coins=50, merge_runs=3, name_bits=name_bits)
    with CoinLogSchema(path, sizes=sizes) as schema:
        schema.accept_block(BlockSpendInfo(1, 0, [], coins[:200]))
        assert schema.coin_infos_for_coin_names(names[200:]) == []
        found = [info.coin for info in schema.coin_infos_for_coin_names(names)]
        assert found == coins[:200]
        with pytest.raises(UnknownCoinError):
            schema.accept_block(BlockSpendInfo(2, 0, [bytes32(names[250])], []))


@pytest.mark.parametrize("name_bits", [1, 3, 64])
@pytest.mark.parametrize("coins_a_block", [1, 7, 260])
def test_coins_are_found_in_runs_of_any_shape(
    path: Path, coins_a_block: int, name_bits: int
) -> None:
    """Buckets of hundreds of entries, or of none; runs that merge, and begin at any row."""
    sizes = Sizes(memtable_coins=300, merge_runs=2, name_bits=name_bits)
    blocks = [
        block_at(index, coins=coins_a_block) for index in range(1, 2 + 1_300 // coins_a_block)
    ]
    with CoinLogSchema(path, sizes=sizes) as schema:
        schema.accept_packed(PackedBlocks.of(blocks[:-2]))
        schema.rewind_to_block_index(blocks[-9].index if len(blocks) > 20 else 2)
        kept = schema.last_block_index or 0
        for block in blocks[kept:]:
            schema.accept_block(block)
    with CoinLogSchema(path, read_only=True) as schema:
        assert schema._backend._count().runs
        coins = [coin for block in blocks for coin in block.confirms]
        found = schema.coin_infos_for_coin_names([coin.name() for coin in coins])
        assert [info.coin for info in found] == coins


def rewarded(index: int, kinds: range, *, back: int = 2) -> BlockSpendInfo:
    """A block with rewards of some kinds, and a coin whose parent is any name."""
    heights = range(max(0, index - back), index)
    coins = [paid(height, kind, index) for height in heights for kind in kinds]
    return BlockSpendInfo(index, 0, [], [*coins, reward(index)])


def explicit_bytes(path: Path) -> int:
    """The bytes of explicit parents in the log."""
    log, at, n = (path / "log").read_bytes(), LOG_HEAD_BYTES, 0
    while log[at + 8 : at + 12] == b"CLR2":
        (length,) = struct.unpack_from("<I", log, at + 12)
        whole, rewards = struct.unpack_from("<II", log, at + 56)
        n += 32 * whole + (1 + log[at + 70]) * rewards
        at += length
    return n


def test_the_parent_of_a_reward_is_stored_in_two_bytes(path: Path) -> None:
    blocks = [rewarded(index, range(2)) for index in range(2, 50)]
    with open_small(path) as schema:
        schema.accept_packed(PackedBlocks.of(blocks))
        assert verify(schema) == expected_state(blocks)
    first, others = 4 * 32, 47 * 4 * 2  # in the first block the kinds are new
    assert explicit_bytes(path) == first + others + 48 * 32


@pytest.mark.parametrize("opener", [CoinLogSchema, open_small])
@pytest.mark.parametrize("how", ["one by one", "packed"])
def test_rewards_of_more_kinds_than_are_numbered(
    path: Path, opener: Callable[[Path], CoinLogSchema], how: str
) -> None:
    blocks = [rewarded(index, range(index // 2)) for index in range(1, 30)]
    with opener(path) as schema:
        if how == "packed":
            schema.accept_packed(PackedBlocks.of(blocks))
        else:
            accept_all(schema, blocks)
        assert verify(schema) == expected_state(blocks)
    with opener(path) as schema:
        assert verify(schema) == expected_state(blocks)
    shutil.rmtree(path / "derived")
    with CoinLogSchema(path, read_only=True) as schema:
        assert verify(schema) == expected_state(blocks)


def test_rewards_of_heights_that_are_far_off(path: Path) -> None:
    heights = [0, 1, 4_999, 5_000, 5_001, 70_000, 2**31, 2**32 - 1]
    of_zeros = Coin(bytes32(bytes(32)), bytes32(bytes(32)), 0)
    block = BlockSpendInfo(5_000, 0, [], [of_zeros, *(paid(height) for height in heights)])
    blocks = [BlockSpendInfo(1, 0, [], [paid(7)]), canonical(block)]
    with CoinLogSchema(path) as schema:
        accept_all(schema, blocks)
        assert list(schema.blocks()) == blocks
        found = schema.coin_infos_for_coin_names([coin.name() for coin in blocks[1].confirms])
        assert [info.coin for info in found] == blocks[1].confirms


@pytest.mark.parametrize("opener", [CoinLogSchema, open_small])
@pytest.mark.parametrize("ending", ["rewound", "refused", "rewound and crashed"])
def test_a_kind_of_rewards_is_gone_with_the_block_that_introduced_it(
    path: Path, opener: Callable[[Path], CoinLogSchema], ending: str
) -> None:
    """What follows has another kind in its place, also for readers that were there before."""
    kept = [rewarded(index, range(1)) for index in range(1, 12)]
    gone = [rewarded(index, range(5, 7)) for index in range(12, 30)]
    after = [rewarded(index, range(2, 5)) for index in range(12, 30)]
    schema = opener(path)
    accept_all(schema, kept)
    if ending == "refused":
        bad = replace(gone[5], spends=[hash_of("nobody")])
        with pytest.raises(UnknownCoinError):
            schema.accept_packed(PackedBlocks.of([*gone[:5], bad, *gone[6:]]))
        schema.rewind_to_block_index(kept[-1].index)
        with pytest.raises(UnknownCoinError):
            schema.accept_block(replace(gone[0], spends=[hash_of("nobody")]))
    else:
        accept_all(schema, gone)
        before = iter(schema.blocks())
        schema.rewind_to_block_index(kept[-1].index)
    if ending == "rewound and crashed":
        crash(schema)
        schema = opener(path)
    accept_all(schema, after)
    if ending == "rewound":
        assert list(before) == [*map(canonical, kept), *map(canonical, gone)]
    assert verify(schema) == expected_state([*kept, *after])
    schema.close()
    with opener(path) as schema:
        assert verify(schema) == expected_state([*kept, *after])


SHORTENED: dict[str, list[tuple[str, Callable[[CoinLogSchema, Chain], object]]]] = {
    "log": [
        ("look up", lambda schema, chain: schema.coin_infos_for_coin_names(chain.names)),
        ("read", lambda schema, chain: list(schema.blocks())),
        ("accept", lambda schema, chain: schema.accept_block(chain.blocks[14])),
        ("rewind", lambda schema, chain: schema.rewind_to_block_index(chain.blocks[5].index)),
    ],
    "derived/run-*": [
        ("look up", lambda schema, chain: schema.coin_infos_for_coin_names(chain.names)),
        ("accept", lambda schema, chain: schema.accept_block(chain.blocks[14])),
        ("merge", lambda schema, chain: accept_all(schema, more_rewards(chain))),
    ],
}
"""What can't be done without a file, by the call that needs it."""


def more_rewards(chain: Chain) -> list[BlockSpendInfo]:
    first = chain.newest_index + 1
    return [block_at(first + n, coins=9) for n in range(20)]


def shorten_open_files(whole: Path) -> None:
    """Cut off each mapped file of an open database, and expect errors that name it."""
    chain = sample_chain(15)
    copy = copies(whole, whole.with_name("copy"))
    for pattern, calls in SHORTENED.items():
        for what, call in calls:
            schema = open_small(copy())
            files = list(whole.with_name("copy").glob(pattern))
            for file in files:
                os.truncate(file, 0)
            for attempt in range(2):
                with pytest.raises((StorageError, DatabaseClosedError)) as error:
                    call(schema, chain)
                named = error.value.path if attempt == 0 else str(error.value)
                assert any(str(file) in named for file in files), (what, pattern, error.value)
            with suppress(StorageError):
                schema.close()
            for file in files:
                shutil.copy(whole / file.relative_to(whole.with_name("copy")), file)
            with open_small(whole.with_name("copy")) as schema:
                kept = list(schema.blocks())
                assert kept[:14] == [canonical(block) for block in chain.blocks[:14]]
                assert len(kept) == 14 or what == "merge"


def test_a_file_that_is_shortened_while_it_is_open_is_an_error_and_kills_nobody(
    path: Path, chain: Chain
) -> None:
    with open_small(path) as schema:
        accept_all(schema, chain.blocks[:14])
    code = "import sys; from tests.schemas.test_coin_log import shorten_open_files as shorten;"
    code += "from pathlib import Path; shorten(Path(sys.argv[1]))"
    command = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(command, cwd=PACKAGE_PARENT, capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_child_that_is_forked_between_two_steps_of_an_opening_goes_on_with_none(
    path: Path,
) -> None:
    """It has not got the lock: it would erase what its parent appends meanwhile."""
    blocks = tuple(mainnet_shaped_blocks(coins=150_000))
    with CoinLogSchema(path) as schema:
        accept_all(schema, blocks[:-9])
    shutil.rmtree(path / "derived")
    parent, children = os.getpid(), list[int]()
    readable, writable = os.pipe()

    def fork(coins: int) -> None:
        if not children and os.getpid() == parent:
            children.append(os.fork())
            if not children[0]:
                os.read(readable, 1)  # until its parent has appended

    try:
        schema = CoinLogSchema(path, durability=Durability.POWER, progress=fork)
    except DatabaseClosedError:
        os._exit(0 if os.getpid() != parent else 1)
    except BaseException:
        os._exit(1)
    if os.getpid() != parent:
        os._exit(2)
    with schema:
        accept_all(schema, blocks[-9:])
        schema.flush()
        os.write(writable, b"=")
        assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 0
    assert list(check(path, lambda coins: None)) == []
    with CoinLogSchema(path, read_only=True) as schema:
        assert schema.last_block_index == blocks[-1].index


@pytest.mark.parametrize("level", [Durability.POWER, Durability.PROCESS])
@pytest.mark.parametrize("coins", [100, 3_000], ids=["at once", "by a thread"])
@pytest.mark.parametrize("in_steps", [False, True])
def test_no_flush_returns_when_a_write_of_the_log_has_failed(
    path: Path, level: Durability, coins: int, in_steps: bool
) -> None:
    """The writing thread takes what is large, and fails when the block has been accepted long ago.

    Only the log is as long as what may be written, so nothing else meets the limit.
    """
    chain = Chain()
    for index in range(2):
        rewards = [reward(index, 1_000 * index + n) for n in range(coins)]
        chain.append(BlockSpendInfo(index, 0, [], rewards))
    with CoinLogSchema(path, durability=level) as schema:

        def accept_and_flush(blocks: list[BlockSpendInfo]) -> None:
            schema.accept_packed(PackedBlocks.of(blocks))
            if in_steps:
                schema.begin_flush()
                schema.end_flush()
            else:
                schema.flush()

        accept_and_flush(chain.blocks[:1])
        with largest_file((path / "log").stat().st_size), pytest.raises(StorageError, match="log"):
            accept_and_flush(chain.blocks[1:])
        crash(schema)
    with CoinLogSchema(path) as schema:
        assert schema.last_block_index == 0
        accept_all(schema, chain.blocks[1:])
        assert summarize(schema) == expected_state(chain.blocks)
