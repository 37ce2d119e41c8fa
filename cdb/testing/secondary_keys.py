"""What a schema with secondary keys promises, as tests to inherit: see IndexedSchema.

    from cdb.testing import IndexedConformance

    class TestMyKeys(IndexedConformance):
        schema = MySchema          # opens databases that offer IndexedSchema

Where it answers packed queries, too (QueriesPacked), those are held to the same model.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache, partial
from itertools import count, islice
from pathlib import Path
from random import Random
from struct import iter_unpack
from typing import Any, ClassVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from cdb.contents.loader import accept
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coin_query import COIN_BYTES, COIN_FORMAT, MAX_INDEX, CoinKey, CoinQuery
from cdb.contract.coins import MAX_U64, Coin, CoinInfo, bytes32
from cdb.contract.packed import PackedBlocks
from cdb.contract.schema import Schema
from cdb.errors import UnknownCoinError
from cdb.schemas.memory import MemorySchema
from cdb.testing.accepting import NO_BYTES, NO_INTEGERS, NO_NAMES
from cdb.testing.adversary import ATTACKS, FAR_INDICES, FEW
from cdb.testing.base import SchemaTests, accept_all
from cdb.testing.chains import (
    PAYEE,
    Chain,
    block_at,
    coins_of_payee,
    dealt,
    hash_of,
    random_chain,
    reward,
    sample_chain,
)
from cdb.testing.crafts import alike, crafted_block, kin
from cdb.testing.faults.beside import REWOUND_BLOCKS, write_beside_readers
from cdb.testing.held import TAKEN_AWAY
from cdb.testing.keys import (
    KEYED_CALLS,
    NOBODY,
    KeyedSideBySide,
    check_keys,
    keys_of,
    queries_of,
    random_queries,
)
from cdb.testing.machine import ContractMachine, run_machine
from cdb.testing.side_by_side import CLOSE, model_of

MACHINE_EXAMPLES = 10
MACHINE_STEPS = 20
ALL = 1_000
"""More values than any small chain has."""
N_READERS = 2
N_BESIDE = 6
"""Queries that each have a reader and a rewind."""
LEAST_READS = 5

MANY_BLOCKS = 20
NUMBERS = (1, 127, 128, 254, 255, 256, 257)
"""Of coins with one key: about the counts that one byte, and pages, have room for."""

LARGE = (3, 600, 1, 1_100, 2)
"""How many coins blocks have: about 512 and 1,024, of which stores read slices and pages."""


class IndexedConformance(SchemaTests):
    """The whole contract of secondary keys. Inherit this, and set ``schema``."""

    many: ClassVar[int] = 100_000
    """How many coins of one puzzle hash there are, and parents in one call. See at_most()."""

    def test_by_keys_it_answers_like_the_reference_model(self, tmp_path: Path) -> None:
        run_machine(
            KeyedMachine, self.open, tmp_path, examples=MACHINE_EXAMPLES, steps=MACHINE_STEPS
        )

    def test_an_empty_database_has_no_coins(self, path: Path) -> None:
        with self.open(path) as schema:
            check_keys(schema, MemorySchema(), ALL)

    def test_coins_come_by_their_blocks_and_then_by_name_each_once(self, path: Path) -> None:
        hashes = [hash_of("order", n) for n in range(3)]
        coins = [Coin(hash_of("any", n), hashes[n % 3], 1) for n in range(60)]
        blocks = dealt(coins, 6, 0)
        infos = [CoinInfo(coin, block.index, 0) for block in blocks for coin in block.confirms]
        ordered = sorted(infos, key=lambda info: (info.confirmed_index, info.coin.name()))
        parents = [coin.parent_coin_name for coin in coins]
        with self.open(path) as schema:
            accept_all(schema, blocks)
            keys = keys_of(schema)
            for asked in (hashes, hashes[::-1], [*hashes, NOBODY, *hashes]):
                assert keys.coin_infos_for_puzzle_hashes(asked) == ordered
            for asked in (parents, parents[::-1], [NOBODY, *parents, *parents]):
                assert keys.coin_infos_for_parents(asked) == ordered
            assert keys.coin_infos_confirmed_at(2) == [i for i in ordered if i.confirmed_index == 2]

    def test_a_limit_takes_the_first_of_what_the_filters_leave(self, path: Path) -> None:
        coins = [Coin(hash_of("any", n), PAYEE, 1) for n in range(12)]
        spends = [coin.name() for coin in coins[:5]]
        with self.open(path) as schema:
            for index in range(1, 4):
                block = BlockSpendInfo(index, 0, [], coins[4 * index - 4 : 4 * index])
                schema.accept_block(block)
            schema.accept_block(BlockSpendInfo(4, 0, spends, []))
            ask = partial(keys_of(schema).coin_infos_for_puzzle_hashes, [PAYEE])
            found = ask()
            unspent = [info for info in found if not info.spent_index]
            assert len(found) == 12
            assert ask(include_spent=False) == unspent
            for limit in range(14):
                assert ask(limit=limit) == found[:limit]
                assert ask(include_spent=False, limit=limit) == unspent[:limit]
                assert ask(first=2, limit=limit) == found[4:][:limit]
                assert ask(last=2, limit=limit) == found[:8][:limit]
                assert (
                    ask(first=2, last=2, include_spent=False, limit=limit)
                    == [info for info in unspent if info.confirmed_index == 2][:limit]
                )
            assert ask(first=3, last=2) == []

    def test_what_is_no_hash_no_index_or_no_limit_is_a_value_error(self, path: Path) -> None:
        with self.open(path) as schema:
            schema.accept_block(block_at(1))
            keys = keys_of(schema)
            for value in (*NO_BYTES, *NO_NAMES):
                for ask in (keys.coin_infos_for_puzzle_hashes, keys.coin_infos_for_parents):
                    for values in ([value], [NOBODY, value], [value, NOBODY]):
                        with pytest.raises(ValueError, match="names and puzzle hashes"):
                            ask(values)
            for ask in (keys.coin_infos_for_puzzle_hashes, keys.coin_infos_for_parents):
                for values in ([], [NOBODY]):
                    with pytest.raises(ValueError, match="a limit is 0 or more, not -1"):
                        ask(values, limit=-1)
            no_integers: Any = NO_INTEGERS
            for value in no_integers:
                for ask_at in (keys.coin_infos_confirmed_at, keys.coin_infos_spent_at):
                    with pytest.raises(ValueError, match="a block's index is an integer, not "):
                        ask_at(value)
                for ends in ({"first": value}, {"last": value}):
                    with pytest.raises(ValueError, match="a block's index is an integer, not "):
                        keys.coin_infos_for_puzzle_hashes([NOBODY], **ends)
                if value is not None:
                    with pytest.raises(ValueError, match="a limit is an integer, not "):
                        keys.coin_infos_for_parents([NOBODY], limit=value)
            check_keys(schema, model_of([block_at(1)]), ALL)

    def test_any_index_may_be_asked_for(self, path: Path) -> None:
        coins = [Coin(hash_of("any", n), PAYEE, 1) for n in range(2)]
        blocks = [
            BlockSpendInfo(0, 0, [], coins[:1]),
            BlockSpendInfo(MAX_INDEX, 0, [coins[0].name()], coins[1:]),
        ]
        infos = [CoinInfo(coins[0], 0, MAX_INDEX), CoinInfo(coins[1], MAX_INDEX, 0)]
        with self.open(path) as schema:
            accept_all(schema, blocks)
            keys = keys_of(schema)
            assert keys.coin_infos_confirmed_at(0) == infos[:1]
            assert keys.coin_infos_spent_at(0) == []
            assert keys.coin_infos_confirmed_at(MAX_INDEX) == infos[1:]
            assert keys.coin_infos_spent_at(MAX_INDEX) == infos[:1]
            ask = keys.coin_infos_for_puzzle_hashes
            for index in (*FAR_INDICES, MAX_INDEX + 1, 10**30):
                assert keys.coin_infos_confirmed_at(index) == []
                assert keys.coin_infos_spent_at(index) == []
                above = [info for info in infos if info.confirmed_index >= index]
                below = [info for info in infos if info.confirmed_index <= index]
                assert ask([PAYEE], first=index) == above
                assert ask([PAYEE], last=index) == below
            assert ask([PAYEE], limit=10**30) == infos

    def test_children_are_found_whatever_became_of_their_parents(self, path: Path) -> None:
        with self._both(path) as both:
            for packed in (False, True):
                for block in kin():
                    both.accept([block], packed=packed)
                    both.agree_on_keys(ALL)
                both.reopen()
                both.agree_on_keys(ALL)
                for block in kin()[::-1]:
                    both.rewind(block.index - 1)
                    both.agree_on_keys(ALL)
            both.accept(kin(), packed=True)
            both.agree_on_keys(ALL)

    def test_hashes_that_share_bits_are_not_mixed(self, path: Path) -> None:
        coins = alike(FEW)
        with self._both(path) as both:
            both.accept([BlockSpendInfo(1, 0, [], coins)], packed=True)
            both.agree_on_keys(ALL)
            both.accept([BlockSpendInfo(2, 0, [coin.name() for coin in coins[::2]], [])])
            both.reopen()
            both.agree_on_keys(ALL)

    def test_a_spend_is_a_change(self, path: Path) -> None:
        coins = [Coin(hash_of("parent", n % 4), hash_of("payee", n % 2), n) for n in range(12)]
        names = [coin.name() for coin in coins]
        asked = _by_each_key(coins)
        with self._both(path) as both:
            both.accept([BlockSpendInfo(1, 0, [], coins[:8])], packed=True)
            both.accept([BlockSpendInfo(3, 0, names[:3], coins[8:])], packed=True)
            both.accept([BlockSpendInfo(5, 0, names[3:6], [])], packed=True)
            for _ in range(2):
                for height in range(7):
                    for key, values in asked:
                        for limit in (None, 2):
                            query = CoinQuery(key, b"".join(values), limit=limit)
                            both.agree_on(replace(query, changed_from=height))
                            both.agree_on(replace(query, changed_from=height, by_change=True))
                            both.agree_on(replace(query, spent=(height, MAX_INDEX)))
                both.reopen()

    def test_where_any_coins_of_a_block_will_do_there_are_as_many_of_each(self, path: Path) -> None:
        coins = [Coin(hash_of("parent", n % 2), hash_of("payee", n % 2), n) for n in range(3_000)]
        names = [coin.name() for coin in coins]
        asked = _by_each_key(coins)
        with self._both(path) as both:
            both.accept([BlockSpendInfo(1, 0, [], coins[:1_000])], packed=True)
            both.accept([BlockSpendInfo(2, 0, names[:700], coins[1_000:])], packed=True)
            for _ in range(2):
                for key, values in asked:
                    for by_change in (False, True):
                        query = CoinQuery(key, b"".join(values), by_change=by_change)
                        both.agree_on_any_of_blocks(query, (0, 1, 699, 1_000, 1_001, 2_999, None))
                both.reopen()

    def test_random_chains_are_found_open_reopened_and_read_only(self, path: Path) -> None:
        random = Random(1)  # noqa: S311 - reproducible, not secret
        with self._both(path) as both:
            for _ in range(4):
                blocks = _next_blocks(both.chain, random)
                both.accept(blocks[:6], packed=True)
                both.agree()
                both.accept(blocks[6:])
                both.flush()
                both.agree()
                both.rewind(random.randint(0, both.chain.newest_index))
                both.settle()
                both.agree()
            both.reopen()
            both.agree_on_keys(ALL)
            both.schema.close()
            both.schema = self.open(path, read_only=True)
            both.agree_on_keys(ALL)

    def test_after_a_rewind_only_the_other_branch_is_found(self, path: Path) -> None:
        old, new = ([Coin(hash_of(n, branch), PAYEE, 1) for n in range(20)] for branch in "ab")
        both_branches = [Coin(hash_of("both", n), PAYEE, 1) for n in range(20)]
        with self._both(path) as both:
            both.accept([block_at(1)])
            for flushes in (False, True):
                spends = [reward(1).name(), *(coin.name() for coin in old[:9])]
                both.accept([BlockSpendInfo(2, 0, spends, [*old, *both_branches])], packed=True)
                if flushes:
                    both.reopen()
                both.rewind(1)
                both.agree_on_keys(ALL)
                both.accept([BlockSpendInfo(3, 0, [], [*both_branches, *new])], packed=True)
                both.agree_on_keys(ALL)
                both.rewind(1)
            assert keys_of(both.schema).coin_infos_for_puzzle_hashes([PAYEE]) == []
            assert keys_of(both.schema).coin_infos_spent_at(2) == []

    def test_what_a_pack_is_refused_for_is_said_by_every_question_too(self, path: Path) -> None:
        with self._both(path) as both:
            both.accept([block_at(1)])
            both.accept([block_at(2, coins=60)], packed=True)
            gone = iter([coin.name() for coin in both.chain.blocks[-1].confirms])
            both.rewind(1)
            for call in KEYED_CALLS:
                index = both.chain.newest_index + 10
                bad = BlockSpendInfo(index + 1, 0, [next(gone)], [reward(index + 1)])
                pack = [
                    block_at(index, coins=30),
                    bad,
                    block_at(index + 2),
                ]
                assert both.offer(pack, packed=True, then=call) is UnknownCoinError
                both.agree_on_keys()

    def test_no_attack_changes_what_keys_find(self, path: Path) -> None:
        with self._both(path) as both:
            for name, attack in ATTACKS.items():
                try:
                    attack(both, Random(1), FEW)  # noqa: S311 - reproducible, not secret
                except Exception as error:
                    error.add_note(f"attack: {name}")
                    raise

    def test_packed_queries_are_answered_like_the_models(self, path: Path) -> None:
        random = Random(2)  # noqa: S311 - reproducible, not secret
        with self._both(path) as both:
            self._skip_without_queries(both.schema)
            both.accept([*random_chain(random, 30).blocks], packed=True)
            for block in _next_blocks(both.chain, random):
                both.accept([block])
            for query in random_queries(both.chain, random, 300):
                both.agree_on(query)

    def test_packed_queries_that_make_no_sense_are_value_errors(self, path: Path) -> None:
        with self.open(path) as schema:
            self._skip_without_queries(schema)
            queries = queries_of(schema)
            assert queries is not None
            for query in (
                CoinQuery(CoinKey.NAME, b"x" * 31),
                CoinQuery(CoinKey.NAME, memoryview(bytes(64))[::2]),
                CoinQuery(values=bytes(32)),
                CoinQuery(limit=-1),
                CoinQuery(9),  # type: ignore[arg-type]
                *(
                    replace(CoinQuery(), **{field: value})
                    for field in ("limit", "least_amount", "changed_from")
                    for value in NO_INTEGERS
                    if value is not None
                ),
            ):
                with pytest.raises(ValueError, match=r"quer|limit|CoinKey|is an integer"):
                    queries.coins_packed(query)

    def test_no_coin_has_more_than_the_greatest_amount(self, path: Path) -> None:
        with self.open(path) as schema:
            self._skip_without_queries(schema)
            queries = queries_of(schema)
            assert queries is not None
            schema.accept_block(BlockSpendInfo(1, 0, [], [Coin(NOBODY, PAYEE, MAX_U64)]))
            assert len(queries.coins_packed(CoinQuery(least_amount=MAX_U64))) == COIN_BYTES
            for amount in (MAX_U64 + 1, 10**30):
                assert len(queries.coins_packed(CoinQuery(least_amount=amount))) == 0

    def test_readers_beside_the_writer_find_whole_blocks(self, path: Path) -> None:
        chain = sample_chain(80)
        with self.open(path) as schema:
            choices = map(Random, range(N_READERS))
            possible = _possible_answers(chain)
            readers = [partial(_read, schema, possible, random) for random in choices]
            write_beside_readers(schema, chain, readers, LEAST_READS)
            check_keys(schema, model_of(chain.blocks), ALL)

    def test_a_reader_finds_what_was_there_when_it_came_or_nothing_any_more(
        self, path: Path
    ) -> None:
        """Whatever a writer beside it has taken back, and put in its place."""
        random = Random(3)  # noqa: S311 - reproducible, not secret
        chain = random_chain(random, 20)
        kept = chain.up_to(chain.blocks[10].index)
        others = _next_blocks(kept, random)
        with self.open(path) as writer:
            accept_all(writer, kept.blocks)
            for query in random_queries(chain, random, N_BESIDE):
                accept_all(writer, chain.blocks[len(kept.blocks) :])
                writer.flush()
                with self.open(path, read_only=True) as reader:
                    queries = queries_of(reader)
                    if queries is None:
                        pytest.skip("it takes no packed queries")
                    before = queries.coins_packed(query)
                    writer.rewind_to_block_index(kept.newest_index)
                    with suppress(*TAKEN_AWAY):
                        assert queries.coins_packed(query) == before
                    accept_all(writer, others)
                    writer.flush()
                    with suppress(*TAKEN_AWAY):
                        assert queries.coins_packed(query) == before
                writer.rewind_to_block_index(kept.newest_index)

    def test_masses_of_coins_have_one_puzzle_hash(self, path: Path) -> None:
        many = self.at_most(self.many)
        blocks, infos = _masses(many)
        step = many // MANY_BLOCKS
        parents = [info.coin.parent_coin_name for info in infos]
        with self.open(path) as schema:
            accept(schema, PackedBlocks.of(blocks))
            schema.flush()
            keys = keys_of(schema)
            ask = partial(keys.coin_infos_for_puzzle_hashes, [PAYEE])
            assert ask() == infos
            assert ask(limit=7) == infos[:7]
            assert ask(first=3, last=4) == infos[2 * step : 4 * step]
            assert ask(first=MANY_BLOCKS, limit=3) == infos[-step:][:3]
            assert keys.coin_infos_for_parents(parents[::-1]) == infos
            assert keys.coin_infos_confirmed_at(2) == infos[step : 2 * step]
            assert keys.coin_infos_for_puzzle_hashes(parents) == []

    def test_any_number_of_coins_have_one_key(self, tmp_path: Path) -> None:
        """Also one that is what a count of entries has room for."""
        for n in NUMBERS:
            blocks = [
                BlockSpendInfo(1, 0, [], [Coin(hash_of("payer", k), PAYEE, k) for k in range(n)]),
                BlockSpendInfo(2, 0, [], [Coin(NOBODY, hash_of("payee", k), k) for k in range(n)]),
            ]
            model = model_of(blocks)
            with self.open(tmp_path / str(n)) as schema:
                accept_all(schema, blocks)
            with self.open(tmp_path / str(n), read_only=True) as schema:
                keys = keys_of(schema)
                for find, value in (
                    ("coin_infos_for_puzzle_hashes", PAYEE),
                    ("coin_infos_for_parents", NOBODY),
                ):
                    found = getattr(keys, find)([value])
                    assert found == getattr(model, find)([value]), f"{find}, {n} coins"
                    assert len(found) == n

    def test_a_limit_ends_anywhere_in_blocks_of_any_size(self, path: Path) -> None:
        """Also in blocks that are larger than what a store reads at a time."""
        blocks, answers = _large_blocks()
        with self.open(path) as schema:
            accept(schema, PackedBlocks.of(blocks))
            self._skip_without_queries(schema)
            queries = queries_of(schema)
            assert queries is not None
            for query, answer in answers:
                for limit in _limits(answer):
                    asked = replace(query, limit=limit)
                    found = bytes(queries.coins_packed(asked))
                    assert found == answer[: limit * COIN_BYTES], asked

    @contextmanager
    def _both(self, path: Path) -> Iterator[KeyedSideBySide]:
        """The schema beside the model."""
        both = KeyedSideBySide(lambda: self.open(path))
        try:
            yield both
        finally:
            both.schema.close()

    def _skip_without_queries(self, schema: Schema) -> None:
        if queries_of(schema) is None:
            pytest.skip("it takes no packed queries")


class KeyedMachine(ContractMachine):
    """Asks by secondary keys, too."""

    beside = KeyedSideBySide

    @precondition(lambda self: self.both.chain.blocks)
    @rule(seed=st.integers(0, 2**32))
    def query(self, seed: int) -> None:
        """Any packed query."""
        assert isinstance(self.both, KeyedSideBySide)
        (query,) = random_queries(self.both.chain, Random(seed), 1)  # noqa: S311
        self.both.agree_on(query)

    @precondition(lambda self: self.both.abandoned)
    @rule(data=st.data(), packed=st.booleans(), then=st.sampled_from([*KEYED_CALLS, CLOSE]))
    def refuse_the_abandoned_by_keys(self, data: st.DataObject, packed: bool, then: str) -> None:
        """Nor do questions by keys hide that coins of a rewound branch are unknown."""
        self.refuse_one_of_the_abandoned(data, packed=packed, then=then)


def _by_each_key(coins: list[Coin]) -> tuple[tuple[CoinKey, list[bytes32]], ...]:
    """All coins, these by their names, and those that share a key with the first."""
    return (
        (CoinKey.NONE, []),
        (CoinKey.NAME, [coin.name() for coin in coins]),
        (CoinKey.PUZZLE_HASH, [coins[0].puzzle_hash]),
        (CoinKey.PARENT, [coins[0].parent_coin_name]),
    )


def _next_blocks(chain: Chain, random: Random) -> list[BlockSpendInfo]:
    """A dozen blocks that can follow, with crafted coins."""
    return chain.grown(12, lambda grown: crafted_block(grown, random)).above(chain.newest_index)


@cache
def _masses(n: int) -> tuple[list[BlockSpendInfo], list[CoinInfo]]:
    """Coins of one puzzle hash in blocks 1, 2, …, and what finds them gives. Not to be changed."""
    coins = coins_of_payee(n)
    step = n // MANY_BLOCKS
    blocks, infos = [], []
    for place in range(MANY_BLOCKS):
        of_block = coins[step * place : step * (place + 1)]
        blocks.append(BlockSpendInfo(place + 1, 0, [], of_block))
        of_block = sorted(of_block, key=lambda coin: coin.name())
        infos += [CoinInfo(coin, place + 1, 0) for coin in of_block]
    return blocks, infos


@cache
def _large_blocks() -> tuple[list[BlockSpendInfo], list[tuple[CoinQuery, bytes]]]:
    """Blocks of LARGE coins, some spent by the last one, and what the model answers to queries
    without a limit. Not to be changed."""
    numbers = count(1)
    confirms = [
        [
            Coin(hash_of("payer", n % 7), PAYEE if n % 3 else NOBODY, n)
            for n in islice(numbers, size)
        ]
        for size in LARGE
    ]
    spends = sorted(coin.name() for coins in confirms for coin in coins[::5])
    blocks = [BlockSpendInfo(index, 0, [], coins) for index, coins in enumerate(confirms, 1)]
    blocks.append(BlockSpendInfo(len(LARGE) + 1, 0, spends, [reward(9)]))
    names = b"".join(coin.name() for coins in confirms for coin in coins[::2])
    parents = b"".join(hash_of("payer", n) for n in range(3))
    queries = [
        CoinQuery(CoinKey.NAME, names),
        *(
            CoinQuery(key, values, spent=spent, by_change=by_change)
            for key, values, spent in (
                (CoinKey.NONE, b"", (0, MAX_INDEX)),
                (CoinKey.NONE, b"", (0, 0)),
                (CoinKey.PUZZLE_HASH, PAYEE, (0, MAX_INDEX)),
                (CoinKey.PARENT, parents, (0, MAX_INDEX)),
            )
            for by_change in (False, True)
        ),
    ]
    model = model_of(blocks)
    return blocks, [(query, bytes(model.coins_packed(query))) for query in queries]


def _limits(answer: bytes) -> list[int]:
    """About the beginnings and the middles of blocks of which an answer has many coins."""
    indices = [confirmed for *_, confirmed, _, _ in iter_unpack(COIN_FORMAT, answer)]
    blocks = [(indices.index(index), n) for index, n in Counter(indices).items() if n > 100]
    return sorted({place for first, n in blocks for place in (first + 1, first + n // 2)})


STRANGERS = [bytes32(n.to_bytes(4, "big") + hash_of("nobody")[4:]) for n in range(1_000)]
"""Puzzle hashes of no coin, which come first, so that writes come into the middle of a look-up."""

_Answers = dict[bytes32, set[tuple[CoinInfo, ...]]]


def _possible_answers(chain: Chain) -> tuple[_Answers, _Answers]:
    """By puzzle hash and by parent, what there may be to be found, after each of the blocks."""
    model = MemorySchema()
    hashes: _Answers = {hash_of("wallet", n): set() for n in range(3)}
    spends = [name for block in chain.blocks for name in block.spends]
    parents: _Answers = {name: set() for name in spends[::40]}
    for place, block in enumerate(chain.blocks, 1):
        model.accept_block(block)
        if place < REWOUND_BLOCKS:
            continue
        for value, answers in hashes.items():
            answers.add(tuple(model.coin_infos_for_puzzle_hashes([value])))
        for value, answers in parents.items():
            answers.add(tuple(model.coin_infos_for_parents([value])))
    return hashes, parents


def _read(schema: Schema, possible: tuple[_Answers, _Answers], random: Random) -> None:
    hashes, parents = possible
    keys = keys_of(schema)
    value = random.choice([*hashes])
    found = keys.coin_infos_for_puzzle_hashes([*STRANGERS, value])
    assert tuple(found) in hashes[value], "the coins of a puzzle hash are of two blocks' states"
    value = random.choice([*parents])
    found = keys.coin_infos_for_parents([value])
    assert tuple(found) in parents[value], "the children of a coin are of two blocks' states"
