"""What a schema with history promises, as tests to inherit: see HistorySchema and docs/history.md.

    from cdb.testing import HistoryConformance

    class TestMyHistory(HistoryConformance):
        schema = MySchema          # opens databases that offer HistorySchema

Where it has packed forms, too (HistoryPacked), those are held to the same.
"""

import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from cdb.contents.loader import accept
from cdb.contract.blocks import BlockSpendInfo, canonical
from cdb.contract.coins import MAX_U32, CoinInfo, bytes32
from cdb.contract.packed import PackedBlocks
from cdb.errors import DatabaseClosedError, DuplicateCoinError, UnknownCoinError
from cdb.schemas import Schema, history_of
from cdb.schemas.memory import MemorySchema
from cdb.testing.accepting import NO_BYTES, NO_INTEGERS, NO_NAMES
from cdb.testing.adversary import ATTACKS, FEW
from cdb.testing.base import SchemaTests, accept_all
from cdb.testing.chains import (
    Chain,
    block_at,
    child,
    coins_of_payee,
    other_branch,
    random_chain,
    reward,
    sample_chain,
)
from cdb.testing.crafts import CRAFTS, crafted_block, near
from cdb.testing.faults.beside import REWOUND_BLOCKS, write_beside_readers
from cdb.testing.held import Ask, Held, asks_of, random_ask
from cdb.testing.machine import ContractMachine, run_machine
from cdb.testing.past import (
    FAR_HEIGHTS,
    NOBODY,
    PAST_CALLS,
    PastSideBySide,
    check_as_of,
    check_history,
    check_versions,
    heights_of,
    in_one_order,
    lays_over,
    pairs_of,
    plain_state,
)
from cdb.testing.side_by_side import CLOSE, model_of, settle

MACHINE_EXAMPLES = 8
MACHINE_STEPS = 20
ALL = 10_000
"""More heights than any small chain has."""
SOME_HEIGHTS = 12
N_READERS = 2
LEAST_READS = 3
N_OPEN = 64
MANY_BLOCKS = 20
REFUSED_COINS, REFUSALS = 600, 6
SCAN_BYTES = 24 * 2**20
EDGE_HEIGHTS = [
    edge + step
    for edge in (2**8, 2**16, 2**24, 2**31, 2**32)
    for step in (-2, -1, 0, 1)
    if edge + step <= MAX_U32
]


ITERATORS = (
    Ask("state_at", (MAX_U32,)),
    Ask("state_at", (40,)),
    Ask("unspent"),
    Ask("versions", (-1, MAX_U32)),
    Ask("versions", (20, 50)),
)


class HistoryConformance(SchemaTests):
    """The whole contract of history. Inherit this, and set ``schema``."""

    many: ClassVar[int] = 20_000
    """How many coins there are in one block, and names in one call. See at_most()."""

    def test_as_of_any_height_it_answers_like_the_reference_model(self, tmp_path: Path) -> None:
        run_machine(
            PastMachine, self.open, tmp_path, examples=MACHINE_EXAMPLES, steps=MACHINE_STEPS
        )

    def test_as_of_a_height_it_is_a_copy_that_was_rewound(self, tmp_path: Path) -> None:
        chain = random_chain(Random(7), 25)  # noqa: S311 - reproducible, not secret
        names = [*chain.names, NOBODY]
        with self.open(tmp_path / "whole") as whole, self.open(tmp_path / "copy") as copy:
            for schema in (whole, copy):
                accept(schema, PackedBlocks.of(chain.blocks))
            history = history_of(whole)
            for height in heights_of([block.index for block in chain.blocks])[::-1]:
                copy.rewind_to_block_index(height)
                then = plain_state(copy, names)
                infos = history.coin_infos_as_of(names, height)
                assert infos == copy.coin_infos_for_coin_names(names), f"names as of {height}"
                assert in_one_order(history.state_at(height)) == then, f"the state at {height}"
                unspent = [info for info in then if not info.spent_index]
                assert in_one_order(history_of(copy).unspent()) == unspent

    def test_versions_lead_from_each_state_to_each_later_one(self, path: Path) -> None:
        chain = random_chain(Random(8), 20)  # noqa: S311 - reproducible, not secret
        with self.open(path) as schema:
            accept_all(schema, chain.blocks)
            history = history_of(schema)
            for first, last in pairs_of(heights_of([block.index for block in chain.blocks])):
                versions = list(history.versions(first + 1, last))
                places = [_place(info) for info in versions]
                assert places == sorted(set(places)), "versions come by height and then by name"
                state = lays_over(history.state_at(first), versions)
                assert state == in_one_order(history.state_at(last)), f"{first} … {last}"
                assert not list(history.versions(last + 1, first))

    def test_an_empty_database_has_no_past(self, path: Path) -> None:
        with self.open(path) as schema:
            check_history(schema, MemorySchema(), [NOBODY], Random(1), ALL)  # noqa: S311

    def test_heights_of_any_width_are_told_apart(self, path: Path) -> None:
        for first in (0, 7):
            chain = _chain_at([first, *EDGE_HEIGHTS])
            with self.open(path.with_name(f"from-{first}")) as schema:
                accept_all(schema, chain.blocks)
                names, random = [*chain.names, NOBODY], Random(1)  # noqa: S311
                check_history(schema, model_of(chain.blocks), names, random, ALL)

    def test_coins_that_one_block_confirms_and_spends(self, path: Path) -> None:
        line = [reward(5, 1)]
        while len(line) < 40:
            line.append(child(line[-1].name()))
        names = [coin.name() for coin in line]
        blocks = [
            block_at(2, coins=3),
            BlockSpendInfo(5, 0, [*names[:-1], reward(2).name()], line),
            BlockSpendInfo(6, 0, [], []),
            BlockSpendInfo(9, 0, [names[-1], reward(2, 1).name()], []),
            BlockSpendInfo(11, 0, [reward(11).name()], [reward(11)]),
        ]
        chain = Chain.of(blocks)
        with self.open(path) as schema:
            accept_all(schema, blocks)
            check_history(schema, model_of(chain.blocks), chain.names, Random(1), ALL)  # noqa: S311
            history = history_of(schema)
            assert history.coin_infos_as_of(names, 4) == []
            spent = [info.spent_index for info in history.coin_infos_as_of(names, 5)]
            assert spent == [5] * 39 + [0]
            assert len(list(history.versions(5, 5))) == 41
            assert list(history.versions(6, 8)) == []
            assert list(history.versions(11, 11)) == [CoinInfo(reward(11), 11, 11)]

    def test_names_that_are_alike_are_told_apart(self, path: Path) -> None:
        chain = Chain()
        for place, make in enumerate(CRAFTS.values()):
            spends = list(chain.unspent)[::3]
            known = {*chain.names}
            coins = [coin for coin in make(FEW) if coin.name() not in known]
            chain.append(BlockSpendInfo(3 * place + 1, 0, spends, coins))
        names = [*chain.names, *_similar(chain.names[:8]), bytes32(bytes(32)), *_ends()]
        with self.open(path) as schema:
            accept(schema, PackedBlocks.of(chain.blocks))
            model = model_of(chain.blocks)
            for block in chain.blocks:
                for height in (block.index - 1, block.index):
                    check_as_of(schema, model, names, height)
            check_versions(schema, model, -1, MAX_U32)

    def test_no_attack_changes_the_past(self, path: Path) -> None:
        with self._both(path) as both:
            for name, attack in ATTACKS.items():
                try:
                    attack(both, Random(1), FEW)  # noqa: S311 - reproducible, not secret
                except Exception as error:
                    error.add_note(f"attack: {name}")
                    raise

    def test_a_rewind_takes_versions_away_at_every_height(self, path: Path) -> None:
        old, new = Random(1), Random(2)  # noqa: S311 - reproducible, not secret
        with self._both(path) as both:
            both.accept(random_chain(old, 12).blocks)
            for place in range(11, -1, -2):
                block = both.chain.blocks[place]
                both.flush()
                for index in (block.index, block.index - 1):
                    both.rewind(index)
                    both.agree_on_history(SOME_HEIGHTS)
                for _ in range(3):
                    both.accept([_with_some_of(block, crafted_block(both.chain, new), both.chain)])
                both.agree_on_history(SOME_HEIGHTS)
            both.reopen()
            both.agree_on_history(ALL)

    def test_what_a_pack_is_refused_for_is_said_by_history_too(self, path: Path) -> None:
        with self._both(path) as both:
            both.accept([block_at(1)])
            both.accept([block_at(2, coins=60)], packed=True)
            # The first ones of the block, whose places others take soon.
            gone = iter([coin.name() for coin in canonical(both.chain.blocks[-1]).confirms])
            both.rewind(1)
            for call in [*PAST_CALLS] * 3:
                index = both.chain.newest_index + 10
                bad = BlockSpendInfo(index + 1, 0, [next(gone)], [reward(index + 1)])
                pack = [
                    block_at(index, coins=7),
                    bad,
                    block_at(index + 2),
                ]
                assert both.offer(pack, packed=True, then=call) is UnknownCoinError
                both.agree_on_history(2)

    @pytest.mark.parametrize("n_read", [0, 1, 9])
    def test_iterators_are_snapshots_of_their_calls(self, path: Path, n_read: int) -> None:
        chain = sample_chain(40)
        other = other_branch(chain.up_to(chain.blocks[5].index), 12, 3)
        with self.open(path) as schema:
            accept_all(schema, chain.blocks[:20])
            opened = _Opened(schema, n_read)
            accept_all(schema, chain.blocks[20:30])
            opened.read_some()
            schema.flush()
            more = _Opened(schema, n_read)
            accept_all(schema, chain.blocks[30:])
            schema.rewind_to_block_index(chain.blocks[24].index)
            opened.read_some()
            more.read_some()
            settle(schema)
            schema.rewind_to_block_index(chain.blocks[5].index)
            accept_all(schema, other.blocks[6:])
            opened.read_some()
            settle(schema)
            last = _Opened(schema, n_read)
            schema.rewind_to_block_index(-1)
            for each in (opened, more, last):
                each.read_all()
            assert not list(history_of(schema).state_at(MAX_U32))

    @pytest.mark.parametrize("n_read", [0, 1])
    def test_iterators_are_snapshots_where_a_rewind_leads_between_blocks(
        self, path: Path, n_read: int
    ) -> None:
        first = [reward(10, n) for n in range(4)]
        blocks = [
            BlockSpendInfo(10, 0, [], first),
            BlockSpendInfo(20, 0, [first[0].name()], [reward(20)]),
            BlockSpendInfo(30, 0, [first[1].name()], [reward(30)]),
        ]
        with self.open(path) as schema:
            accept_all(schema, blocks)
            opened = _Opened(schema, n_read)
            schema.rewind_to_block_index(25)
            schema.accept_block(BlockSpendInfo(22, 0, [first[2].name()], [reward(22)]))
            more = _Opened(schema, n_read)
            schema.rewind_to_block_index(21)
            schema.accept_block(BlockSpendInfo(30, 0, [first[3].name()], [reward(30)]))
            for each in (opened, more):
                each.read_all()

    @pytest.mark.parametrize("n_read", [0, 1])
    @pytest.mark.parametrize("empty", [[], [3]])
    def test_iterators_are_snapshots_where_another_branch_has_their_coins(
        self, path: Path, empty: list[int], n_read: int
    ) -> None:
        """What is in memory when they begin are blocks without coins, or nothing at all."""
        coins = [reward(1, n) for n in range(6)]
        names = [coin.name() for coin in coins]
        others = [reward(1, n) for n in range(50, 74)]
        with self.open(path) as schema:
            schema.accept_block(BlockSpendInfo(1, 0, [], coins))
            schema.accept_block(BlockSpendInfo(2, 0, names[1:], [reward(2)]))
            settle(schema)
            for index in empty:
                schema.accept_block(BlockSpendInfo(index, 0, [], []))
            opened = _Opened(schema, n_read)
            if empty:
                schema.rewind_to_block_index(2)
            else:
                schema.rewind_to_block_index(0)
                schema.accept_block(BlockSpendInfo(1, 7, [], [*others[:8], *coins[:3]]))
                schema.accept_block(BlockSpendInfo(2, 7, [], [*others[8:16], *coins[3:]]))
            schema.accept_block(BlockSpendInfo(3, 7, names[:1], others[16:]))
            opened.read_all()

    def test_many_iterators_are_open_at_once(self, path: Path) -> None:
        chain = sample_chain(30)
        with self.open(path) as schema:
            accept_all(schema, chain.blocks[:20])
            history = history_of(schema)
            expected = list(history.state_at(MAX_U32))
            opened = [history.state_at(MAX_U32) for _ in range(N_OPEN)]
            first = [next(each) for each in opened]
            assert first == expected[:1] * N_OPEN
            accept_all(schema, chain.blocks[20:])
            schema.rewind_to_block_index(chain.blocks[10].index)
            for each in opened[::2]:
                assert list(each) == expected[1:]
            for each in opened[1::2]:
                _close(each)
                assert list(each) == []
            accept_all(schema, chain.blocks[11:])
            assert len(list(history.state_at(MAX_U32))) > len(expected)

    def test_after_the_end_rows_are_right_or_an_error(self, path: Path) -> None:
        chain = sample_chain(30)
        schema = self.open(path)
        with closing(schema):
            accept_all(schema, chain.blocks)
            opened = _Opened(schema, 1)
        opened.read_all(DatabaseClosedError)
        history = history_of(schema)
        for ask in ITERATORS:
            with pytest.raises(DatabaseClosedError):
                ask.of(schema)
        with pytest.raises(DatabaseClosedError):
            history.coin_infos_as_of([NOBODY], 1)

    def test_history_is_kept_open_reopened_settled_and_read_only(self, path: Path) -> None:
        with self._both(path) as both:
            both.accept(sample_chain(20).blocks)
            both.agree_on_history(ALL)
            both.settle()
            both.agree_on_history(ALL)
            both.reopen()
            both.agree_on_history(ALL)
            both.schema.close()
            both.schema = self.open(path, read_only=True)
            both.agree_on_history(ALL)

    def test_what_settles_beside_an_open_iterator_is_still_there(self, path: Path) -> None:
        """Also what a closed database has of its first writes alone."""
        chain = sample_chain(20)
        with self.open(path) as schema:
            accept_all(schema, chain.blocks)
        with self.open(path) as schema:
            opened = _Opened(schema, 1)
            settle(schema)
            opened.read_all()
            coins = {coin.name() for block in chain.blocks for coin in block.confirms}
            assert {info.coin.name() for info in history_of(schema).state_at(MAX_U32)} == coins

    @pytest.mark.parametrize("n_read", [0, 1])
    @pytest.mark.parametrize("keep", [settle, Schema.flush])
    def test_what_a_rewind_takes_of_a_first_load_is_there_for_iterators(
        self, path: Path, keep: Callable[[Schema], None], n_read: int
    ) -> None:
        """Nothing else was ever written, and what it wrote is settled without what is gone."""
        chain = sample_chain(40)
        with self.open(path) as schema:
            accept(schema, PackedBlocks.of(chain.blocks))
            keep(schema)
            opened = _Opened(schema, n_read)
            schema.rewind_to_block_index(chain.blocks[5].index)
            settle(schema)
            opened.read_all()

    def test_what_is_no_name_or_no_height_is_an_error_at_the_call(self, path: Path) -> None:
        heights: Any = NO_INTEGERS
        with self.open(path) as schema:
            schema.accept_block(block_at(1))
            history = history_of(schema)
            for height in heights:
                for call in (
                    lambda height: history.coin_infos_as_of([], height),
                    history.state_at,
                    lambda height: history.versions(height, 1),
                    lambda height: history.versions(1, height),
                ):
                    with pytest.raises(TypeError, match="a height is an integer, not "):
                        call(height)
            for name in (*NO_BYTES, *NO_NAMES):
                with pytest.raises(ValueError, match="a coin name "):
                    history.coin_infos_as_of([NOBODY, name], 1)
            for height in FAR_HEIGHTS:
                assert len(list(history.state_at(height))) == (height > 0)

    def test_readers_beside_the_writer_see_whole_blocks(self, path: Path) -> None:
        chain = sample_chain(80)
        states = _States(chain)
        with self.open(path) as schema:
            choices = map(Random, range(N_READERS))
            readers = [partial(states.check_one, schema, random) for random in choices]
            write_beside_readers(schema, chain, readers, LEAST_READS)
            model = model_of(chain.blocks)
            check_history(schema, model, chain.names, Random(1), 3)  # noqa: S311

    def test_readers_beside_refusals_see_nothing_of_these(self, path: Path) -> None:
        """Blocks that confirm anew what was spent before, while each is being looked at."""
        blocks, _ = _masses(REFUSED_COINS)
        again = PackedBlocks.of([BlockSpendInfo(9, 0, [], blocks[0].confirms)])
        with self.open(path) as schema, ThreadPoolExecutor(1) as thread:
            accept(schema, PackedBlocks.of(blocks))
            settle(schema)
            expected = list(model_of(blocks).versions(2, 2))

            def write() -> None:
                for _ in range(REFUSALS):
                    with pytest.raises(DuplicateCoinError):
                        _give(schema, again)

            writing = thread.submit(write)
            while not writing.done():
                assert list(history_of(schema).versions(2, 2)) == expected
            writing.result()

    def test_masses_of_coins_in_a_block(self, path: Path) -> None:
        many = self.at_most(self.many)
        blocks, names = _masses(many)
        with self.open(path) as schema:
            accept(schema, PackedBlocks.of(blocks))
            schema.flush()
            history = history_of(schema)
            for height, spent in ((1, 0), (2, 2)):
                infos = history.coin_infos_as_of(names, height)
                assert [info.coin.name() for info in infos] == names
                assert {info.spent_index for info in infos} == {spent}
            assert history.coin_infos_as_of(names, 0) == []
            versions = [_place(info) for info in history.versions(-1, 3)]
            second = sorted([*names, reward(2, -1).name()])
            third = sorted([reward(2, -1).name(), reward(3, -1).name()])
            assert versions == [
                *((1, name) for name in sorted(names)),
                *((2, name) for name in second),
                *((3, name) for name in third),
            ]
            assert [_place(info) for info in history.versions(2, 2)] == versions[many:-2]
            state = [info.coin.name() for info in history.state_at(1)]
            assert sorted(state) == sorted(names)
            assert [info.coin for info in history.unspent()] == [reward(3, -1)]

    def test_scans_hold_no_more_than_a_page_in_memory(self, path: Path) -> None:
        many = self.at_most(self.many) // 2
        step = many // MANY_BLOCKS // 5
        coins = _masses(2 * many)[0][0].confirms[:many]
        blocks = [
            BlockSpendInfo(1 + start // step, 0, [], coins[start : start + step])
            for start in range(0, many, step)
        ]
        with self.open(path) as schema:
            accept(schema, PackedBlocks.of(blocks))
            schema.flush()
            is_bounded = not isinstance(schema, MemorySchema)  # that does all again in memory
            for ask in ITERATORS if is_bounded else ():
                assert _peak_bytes(ask.of(schema)) < SCAN_BYTES, ask

    @contextmanager
    def _both(self, path: Path) -> Iterator[PastSideBySide]:
        """The schema beside the model."""
        both = PastSideBySide(lambda: self.open(path))
        try:
            yield both
        finally:
            both.schema.close()


class PastMachine(ContractMachine):
    """Asks for the past, too, and holds iterators open across all that happens."""

    beside = PastSideBySide

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._held: list[Held] = []

    @precondition(lambda self: self.both.chain.blocks)
    @rule(seed=st.integers(0, 2**32))
    def ask_of_the_past(self, seed: int) -> None:
        """Any height, and any window."""
        names = self.both.chain.names
        check_history(self.both.schema, self.both.model, names, Random(seed), 1)  # noqa: S311

    @precondition(lambda self: len(self._held) < 12)
    @rule(seed=st.integers(0, 2**32))
    def hold(self, seed: int) -> None:
        """Ask for an iterator."""
        schema, newest = self.both.schema, self.both.chain.newest_index
        ask = random_ask(asks_of(schema), newest, Random(seed))  # noqa: S311
        self._held.append(Held.of(ask, schema, self.both.model))

    @precondition(lambda self: self._held)
    @rule(n=st.sampled_from([1, 5]))
    def read_on(self, n: int) -> None:
        """Read some more of what was opened first."""
        with suppress(DatabaseClosedError):
            self._held[0].read(n)

    @precondition(lambda self: self._held)
    @rule()
    def read_to_the_end(self) -> None:
        """Read all of what was opened first: it is as it was then."""
        with suppress(DatabaseClosedError):
            self._held.pop(0).read_all()

    @precondition(lambda self: self.both.abandoned)
    @rule(data=st.data(), packed=st.booleans(), then=st.sampled_from([*PAST_CALLS, CLOSE]))
    def refuse_the_abandoned_by_history(self, data: st.DataObject, packed: bool, then: str) -> None:
        """Nor does history hide that coins of a rewound branch are unknown."""
        self.refuse_one_of_the_abandoned(data, packed=packed, then=then)

    def teardown(self) -> None:
        """Whatever was opened is as it was then, also at the end."""
        while self._held:
            self.read_to_the_end()
        super().teardown()


class _Opened:
    """Iterators of each kind, of one moment, and what they have to give."""

    def __init__(self, schema: Schema, n_read: int) -> None:
        self._held = [Held.of(ask, schema, schema) for ask in ITERATORS]
        self._n_read = n_read
        self.read_some()

    def read_some(self) -> None:
        """Read so many rows of each."""
        for held in self._held:
            held.read(self._n_read)

    def read_all(self, *errors: type[Exception]) -> None:
        """Read to the end, or to one of these errors: what came by then is right."""
        for held in self._held:
            with suppress(*errors):
                held.read_all()


class _States:
    """What states a chain goes through, for readers beside a writer that goes on and back in it."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._model = model_of(chain.blocks)
        self._always_there = chain.blocks[REWOUND_BLOCKS - 1].index

    def check_one(self, schema: Schema, random: Random) -> None:
        """Read one of the iterators: it is of the state after one of the blocks."""
        history = history_of(schema)
        height = random.randint(0, self._chain.newest_index)
        infos = list(history.state_at(height))
        self._check(infos, list(self._model.state_at(min(height, self._newest_in(infos)))))
        versions = list(history.versions(height, MAX_U32))
        newest = self._newest_in(versions)
        assert versions == list(self._model.versions(height, newest)), "versions of two moments"
        names = random.choices(self._chain.names, k=30)
        infos = history.coin_infos_as_of(names, self._always_there)
        assert infos == self._model.coin_infos_as_of(names, self._always_there)

    def _newest_in(self, infos: list[CoinInfo]) -> int:
        newest = max([max(info.confirmed_index, info.spent_index) for info in infos], default=-1)
        return max(newest, self._always_there)

    def _check(self, infos: list[CoinInfo], expected: list[CoinInfo]) -> None:
        assert in_one_order(infos) == in_one_order(expected), "a state of two moments"


def _give(schema: Schema, blocks: PackedBlocks) -> None:
    """Have them accepted, and what a pack has deferred said."""
    accept(schema, blocks)
    schema.flush()


def _with_some_of(taken: BlockSpendInfo, block: BlockSpendInfo, chain: Chain) -> BlockSpendInfo:
    """A block that can follow, with the first coins of one that was taken back."""
    known = {*chain.names, *(coin.name() for coin in block.confirms)}
    again = [coin for coin in taken.confirms[:2] if coin.name() not in known]
    return BlockSpendInfo(block.index, block.timestamp, block.spends, [*block.confirms, *again])


def _place(info: CoinInfo) -> tuple[int, bytes32]:
    """By which versions are ordered."""
    return max(info.confirmed_index, info.spent_index), info.coin.name()


def _chain_at(indices: list[int]) -> Chain:
    """Blocks at these indices, each of which spends a coin of the one before, and an old one."""
    chain = Chain()
    for index in indices:
        unspent = list(chain.unspent) if index else []
        spends = [*dict.fromkeys([*unspent[:1], *unspent[-1:]])]
        chain.append(BlockSpendInfo(index, 0, spends, [reward(index, n) for n in range(2)]))
    return chain


def _similar(names: list[bytes32]) -> list[bytes32]:
    """Names that share their first bytes with these, or nearly are these."""
    strangers = [
        bytes32(name[:shared] + bytes(byte ^ 0xFF for byte in name[shared:]))
        for name in names
        for shared in (16, 24, 31)
    ]
    next_ones = [
        bytes32(((int.from_bytes(name, "big") + step) % 2**256).to_bytes(32, "big"))
        for name in names
        for step in (-1, 1)
    ]
    return [*strangers, *next_ones, *near(names[0])]


def _ends() -> list[bytes32]:
    return [bytes32(b"\xff" * 32), bytes32(b"\0\xff" * 16), bytes32(b"\xff\0" * 16)]


@cache
def _masses(n: int) -> tuple[list[BlockSpendInfo], list[bytes32]]:
    """A block of coins, one that spends them, a small one; their names. Not to be changed."""
    coins = coins_of_payee(n)
    names = [coin.name() for coin in coins]
    blocks = [
        BlockSpendInfo(1, 0, [], coins),
        BlockSpendInfo(2, 0, names, [reward(2, -1)]),
        BlockSpendInfo(3, 0, [reward(2, -1).name()], [reward(3, -1)]),
    ]
    return blocks, names


def _peak_bytes(rows: Iterator[CoinInfo]) -> int:
    """What going over rows takes of memory at most."""
    tracemalloc.start()
    try:
        for _ in rows:
            pass
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _close(iterator: Iterator[CoinInfo]) -> None:
    close = getattr(iterator, "close", None)
    assert close is not None, "an iterator of history has no close()"
    close()
