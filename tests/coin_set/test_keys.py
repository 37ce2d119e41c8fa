"""A coin set with secondary keys: the index that FORMAT remembers, how it is made, and its cost."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coin_query import COIN_BYTES, CoinKey, CoinQuery
from cdb.contract.coins import Coin
from cdb.contract.packed import PackedBlocks
from cdb.contract.secondary_keys import PUZZLE_HASH
from cdb.errors import (
    CorruptDatabaseError,
    UnknownCoinError,
    UnsupportedError,
    WrongDatabaseError,
)
from cdb.schemas import offer_of
from cdb.schemas.memory import MemorySchema
from cdb.schemas.rocks_kv import KIND
from cdb.stores.coin_set.schema import CoinSetSchema, IndexedCoinSetSchema, open_coin_set
from cdb.testing.base import accept_all
from cdb.testing.chains import PAYEE, Chain, dealt, hash_of
from cdb.testing.crafts import chain_with_kin, late_rewards, masses
from cdb.testing.keys import check_keys
from cdb.testing.secondary_keys import ALL
from cdb.testing.side_by_side import model_of
from tests.coin_set.rocksdb_rows import Families
from tests.conftest import contents

pytestmark = pytest.mark.skipif(
    KIND.engine.missing() is not None, reason=str(KIND.engine.missing())
)

PLAIN_FORMAT, INDEXED_FORMAT = b"cdb rocks_kv 4\n", b"cdb rocks_kv 4 index=puzzle_hash\n"
SIZES: dict[str, Any] = {"commit_entries": 40, "ingest_entries": 15}

opened, any_opened = partial(CoinSetSchema, KIND), partial(open_coin_set, KIND)
opened_with_keys = partial(IndexedCoinSetSchema, KIND, index=PUZZLE_HASH)
open_plain = partial(any_opened, **SIZES)
open_indexed = partial(opened_with_keys, **SIZES)


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
    """A closed database."""
    with open_indexed(path) as schema:
        accept_all(schema, chain.blocks)
    return path


def damages_of(path: Path) -> list[str]:
    return [str(damage) for damage in KIND.check(path, lambda coins: None)]


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
    for opener, blocks in ((opened, chain.blocks[-9:-4]), (any_opened, chain.blocks[-4:])):
        with opener(path, **SIZES) as schema:
            accept_all(schema, blocks)
    assert damages_of(path) == []
    for read_only in (True, False):
        with open_plain(path, read_only=read_only) as schema:
            check_keys(schema, model, ALL)


def test_who_does_not_ask_for_it_pays_nothing(path: Path, chain: Chain) -> None:
    with open_plain(path) as schema:
        accept_all(schema, chain.blocks)
        assert schema._backend.state.has_keys is False
    assert families_of(path) == {"default", "rows", "unused", "blocks"}
    with open_indexed(path):
        pass
    assert families_of(path) == {"default", "rows", "unused", "blocks", "hashes", "parents"}


def families_of(path: Path) -> set[str]:
    newest = max((path / "db").glob("OPTIONS-*"))
    lines = newest.read_text("utf-8").splitlines()
    return {line.split('"')[1] for line in lines if line.startswith("[CFOptions")}


def test_a_reader_makes_no_index(path: Path, chain: Chain) -> None:
    with open_plain(path) as schema:
        accept_all(schema, chain.blocks)
    before = contents(path)
    with pytest.raises(WrongDatabaseError, match="no index by puzzle_hash; 'cdb load_blocks rocks"):
        open_indexed(path, read_only=True)
    assert contents(path) == before


def test_another_index_is_refused(path: Path) -> None:
    with pytest.raises(UnsupportedError, match="no index by 'amount'; it has 'puzzle_hash'"):
        any_opened(path, index="amount")
    assert not path.exists()


@pytest.mark.parametrize("line", [b"index=amount", b"coins=many"])
def test_what_a_newer_version_keeps_is_left_alone(indexed: Path, line: bytes) -> None:
    (indexed / "FORMAT").write_bytes(b"cdb rocks_kv 4 " + line + b"\n")
    before = contents(indexed)
    for opener in (any_opened, opened_with_keys, opened, partial(any_opened, read_only=True)):
        with pytest.raises(WrongDatabaseError, match=f"{line.decode()}, which this cdb does not"):
            opener(indexed)
    assert contents(indexed) == before


def test_a_crash_before_the_index_is_made_costs_nothing(
    path: Path, chain: Chain, model: MemorySchema
) -> None:
    """FORMAT is written first. A reader finds coins by their names until a writer has made it."""
    with open_plain(path) as schema:
        accept_all(schema, chain.blocks)
    (path / "FORMAT").write_bytes(INDEXED_FORMAT)
    with open_plain(path, read_only=True) as schema:
        assert offer_of(schema).indexed is None
        assert [*schema.blocks()] == [*model.blocks()]
    with pytest.raises(WrongDatabaseError, match="not made yet; 'cdb load_blocks rocks_kv:INDEXED"):
        open_indexed(path, read_only=True)
    assert damages_of(path) == []
    for read_only in (False, True):
        with open_plain(path, read_only=read_only) as schema:
            check_keys(schema, model, ALL)


@pytest.fixture
def unindexed(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A closed database of 6,000 coins, of which keys are made in short steps."""
    coins = [Coin(hash_of("payer", n), PAYEE, n) for n in range(6_000)]
    blocks = dealt(coins, 60)
    with any_opened(path) as schema:
        schema.accept_packed(PackedBlocks.of(blocks))
    monkeypatch.setattr("cdb.stores.coin_set.schema.STEP_COINS", 500)
    return path


def test_those_who_ask_are_told_how_far_opening_has_come(unindexed: Path) -> None:
    told: list[int] = []
    with opened_with_keys(unindexed, progress=told.append):
        assert sum(told) == 6_000
        assert max(told) <= 600
    with opened_with_keys(unindexed, progress=told.append):
        assert sum(told) == 6_000


@pytest.mark.parametrize("sizes", [{}, {"ingest_entries": 1}])
def test_what_cuts_the_making_short_costs_a_step(unindexed: Path, sizes: dict[str, Any]) -> None:
    told = list[int]()

    def tell_and_interrupt(coins: int) -> None:
        told.append(coins)
        if len(told) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        opened_with_keys(unindexed, progress=tell_and_interrupt, **sizes)
    with any_opened(unindexed, read_only=True) as schema:
        assert offer_of(schema).indexed is None
    rest = list[int]()
    with any_opened(unindexed, progress=rest.append, **sizes) as schema:
        assert isinstance(schema, IndexedCoinSetSchema)
        assert sum(told) + sum(rest) == 6_000
        assert sum(told) > 0
        found = schema.coins_packed(CoinQuery(CoinKey.PUZZLE_HASH, PAYEE))
        assert len(found) == 6_000 * COIN_BYTES
    assert damages_of(unindexed) == []


KILLED = """
import os, sys
from cdb.stores.coin_set import schema
from cdb.schemas.rocks_kv import SCHEMA

schema.STEP_COINS = 500
left = int(sys.argv[2])

def die_at_last(coins):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), 9)

SCHEMA.indexed(sys.argv[1], progress=die_at_last)
"""


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
def test_a_kill_in_the_making_costs_nothing(unindexed: Path, steps: int) -> None:
    died = subprocess.run([sys.executable, "-c", KILLED, unindexed, str(steps)], check=False)
    assert died.returncode == -9
    with any_opened(unindexed) as schema:
        assert isinstance(schema, IndexedCoinSetSchema)
        assert len(schema.coin_infos_for_puzzle_hashes([PAYEE])) == 6_000
    assert damages_of(unindexed) == []


def lose_one(families: Families, space: str) -> None:
    key, _ = families.rows(space)[3]
    families.delete(space, key)


def add_one(families: Families, space: str) -> None:
    key, value = families.rows(space)[3]
    families.put(space, bytes([key[0] ^ 1]) + key[1:], value)


def cut_one(families: Families, space: str) -> None:
    key, value = families.rows(space)[3]
    families.delete(space, key)
    families.put(space, key[:-1], value)


def move_one(families: Families, space: str) -> None:
    key, value = families.rows(space)[3]
    families.delete(space, key)
    families.put(space, key[:11] + bytes([key[11] ^ 1]) + key[12:], value)


@pytest.mark.parametrize("space", ["hashes", "parents"])
@pytest.mark.parametrize("harm", [lose_one, add_one, cut_one, move_one])
def test_what_the_blocks_do_not_make_is_found_and_made_anew(
    indexed: Path, model: MemorySchema, space: str, harm: Callable[[Families, str], None]
) -> None:
    with Families(indexed / "db") as families:
        harm(families, space)
    (said,) = damages_of(indexed)
    assert "the secondary keys are not those of its blocks; --repair rebuilds" in said
    told = list[int]()
    KIND.repair(indexed, [*KIND.check(indexed, lambda coins: None)], told.append)
    assert sum(told) > 0
    assert damages_of(indexed) == []
    with open_plain(indexed, read_only=True) as schema:
        check_keys(schema, model, ALL)


@pytest.mark.parametrize("space", ["hashes", "parents"])
def test_all_that_there_was_is_erased_before_keys_are_made_anew(
    unindexed: Path, monkeypatch: pytest.MonkeyPatch, space: str
) -> None:
    """Also what comes last of many steps."""
    opened_with_keys(unindexed).close()
    with Families(unindexed / "db") as families:
        key, value = families.rows(space)[-1]
        # Its bits, not its block: what lies above the newest block counts for nothing.
        families.put(space, key[:7] + bytes([key[7] ^ 1]) + key[8:], value)
    assert damages_of(unindexed) != []
    monkeypatch.setattr("cdb.stores.coin_set.check.STEP_COINS", 500)
    KIND.repair(unindexed, [*KIND.check(unindexed, lambda coins: None)], lambda coins: None)
    assert damages_of(unindexed) == []


def test_an_entry_that_leads_to_another_coin_is_damage(path: Path) -> None:
    coins = [Coin(hash_of("payer", n), PAYEE, n) for n in range(5)]
    with open_indexed(path) as schema:
        schema.accept_block(BlockSpendInfo(1, 0, [], coins))
    with Families(path / "db") as families:
        (first, at), (second, other) = families.rows("hashes")[:2]
        families.put("hashes", first, other)
        families.put("hashes", second, at)
    with opened_with_keys(path) as schema, pytest.raises(CorruptDatabaseError, match="another one"):
        schema.coin_infos_for_puzzle_hashes([PAYEE])


def test_a_lost_format_comes_back_with_the_index(indexed: Path, model: MemorySchema) -> None:
    for lose in (Path.unlink, lambda file: file.write_bytes(b"cdb rocks_k")):
        lose(indexed / "FORMAT")
        KIND.repair(indexed, [*KIND.check(indexed, lambda coins: None)], lambda coins: None)
        assert (indexed / "FORMAT").read_bytes() == INDEXED_FORMAT
        assert damages_of(indexed) == []
    with open_plain(indexed) as schema:
        check_keys(schema, model, ALL)


def test_a_lost_format_comes_back_without_an_index_that_was_not_there(
    path: Path, chain: Chain
) -> None:
    with open_plain(path) as schema:
        accept_all(schema, chain.blocks)
    (path / "FORMAT").unlink()
    KIND.repair(path, [*KIND.check(path, lambda coins: None)], lambda coins: None)
    assert (path / "FORMAT").read_bytes() == PLAIN_FORMAT


def test_coins_whose_keys_have_the_same_bits_are_held_apart(path: Path) -> None:
    """Each key is asked for alone: with others it would be an answer for one of them."""
    coins = [Coin(hash_of("parent", n % 3), hash_of("payee", n), n) for n in range(60)]
    with MemorySchema() as model, open_indexed(path, name_bits=1) as schema:
        for height in (1, 2):
            for each in (model, schema):
                accept_all(each, [BlockSpendInfo(height, 0, [], coins[30 * height - 30 :][:30])])
            for n in range(60):
                for query in (
                    CoinQuery(CoinKey.PUZZLE_HASH, hash_of("payee", n)),
                    CoinQuery(CoinKey.PUZZLE_HASH, hash_of("payee", n), limit=1),
                    CoinQuery(CoinKey.PARENT, hash_of("parent", n)),
                ):
                    assert bytes(schema.coins_packed(query)) == model.coins_packed(query)
        assert schema._backend.state.key_entries > 1_000


def costs(schema: IndexedCoinSetSchema, ask: Callable[[], object]) -> tuple[int, int]:
    """The entries of keys, and the coins, that a question looks at."""
    before = schema._backend.state
    ask()
    after = schema._backend.state
    return after.key_entries - before.key_entries, after.query_coins - before.query_coins


@pytest.mark.parametrize("sizes", [{}, {"commit_entries": 3_000}])
def test_a_busy_hash_lies_in_nobodys_way(path: Path, sizes: dict[str, Any]) -> None:
    """Neither in memory nor in the engine do others pass over its coins."""
    blocks = masses(20_000)
    with opened_with_keys(path, **sizes) as schema:
        schema.accept_packed(PackedBlocks.of(blocks))
        schema.flush()
        for block in blocks[::100]:
            coin = block.confirms[-1]
            ask = partial(schema.coin_infos_for_puzzle_hashes, [coin.puzzle_hash])
            entries, coins = costs(schema, ask)
            assert entries <= 3
            assert coins == 1


def test_a_page_costs_what_it_gives(path: Path) -> None:
    with opened_with_keys(path) as schema:
        schema.accept_packed(PackedBlocks.of(masses(20_000)))
    with any_opened(path) as schema:
        assert isinstance(schema, IndexedCoinSetSchema)
        for first, limit in ((0, 1), (600, 70), (999, 40)):
            query = CoinQuery(CoinKey.PUZZLE_HASH, PAYEE, (first, 2**32 - 1), limit=limit)
            entries, coins = costs(schema, partial(schema.coins_packed, query))
            assert coins == limit
            assert entries <= 2 * limit


def test_what_is_spent_is_filtered_before_a_coin_is_read(path: Path) -> None:
    blocks = masses(10_000)
    names = [coin.name() for block in blocks[:-1] for coin in block.confirms]
    with opened_with_keys(path) as schema:
        schema.accept_packed(PackedBlocks.of(blocks))
        schema.accept_block(BlockSpendInfo(1_000, 0, names, []))
    with any_opened(path) as schema:
        assert isinstance(schema, IndexedCoinSetSchema)
        ask = partial(schema.coin_infos_for_puzzle_hashes, [PAYEE], include_spent=False)
        assert len(ask()) == 20
        entries, coins = costs(schema, ask)
        assert entries <= 10_001
        assert coins == 20
        assert costs(schema, partial(ask, limit=3))[1] == 3


@pytest.mark.parametrize("by_change", [False, True])
@pytest.mark.parametrize("limit", [3, 2_000])
def test_the_first_of_many_hashes_are_the_first_of_all(
    path: Path, by_change: bool, limit: int
) -> None:
    """Most of the coins are spent in the end: what was confirmed last has changed first."""
    coins = [Coin(hash_of("payer", n), hash_of("payee", n), 1) for n in range(6_000)]
    blocks = dealt(coins, 60)
    spends = [coin.name() for block in blocks[:50] for coin in block.confirms]
    blocks.append(BlockSpendInfo(100, 0, spends, []))
    hashes = b"".join(coin.puzzle_hash for coin in coins)
    query = CoinQuery(CoinKey.PUZZLE_HASH, hashes, by_change=by_change, limit=limit)
    with MemorySchema() as model, opened_with_keys(path) as schema:
        for each in (model, schema):
            accept_all(each, blocks)
        for _ in ("in memory", "in the engine"):
            assert bytes(schema.coins_packed(query)) == model.coins_packed(query)
            schema._backend.checkpoint()


@pytest.mark.parametrize("key", [CoinKey.PUZZLE_HASH, CoinKey.PARENT])
def test_what_is_asked_twice_costs_once(path: Path, key: CoinKey) -> None:
    value = PAYEE if key is CoinKey.PUZZLE_HASH else hash_of("payer", 7)
    with opened_with_keys(path) as schema:
        schema.accept_packed(PackedBlocks.of(masses(2_000)))
        found = [
            costs(schema, partial(schema.coins_packed, CoinQuery(key, repeated * value)))
            for repeated in (1, 1_000)
        ]
        assert found[0] == found[1]


def test_a_refused_block_leaves_no_keys(path: Path) -> None:
    """The same coins come again, at the same places in memory."""
    coins = [Coin(hash_of("payer", n), PAYEE, 1) for n in range(9)]
    with opened_with_keys(path) as schema:
        with pytest.raises(UnknownCoinError):
            schema.accept_block(BlockSpendInfo(1, 0, [hash_of("nobody")], coins))
        assert schema.coin_infos_for_puzzle_hashes([PAYEE]) == []
        schema.accept_block(BlockSpendInfo(1, 0, [], coins))
        assert len(schema.coin_infos_for_puzzle_hashes([PAYEE])) == 9
        assert len(schema.coin_infos_for_parents([hash_of("payer", 3)])) == 1
    assert damages_of(path) == []


def test_a_rewind_takes_keys_back(path: Path) -> None:
    blocks = masses(4_000)
    with opened_with_keys(path, commit_entries=500) as schema:
        schema.accept_packed(PackedBlocks.of(blocks))
        for _ in range(3):
            schema.rewind_to_block_index(100)
            assert len(schema.coin_infos_for_puzzle_hashes([PAYEE])) == 2_000
            schema.accept_packed(PackedBlocks.of(blocks[100:]))
        assert len(schema.coin_infos_for_puzzle_hashes([PAYEE])) == 4_000
    assert damages_of(path) == []


def test_parents_that_tell_where_their_children_are_take_no_entry(path: Path) -> None:
    blocks = late_rewards()
    with open_indexed(path) as schema:
        accept_all(schema, blocks)
        for block in blocks:
            for coin in block.confirms:
                found = schema.coin_infos_for_parents([coin.parent_coin_name])
                assert [info.coin for info in found] == [coin]
    with Families(path / "db") as families:
        assert families.rows("parents") == []
        assert len(families.rows("hashes")) == 3 * len(blocks)
