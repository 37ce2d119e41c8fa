"""Whether two coin stores give the same answers."""

from random import Random
from typing import TYPE_CHECKING, Any

from chia_rs.sized_ints import uint32, uint64

from tests.chia.chain import AMOUNTS, HINTS, PUZZLES

if TYPE_CHECKING:
    from tests.chia.lives import Twins

_HASHES = [hint for hint in {*PUZZLES, *HINTS} if len(hint) == 32]


async def compare(twins: "Twins", *, everything: bool) -> None:
    """Compare what the task that asks sees: every coin and every key, or a handful."""
    async with twins.wrapper.reader_no_transaction() as connection:
        select = "SELECT coin_name, coin_parent, confirmed_index, spent_index FROM coin_record"
        rows = await connection.execute_fetchall(select)
    names = [row[0] for row in rows]
    parents = sorted({row[1] for row in rows})
    heights = sorted({0, *(row[2] for row in rows), *(row[3] for row in rows)} - {-1})
    random = twins.random
    if not everything:
        names, parents, heights = (_some(random, of) for of in (names, parents, heights))
    hashes = _HASHES if everything else _some(random, _HASHES)
    pair = Pair(twins.theirs, twins.ours)
    await _by_names(pair, random, [*names, bytes(32)])
    await _by_parents(pair, random, parents)
    for puzzle_hash in hashes:
        await pair.same("get_unspent_lineage_info_for_puzzle_hash", puzzle_hash)
    await _by_hashes(pair, random, hashes)
    for height in [*heights, max(heights) + 1 if heights else 1]:
        await pair.same("get_coins_added_at_height", uint32(height))
        await pair.same("get_coins_removed_at_height", uint32(height))
    await pair.same("num_unspent")
    await pair.same("is_empty")


class Pair:
    """Two stores that are asked the same."""

    def __init__(self, theirs: Any, ours: Any) -> None:
        self._theirs = theirs
        self._ours = ours

    async def same(self, method: str, *arguments: Any, **options: Any) -> Any:
        """The answer of both, which must be the same coins, each once, in whatever order."""
        theirs = await getattr(self._theirs, method)(*arguments, **options)
        ours = await getattr(self._ours, method)(*arguments, **options)
        assert type(theirs) is type(ours), (method, arguments, theirs, ours)
        if isinstance(theirs, list):
            assert len(theirs) == len(ours) == len(set(ours)), (method, arguments, theirs, ours)
            assert set(theirs) == set(ours), (method, arguments, theirs, ours)
        else:
            assert theirs == ours, (method, arguments, theirs, ours)
        return ours

    async def as_many(self, method: str, *arguments: Any, **options: Any) -> None:
        """The same number of coins: which ones is nobody's promise."""
        theirs = await getattr(self._theirs, method)(*arguments, **options)
        ours = await getattr(self._ours, method)(*arguments, **options)
        assert len(theirs) == len(ours), (method, arguments, options, theirs, ours)

    async def page(self, hashes: list[bytes], **options: Any) -> int | None:
        """A page of both: the same coins in an order of changes, and the same height after it."""
        method = "batch_coin_states_by_puzzle_hashes"
        theirs, next_theirs = await getattr(self._theirs, method)(hashes, **options)
        ours, next_ours = await getattr(self._ours, method)(hashes, **options)
        assert next_theirs == next_ours, (hashes, options, next_theirs, next_ours)
        assert len(theirs) == len(ours), (hashes, options)
        assert set(theirs) == set(ours), (hashes, options)
        changes = [max(state.created_height, state.spent_height or 0) for state in ours]
        assert changes == sorted(changes), changes
        following: int | None = next_ours
        return following


async def _by_names(pair: Pair, random: Random, names: list[bytes]) -> None:
    first, last = sorted(random.choices(range(100), k=2))
    await pair.same("get_coin_records", names)
    await pair.same("get_coin_record", random.choice(names))
    for spent in (True, False):
        await pair.same("get_coin_records_by_names", spent, names, uint32(first), uint32(last))
        heights = {"min_height": uint32(first), "max_height": uint32(last)}
        await pair.same("get_coin_states_by_ids", True, names, **heights)
        await pair.as_many("get_coin_states_by_ids", spent, names, max_items=random.randrange(9))


async def _by_parents(pair: Pair, random: Random, parents: list[bytes]) -> None:
    for spent in (True, False):
        await pair.same("get_coin_records_by_parent_ids", spent, parents)
        options = {"max_items": random.randrange(9)}
        await pair.as_many("get_coin_records_by_parent_ids", spent, parents, **options)


async def _by_hashes(pair: Pair, random: Random, hashes: list[bytes]) -> None:
    first, last = (uint32(each) for each in sorted(random.choices(range(100), k=2)))
    for spent in (True, False):
        await pair.same("get_coin_records_by_puzzle_hashes", spent, hashes, first, last)
        await pair.same("get_coin_records_by_puzzle_hash", spent, random.choice([*hashes, b"x"]))
        await pair.same("get_coin_states_by_puzzle_hashes", spent, set(hashes), first)
        most = {"max_items": random.randrange(9)}
        await pair.as_many("get_coin_states_by_puzzle_hashes", spent, set(hashes), **most)
    options = {
        "include_spent": random.random() < 0.8,
        "include_unspent": random.random() < 0.8,
        "include_hinted": random.random() < 0.7,
        "min_amount": uint64(random.choice([0, 0, *AMOUNTS])),
        "max_items": random.choice([0, 1, 5, 20, 200]),
    }
    height: int | None = 0
    while height is not None:
        following = await pair.page(hashes, min_height=uint32(height), **options)
        if following == height:  # a block that is larger than a page
            options["max_items"] *= 2
            options["max_items"] += 1
        height = following


def _some(random: Random, of: list[Any]) -> list[Any]:
    return random.sample(of, min(len(of), 5))
