"""What each method costs when it looks at 1, 10 and 100 times as much, beside chia's own.

What a peer can choose grows for a store as for chia's, or it is a way to hold a node up. Both
stores have the same chain, in which each size has puzzle hashes, parents, heights and hints of its
own; they are asked the same in turns, and have to give the same number of coins.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, NamedTuple

from chia_rs import Coin
from chia_rs.sized_bytes import bytes32
from chia_rs.sized_ints import uint64

from cdb.bench.results import STORES
from cdb.chia.bench.chain import Block, made, rewards
from cdb.chia.bench.stores import Store, opened

SIZES = (100, 1_000, 10_000)
DUST = 20
"""Coins at a singleton's puzzle hash, times the size."""
LIMIT = 50
BESIDE = 20
TURNS = 5
LEAST_SECONDS = 0.02
"""Calls are repeated in a turn until they have taken so long."""
GROWTH = 2.0
"""So many times more of chia's cost than at the first size is a finding, above that cost."""
_NEVER = 2**32 - 2
_BLOCK_COINS = 10_000

Call = Callable[[Store], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Method:
    """A method, what it is asked about, and a call of it for each size."""

    name: str
    about: str
    calls: Sequence[Call]


@dataclass(frozen=True, slots=True)
class Line:
    """What a method costs: microseconds a call of either store, for each size."""

    method: Method
    theirs: Sequence[float]
    ours: Sequence[float]

    @property
    def ratios(self) -> list[float]:
        """Ours to theirs."""
        return [mine / other for mine, other in zip(self.ours, self.theirs, strict=True)]

    @property
    def grows(self) -> bool:
        """Whether a larger size costs more of chia's than the first one, and more than chia's."""
        first, *others = self.ratios
        return any(each > GROWTH * first and each > 1 for each in others)

    def __str__(self) -> str:
        cells = (
            f"{other:>11,.0f} {mine:>11,.0f} {ratio:>6.2f}"
            for other, mine, ratio in zip(self.theirs, self.ours, self.ratios, strict=True)
        )
        mark = "  grows" if self.grows else ""
        return f"{self.method.name:<42} {self.method.about:<28}{' '.join(cells)}{mark}"


def heading() -> str:
    """Of the lines."""
    cells = (f"{f'chia {size:,}':>11} {'cdb':>11} {'ratio':>6}" for size in SIZES)
    return f"{'microseconds a call':<42} {'':<28}{' '.join(cells)}"


def lines(directory: Path) -> Iterator[Line]:
    """Make both stores in a directory, and measure one method after the other."""
    with asyncio.Runner() as runner:
        measuring = _lines(directory)
        try:
            while (line := runner.run(anext(measuring, None))) is not None:
                yield line
        finally:
            runner.run(measuring.aclose())


async def _lines(directory: Path) -> Any:
    async with AsyncExitStack() as stack:
        stores = []
        for name in STORES:
            (directory / name).mkdir()
            stores.append(await stack.enter_async_context(opened(name, directory / name)))
        sizes = [Size(number, size) for number, size in enumerate(SIZES)]
        counts = []
        for size in sizes:
            for store in stores:
                await size.fill(store)
            counts.append(await _cost(stores, lambda store: store.calls.num_unspent()))
        yield _line(Method("num_unspent", "all coins so far", ()), counts)
        for method in _methods(sizes):
            yield _line(method, [await _cost(stores, call) for call in method.calls])
        for about, beside in _besides(sizes):
            blocks = [await _beside(stores, size, beside(size)) for size in sizes]
            yield _line(Method("new_block", f"beside {BESIDE} {about}", ()), blocks)


def _line(method: Method, costs: Sequence[Sequence[float]]) -> Line:
    theirs, ours = zip(*costs, strict=True)
    return Line(method, theirs, ours)


async def _cost(stores: Sequence[Store], call: Call) -> list[float]:
    """Microseconds of CPU a call, of each store: the median of turns."""
    answers = [_number(await call(store)) for store in stores]
    if answers[1:] != answers[:-1]:
        raise AssertionError(f"the stores give {answers} coins")
    seconds: list[list[float]] = [[] for _ in stores]
    for _ in range(TURNS):
        for store, taken in zip(stores, seconds, strict=True):
            start, n = process_time(), 0
            while process_time() - start < LEAST_SECONDS:
                await call(store)
                n += 1
            taken.append((process_time() - start) / n)
    return [1e6 * median(taken) for taken in seconds]


def _number(answer: Any) -> Any:
    if isinstance(answer, tuple):
        return len(answer[0]), answer[1]
    if isinstance(answer, int):
        return answer
    return len(answer) if isinstance(answer, list | set | dict) else answer is None


async def _beside(stores: Sequence[Store], size: "Size", call: Call) -> list[float]:
    """Microseconds of the clock that a block takes beside calls that were made before it."""
    seconds: list[list[float]] = [[] for _ in stores]
    for _ in range(TURNS):
        for store, taken in zip(stores, seconds, strict=True):
            asking = [asyncio.ensure_future(call(store)) for _ in range(BESIDE)]
            await asyncio.sleep(0)  # they have begun
            start = perf_counter()
            await store.add(size.small_block)
            await store.calls.get_coin_records([size.names[0]])  # and it can be seen
            taken.append(perf_counter() - start)
            await asyncio.gather(*asking)
            await store.roll_back(size.small_block[0] - 1)
            await store.calls.get_coin_record(size.parent)  # what is put off until the next call
    return [1e6 * median(taken) for taken in seconds]


class Size:
    """The part of the chain that is asked about at one size: n coins of everything."""

    def __init__(self, number: int, n: int) -> None:
        self.n = n
        self._first = 1 + 100 * number
        self._name = b"size %d" % n
        self.puzzle_hash = self.hash(b"of all coins")
        self.spent_hash = self.hash(b"of spent coins")
        self.hint = self.hash(b"a hint")
        self.dusty, self.busy = self.hash(b"a singleton's"), self.hash(b"of marked coins")
        payer, other, launcher = (
            Coin(self.hash(word), self.hash(word), 1) for word in (b"pay", b"more", b"run")
        )
        first = Coin(launcher.name(), self.dusty, 1)
        busy = [self._coin(other, self.busy, each) for each in range(n)]
        self.parent = payer.name()
        self.coins = [self._coin(payer, self.puzzle_hash, each) for each in range(n)]
        self.spent = [self._coin(other, self.spent_hash, each) for each in range(n)]
        dust = [self._coin(other, self.dusty, 2 + each) for each in range(DUST * n)]
        self.names = [coin.name() for coin in self.coins]
        self.hashes = [self.puzzle_hash, *(self.hash(b"no coin's %d" % n) for n in range(1, n))]
        self.added, self.removed = self._first + 2, self._first + 4
        parts = [dust[at : at + _BLOCK_COINS] for at in range(0, len(dust), _BLOCK_COINS)]
        again = [self._coin(coin, self.busy, coin.amount) for coin in busy]
        self._blocks = [
            self._block(0, [payer, other, launcher], []),
            self._block(1, [first, *busy], [launcher]),
            self._block(2, self.coins, [payer]),
            self._block(3, self.spent, []),
            self._block(4, [self._coin(first, self.dusty, 1)], [first, *self.spent]),
            self._block(5, again, busy),
            *(self._block(6 + place, part, []) for place, part in enumerate(parts)),
        ]
        self.next_height = 100 * len(SIZES) + 1
        some = [self._coin(coin, self.hash(b"new"), 1) for coin in self.coins]
        self.small_block = self._block_at(self.next_height, some[:45], self.coins[:45])
        self.block = self._block_at(self.next_height, some, self.coins)

    async def fill(self, store: Store) -> None:
        """Add all of it."""
        for block in self._blocks:
            await store.add(block)
        await store.hint([(name, self.hint) for name in self.names])

    def hash(self, word: bytes) -> bytes32:
        """One of this size's."""
        return bytes32.from_bytes((self._name + b" " + word).ljust(32, b"."))

    def _coin(self, parent: Coin, puzzle_hash: bytes32, amount: int) -> Coin:
        return Coin(parent.name(), puzzle_hash, uint64(amount))

    def _block(self, place: int, creates: Sequence[Coin], spends: Sequence[Coin]) -> Block:
        return self._block_at(self._first + place, creates, spends)

    def _block_at(self, height: int, creates: Sequence[Coin], spends: Sequence[Coin]) -> Block:
        return height, made(rewards(height, self.hash(b"paid")), creates, spends)


class _Asked(NamedTuple):
    """What a method is asked about, and how, at a size."""

    about: str
    arguments: Callable[[Size], tuple[Any, ...]]
    options: Mapping[str, int] = {}


_FEW = {"max_items": LIMIT}
_METHODS: Mapping[str, Sequence[_Asked]] = {
    "get_coin_record": [_Asked("of a block of n", lambda its: (its.names[0],))],
    "get_coin_records": [_Asked("n names", lambda its: (its.names,))],
    "get_coin_records_by_names": [
        _Asked("n names", lambda its: (True, its.names)),
        _Asked("n names, of no height", lambda its: (True, its.names, _NEVER)),
    ],
    "get_coin_states_by_ids": [
        _Asked("n names", lambda its: (True, its.names)),
        _Asked(f"n names, {LIMIT} items", lambda its: (True, its.names), _FEW),
    ],
    "get_coins_added_at_height": [_Asked("n coins", lambda its: (its.added,))],
    "get_coins_removed_at_height": [_Asked("n coins", lambda its: (its.removed,))],
    "get_coin_records_by_puzzle_hash": [
        _Asked("n coins", lambda its: (True, its.puzzle_hash)),
        _Asked("n coins, all spent", lambda its: (False, its.spent_hash)),
    ],
    "get_coin_records_by_puzzle_hashes": [_Asked("n hashes", lambda its: (True, its.hashes))],
    "get_coin_records_by_parent_ids": [
        _Asked("n coins", lambda its: (True, [its.parent])),
        _Asked(f"n coins, {LIMIT} items", lambda its: (True, [its.parent]), _FEW),
        _Asked("n parents", lambda its: (True, its.names)),
    ],
    "get_coin_states_by_puzzle_hashes": [
        _Asked("n coins", lambda its: (True, {its.puzzle_hash})),
        _Asked(f"n coins, {LIMIT} items", lambda its: (True, {its.puzzle_hash}), _FEW),
        _Asked("n coins, no change", lambda its: (True, {its.puzzle_hash}, _NEVER)),
        _Asked("n hashes", lambda its: (True, {*its.hashes})),
    ],
    "batch_coin_states_by_puzzle_hashes": [
        _Asked("n coins", lambda its: ([its.puzzle_hash],)),
        _Asked(f"n coins, {LIMIT} items", lambda its: ([its.puzzle_hash],), _FEW),
        _Asked("n coins, no change", lambda its: ([its.puzzle_hash],), {"min_height": _NEVER}),
        _Asked("n coins, no amount", lambda its: ([its.puzzle_hash],), {"min_amount": 2**63}),
        _Asked("n hinted coins", lambda its: ([its.hint],)),
        _Asked(f"n hinted coins, {LIMIT} items", lambda its: ([its.hint],), _FEW),
        _Asked("n hashes", lambda its: (its.hashes,)),
    ],
    "get_unspent_lineage_info_for_puzzle_hash": [
        _Asked(f"{DUST} n coins of dust", lambda its: (its.dusty,)),
        _Asked("n marked coins", lambda its: (its.busy,)),
    ],
    "is_empty": [_Asked("", lambda its: ())],
}


def _methods(sizes: Sequence[Size]) -> Iterator[Method]:
    for name, asked in _METHODS.items():
        for each in asked:
            yield Method(name, each.about, [_call(name, each, size) for size in sizes])
    there = [_there(its) for its in sizes]
    yield Method("new_block, rollback_to_block", "n coins, n spends", there)


def _call(name: str, asked: _Asked, size: Size) -> Call:
    return lambda store: getattr(store.calls, name)(*asked.arguments(size), **asked.options)


def _there(size: Size) -> Call:
    async def and_back(store: Store) -> Any:
        await store.add(size.block)
        return await store.roll_back(size.block[0] - 1)

    return and_back


def _besides(sizes: Sequence[Size]) -> Iterator[tuple[str, Callable[[Size], Call]]]:
    """What a block is measured beside."""
    wanted = ("get_unspent_lineage_info_for_puzzle_hash", "batch_coin_states_by_puzzle_hashes")
    seen: set[str] = set()
    for method in _methods(sizes):
        if method.name in wanted and method.name not in seen:
            seen.add(method.name)
            calls = dict(zip(sizes, method.calls, strict=True))
            yield f"of {method.name.split('_for_')[0][:20]}", calls.__getitem__
