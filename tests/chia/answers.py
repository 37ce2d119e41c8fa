"""Whether two coin stores give the same answers, at every boundary of every method."""

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from inspect import signature
from random import Random
from typing import TYPE_CHECKING, Any

from chia_rs.sized_bytes import bytes32
from chia_rs.sized_ints import uint32, uint64

from tests.chia.chain import AMOUNTS, HINTS, PUZZLES

if TYPE_CHECKING:
    from tests.chia.lives import Twins

HASHES = [hint for hint in {*PUZZLES, *HINTS} if len(hint) == 32]
HUGE = 33_000
"""More than SQLite takes values in a statement: chia asks for them in parts."""
_LAST = 2**32 - 1
_PAGE = "batch_coin_states_by_puzzle_hashes"


async def compare(twins: "Twins", *, everything: bool) -> None:
    """Compare what the task that asks sees: every coin and every key, or a handful."""
    async with twins.wrapper.reader_no_transaction() as connection:
        select = "SELECT coin_name, coin_parent, confirmed_index, spent_index FROM coin_record"
        rows = await connection.execute_fetchall(select)
    random = twins.random
    drawn = _Drawn(random, [tuple(row) for row in rows], everything=everything)
    pair = Pair(twins.theirs, twins.ours, twins.commits)
    await _by_names(pair, drawn)
    await _by_parents(pair, drawn)
    for puzzle_hash in drawn.hashes:
        await pair.same("get_unspent_lineage_info_for_puzzle_hash", bytes32(puzzle_hash))
    await _by_hashes(pair, drawn)
    await _pages(pair, drawn)
    for height in drawn.heights:
        await pair.same("get_coins_added_at_height", uint32(height))
        await pair.same("get_coins_removed_at_height", uint32(height))
    await pair.same("num_unspent")
    await pair.same("is_empty")
    if random.random() < 0.3:
        await _cancelled(twins.ours, drawn)


@dataclass
class Commits:
    """Transactions that began to be committed, and those of them that have ended."""

    begun: int = 0
    ended: int = 0


class Pair:
    """Two stores that are asked the same, also while a third task writes."""

    def __init__(self, theirs: Any, ours: Any, commits: Commits) -> None:
        self._theirs = theirs
        self._ours = ours
        self._commits = commits

    async def same(self, method: str, *arguments: Any, **options: Any) -> Any:
        """What both give, which must be the same coins, each once, in whatever order.

        Where a transaction is committed meanwhile, ours may be chia's of before or behind it.
        """
        ended = self._commits.ended
        theirs = await _asked(self._theirs, method, arguments, options)
        ours = await _asked(self._ours, method, arguments, options)
        told = f"{method}{arguments}{options}: chia's {theirs}, ours {ours}"
        if ours != theirs:
            assert self._commits.begun > ended, told
            again = await _asked(self._theirs, method, arguments, options)
            assert ours == again or self._commits.begun > ended + 1, told
        return ours

    async def limited(self, random: Random, method: str, *arguments: Any, **options: Any) -> None:
        """The same without a limit, and as many coins of those with one: which is nobody's promise.

        Limits are at both ends, at the number of coins, or beside it.
        """
        ended = self._commits.ended
        _, whole = await self.same(method, *arguments, **options)
        if "max_items" not in signature(getattr(self._theirs, method)).parameters:
            return  # an older chia
        n = len(whole)
        limits = [0, 1, max(0, n - 1), n, n + 1, n // 2]
        if len(arguments[1]) < HUGE:
            limits.append(-1)  # none; but chia asks for a first part alone then
        for most in random.sample(limits, 2):
            theirs = await getattr(self._theirs, method)(*arguments, **options, max_items=most)
            ours = await getattr(self._ours, method)(*arguments, **options, max_items=most)
            if self._commits.begun == ended:
                told = (method, arguments, options, most, theirs, ours)
                assert len(theirs) == len(ours) == len({*ours}), told
                assert whole >= {*ours}, told


async def _asked(store: Any, method: str, arguments: Sequence[Any], options: Any) -> Any:
    """An answer in a form in which order doesn't count where nobody promises one."""
    answer = await getattr(store, method)(*arguments, **options)
    if isinstance(answer, tuple):
        states, following = answer
        changes = [max(state.created_height, state.spent_height or 0) for state in states]
        assert changes == sorted(changes), (arguments, options, changes)
        assert len(states) == len({*states}), (arguments, options)
        return frozenset(states), following
    if isinstance(answer, list | set):
        assert len(answer) == len({*answer}), (method, arguments, answer)
        return type(answer), frozenset(answer)
    return answer


class _Drawn:
    """What is asked about: all that is there, or a handful; and what is not there."""

    def __init__(self, random: Random, rows: Sequence[Any], *, everything: bool) -> None:
        self.random = random
        self.everything = everything
        heights = sorted({0, *(row[2] for row in rows), *(row[3] for row in rows)} - {-1})
        self._edges = [*(each + by for each in heights for by in (-1, 0, 1) if each + by >= 0)]
        names, parents = [row[0] for row in rows], sorted({row[1] for row in rows})
        self.names = [*self._some(names), bytes(32)]
        self.parents = [*self._some(parents), *self._some(names[:200])]
        self.hashes = self._some(HASHES)
        self.heights = [*self._some(heights), max(heights) + 1]

    def height(self) -> uint32:
        """One that a block has, or that is beside one; seldom the last there may be."""
        return uint32(self.random.choice(self._edges) if self.random.random() < 0.9 else _LAST)

    def as_given(self, values: Sequence[bytes]) -> Collection[bytes]:
        """As callers give them: sized or not; now and then far too many, or none."""
        chance = self.random.random()
        if chance < 0.02:
            return []
        if chance < 0.03 and self.everything:
            return [*values, *(number.to_bytes(32, "big") for number in range(HUGE))]
        return [*map(bytes32, values)] if chance < 0.5 else [*values]

    def _some(self, of: Sequence[Any]) -> list[Any]:
        return [*of] if self.everything else self.random.sample(of, min(len(of), 5))


async def _by_names(pair: Pair, drawn: _Drawn) -> None:
    random, names = drawn.random, drawn.as_given(drawn.names)
    await pair.same("get_coin_records", {*names} if random.random() < 0.3 else names)
    await pair.same("get_coin_record", random.choice(drawn.names))
    for spent in (True, False):
        some = drawn.names  # SQLite takes no more at once, and chia asks for them at once
        await pair.same("get_coin_records_by_names", spent, some, drawn.height(), drawn.height())
        await pair.same("get_coin_records_by_names", spent, some * 2)
        options = {"min_height": drawn.height()}
        await pair.limited(random, "get_coin_states_by_ids", spent, names, **options)
    # Of unspent ones chia's statement is none that SQLite reads.
    options = {"min_height": drawn.height(), "max_height": drawn.height()}
    await pair.limited(random, "get_coin_states_by_ids", True, drawn.names, **options)


async def _by_parents(pair: Pair, drawn: _Drawn) -> None:
    method, random = "get_coin_records_by_parent_ids", drawn.random
    for spent in (True, False):
        parents = drawn.as_given(drawn.parents)
        await pair.limited(random, method, spent, parents)
        await pair.limited(random, method, spent, parents, drawn.height(), drawn.height())


async def _by_hashes(pair: Pair, drawn: _Drawn) -> None:
    random, hashes = drawn.random, drawn.hashes
    for spent in (True, False):
        heights = drawn.height(), drawn.height()
        await pair.same("get_coin_records_by_puzzle_hashes", spent, hashes, *heights)
        await pair.same("get_coin_records_by_puzzle_hash", spent, random.choice([*hashes, b"x"]))
        given = {*drawn.as_given(hashes)}
        await pair.limited(random, "get_coin_states_by_puzzle_hashes", spent, given, heights[0])


async def _pages(pair: Pair, drawn: _Drawn) -> None:
    """All pages, with some limit; and one whose limit is the number of coins, or beside it."""
    random, hashes = drawn.random, drawn.hashes
    options = {
        "include_spent": random.random() < 0.8,
        "include_unspent": random.random() < 0.8,
        "include_hinted": random.random() < 0.7,
        "min_amount": uint64(random.choice([0, 0, *AMOUNTS])),
    }
    states, _ = await pair.same(_PAGE, hashes, min_height=drawn.height(), **options)
    for most in {len(states) - 1, len(states), len(states) + 1} - {-1}:
        await pair.same(_PAGE, hashes, min_height=drawn.height(), **options, max_items=most)
    height, most = 0, random.choice([0, 1, 5, 20, 200])
    while height is not None:
        _, following = await pair.same(
            _PAGE, hashes, min_height=uint32(height), **options, max_items=most
        )
        if following == height:  # a block that is larger than a page
            most = 2 * most + 1
        height = following


async def _cancelled(store: Any, drawn: _Drawn) -> None:
    """Calls that nobody waits for any more; of chia's these would leave cursors open."""
    calls = (
        store.get_coin_states_by_puzzle_hashes(True, {*drawn.hashes}),
        store.get_unspent_lineage_info_for_puzzle_hash(bytes32(drawn.hashes[0])),
        store.batch_coin_states_by_puzzle_hashes(drawn.hashes),
        store.get_coin_records(drawn.names),
    )
    tasks = [asyncio.ensure_future(call) for call in calls]
    await asyncio.sleep(drawn.random.random() * 0.002)
    for task in tasks:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
