"""coin_log with secondary keys: the index that FORMAT remembers, its files, and what it costs."""

import shutil
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coin_query import COIN_BYTES, CoinKey, CoinQuery
from cdb.contract.coins import Coin
from cdb.contract.packed import PackedBlocks
from cdb.contract.secondary_keys import PUZZLE_HASH
from cdb.errors import CorruptDatabaseError, UnsupportedError, WrongDatabaseError
from cdb.schemas import offer_of
from cdb.schemas.coin_log import (
    CoinLogSchema,
    IndexedCoinLogSchema,
    check,
    coin_log,
    repair,
)
from cdb.schemas.memory import MemorySchema
from cdb.stores.coin_log import binding
from cdb.stores.coin_log.binding import Sizes, missing
from cdb.testing.base import accept_all
from cdb.testing.chains import PAYEE, Chain, block_at, dealt, hash_of, reward
from cdb.testing.crafts import chain_with_kin, late_rewards, masses
from cdb.testing.keys import check_keys
from cdb.testing.secondary_keys import ALL
from cdb.testing.side_by_side import model_of
from tests.conftest import contents

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

SMALL = Sizes(memtable_coins=20, merge_runs=2, recent_bits=2, unverified_spends=5)
PLAIN_FORMAT, INDEXED_FORMAT = b"cdb coin_log 3\n", b"cdb coin_log 3 index=puzzle_hash\n"
TIMESTAMP_AT = 32
LOG_HEAD_BYTES = 24

open_plain = partial(coin_log, sizes=SMALL)
coin_log_with_keys = partial(IndexedCoinLogSchema, index=PUZZLE_HASH)
open_indexed = partial(coin_log_with_keys, sizes=SMALL)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "database"


@pytest.fixture
def chain() -> Chain:
    return chain_with_kin()


@pytest.fixture
def model(chain: Chain) -> Iterator[MemorySchema]:
    with model_of(chain.blocks) as model:
        yield model


@pytest.fixture
def indexed(path: Path, chain: Chain) -> Path:
    """A closed database with runs of all three indexes."""
    with open_indexed(path) as schema:
        accept_all(schema, chain.blocks)
    return path


def test_an_index_is_made_once_and_every_writer_keeps_it(
    path: Path, chain: Chain, model: MemorySchema
) -> None:
    with open_plain(path) as schema:
        accept_all(schema, chain.blocks[:-9])
        assert offer_of(schema).indexed is None
    assert (path / "FORMAT").read_bytes() == PLAIN_FORMAT
    with open_indexed(path):
        pass
    assert (path / "FORMAT").read_bytes() == INDEXED_FORMAT
    for opener, blocks in ((CoinLogSchema, chain.blocks[-9:-4]), (coin_log, chain.blocks[-4:])):
        with opener(path, sizes=SMALL) as schema:
            accept_all(schema, blocks)
    for read_only in (True, False):
        with open_plain(path, read_only=read_only) as schema:
            check_keys(schema, model, ALL)


def test_coins_whose_keys_have_the_same_bits_in_the_index_are_held_apart(path: Path) -> None:
    """Each key is asked for alone: with others it would be an answer for one of them."""
    coins = [Coin(hash_of("parent", n % 3), hash_of("payee", n), n) for n in range(60)]
    with MemorySchema() as model, open_indexed(path, sizes=replace(SMALL, name_bits=1)) as schema:
        for height in (1, 2):  # of the second, most are in the memtable
            for each in (model, schema):
                accept_all(each, [BlockSpendInfo(height, 0, [], coins[30 * height - 30 :][:30])])
            for n in range(60):
                for query in (
                    CoinQuery(CoinKey.PUZZLE_HASH, hash_of("payee", n)),
                    CoinQuery(CoinKey.PARENT, hash_of("parent", n)),
                ):
                    assert schema.coins_packed(query) == model.coins_packed(query)


def test_a_reader_makes_no_index(path: Path, chain: Chain) -> None:
    with open_plain(path) as schema:
        accept_all(schema, chain.blocks)
    before = contents(path)
    with pytest.raises(WrongDatabaseError, match="no index by puzzle_hash; 'cdb load_blocks "):
        open_indexed(path, read_only=True)
    assert contents(path) == before


def test_another_index_is_refused(path: Path) -> None:
    with pytest.raises(UnsupportedError, match="no index by 'amount'; it has 'puzzle_hash'"):
        coin_log(path, index="amount")
    assert not path.exists()


@pytest.mark.parametrize("line", [b"index=amount", b"coins=many"])
def test_what_a_newer_version_keeps_is_left_alone(indexed: Path, line: bytes) -> None:
    (indexed / "FORMAT").write_bytes(b"cdb coin_log 3 " + line + b"\n")
    before = contents(indexed)
    for opener in (coin_log, coin_log_with_keys, CoinLogSchema, partial(coin_log, read_only=True)):
        with pytest.raises(WrongDatabaseError, match=f"{line.decode()}, which this cdb does not"):
            opener(indexed)
    assert contents(indexed) == before


@pytest.mark.parametrize("said", [PLAIN_FORMAT, INDEXED_FORMAT])
@pytest.mark.parametrize("made", [PLAIN_FORMAT, INDEXED_FORMAT])
def test_a_crash_before_the_index_was_made_or_forgotten_costs_nothing(
    path: Path, chain: Chain, model: MemorySchema, made: bytes, said: bytes
) -> None:
    """FORMAT is written first."""
    with (open_plain if made == PLAIN_FORMAT else open_indexed)(path) as schema:
        accept_all(schema, chain.blocks)
    (path / "FORMAT").write_bytes(said)
    for read_only in (True, False, True):
        with open_plain(path, read_only=read_only) as schema:
            assert isinstance(schema, IndexedCoinLogSchema) == (said == INDEXED_FORMAT)
            if isinstance(schema, IndexedCoinLogSchema):
                check_keys(schema, model, ALL)
    key_runs = [run for run in run_indexes(path) if run != 0]
    assert bool(key_runs) == (said == INDEXED_FORMAT)


def run_indexes(path: Path) -> list[int]:
    """Which index each run of the manifest is of: 0 by name, 1 by puzzle hash, 2 by odd parent."""
    manifest = (path / "derived" / "manifest").read_bytes()
    (count,) = struct.unpack_from("<I", manifest, 176)
    return [struct.unpack_from("<I", manifest, 216 + 24 * n + 12)[0] for n in range(count)]


def test_there_are_runs_of_each_index(indexed: Path) -> None:
    assert set(run_indexes(indexed)) == {0, 1, 2}


def test_damage_to_any_run_is_found_and_repair_makes_all_anew(
    indexed: Path, tmp_path: Path, model: MemorySchema
) -> None:
    runs = sorted((indexed / "derived").glob("run-*"))
    for run in runs:
        copy = tmp_path / run.name
        shutil.copytree(indexed, copy)
        damaged = copy / "derived" / run.name
        content = bytearray(run.read_bytes())
        content[-1] ^= 1
        damaged.write_bytes(content)
        with pytest.raises(CorruptDatabaseError):
            open_plain(copy, read_only=True)
        mended(copy, [damaged], model)


def test_a_lost_format_comes_back_with_the_index(indexed: Path, model: MemorySchema) -> None:
    for lose in (Path.unlink, lambda file: file.write_bytes(b"cdb coin_l")):
        lose(indexed / "FORMAT")
        assert "is lost" not in str(next(check(indexed, lambda coins: None)))
        mended(indexed, [indexed / "FORMAT"], model)
        assert (indexed / "FORMAT").read_bytes() == INDEXED_FORMAT


@pytest.mark.parametrize("lose", [Path.unlink, lambda file: file.write_bytes(b"cdb coin_l")])
@pytest.mark.parametrize("lose_manifest", [Path.unlink, lambda file: file.write_bytes(b"CLM5")])
def test_a_repair_that_can_not_know_of_an_index_says_so(
    indexed: Path,
    model: MemorySchema,
    lose: Callable[[Path], object],
    lose_manifest: Callable[[Path], object],
) -> None:
    lose(indexed / "FORMAT")
    lose_manifest(indexed / "derived" / "manifest")
    damages = [*check(indexed, lambda coins: None)]
    (said,) = [damage.problem for damage in damages if damage.path.name == "FORMAT"]
    assert "whether it had an index by puzzle_hash is lost with the manifest" in said
    assert said.endswith(": it comes back with one")
    repair(indexed, damages, lambda coins: None)
    assert [*check(indexed, lambda coins: None)] == []
    assert (indexed / "FORMAT").read_bytes() == INDEXED_FORMAT
    with open_indexed(indexed, read_only=True) as schema:
        check_keys(schema, model, ALL)


def mended(path: Path, damaged: list[Path], model: MemorySchema) -> None:
    damages = [*check(path, lambda coins: None)]
    assert [damage.path for damage in damages] == damaged
    repair(path, damages, lambda coins: None)
    assert [*check(path, lambda coins: None)] == []
    with open_plain(path, read_only=True) as schema:
        check_keys(schema, model, ALL)


@pytest.mark.parametrize("key", [*CoinKey])
def test_damage_that_no_name_tells_is_no_answer(path: Path, key: CoinKey) -> None:
    """A timestamp is in no coin's name; nor does a query by anything else know the right name."""
    coin = reward(1)
    with coin_log_with_keys(path) as schema:
        schema.accept_block(BlockSpendInfo(1, 9, [], [coin]))
        schema.accept_block(block_at(2, timestamp=9))
        schema.flush()
        log = bytearray((path / "log").read_bytes())
        log[LOG_HEAD_BYTES + TIMESTAMP_AT] ^= 1
        (path / "log").write_bytes(log)
        value = {
            CoinKey.NONE: b"",
            CoinKey.NAME: coin.name(),
            CoinKey.PUZZLE_HASH: coin.puzzle_hash,
            CoinKey.PARENT: coin.parent_coin_name,
        }[key]
        with pytest.raises(CorruptDatabaseError, match="damaged in block 1"):
            schema.coins_packed(CoinQuery(key, value))


@pytest.fixture
def unindexed(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A closed database of 60,000 coins, which openings go over in short steps."""
    coins = [Coin(hash_of("payer", n), PAYEE, n) for n in range(60_000)]
    blocks = dealt(coins, 60)
    with coin_log(path) as schema:
        schema.accept_packed(PackedBlocks.of(blocks))
    monkeypatch.setattr(binding, "_REPLAY_COINS", 1)
    return path


def test_those_who_ask_are_told_how_far_opening_has_come(unindexed: Path) -> None:
    told: list[int] = []
    with coin_log_with_keys(unindexed, progress=told.append):
        assert sum(told) == 60_000
        assert max(told) < 10_000


def test_ctrl_c_ends_the_making_of_an_index_behind_its_step(unindexed: Path) -> None:
    sizes, told = Sizes(memtable_coins=10_000), list[int]()

    def tell_and_interrupt(coins: int) -> None:
        told.append(coins)
        if len(told) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        coin_log_with_keys(unindexed, sizes=sizes, progress=tell_and_interrupt)
    assert len(told) == 4
    told.clear()
    with coin_log(unindexed, sizes=sizes, progress=told.append) as schema:
        assert isinstance(schema, IndexedCoinLogSchema)
        assert sum(told) < 60_000  # what was done before counts
        found = schema.coins_packed(CoinQuery(CoinKey.PUZZLE_HASH, PAYEE))
        assert len(found) == 60_000 * COIN_BYTES
    assert [*check(unindexed, lambda coins: None)] == []


@pytest.mark.parametrize("sizes", [Sizes(), Sizes(memtable_coins=3_000, merge_runs=2)])
def test_a_busy_hash_lies_in_nobodys_way(path: Path, sizes: Sizes) -> None:
    """Neither in memory nor in runs do others pass over its coins; and a page reads no more."""
    blocks = masses(20_000)
    with coin_log_with_keys(path, sizes=sizes) as schema:
        schema.accept_packed(PackedBlocks.of(blocks))
        schema.flush()
        before = schema._backend.probes
        for block in blocks[::10]:
            coin = block.confirms[-1]
            found = schema.coins_packed(CoinQuery(CoinKey.PUZZLE_HASH, coin.puzzle_hash))
            assert len(found) == COIN_BYTES
        assert schema._backend.probes - before < 100 * 60
        before = schema._backend.records_checked
        page = schema.coins_packed(CoinQuery(CoinKey.PUZZLE_HASH, PAYEE, (600, 900), limit=70))
        assert len(page) == 70 * COIN_BYTES
        assert schema._backend.records_checked - before <= 5


def test_what_is_asked_twice_costs_once(path: Path) -> None:
    """Neither hashes nor parents: else 32 KB of one busy hash would take minutes, and memory."""
    blocks = masses(2_000)
    with coin_log_with_keys(path) as schema:
        schema.accept_packed(PackedBlocks.of(blocks))
        for key, value in ((CoinKey.PUZZLE_HASH, PAYEE), (CoinKey.PARENT, hash_of("payer", 7))):
            costs = []
            for repeated in (1, 1_000):
                before = schema._backend.probes
                schema.coins_packed(CoinQuery(key, repeated * value))
                costs.append(schema._backend.probes - before)
            assert costs[0] == costs[1]


@pytest.mark.parametrize("sizes", [Sizes(), Sizes(memtable_coins=3_000, merge_runs=2)])
def test_a_page_at_the_end_passes_over_no_other(path: Path, sizes: Sizes) -> None:
    with coin_log_with_keys(path, sizes=sizes) as schema:
        schema.accept_packed(PackedBlocks.of(masses(20_000)))
        before = schema._backend.probes
        assert len(schema.coin_infos_for_puzzle_hashes([PAYEE], first=991)) == 200
        assert schema._backend.probes - before < 400


def test_a_rewind_takes_keys_back_as_fast_as_names(path: Path) -> None:
    """Of a busy hash the newest entries go first: nothing is passed over to find them."""
    blocks = masses(20_000)
    with coin_log_with_keys(path) as schema:
        schema.accept_packed(PackedBlocks.of(blocks))
        for _ in range(5):
            schema.rewind_to_block_index(500)
            assert len(schema.coin_infos_for_puzzle_hashes([PAYEE])) == 10_000
            schema.accept_packed(PackedBlocks.of(blocks[500:]))
        assert len(schema.coin_infos_for_puzzle_hashes([PAYEE])) == 20_000


def test_keys_that_were_rewound_lie_in_nobodys_way(path: Path) -> None:
    blocks = masses(200)
    with coin_log_with_keys(path) as schema:
        accept_all(schema, blocks)
        for key, value in (
            (CoinKey.PUZZLE_HASH, PAYEE),
            (CoinKey.PARENT, hash_of("payer", 199)),
        ):
            costs = []
            for _ in range(2):
                before = schema._backend.probes
                schema.coins_packed(CoinQuery(key, value))
                costs.append(schema._backend.probes - before)
                for _ in range(5):
                    schema.rewind_to_block_index(4)
                    accept_all(schema, blocks[4:])
            assert costs[0] == costs[1]


def test_rewards_of_a_chain_take_no_index(path: Path) -> None:
    blocks = late_rewards()
    with open_indexed(path) as schema:
        accept_all(schema, blocks)
        for block in blocks:
            for coin in block.confirms:
                found = schema.coin_infos_for_parents([coin.parent_coin_name])
                assert [info.coin for info in found] == [coin]
    assert set(run_indexes(path)) == {0, 1}
