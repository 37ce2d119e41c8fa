"""A random walk of readers that stay open while a writer goes on, back, and elsewhere.

Iterators of every kind, and read-only openings, in this process and in others: several at once,
held across blocks with and without coins, refusals, flushes, settling, rewinds, branches that have
the same coins at other heights and positions, reopenings, and moves and removals of the directory.
Each answer must be that of the model as of its call.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from operator import methodcaller
from pathlib import Path
from random import Random
from typing import Any

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import Coin, bytes32
from cdb.contract.schema import Schema, offer_of
from cdb.errors import DatabaseClosedError, InvalidBlockError, UnknownCoinError
from cdb.schemas.memory import MemorySchema
from cdb.schemas.registry import takes
from cdb.testing.chains import Chain, breaches, hash_of, random_block
from cdb.testing.faults.coverage import Coverage
from cdb.testing.faults.oracle import BrokenPromiseError, Case, error_text
from cdb.testing.faults.remote import RemoteSchema
from cdb.testing.faults.trial import DATABASE, length, usable
from cdb.testing.held import (
    TAKEN_AWAY,
    TOLD,
    Ask,
    Held,
    asks_of,
    begin_here,
    random_ask,
    read_here,
    small_pages,
    use_small_pages,
)
from cdb.testing.keys import random_queries
from cdb.testing.side_by_side import CALLS, CLOSE, SideBySide, model_of

TRIAL = "readers"
STEPS = 500
MOST_HELD, MOST_READERS = 12, 4
MOST_ROWS = 12
PAGES = (1, 3, 10, 1000)
"""So many rows, blocks or coins are read at a time."""
SHALLOW = 8
DEEP_SHARE, EMPTY_SHARE, REMOTE_SHARE = 0.3, 0.2, 0.3
AGAIN, MOST_GONE = 10, 30
"""So many coins may come again in a block, of so many that abandoned branches had last."""
YOUNG = 3
"""So many of the youngest coins are spent: a rewind soon takes both blocks."""
LONGEST_CHAIN = 80
"""A longer one is rewound: what is read as of each moment is to stay small."""


def readers(
    spec: str, seed: int, directory: Path, *, most: int | None = None, only: str | None = None
) -> Coverage:
    """Walk. See Trial; its points are the steps, and only is the last one of a shorter walk."""
    usable(spec)
    last = length(most, only, STEPS)
    random = Random(seed)  # noqa: S311 - reproducible, not secret
    page = random.choice(PAGES)
    walk = _Walk(spec, directory, random, page)
    try:
        with small_pages(page), closing(walk):
            while walk.done.total() < last:
                walk.step()
            walk.end()
    except Exception as error:
        case = Case(TRIAL, spec, seed, str(walk.done.total() + 1))
        problem = f"after {dict(walk.done)}: {error_text(error)}"
        raise BrokenPromiseError(case, problem) from error
    found = {**walk.done, "told": walk.told}
    return Coverage(TRIAL, spec, seed, last, max(last, STEPS), walk.openings, found)


@dataclass(eq=False)
class _Opening:
    """A schema that is read, with what it has to show. chain: the same, for names to ask for."""

    schema: Any
    model: MemorySchema
    chain: Chain
    asks: list[str]
    is_writer: bool = False
    held: list[Held] = field(default_factory=list)

    def hold(self, ask: Ask) -> None:
        """Ask, and keep the iterator."""
        there = self.schema
        if not isinstance(there, RemoteSchema):
            self.held.append(Held.of(ask, there, self.model))
            return
        number = there.do(begin_here, ask)
        rows = list(ask.plain.of(self.model))
        self.held.append(Held(ask, lambda n: there.do(read_here, number, n), rows))

    def do(self, function: Callable[[Schema], Any]) -> Any:
        """Call a function with the schema, wherever that is."""
        if isinstance(self.schema, RemoteSchema):
            return self.schema.do(function)
        return function(self.schema)


class _Walk:
    """The writer beside the model, and all who read. told: how often one was sent away rightly."""

    def __init__(self, spec: str, directory: Path, random: Random, page: int) -> None:
        self.done: Counter[str] = Counter()
        self.told = 0
        self.openings = 0
        self._spec, self._info = spec, usable(spec)
        self._random, self._page = random, page
        self._directory = directory
        self._path = directory / "0" / DATABASE
        self._path.parent.mkdir()
        self._coins: dict[bytes32, Coin] = {}
        self._both = SideBySide(self._open)
        self._writer = self._as_writer()
        self._readers: list[_Opening] = []

    def step(self) -> None:
        """One of the steps."""
        steps = _STEPS if takes(self._info.spec.factory, "read_only") else _ALONE
        (name,) = self._random.choices(tuple(steps), [weight for weight, _ in steps.values()])
        steps[name][1](self)
        self.done[name] += 1

    def end(self) -> None:
        """Read all to its end."""
        for opening in [self._writer, *self._readers]:
            self._try(opening, partial(_read_all, opening))
        self._both.agree()

    def close(self) -> None:
        """Release everything."""
        for opening in self._readers:
            opening.schema.close()
        self._both.schema.close()

    def accept(self) -> None:
        """A block, or some in a pack."""
        packed = self._random.random() < 0.4
        blocks = self._blocks(self._random.randint(1, 5) if packed else 1)
        self._both.accept(blocks, packed=packed)
        if len(self._both.chain.blocks) > LONGEST_CHAIN:
            self._both.rewind(self._both.chain.blocks[LONGEST_CHAIN // 2].index)

    def refuse(self) -> None:
        """Blocks of which the last one breaks a rule, also by what another branch had."""
        good = self._blocks(self._random.randint(0, 2))
        chain = Chain.of([*self._both.chain.blocks, *good])
        block = self._block(chain)
        bad, error = self._random.choice(breaches(chain, block))
        new = {coin.name() for coin in block.confirms}
        gone = [name for name in self._both.abandoned if name not in {*chain.names, *new}]
        if gone and block.index and self._random.random() < 0.5:
            spends = [*block.spends, self._random.choice(gone)]
            bad, error = replace(block, spends=spends), UnknownCoinError
        # A field that is out of its range can't be packed.
        packed = error is not InvalidBlockError and self._random.random() < 0.5
        then = self._random.choice([call for call in CALLS if call != CLOSE])
        assert self._both.offer([*good, bad], packed=packed, then=then) is error

    def branch(self) -> None:
        """Go back, and on elsewhere."""
        self.rewind()
        for _ in range(self._random.randint(1, 3)):
            self.accept()

    def rewind(self) -> None:
        """A little, or far."""
        newest = self._both.chain.newest_index
        lowest = -1 if self._random.random() < DEEP_SHARE else newest - SHALLOW
        self._both.rewind(self._random.randint(max(lowest, -1), newest + 1))

    def hold_on_little(self) -> None:
        """Ask the writer's own while nothing is in memory, or blocks without coins alone."""
        self._both.settle()
        for _ in range(self._random.randint(0, 2)):
            index = self._both.chain.newest_index + 1
            self._both.accept([BlockSpendInfo(index, 0, [], [])])
        for _ in range(3):
            self._hold(self._as_writer_now())
        if self._random.random() < 0.5:
            self.branch()

    def hold(self) -> None:
        """Ask for an iterator."""
        self._hold(self._any())

    def _hold(self, opening: _Opening) -> None:
        if len(opening.held) < MOST_HELD:
            ask = random_ask(opening.asks, opening.chain.newest_index, self._random)
            self._try(opening, partial(opening.hold, ask))

    def read_on(self) -> None:
        """Read some rows more of one."""
        opening = self._any()
        if opening.held:
            held = self._random.choice(opening.held)
            self._try(opening, partial(held.read, self._random.randint(1, MOST_ROWS)))

    def read_to_the_end(self) -> None:
        """Of one: all that is left of it."""
        opening = self._any()
        if opening.held:
            held = opening.held.pop(self._random.randrange(len(opening.held)))
            self._try(opening, held.read_all)

    def drop(self) -> None:
        """Let one go in the middle."""
        opening = self._any()
        if opening.held:
            opening.held.pop(self._random.randrange(len(opening.held)))

    def ask(self) -> None:
        """Look up names, blocks, heights, and keys where there are some."""
        opening = self._any()
        self._try(opening, partial(_check_asked, opening, [*self._coins], self._random))

    def open_reader(self) -> None:
        """Open it only for reading beside the writer, here or in another process."""
        if len(self._readers) < MOST_READERS:
            self._both.flush()
            self._open_reader()

    def _open_reader(self) -> None:
        is_remote = self._random.random() < REMOTE_SHARE
        open_here = partial(self._info.open, read_only=True)
        open_there = partial(RemoteSchema, self._spec, read_only=True)
        self.openings += 1
        schema: Any = (open_there if is_remote else open_here)(self._path)
        if is_remote:
            schema.do(use_small_pages, self._page)
        model = model_of(self._both.chain.blocks)
        chain = self._both.chain.up_to(self._both.chain.newest_index)
        self._readers.append(_Opening(schema, model, chain, self._writer.asks))

    def close_reader(self) -> None:
        """Close a read-only opening: what was held of it ends."""
        if self._readers:
            self._end(self._random.choice(self._readers))

    def reopen(self) -> None:
        """Between two writers a reader may come."""
        with self._between_writers():
            if len(self._readers) < MOST_READERS and takes(self._info.spec.factory, "read_only"):
                self._open_reader()

    def move(self) -> None:
        """Between two writers the directory goes elsewhere."""
        with self._between_writers():
            self._path = self._path.parent.rename(self._new_place()) / DATABASE

    def remove(self) -> None:
        """Between two writers it is replaced by a copy elsewhere."""
        with self._between_writers():
            before, self._path = self._path, self._new_place() / DATABASE
            shutil.copytree(before.parent, self._path.parent)
            shutil.rmtree(before.parent)

    @contextmanager
    def _between_writers(self) -> Iterator[None]:
        self._both.schema.close()
        _check_ended(self._writer)
        yield
        self._both.reopen()
        self._writer = self._as_writer()

    def agree(self) -> None:
        """The writer shows what the model does."""
        self._both.agree()

    def flush(self) -> None:
        """Flush."""
        self._both.flush()

    def settle(self) -> None:
        """Compact."""
        self._both.settle()

    def _open(self) -> Schema:
        self.openings += 1
        return self._info.open(self._path)

    def _as_writer(self) -> _Opening:
        schema, model = self._both.schema, self._both.model
        return _Opening(schema, model, self._both.chain, asks_of(schema), is_writer=True)

    def _as_writer_now(self) -> _Opening:
        self._writer.chain = self._both.chain
        return self._writer

    def _new_place(self) -> Path:
        return self._directory / str(self.openings)

    def _any(self) -> _Opening:
        """The writer's own, or, as often, one of the others."""
        if not self._readers or self._random.random() < 0.5:
            return self._as_writer_now()
        return self._random.choice(self._readers)

    def _try(self, opening: _Opening, read: Callable[[], object]) -> None:
        """Read; a read-only opening may be told that others have changed what it shows."""
        try:
            read()
        except TAKEN_AWAY as error:
            if opening.is_writer or not TOLD.search(error.problem):
                raise
            self.told += 1
            self._end(opening)

    def _end(self, opening: _Opening) -> None:
        self._readers.remove(opening)
        opening.schema.close()
        if not isinstance(opening.schema, RemoteSchema):
            _check_ended(opening)

    def _blocks(self, n: int) -> list[BlockSpendInfo]:
        chain = self._both.chain
        blocks = chain.grown(n, self._block).above(chain.newest_index)
        self._coins.update({coin.name(): coin for block in blocks for coin in block.confirms})
        return blocks

    def _block(self, chain: Chain) -> BlockSpendInfo:
        """One that can follow: without coins, or with some that other branches had."""
        block = random_block(chain, self._random)
        if self._random.random() < EMPTY_SHARE:
            return replace(block, spends=[], confirms=[])
        there = {*chain.names}
        new = {coin.name(): coin for coin in block.confirms if coin.name() not in there}
        gone = [name for name in self._coins if name not in there and name not in new][-MOST_GONE:]
        again = self._random.sample(gone, min(len(gone), self._random.randint(0, AGAIN)))
        new.update((name, self._coins[name]) for name in again)
        # A child that came again before its parent is spent is no ephemeral coin any more.
        possible = dict.fromkeys(block.spends)  # one that came again may be of both kinds
        spends = [name for name in possible if name in new or name in chain.unspent]
        if block.index:
            young = [*chain.unspent][-YOUNG:] + again[: self._random.randint(0, 1)]
            spends += [name for name in young if name not in spends]
        return replace(block, spends=spends, confirms=[*new.values()])


def _read_all(opening: _Opening) -> None:
    while opening.held:
        opening.held.pop().read_all()


def _check_ended(opening: _Opening) -> None:
    """After the end of a schema its iterators give what is right, or an error."""
    for held in opening.held:
        with suppress(DatabaseClosedError):
            held.read_all()
    opening.held.clear()


def _check_asked(opening: _Opening, coins: list[bytes32], random: Random) -> None:
    """Ask for what there is, and for what there is no more."""
    model, newest = opening.model, opening.chain.newest_index
    known = [*coins, hash_of("nobody")]
    names, height = random.choices(known, k=30), random.randint(-1, newest + 1)
    calls = [
        methodcaller("coin_infos_for_coin_names", names),
        methodcaller("block_info_for_block_index", height),
    ]
    if "versions" in opening.asks:
        calls.append(methodcaller("coin_infos_as_of", names, height))
    for call in calls:
        assert opening.do(call) == call(model), f"{call} gives another moment's answer"
    if opening.do(_has_queries):
        for query in random_queries(opening.chain, random, 2):
            found = bytes(opening.do(methodcaller("coins_packed", query)))
            assert found == model.coins_packed(query), f"{query} finds another moment's coins"


def _has_queries(schema: Schema) -> bool:
    return offer_of(schema).queries_packed is not None


_Step = Callable[[_Walk], None]
_ALONE: dict[str, tuple[int, _Step]] = {
    "accepted": (16, _Walk.accept),
    "refused": (3, _Walk.refuse),
    "flushed": (5, _Walk.flush),
    "settled": (4, _Walk.settle),
    "rewound": (5, _Walk.rewind),
    "branched": (8, _Walk.branch),
    "held": (14, _Walk.hold),
    "held on little": (6, _Walk.hold_on_little),
    "read on": (12, _Walk.read_on),
    "read to the end": (10, _Walk.read_to_the_end),
    "dropped": (3, _Walk.drop),
    "asked": (6, _Walk.ask),
    "reopened": (2, _Walk.reopen),
    "moved": (1, _Walk.move),
    "removed": (1, _Walk.remove),
    "compared": (2, _Walk.agree),
}
"""What is done, and how often in about a hundred times."""
_STEPS = _ALONE | {
    "opened for reading": (6, _Walk.open_reader),
    "closed": (2, _Walk.close_reader),
}
