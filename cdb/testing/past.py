"""What history answers, held against the reference model's blocks."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from random import Random
from struct import iter_unpack
from typing import ClassVar

from cdb.contract.coins import MAX_U32, MAX_U64, CoinInfo, bytes32
from cdb.contract.history import PAGE_ROWS, Page, unpacked_page
from cdb.contract.objects import unpacked_infos
from cdb.contract.schema import HISTORY_METHODS
from cdb.schemas import HistorySchema, Schema, history_of
from cdb.schemas.memory import MemorySchema
from cdb.testing.chains import Chain, hash_of
from cdb.testing.side_by_side import CALLS, SideBySide, model_of

SOME = 1
"""So many heights are asked for after each step."""
NOBODY = hash_of("nobody")
FAR_HEIGHTS = (-(2**70), -1, MAX_U32, MAX_U32 + 1, 2**63, MAX_U64 + 1, 10**30)

PAST_CALLS: Mapping[str, Callable[[Schema], object]] = {
    "coins as of": lambda schema: history_of(schema).coin_infos_as_of([NOBODY], 1),
    "state at": lambda schema: history_of(schema).state_at(1),
    "unspent": lambda schema: history_of(schema).unspent(),
    "versions": lambda schema: history_of(schema).versions(0, 1),
}
"""More calls that change nothing, and must raise what a pack has deferred."""

_fields = attrgetter(
    *("coin.parent_coin_name", "coin.puzzle_hash", "coin.amount"),
    *("confirmed_index", "spent_index"),
)


class PastSideBySide(SideBySide):
    """Compares what was at some heights, too."""

    calls: ClassVar[Mapping[str, Callable[[Schema], object]]] = {**CALLS, **PAST_CALLS}

    def agree(self) -> None:
        """Compare all that can be asked; of the past some of what there is."""
        super().agree()
        self.agree_on_history(SOME)

    def agree_on_history(self, most: int) -> None:
        """Compare as of so many heights, and versions of so many windows."""
        random = Random(len(self.chain.blocks))  # noqa: S311 - reproducible, not secret
        names = [*self.chain.names, *self.abandoned, NOBODY]
        check_history(self.schema, self.model, names, random, most)


def heights_of(blocks: Iterable[int]) -> list[int]:
    """Blocks' heights and those beside them, and far ones."""
    near = {height + step for height in blocks for step in (-1, 0, 1)}
    return sorted(near | set(FAR_HEIGHTS))


def check_history(
    schema: Schema, model: MemorySchema, names: Sequence[bytes32], random: Random, most: int
) -> None:
    """Hold a schema against the model, as of so many heights. Raises AssertionError."""
    heights = heights_of([block.index for block in model.blocks()])
    for height in random.sample(heights, min(most, len(heights))):
        check_as_of(schema, model, names, height)
        check_versions(schema, model, height, random.choice(heights))
    newest = model.last_block_index
    if newest is not None:
        check_as_of(schema, model, names, newest)
        check_versions(schema, model, newest, newest)
    check_unspent(schema, model)


def check_as_of(
    schema: Schema, model: HistorySchema, names: Sequence[bytes32], height: int
) -> None:
    """The coins of names, and the whole state, are the model's as of a height."""
    history = history_of(schema)
    asked = [*names, *names[:2]]
    expected = model.coin_infos_as_of(asked, height)
    assert history.coin_infos_as_of(asked, height) == expected, f"names as of {height}"
    packed = getattr(schema, "coin_infos_as_of_packed", None)
    if packed is not None:
        infos, found = packed(b"".join(asked), height)
        assert unpacked_infos(infos, found) == expected, f"packed names as of {height}"
    rows = list(history.state_at(height))
    assert in_one_order(rows) == in_one_order(model.state_at(height)), f"the state at {height}"
    check_pages(schema, "state_at", rows, height)


def check_unspent(schema: Schema, model: HistorySchema) -> None:
    """The unspent coins are the model's."""
    rows = list(history_of(schema).unspent())
    assert in_one_order(rows) == in_one_order(model.unspent()), "what is unspent"
    check_pages(schema, "unspent", rows)


def check_versions(schema: Schema, model: HistorySchema, first: int, last: int) -> None:
    """The versions of a window are the model's, in their order."""
    rows = list(history_of(schema).versions(first, last))
    assert rows == list(model.versions(first, last)), f"the versions {first} … {last}"
    check_pages(schema, "versions", rows, first, last)


def check_pages(schema: Schema, method: str, rows: Sequence[CoinInfo], *heights: int) -> None:
    """In packed form, where the schema has it, there are the same rows in the same order."""
    give_pages = getattr(schema, f"{method}_packed", None)
    if give_pages is None:
        return
    found: list[CoinInfo] = []
    for page in give_pages(*heights):
        names, infos = Page(*page)
        assert 1 <= len(names) // 32 <= PAGE_ROWS, f"a page of {method} has {len(names)} bytes"
        of_page = unpacked_page(Page(names, infos))
        assert [name for (name,) in iter_unpack("32s", names)] == [
            info.coin.name() for info in of_page
        ], f"a page of {method} has other names than its coins"
        found += of_page
    assert found == list(rows), f"{method} in pages"


def in_one_order(rows: Iterable[CoinInfo]) -> list[CoinInfo]:
    """Rows in an order that is the same for all schemas: by all that a coin's name is made of,
    which costs no hash. A row that comes twice stays twice."""
    return sorted(rows, key=_fields)


def plain_state(schema: Schema, names: Sequence[bytes32]) -> list[CoinInfo]:
    """What look-ups of all these names give now."""
    return in_one_order(schema.coin_infos_for_coin_names([*dict.fromkeys(names)]))


def check_past_by_scan(schema: Schema) -> None:
    """Whether history is what the schema's own blocks make; nothing is asked of one without.

    Raises AssertionError.
    """
    if not all(hasattr(schema, method) for method in HISTORY_METHODS):
        return
    with model_of(schema.blocks()) as model:
        chain = Chain.of(model.blocks())
        newest = chain.newest_index
        for height in {newest, chain.blocks[len(chain.blocks) // 2].index if newest >= 0 else 0}:
            check_as_of(schema, model, chain.names, height)
        check_versions(schema, model, -1, MAX_U32)
        check_unspent(schema, model)


def lays_over(before: Iterable[CoinInfo], versions: Iterable[CoinInfo]) -> list[CoinInfo]:
    """A state, overwritten coin by coin with versions."""
    state = {info.coin: info for info in before}
    state.update((info.coin, info) for info in versions)
    return in_one_order(state.values())


def pairs_of(heights: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Each height with the next one, and with the last one."""
    yield from pairwise(heights)
    yield from ((height, heights[-1]) for height in heights[::3])
