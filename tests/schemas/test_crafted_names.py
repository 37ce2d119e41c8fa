"""Blocks that are crafted against the tables of the native stores: four times the input takes
little more than four times the work. The work is counted in native code, not timed.

The crafter knows the code and not the keys.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import Coin, bytes32
from cdb.contract.packed import PackedBlocks
from cdb.errors import DuplicateCoinError, UnknownCoinError
from cdb.schemas.coin_log import CoinLogSchema
from cdb.schemas.rocks_kv import KIND
from cdb.stores.coin_log import binding as log_engine
from cdb.stores.coin_log.binding import Sizes
from cdb.stores.coin_set.schema import CoinSetSchema
from cdb.testing.chains import block_at, child, hash_of, reward

needs_rocks_kv = pytest.mark.skipif(
    KIND.engine.missing() is not None, reason=str(KIND.engine.missing())
)
needs_coin_log = pytest.mark.skipif(
    log_engine.missing() is not None, reason=str(log_engine.missing())
)

Opener = Callable[..., CoinLogSchema | CoinSetSchema]
opened = partial(CoinSetSchema, KIND)
# 4, but for chance: the keys differ. What is wrong gives 16.
MOST_GROWTH = 5
SMALL_RUNS = Sizes(memtable_coins=200, merge_runs=4)


def probes(schema: CoinLogSchema | CoinSetSchema) -> int:
    if isinstance(schema, CoinLogSchema):
        return schema._backend.probes
    return schema._backend.state.probes


def grows_little(work_for: Callable[[int], int], n: int = 5_000) -> bool:
    few, many = work_for(n), work_for(4 * n)
    return n // 2 < few < many <= MOST_GROWTH * few


def differing_in_top_bits(n: int) -> list[bytes32]:
    """Names whose words differ in their top 4 bits alone: a sum of products loses them."""
    return [
        bytes32(b"".join(b"1234567" + bytes([(i >> 4 * word & 15) << 4]) for word in range(4)))
        for i in range(n)
    ]


def with_zeros_in_two_words(n: int) -> list[bytes32]:
    """Names that a product of words without a key makes 0 of."""
    return [bytes32(bytes(8) + i.to_bytes(8, "big") + bytes(8) + b"12345678") for i in range(n)]


def meeting_in_one_bucket(n: int) -> list[bytes32]:
    """Names whose first 8 bytes are multiples of bucket counts of std::unordered_set."""
    common = 541 * 1109 * 2357 * 5087
    return [bytes32(((i + 1) * common).to_bytes(8, "big") + 24 * b"1") for i in range(n)]


def sharing_a_head(n: int) -> list[bytes32]:
    return [bytes32(28 * b"1" + i.to_bytes(4, "big")) for i in range(n)]


CRAFTED = [differing_in_top_bits, with_zeros_in_two_words, meeting_in_one_bucket, sharing_a_head]


@pytest.fixture(
    params=[
        pytest.param(CoinLogSchema, marks=needs_coin_log),
        pytest.param(opened, marks=needs_rocks_kv),
    ]
)
def opener(request: pytest.FixtureRequest) -> Opener:
    schema: Opener = request.param
    return schema


@pytest.mark.parametrize("crafted", CRAFTED)
def test_spends_of_made_up_coins(
    tmp_path: Path, opener: Opener, crafted: Callable[[int], list[bytes32]]
) -> None:
    def work_for(n: int) -> int:
        with opener(tmp_path / str(n)) as schema:
            with pytest.raises(UnknownCoinError):
                schema.accept_block(BlockSpendInfo(1, 0, crafted(n), []))
            return probes(schema)

    assert grows_little(work_for)


@pytest.mark.parametrize("crafted", CRAFTED)
def test_early_children_of_chosen_parents(
    tmp_path: Path, opener: Opener, crafted: Callable[[int], list[bytes32]]
) -> None:
    def work_for(n: int) -> int:
        with opener(tmp_path / str(n)) as schema:
            schema.accept_block(BlockSpendInfo(1, 0, [], [child(each) for each in crafted(n)]))
            accepted = probes(schema)
        with opener(tmp_path / str(n)) as schema:
            return accepted + probes(schema)

    assert grows_little(work_for)


def test_spends_of_parents_that_all_have_early_children(tmp_path: Path, opener: Opener) -> None:
    def work_for(n: int) -> int:
        parents = [reward(1, i) for i in range(n)]
        names = [each.name() for each in parents]
        with opener(tmp_path / str(n)) as schema:
            schema.accept_block(BlockSpendInfo(1, 0, [], parents))
            schema.accept_block(BlockSpendInfo(2, 0, [], [child(each, 1) for each in names]))
            schema.accept_block(BlockSpendInfo(3, 0, names, [child(each, 2) for each in names]))
            return probes(schema)

    assert grows_little(work_for)


def test_a_coin_that_every_block_of_a_pack_repeats(tmp_path: Path, opener: Opener) -> None:
    def work_with(twice: Coin, n: int) -> int:
        blocks = [BlockSpendInfo(i, 0, [], [twice, reward(i)]) for i in range(1, n + 1)]
        with opener(tmp_path / f"{twice.name().hex()}-{n}") as schema:
            with pytest.raises(DuplicateCoinError) as refusal:
                schema.accept_packed(PackedBlocks.of(blocks))
            assert refusal.value.block_index == 2
            assert schema.last_block_index == 1
            schema.accept_block(BlockSpendInfo(2, 0, [twice.name()], [reward(2)]))
            return probes(schema) + n  # what is not entered takes no probe

    # One coin's place is chance.
    coins = [child(hash_of(each)) for each in range(8)]
    assert grows_little(lambda n: sum(work_with(twice, n) for twice in coins), 512)


def test_blocks_that_are_refused_behind_many_early_children(tmp_path: Path, opener: Opener) -> None:
    """The next block's cost is its own, whatever was accepted."""

    def work_for(n: int) -> int:
        with opener(tmp_path / str(n)) as schema:
            early = [child(hash_of(i)) for i in range(n)]
            schema.accept_block(BlockSpendInfo(1, 0, [], early))
            for i in range(n // 16):
                refused = BlockSpendInfo(2, 0, [hash_of("nobody", i)], [child(hash_of("no", i))])
                with pytest.raises(UnknownCoinError):
                    schema.accept_block(refused)
            return probes(schema)

    assert grows_little(work_for)


@needs_coin_log
@pytest.mark.parametrize("crafted", CRAFTED)
def test_lookups_of_made_up_names_in_runs(
    tmp_path: Path, crafted: Callable[[int], list[bytes32]]
) -> None:
    with CoinLogSchema(tmp_path / "database", sizes=SMALL_RUNS) as schema:
        for index in range(1, 9):
            schema.accept_block(block_at(index, coins=250))
        assert schema._backend._count().runs

        def work_for(n: int) -> int:
            before = probes(schema)
            assert schema.coin_infos_for_coin_names(crafted(n)) == []
            return probes(schema) - before

        assert grows_little(work_for)


def test_every_store_has_keys_of_its_own(tmp_path: Path, opener: Opener) -> None:
    """With the same key the same names take the same number of probes."""
    counts = set()
    for n in range(6):
        with opener(tmp_path / str(n)) as schema:
            schema.accept_block(BlockSpendInfo(1, 0, [], [reward(i) for i in range(700)]))
            counts.add(probes(schema))
    assert len(counts) > 1


@needs_rocks_kv
def test_blocks_that_are_refused_leave_no_marks(tmp_path: Path) -> None:
    """What is noted of early children is kept on disk for ever: a peer could fill it."""
    n = 2_000
    sizes = []
    for name, refused in (("none", 0), ("many", 8)):
        with opened(tmp_path / name) as schema:
            schema.accept_block(block_at(1))
            for block in range(refused):
                early = [child(hash_of(block, i)) for i in range(n)]
                with pytest.raises(UnknownCoinError):
                    schema.accept_block(BlockSpendInfo(2, 0, [hash_of()], early))
        sizes.append(sum(file.stat().st_size for file in (tmp_path / name).rglob("*")))
    assert sizes[1] <= sizes[0] + n


def test_the_same_coins_confirmed_after_each_rewind(tmp_path: Path, opener: Opener) -> None:
    """As they are when the chain's newest block changes again and again."""

    def work_for(rounds: int) -> int:
        with opener(tmp_path / str(rounds)) as schema:
            schema.accept_block(block_at(1))
            for _ in range(rounds):
                schema.accept_block(block_at(2, coins=200))
                schema.rewind_to_block_index(1)
            return probes(schema)

    assert grows_little(work_for, 64)
