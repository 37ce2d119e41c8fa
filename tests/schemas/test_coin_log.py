"""coin_log: the contract, and what only its files can suffer."""

import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from cdb.blocks import BlockSpendInfo, canonical
from cdb.coins import Coin, bytes32
from cdb.durability import Durability
from cdb.engines.coin_log import Sizes, missing
from cdb.errors import (
    AlreadySpentError,
    CorruptDatabaseError,
    DatabaseClosedError,
    DuplicateCoinError,
    StorageError,
    UnknownCoinError,
    UnsupportedError,
    WrongDatabaseError,
)
from cdb.packed import PackedBlocks
from cdb.schemas.coin_log import CoinLogSchema
from cdb.state import summarize, verify
from cdb.testing import SchemaConformance
from cdb.testing.base import accept_all, expected_state
from cdb.testing.chains import Chain, child, hash_of, reward, sample_chain

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

SMALL = Sizes(memtable_coins=20, merge_runs=2, bucket_bits=3, recent_bits=2, unverified_spends=5)
COLLIDING = Sizes(memtable_coins=20, merge_runs=3, bucket_bits=2, name_bits=5, unverified_spends=0)
SOMETIMES_COLLIDING = Sizes(
    memtable_coins=20, merge_runs=3, bucket_bits=2, name_bits=11, unverified_spends=0
)
open_small = partial(CoinLogSchema, sizes=SMALL)
open_colliding = partial(CoinLogSchema, sizes=COLLIDING)


class TestCoinLog(SchemaConformance):
    schema = "coin_log"


class TestCoinLogWithSmallRuns(SchemaConformance):
    schema = "cdb.testing.small_memtable:COIN_LOG"


class TestCoinLogWithCollidingNames(SchemaConformance):
    schema = partial(CoinLogSchema, sizes=SOMETIMES_COLLIDING)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "database"


@pytest.fixture
def chain() -> Chain:
    return sample_chain(15)


@pytest.fixture
def loaded(path: Path, chain: Chain) -> Path:
    """A closed database with runs, history and a tail of the log that they do not cover."""
    with open_small(path) as schema:
        accept_all(schema, chain.blocks[:14])
    with CoinLogSchema(path) as schema:
        accept_all(schema, chain.blocks[14:])
    names = {file.name.partition("-")[0] for file in path.rglob("*")}
    assert names >= {"log", "acked", "manifest", "history", "run"}
    return path


def crash(schema: CoinLogSchema) -> None:
    """Let go of the files as the end of the process would."""
    schema._guard.closed = True
    schema._log.close(abandon=True)
    schema._home.close()


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
    log, end = (path / "log").read_bytes(), 0
    while log[end + 8 : end + 12] == b"CLR1":
        end += int.from_bytes(log[end + 12 : end + 16], "little")
    return end


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


def test_every_changed_byte_is_found_or_harmless(path: Path) -> None:
    chain, loaded = sample_chain(5), path
    with CoinLogSchema(path, sizes=Sizes(memtable_coins=12, bucket_bits=2)) as schema:
        accept_all(schema, chain.blocks)
    with CoinLogSchema(loaded, read_only=True) as schema:
        expected = everything(schema, chain)
    found = {}
    for name in own_files(loaded):
        original = (loaded / name).read_bytes()
        found[name.name] = 0
        for place in range(len(original)):
            changed = bytearray(original)
            changed[place] ^= 1 << place % 8
            (loaded / name).write_bytes(changed)
            try:
                with CoinLogSchema(loaded, read_only=True) as schema:
                    assert everything(schema, chain) == expected, (name, place)
            except (CorruptDatabaseError, WrongDatabaseError):
                found[name.name] += 1
        (loaded / name).write_bytes(original)
        # Of the two acknowledgements the older one may be lost, and then the newer one counts.
        assert name.name == "acked" or found[name.name] == len(original)


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
    for length in range(flushed, len(whole)):
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
    (path / "acked").unlink()
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


@pytest.mark.parametrize("gone", ["derived", "derived/history", "derived/manifest", "runs"])
def test_missing_derived_files_are_rebuilt(loaded: Path, chain: Chain, gone: str) -> None:
    if gone == "derived":
        shutil.rmtree(loaded / gone)
    else:
        for file in [*loaded.glob("derived/run-*")] if gone == "runs" else [loaded / gone]:
            file.unlink()
    with open_small(loaded, read_only=True) as schema:
        assert summarize(schema) == expected_state(chain.blocks)
    for _ in range(2):
        with open_small(loaded) as schema:
            assert verify(schema) == expected_state(chain.blocks)


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
        assert summarize(schema) == expected_state(chain.blocks[:reached])
    schema.close()


@pytest.mark.parametrize("opener", [CoinLogSchema, open_small, open_colliding])
@pytest.mark.parametrize("filler", [0, 30])
def test_a_child_confirmed_before_its_parent_was_spent_stays_unique(
    path: Path, opener: Callable[[Path], CoinLogSchema], filler: int
) -> None:
    """The one way to a duplicate whose parent the block spends: it came before, irregularly."""
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


def test_any_split_into_calls_gives_the_same_files(tmp_path: Path) -> None:
    chain = sample_chain(40)
    logs = set()
    for size in (1, 3, 40):
        path = tmp_path / f"{size}"
        with CoinLogSchema(path) as schema:
            for start in range(0, 40, size):
                schema.accept_packed(PackedBlocks.of(chain.blocks[start : start + size]))
            assert verify(schema) == expected_state(chain.blocks)
        logs.add((path / "log").read_bytes())
    assert len(logs) == 1


TRUSTING = Sizes(
    memtable_coins=50,
    merge_runs=3,
    bucket_bits=2,
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


def test_a_made_up_spend_that_was_believed_is_taken_back_before_it_is_acknowledged(
    path: Path,
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
    schema.accept_packed(PackedBlocks.of([BlockSpendInfo(next_index + 1, 2, [], [])]))
    with pytest.raises(StorageError, match=f"block {next_index} spends .* unknown.* taken back"):
        schema.flush()
    schema.close()
    with CoinLogSchema(path, sizes=TRUSTING) as schema:
        assert verify(schema) == expected_state(chain.blocks)
        schema.accept_packed(PackedBlocks.of([BlockSpendInfo(next_index, 2, [], [])]))


@pytest.mark.parametrize("durability", [Durability.PROCESS, Durability.POWER])
def test_what_is_flushed_is_in_the_file_and_not_on_its_way(
    path: Path, durability: Durability
) -> None:
    blocks = [(index, [reward(index, n) for n in range(40_000)]) for index in range(3)]
    packed = PackedBlocks.of(BlockSpendInfo(index, 0, [], coins) for index, coins in blocks)
    with CoinLogSchema(path, durability=durability) as schema:
        schema.accept_packed(packed)
        schema.flush()
        at_flush = (path / "log").stat().st_size
    assert at_flush >= records_end(path)


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
        infos, found = schema.coin_infos_packed(hash_of("nobody") + coin.name())
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
            with pytest.raises(UnsupportedError):
                reader.rewind_to_block_index(0)


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


def test_names_that_differ_only_in_what_the_index_does_not_see(path: Path) -> None:
    coins = [reward(1, n) for n in range(300)]
    names = [coin.name() for coin in coins]
    with open_colliding(path) as schema:
        schema.accept_block(BlockSpendInfo(1, 0, [], coins[:200]))
        assert schema.coin_infos_for_coin_names(names[200:]) == []
        found = [info.coin for info in schema.coin_infos_for_coin_names(names)]
        assert found == coins[:200]
        with pytest.raises(UnknownCoinError):
            schema.accept_block(BlockSpendInfo(2, 0, [bytes32(names[250])], []))
