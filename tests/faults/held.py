"""Races that have one place, made certain: a call is held there, and others go on meanwhile.

    python -m tests.faults.held rewind SPEC DIRECTORY
    python -m tests.faults.held opening SPEC DIRECTORY

rewind: a rewind is held at each of its calls, and another thread begins to read all that gives
iterators. opening: a reader that opens is held at each of its calls, and a writer makes up to three
commits, a rewind among them. Either way each reader shows one moment, or says that it is gone.

It runs with the library preloaded that makes faults. It says how often a call was held.
"""

import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from cdb.contents.state import StateSummary, verify
from cdb.contract.coins import MAX_U32
from cdb.schemas import Schema, SchemaInfo, find_schema
from cdb.testing.base import accept_all, expected_state
from cdb.testing.chains import block_at, sample_chain
from cdb.testing.faults.shim import HOLD, Calls, Shim
from cdb.testing.held import TAKEN_AWAY, Ask, asks_of
from tests.preloaded import start_preloaded

BLOCKS = sample_chain(30).blocks
KEPT = 20
"""So many blocks a rewind leaves."""
OTHERS = [block_at(BLOCKS[KEPT - 1].index + 1 + n) for n in range(3)]
SYSTEM_CALLS = Calls.CHANGE | Calls.OPEN | Calls.READ
MOST = 12
"""About so many calls of a kind are held, at even distances."""
HEIGHTS = {"blocks": (), "unspent": (), "state_at": (MAX_U32,), "versions": (-1, MAX_U32)}
DEADLINE = 60.0
PATIENCE = 0.1
"""Seconds that a thread has to begin: it may wait for the one that is held."""


class Held:
    """Runs something in a thread, and holds its call number n of some classes; 0: none."""

    def __init__(self, shim: Shim, calls: Calls, n: int, body: Callable[[], None]) -> None:
        self._shim = shim
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(body,))
        shim.arm(calls, n, n, HOLD)
        self._thread.start()
        while self._thread.is_alive() and not shim.is_held():
            self._thread.join(0.0002)
        self.n_calls = shim.calls()
        if not shim.is_held():  # nor is anybody else's call, which counts, too
            shim.arm(Calls(0), 0, 0, 0)

    def end(self) -> None:
        """Let it go, and wait for its end. Raises what it raised."""
        self._shim.let_go()
        self._thread.join(DEADLINE)
        assert not self._thread.is_alive(), "it never ends"
        self._shim.arm(Calls(0), 0, 0, 0)
        if self._error is not None:
            raise self._error

    def _run(self, body: Callable[[], None]) -> None:
        try:
            body()
        except BaseException as error:  # another thread raises it
            self._error = error


@contextmanager
def written(store: SchemaInfo, path: Path) -> Iterator[Schema]:
    """A database with all blocks, half of them flushed, in the place of what is there."""
    shutil.rmtree(path.parent, ignore_errors=True)
    path.parent.mkdir()
    with store.open(path) as schema:
        accept_all(schema, BLOCKS[: len(BLOCKS) // 2])
        schema.flush()
        accept_all(schema, BLOCKS[len(BLOCKS) // 2 :])
        yield schema


def of_any_order(ask: Ask, rows: list[Any]) -> list[Any]:
    return rows if ask.is_ordered else sorted(rows, key=repr)


def rewind_held(shim: Shim, store: SchemaInfo, path: Path, calls: Calls, n: int) -> int:
    """How many calls a rewind makes; iterators begin while its call number n is held."""
    with written(store, path) as schema:
        asks = [Ask(name, HEIGHTS[name]) for name in asks_of(schema) if name in HEIGHTS]
        before = [of_any_order(ask, list(ask.of(schema))) for ask in asks]
        held = Held(shim, calls, n, lambda: schema.rewind_to_block_index(BLOCKS[KEPT - 1].index))
        begun: list[Iterator[Any]] = []
        reader = threading.Thread(target=lambda: begun.extend(ask.of(schema) for ask in asks))
        reader.start()
        reader.join(PATIENCE)
        held.end()
        reader.join(DEADLINE)
        after = [of_any_order(ask, list(ask.of(schema))) for ask in asks]
        for ask, rows, *states in zip(asks, begun, before, after, strict=True):
            found = of_any_order(ask, list(rows))
            assert found in states, f"call {n}: {ask} is of no moment"
        return held.n_calls


def opening_held(
    shim: Shim, store: SchemaInfo, path: Path, calls: Calls, n: int, n_commits: int
) -> int:
    """How many calls an opening makes; a writer commits while its call number n is held."""
    steps: list[tuple[Callable[[Schema], None], StateSummary]] = [
        (lambda schema: schema.rewind_to_block_index(BLOCKS[KEPT - 1].index), kept_state(0)),
        (lambda schema: schema.accept_block(OTHERS[0]), kept_state(1)),
        (lambda schema: accept_all(schema, OTHERS[1:]), kept_state(3)),
    ]
    readers: list[Schema] = []
    with written(store, path) as schema:
        schema.flush()

        def open_it() -> None:
            with suppress(*TAKEN_AWAY):
                readers.append(store.open(path, read_only=True))

        states = [expected_state(BLOCKS)]
        held = Held(shim, calls, n, open_it)
        states += [state for _, state in steps[:n_commits]]

        def commit() -> None:
            for change, _ in steps[:n_commits]:
                change(schema)
                schema.flush()

        writer = threading.Thread(target=commit)
        writer.start()
        writer.join(3 * PATIENCE)  # a rewind of coin_log waits for who opens it
        held.end()
        writer.join(DEADLINE)
        assert not writer.is_alive(), "the writer never ends"
        assert verify(schema) == states[-1], f"call {n}: the writer did not do it all"
        for reader in readers:
            with reader, suppress(*TAKEN_AWAY):
                assert verify(reader) in states, f"call {n}: the reader shows no moment"
        return held.n_calls


def kept_state(n_others: int) -> StateSummary:
    """What a rewind leaves, and so many other blocks on it."""
    return expected_state([*BLOCKS[:KEPT], *OTHERS[:n_others]])


def main(what: str, spec: str, directory: str) -> None:
    """Hold each call once."""
    start_preloaded("tests.faults.held")
    shim, store = Shim(), find_schema(spec)
    root = Path(directory).resolve()
    shim.watch(root)
    path = root / "held" / "db"
    n_held = 0
    for calls in (SYSTEM_CALLS, Calls.BEGIN):
        for n_commits in (1, 2, 3) if what == "opening" else (0,):

            def held(n: int, calls: Calls = calls, n_commits: int = n_commits) -> int:
                if n_commits:
                    return opening_held(shim, store, path, calls, n, n_commits)
                return rewind_held(shim, store, path, calls, n)

            n_calls = held(0)
            step = max(1, n_calls // MOST)
            for n in range(1, n_calls + 1, step):
                held(n)
                n_held += 1
    sys.stdout.write(f"{n_held} calls were held\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
