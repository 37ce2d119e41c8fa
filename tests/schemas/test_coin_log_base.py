"""coin_log: what its base, history and runs tell of old blocks, and what their damage comes to."""

import os
import shutil
import struct
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import pytest
import xxhash

from cdb.contents.state import summarize, verify
from cdb.contract.blocks import BlockSpendInfo, canonical
from cdb.contract.packed import PackedBlocks
from cdb.errors import AlreadySpentError, CorruptDatabaseError, DuplicateCoinError
from cdb.schemas.coin_log import CoinLogSchema, check
from cdb.stores.coin_log.binding import Sizes, missing
from cdb.testing.base import accept_all, expected_state
from cdb.testing.chains import Chain, block_at, child, paid, reward, sample_chain
from cdb.testing.faults.crash_states import EVERYTHING, NAMES, NOTHING, crash_state
from cdb.testing.faults.disk import Disk, FileSystem
from cdb.testing.faults.recorder import read_trace
from cdb.testing.faults.shim import LIBRARY
from tests.schemas.test_coin_log import (
    change,
    crash,
    damaged_files,
    derived,
    open_small,
    preloads,
)

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "database"


def based(path: Path) -> tuple[int, int]:
    """How many blocks the base has, and how many rows."""
    (base,) = derived(path, "base")
    blocks, rows = struct.unpack_from("<QQ", base.read_bytes(), 16)
    return blocks, rows


def moved_base(path: Path) -> Chain:
    """A closed database whose base has all but the newest blocks of a chain."""
    chain = sample_chain(40)
    with open_small(path) as schema:
        accept_all(schema, chain.blocks)
    assert based(path) == (38, sum(len(block.confirms) for block in chain.blocks[:38]))
    return chain


@pytest.mark.parametrize("is_reopened", [True, False])
@pytest.mark.parametrize("kept", [0, 1, 20, 36, 37, 38, 39])
def test_a_rewind_to_before_the_end_of_the_base(path: Path, kept: int, is_reopened: bool) -> None:
    chain = moved_base(path)
    before = chain.blocks[:kept]
    with open_small(path) as schema:
        schema.rewind_to_block_index(before[-1].index if before else -1)
        assert verify(schema) == expected_state(before)
        if is_reopened:
            crash(schema)
    with open_small(path) as schema:
        assert verify(schema) == expected_state(before)
        accept_all(schema, chain.blocks[kept:])
        assert verify(schema) == expected_state(chain.blocks)
    assert len(derived(path, "base")) == 1
    assert list(check(path, lambda coins: None)) == []


def test_spends_of_the_bases_coins_are_undone(path: Path) -> None:
    """By blocks that the base does not have, one after the other."""
    coins = [reward(0, n) for n in range(3_000)]
    blocks = [BlockSpendInfo(0, 0, [], coins)]
    blocks += [
        BlockSpendInfo(1 + n, 0, [coin.name() for coin in coins[n::7]], []) for n in range(7)
    ]
    sizes = Sizes(memtable_coins=3_500)
    with CoinLogSchema(path, sizes=sizes) as schema:
        accept_all(schema, blocks[:1])
    assert derived(path, "base")
    for first in (1, 3, 7):
        with CoinLogSchema(path, sizes=sizes) as schema:
            schema.rewind_to_block_index(first - 1)
            for n in range((schema.last_block_index or 0) + 1, len(blocks)):
                schema.accept_block(blocks[n])
                assert verify(schema) == expected_state(blocks[: n + 1])
                with pytest.raises(AlreadySpentError):
                    schema.accept_block(replace(blocks[n], index=100))
            schema.rewind_to_block_index(first)
            assert verify(schema) == expected_state(blocks[: first + 1])
            crash(schema)
        with CoinLogSchema(path, sizes=sizes) as schema:
            assert verify(schema) == expected_state(blocks[: first + 1])


def test_a_base_is_written_anew_once_much_of_it_has_changed(path: Path) -> None:
    """Also while the database stays open, and beside those who read."""
    coins = [reward(0, n) for n in range(400)]
    blocks = [BlockSpendInfo(0, 0, [], coins)]
    blocks += [BlockSpendInfo(1 + n, 0, [coin.name()], []) for n, coin in enumerate(coins)]
    with open_small(path) as schema:
        accept_all(schema, blocks[:1])
    (before,) = derived(path, "base")
    with open_small(path) as schema, CoinLogSchema(path, read_only=True) as reader:
        reading = schema.blocks()
        assert next(reading) == canonical(blocks[0])
        accept_all(schema, blocks[1:])
        accept_all(schema, [block_at(1_000, coins=60)])
        assert verify(schema) == expected_state([*blocks, block_at(1_000, coins=60)])
        assert list(reading) == []
        assert verify(reader) == expected_state(blocks[:1])
        crash(schema)
    (after,) = derived(path, "base")
    assert before.name != after.name
    with open_small(path) as schema:
        assert verify(schema) == expected_state([*blocks, block_at(1_000, coins=60)])


def test_damage_to_the_base_is_found_where_it_is_read(path: Path) -> None:
    coins = [[reward(index, n) for n in range(700)] for index in range(10)]
    with open_small(path) as schema:
        accept_all(schema, [BlockSpendInfo(n, 0, [], each) for n, each in enumerate(coins)])
    (base,) = derived(path, "base")
    content = bytearray(base.read_bytes())
    content[-20] ^= 1  # of the last segment
    base.write_bytes(content)
    with CoinLogSchema(path, read_only=True) as schema:
        assert schema.coin_infos_for_coin_names([coins[0][0].name()])
        for _ in range(2):
            with pytest.raises(CorruptDatabaseError, match=f"{base.name}: damaged"):
                schema.coin_infos_for_coin_names([coins[-1][0].name()])
    (damage,) = check(path, lambda coins: None)
    assert damage.path == base


@pytest.mark.parametrize("n", [137, 273, 300])
def test_each_block_of_a_base_of_several_pages_is_found(path: Path, n: int) -> None:
    """A page has 128 blocks; of these bases the last one has 1, all and few."""
    blocks = [block_at(3 * number + 1, number) for number in range(n)]
    with open_small(path) as schema:
        accept_all(schema, blocks)
    assert based(path)[0] == n - n // 16
    with CoinLogSchema(path, read_only=True) as schema:
        for block in blocks:
            assert schema.block_info_for_block_index(block.index) == block
            assert schema.block_info_for_block_index(block.index + 1) is None
            (info,) = schema.coin_infos_for_coin_names([block.confirms[0].name()])
            assert info.confirmed_index == block.index
    for kept in {1, 127, 128, 129, n - n // 16}:
        copy = shutil.copytree(path, path.with_name(f"rewound{kept}"))
        with open_small(copy) as schema:
            schema.rewind_to_block_index(blocks[kept - 1].index + 1)
            assert schema.last_block_index == blocks[kept - 1].index
            assert verify(schema) == expected_state(blocks[:kept])


@pytest.mark.parametrize("newest", [3 * 2**29, 3 * 2**27, 2**32 - 3])
def test_a_base_tells_spends_that_are_far_apart(path: Path, newest: int) -> None:
    """A row needs 31, 29 and 32 bits: more than a word has behind the 7 bits of another one."""
    coins = [reward(0, n) for n in range(130)]
    blocks = [BlockSpendInfo(0, 0, [], coins)]
    step = newest // 130
    blocks += [
        BlockSpendInfo(1 + step * (1 + n), 0, [coin.name()], []) for n, coin in enumerate(coins)
    ]
    with open_small(path) as schema:
        accept_all(schema, blocks)
    assert based(path)[0] > 100
    with CoinLogSchema(path, read_only=True) as schema:
        for block, coin in zip(blocks[1:], coins, strict=False):
            (info,) = schema.coin_infos_for_coin_names([coin.name()])
            assert info.spent_index == block.index
        assert verify(schema) == expected_state(blocks)


def test_a_base_larger_than_what_is_written_at_once(path: Path) -> None:
    """Over 1 MiB: 4,096 bytes for each 128 blocks."""
    blocks = [block_at(index) for index in range(40_000)]
    with CoinLogSchema(path, sizes=Sizes(memtable_coins=30_000)) as schema:
        for n in range(0, len(blocks), 1_000):
            schema.accept_packed(PackedBlocks.of(blocks[n : n + 1_000]))
    (base,) = derived(path, "base")
    assert base.stat().st_size > 2**20
    assert list(check(path, lambda coins: None)) == []
    with CoinLogSchema(path, read_only=True) as schema:
        for block in (blocks[0], blocks[20_000], blocks[32_768], blocks[-1]):
            assert schema.block_info_for_block_index(block.index) == block
        assert summarize(schema) == expected_state(blocks)


def test_a_base_is_not_written_anew_for_a_few_blocks(path: Path) -> None:
    blocks = [block_at(0, coins=2_000), *(block_at(1 + n) for n in range(83))]
    with open_small(path) as schema:
        accept_all(schema, blocks[:64])
    (before,) = derived(path, "base")
    with open_small(path) as schema:
        accept_all(schema, blocks[64:])
    assert derived(path, "base") == [before]
    with open_small(path) as schema:
        accept_all(schema, [block_at(100, coins=200)])
    assert derived(path, "base") == [before], "which a new one would not have"
    with open_small(path) as schema:
        accept_all(schema, [block_at(101 + n) for n in range(5)])
    assert derived(path, "base") != [before]


def test_a_base_is_not_written_anew_at_each_close_of_an_even_chain(path: Path) -> None:
    """One part in sixteen is left behind it, and so much makes a new one due."""
    with open_small(path) as schema:
        accept_all(schema, [block_at(index, coins=3) for index in range(200)])
    bases = set(derived(path, "base"))
    for index in range(200, 220):
        with open_small(path) as schema:
            accept_all(schema, [block_at(index, coins=3)])
        bases.update(derived(path, "base"))
    assert len(bases) == 2


def test_one_rewind_after_another_does_not_write_the_base_each_time(path: Path) -> None:
    chain = sample_chain(200)
    with open_small(path) as schema:
        accept_all(schema, chain.blocks)
    bases = set(derived(path, "base"))
    with open_small(path) as schema:
        for kept in range(199, 150, -1):
            schema.rewind_to_block_index(chain.blocks[kept - 1].index)
            bases.update(derived(path, "base"))
        assert verify(schema) == expected_state(chain.blocks[:151])
        accept_all(schema, chain.blocks[151:])
        assert verify(schema) == expected_state(chain.blocks)
    assert len(bases) <= 7


def write_on(schema: CoinLogSchema) -> None:
    accept_all(schema, [block_at(10_000 + n, coins=3) for n in range(300)])
    schema.close()


@pytest.mark.parametrize("kind", ["base", "run"])
def test_damage_to_what_was_read_is_not_made_good_by_new_checksums(path: Path, kind: str) -> None:
    """A later opening would find nothing, and a coin that is spent be spent again."""
    chain = sample_chain(40)
    with open_small(path) as schema:
        accept_all(schema, chain.blocks)
    for file in derived(path, kind):
        shutil.copytree(path, path.with_name(file.name))
        copy = path.with_name(file.name)
        schema = open_small(copy)
        assert verify(schema) == expected_state(chain.blocks)
        place = file.stat().st_size - 30 if kind == "base" else 45
        change(copy / "derived" / file.name, place)
        with pytest.raises(CorruptDatabaseError, match=f"{file.name}: damaged"):
            write_on(schema)
        crash(schema)
        assert damaged_files(copy) == [f"derived/{file.name}"]


def test_a_base_does_not_shrink_after_a_rewind_to_its_end(path: Path) -> None:
    """Much of it changes then, and there are fewer blocks behind it than are kept there."""
    coins = [reward(0, n) for n in range(100)]
    blocks = [BlockSpendInfo(0, 0, [], coins), *(block_at(1 + n) for n in range(63))]
    with open_small(path) as schema:
        accept_all(schema, blocks)
    assert based(path)[0] == 60
    (before,) = derived(path, "base")
    more = BlockSpendInfo(100, 0, [coin.name() for coin in coins], block_at(100, coins=30).confirms)
    with open_small(path) as schema:
        schema.rewind_to_block_index(blocks[60].index)
        accept_all(schema, [more])
        assert verify(schema) == expected_state([*blocks[:61], more])
        accept_all(schema, [block_at(101)])
        crash(schema)
    assert derived(path, "base") == [before]
    assert based(path)[0] == 60
    with open_small(path) as schema:
        assert verify(schema) == expected_state([*blocks[:61], more, block_at(101)])


def test_a_new_base_leaves_the_history_so_far_as_it_is(path: Path) -> None:
    """Until a manifest names another one, that is what an opening reads."""
    blocks = [block_at(index, coins=5) for index in range(60)]
    names = set()
    for n in range(0, 60, 20):
        with open_small(path) as schema:
            accept_all(schema, blocks[n : n + 20])
        (history,), (base,) = derived(path, "history"), derived(path, "base")
        names.add((history.name, base.name))
    assert len({history for history, _ in names}) == len({base for _, base in names}) == 3


WRITE_BASES = """
import os, sys
from pathlib import Path
from cdb.contract.blocks import BlockSpendInfo
from cdb.schemas.coin_log import CoinLogSchema
from cdb.stores.coin_log.binding import Sizes, missing
from cdb.testing.base import accept_all
from cdb.testing.chains import block_at, reward
from cdb.testing.faults.shim import Shim
root, trace = map(Path, sys.argv[1:])
shim = Shim()
shim.watch(root)
shim.record(os.open(trace, os.O_WRONLY | os.O_CREAT), -1)
coins = [reward(0, n) for n in range(40)]
blocks = [BlockSpendInfo(0, 0, [], coins), *(block_at(n, coins=3) for n in range(1, 48))]
sizes = Sizes(memtable_coins=20, merge_runs=2)
for n in range(0, 48, 24):
    with CoinLogSchema(root / "database", sizes=sizes) as schema:
        accept_all(schema, blocks[n : n + 24])
with CoinLogSchema(root / "database", sizes=sizes) as schema:
    schema.rewind_to_block_index(30)
    spends = [coin.name() for coin in coins]
    accept_all(schema, [BlockSpendInfo(50, 0, spends, block_at(50, coins=40).confirms)])
    schema.rewind_to_block_index(30)
    schema.rewind_to_block_index(-1)
"""


@preloads
def test_at_each_moment_the_files_that_the_manifest_names_are_there(tmp_path: Path) -> None:
    """Whatever of the unsynced a power cut leaves: without them all would have to be rebuilt."""
    root, trace = tmp_path / "root", tmp_path / "trace"
    root.mkdir()
    command = [sys.executable, "-c", WRITE_BASES, str(root), str(trace)]
    subprocess.run(command, env=os.environ | {"LD_PRELOAD": str(LIBRARY)}, check=True)
    disk = Disk(str(root), FileSystem.STRICT)
    bases = set()
    for operation in read_trace(trace):
        disk.apply(operation)
        for survival in (NOTHING, EVERYTHING, NAMES):
            tree = crash_state(disk, survival)
            manifest = tree.get("database/derived/manifest")
            if not manifest:
                continue
            base, checksum, history = struct.unpack_from("<QQ8xQ", manifest, 184)
            (history_bytes,) = struct.unpack_from("<Q", manifest, 64)
            bases.add(base)
            if base:
                content = tree[f"database/derived/base-{base:08}"]
                assert content is not None
                assert any(
                    xxhash.xxh3_64_intdigest(content[8:end], base) == checksum
                    for end in range(4096, len(content) + 1, 4096)
                ), (operation, survival)
                assert struct.unpack_from("<Q", content, 0) == (checksum,)
            if history_bytes:
                content = tree[f"database/derived/history-{history:08}"]
                assert content is not None
                seed = at = 0
                while at < history_bytes:
                    own, early = struct.unpack_from("<Q4xI", content, at)
                    blocks, spends = struct.unpack_from("<QQ", content, at + 24)
                    end = at + 40 + 24 * blocks + 4 * (spends + early)
                    assert own == xxhash.xxh3_64_intdigest(content[at + 8 : end], seed)
                    seed, at = own, end
            (runs,) = struct.unpack_from("<I", manifest, 176)
            for place in range(216, 216 + 24 * runs, 24):
                (number,) = struct.unpack_from("<Q", manifest, place)
                assert f"database/derived/run-{number:08}" in tree
    assert len(bases) >= 4


def test_an_entry_of_a_run_is_checked_to_its_end(tmp_path: Path) -> None:
    """Where it is the last one of its bucket, and goes on in the next 4,096 bytes.

    Nearly each run of so many coins has one.
    """
    block = canonical(block_at(0, coins=30_000))
    assert any(are_entries_checked_to_their_end(tmp_path / str(n), block) for n in range(20))


def are_entries_checked_to_their_end(path: Path, block: BlockSpendInfo) -> bool:
    """False where no entry is such a one."""
    with CoinLogSchema(path, sizes=Sizes(memtable_coins=len(block.confirms))) as schema:
        schema.accept_packed(PackedBlocks.of([block]))
    (run,) = derived(path, "run")
    content = run.read_bytes()
    (bits,), (n,) = struct.unpack_from("<H", content, 12), struct.unpack_from("<Q", content, 24)
    counts = content[40 + 6 * n :][: 2**bits]
    assert max(counts) < 255
    ends = set(accumulate(counts))
    are_any = False
    for place in range(4096, 6 * n, 4096):
        entry = place // 6
        if place % 6 == 0 or entry + 1 not in ends:
            continue
        are_any = True
        word = int.from_bytes(content[40 + 6 * entry : 46 + 6 * entry], "little")
        name = block.confirms[word & ((1 << (4 + bits)) - 1)].name()
        change(run, 40 + place)
        schema = CoinLogSchema(path, read_only=True)
        with schema, pytest.raises(CorruptDatabaseError, match=f"{run.name}: damaged"):
            schema.coin_infos_for_coin_names([name])
        run.write_bytes(content)
    return are_any


def test_the_last_part_of_a_run_is_checked(path: Path) -> None:
    coins = [reward(0, n) for n in range(2_000)]
    with CoinLogSchema(path, sizes=Sizes(memtable_coins=2_000)) as schema:
        schema.accept_packed(PackedBlocks.of([BlockSpendInfo(0, 0, [], coins)]))
    (run,) = derived(path, "run")
    content = run.read_bytes()
    for entry in (0, 1_000, 1_999):
        change(run, 40 + 6 * entry)
        assert damaged_files(path) == [f"derived/{run.name}"]
        schema = CoinLogSchema(path, read_only=True)
        with schema, pytest.raises(CorruptDatabaseError, match=run.name):
            schema.coin_infos_for_coin_names([coin.name() for coin in coins])
        run.write_bytes(content)


def test_the_early_children_of_a_base_are_known(path: Path) -> None:
    parents = [reward(1, n) for n in range(50)]
    early = [child(parent.name()) for parent in parents]
    blocks = [BlockSpendInfo(1, 0, [], parents), BlockSpendInfo(2, 0, [], early)]
    blocks += [block_at(index) for index in range(3, 23)]
    with open_small(path) as schema:
        accept_all(schema, blocks)
    assert based(path)[0] > 2
    with open_small(path) as schema:
        for parent, known in zip(parents, early, strict=True):
            with pytest.raises(DuplicateCoinError):
                schema.accept_block(BlockSpendInfo(30, 0, [parent.name()], [known]))
        schema.rewind_to_block_index(10)
    with open_small(path) as schema, pytest.raises(DuplicateCoinError):
        schema.accept_block(BlockSpendInfo(30, 0, [parents[-1].name()], [early[-1]]))


def test_the_coins_that_are_unspent_are_counted_behind_a_base(path: Path) -> None:
    coins = [reward(0, n) for n in range(64)]
    blocks = [BlockSpendInfo(0, 0, [], coins)]
    blocks += [BlockSpendInfo(1 + n, 0, [coin.name()], []) for n, coin in enumerate(coins)]

    def check_counts(n_blocks: int) -> None:
        with open_small(path) as schema:
            assert schema.count_unspent() == 64 - (n_blocks - 1)
            for height in range(n_blocks):
                assert schema.count_unspent(height) == 64 - height

    with open_small(path) as schema:
        accept_all(schema, blocks)
    assert based(path)[0] == 61
    check_counts(65)
    for kept in (63, 61, 60, 10):
        with open_small(path) as schema:
            schema.rewind_to_block_index(kept - 1)
        check_counts(kept)
        with open_small(path) as schema:
            accept_all(schema, blocks[kept:])
        check_counts(65)


@pytest.mark.parametrize("kept", [1, 36, 37, 38, 39])
def test_what_was_spent_behind_a_rewind_is_spent_again_at_once(path: Path, kept: int) -> None:
    """By the same blocks, and by others, without closing the database in between."""
    chain = [canonical(block) for block in moved_base(path).blocks]
    newest = chain[kept - 1].index
    spends = [name for block in chain[kept:] for name in block.spends]
    known = {coin.name() for block in chain[:kept] for coin in block.confirms}
    again = [name for name in spends if name in known]
    other = canonical(BlockSpendInfo(newest + 1, 0, again, [reward(10**6)]))
    with open_small(path) as schema:
        for blocks in (chain[kept:], [other], chain[kept:]):
            schema.rewind_to_block_index(newest)
            accept_all(schema, blocks)
            assert verify(schema) == expected_state([*chain[:kept], *blocks])


@pytest.mark.parametrize("kept", range(1, 20, 2))
def test_a_rewind_over_several_sections_keeps_what_those_before_it_spend(
    path: Path, kept: int
) -> None:
    coins = [reward(0, n) for n in range(200)]
    blocks = [canonical(BlockSpendInfo(0, 0, [], coins))] + [
        canonical(
            BlockSpendInfo(
                n, 0, [coin.name() for coin in coins[n::20]], block_at(n, coins=8).confirms
            )
        )
        for n in range(1, 20)
    ]
    with open_small(path) as schema:
        accept_all(schema, blocks)
        schema.rewind_to_block_index(blocks[kept].index)
        more = block_at(100, coins=30)
        accept_all(schema, [more])
        assert verify(schema) == expected_state([*blocks[: kept + 1], more])
        crash(schema)
    with open_small(path) as schema:
        assert verify(schema) == expected_state([*blocks[: kept + 1], more])


def test_what_is_made_anew_has_none_of_the_base_of_before(path: Path) -> None:
    chain = moved_base(path)
    (run, *_) = derived(path, "run")
    run.unlink()
    more = block_at(10**6, coins=40)
    for _ in range(2):
        with open_small(path) as schema:
            if schema.last_block_index != more.index:
                accept_all(schema, [more])
            assert verify(schema) == expected_state([*chain.blocks, more])
            crash(schema)
    assert list(check(path, lambda coins: None)) == []


def test_a_run_whose_buckets_were_moved_is_damage(path: Path) -> None:
    """All that it says of them still adds up."""
    with CoinLogSchema(path, sizes=Sizes(memtable_coins=2_000)) as schema:
        schema.accept_packed(PackedBlocks.of([block_at(0, coins=2_000)]))
    (run,) = derived(path, "run")
    content = bytearray(run.read_bytes())
    content[40 + 6 * 2_000] += 1
    content[40 + 6 * 2_000 + 1] -= 1
    run.write_bytes(content)
    with pytest.raises(CorruptDatabaseError, match=f"{run.name}: damaged"):
        CoinLogSchema(path, read_only=True)


@pytest.mark.parametrize("entry", [300, 1_000, 1_900])
def test_each_part_of_a_run_is_checked_by_whoever_reads_it(path: Path, entry: int) -> None:
    """Of three parts, whichever were read before."""
    block = canonical(block_at(0, coins=2_000))
    with CoinLogSchema(path, sizes=Sizes(memtable_coins=2_000)) as schema:
        schema.accept_packed(PackedBlocks.of([block]))
    (run,) = derived(path, "run")
    change(run, 40 + 6 * entry)
    found = 0
    with CoinLogSchema(path, read_only=True) as schema:
        for coin in block.confirms:
            with suppress(CorruptDatabaseError):
                assert len(schema.coin_infos_for_coin_names([coin.name()])) == 1
                found += 1
    assert 1_000 < found < 2_000


def test_spends_alone_come_to_a_checkpoint(path: Path) -> None:
    """What blocks have changed is in memory until then."""
    coins = [reward(0, n) for n in range(400)]
    schema = open_small(path)
    accept_all(schema, [BlockSpendInfo(0, 0, [], coins)])
    spends = [BlockSpendInfo(1 + n, 0, [coin.name()], []) for n, coin in enumerate(coins)]
    accept_all(schema, spends)
    crash(schema)
    (covered_blocks,) = struct.unpack_from("<Q", (path / "derived/manifest").read_bytes(), 48)
    assert covered_blocks > 300


def pages_at(path: Path) -> int:
    """Where the base tells of the pages of its block table."""
    (base,) = derived(path, "base")
    n_early, _, rows = struct.unpack_from("<I2Q", base.read_bytes(), 12)
    return 48 + 4 * int(n_early) + 4 * -(-int(rows) // 64)


def forge(path: Path, place: int, number: int) -> None:
    """Put a number into the head of the base, and have its checksum and the manifest's hold."""
    (base,), manifest = derived(path, "base"), path / "derived/manifest"
    content, named = bytearray(base.read_bytes()), bytearray(manifest.read_bytes())
    base_number, _, head_bytes = struct.unpack_from("<QQQ", named, 184)
    struct.pack_into("<Q", content, place, number)
    seal = xxhash.xxh3_64_intdigest(content[8:head_bytes], base_number)
    struct.pack_into("<Q", content, 0, seal)
    struct.pack_into("<Q", named, 192, seal)
    struct.pack_into("<Q", named, 0, xxhash.xxh3_64_intdigest(named[8:]))
    base.write_bytes(content)
    manifest.write_bytes(named)


@pytest.mark.parametrize(
    ("what", "number"),
    [
        ("segment's end", 2**64 - 8),
        ("segment's end", 2**63),
        ("blocks' end", 2**50),
        ("page's first record", 2**50),
        ("page's first record", 0),
    ],
)
def test_a_forged_base_leads_to_nothing_that_is_not_there(
    path: Path, what: str, number: int
) -> None:
    """With right checksums, as one may send it who has made a database of their own."""
    with open_small(path) as schema:
        accept_all(schema, [block_at(index, coins=60) for index in range(40)])
    page = pages_at(path)
    places = {"blocks' end": 40, "page's first record": page, "segment's end": page + 24}
    forge(path, places[what], number)
    for read_only in (True, False):
        with pytest.raises(CorruptDatabaseError, match=r"base-\d+: damaged"):
            CoinLogSchema(path, read_only=read_only)


@pytest.mark.parametrize("ends_behind", [False, True])
def test_forged_pages_that_fit_each_other_lead_to_nothing_that_is_not_there(
    path: Path, ends_behind: bool
) -> None:
    """All but the first one tell of records far behind the log, and of an early child in one."""
    blocks = [BlockSpendInfo(n, 0, [], [paid(n)]) for n in range(280)]
    blocks[150] = block_at(150)
    with open_small(path) as schema:
        accept_all(schema, blocks)
    content = derived(path, "base")[0].read_bytes()
    assert based(path)[0] > 256, "three pages"
    for place in (pages_at(path) + 24, pages_at(path) + 48):
        forge(path, place, 2**50 + struct.unpack_from("<Q", content, place)[0])
    if ends_behind:
        forge(path, 40, 2**51)
    for read_only in (True, False):
        with pytest.raises(CorruptDatabaseError, match=r"base-\d+: damaged"):
            CoinLogSchema(path, read_only=read_only)


REFUSE_MANY = """
import sys
from pathlib import Path
from cdb.contract.blocks import BlockSpendInfo
from cdb.errors import AlreadySpentError
from cdb.schemas.coin_log import CoinLogSchema
from cdb.testing.chains import reward

def anonymous_bytes():
    [line] = [each for each in open("/proc/self/status") if each.startswith("RssAnon")]
    return 1024 * int(line.split()[1])

# The spends of a block are tried in the order of their names.
*names, spent = sorted(reward(0, n).name() for n in range(int(sys.argv[2])))
with CoinLogSchema(Path(sys.argv[1])) as schema:
    schema.accept_block(BlockSpendInfo(8, 0, [spent], []))
    for n in range(0, len(names), 1_000):
        if n == 10_000:
            before = anonymous_bytes()
        spends = [*names[n : n + 1_000], spent]
        try:
            schema.accept_block(BlockSpendInfo(9, 0, spends, []))
            raise SystemExit("it was accepted")
        except AlreadySpentError:
            pass
    print(anonymous_bytes() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells memory there")
def test_of_refused_blocks_nothing_stays_in_memory(path: Path) -> None:
    """Each spends other old coins: a table of all of them has 4 MB."""
    n = 200_000
    with CoinLogSchema(path) as schema:
        schema.accept_packed(PackedBlocks.of([block_at(0, coins=n)]))
    assert derived(path, "base")
    command = [sys.executable, "-c", REFUSE_MANY, str(path), str(n)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert int(done.stdout) < 2_000_000
