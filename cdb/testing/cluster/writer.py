"""A writer in a process of its own, which acknowledges each step, and may die between any two
statements."""

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from cdb.contract.packed import PackedBlocks
from cdb.errors import CdbError
from cdb.process.children import Child, DiedError, Pipe, SilentError, Spawn
from cdb.stores.cassandra.cql import CqlTables
from cdb.stores.cassandra.schema import CassandraSchema, cassandra
from cdb.testing.cluster.script import Script, Step


@dataclass
class Load:
    """A writer at work. begun, done: how many steps of the script the database had at first, and
    has for sure. error: what it was told, or None. slowest_seconds: of an acknowledged step."""

    child: Child
    script: Script
    done: int = 0
    begun: int = 0
    error: str | None = None
    is_over: bool = False
    is_open: bool = False
    slowest_seconds: float = 0.0

    def follow(self, seconds: float, *, until: int | None = None) -> None:
        """Take in what it says, for so long at most, or until so many steps are done."""
        deadline = time.monotonic() + seconds
        while not self.is_over and (until is None or self.done < until):
            try:
                left = max(0.0, deadline - time.monotonic())
                told, value, took = self.child.receive(left)
            except SilentError:
                return
            except DiedError:
                self.is_over = True
                return
            if told == "open":
                self.is_open = True
                self.begun = self.done = value
            elif told == "done":
                self.done = value
                self.slowest_seconds = max(self.slowest_seconds, took)
            else:
                self.error = value  # None where it is through
                self.is_over = True

    def end(self) -> None:
        """Kill it; what it has acknowledged until then is taken in."""
        self.child.send_signal(signal.SIGKILL)
        self.follow(10)
        self.child.kill()


def start_load(
    url: str, script: Script, *, begin: int = 0, dies_before: int = 0, pace_seconds: float = 0.0
) -> Load:
    """Start a writer that goes on with the script from its step `begin` on, or where the database
    tells. dies_before: it kills itself before its so manyth statement; 0: never. pace_seconds: it
    rests between steps, so that it is at work for longer."""
    child = Spawn().start(_write, url, script, begin, dies_before, pace_seconds)
    return Load(child, script, done=begin)


def _write(
    pipe: "Pipe[Any, Any]",
    url: str,
    script: Script,
    begin: int,
    dies_before: int,
    pace_seconds: float,
) -> None:
    if dies_before:
        _die_before(dies_before)
    try:
        with cassandra(url) as schema:
            done = step_of(schema, script, begin)
            pipe.send(("open", done, 0.0))
            for place, step in enumerate(script.steps[done:], done + 1):
                begun = time.monotonic()
                do(schema, step)
                pipe.send(("done", place, time.monotonic() - begun))
                time.sleep(pace_seconds)
        pipe.send(("over", None, 0.0))
    except CdbError as error:
        with suppress(OSError):
            pipe.send(("error", str(error), 0.0))


def step_of(schema: CassandraSchema, script: Script, begin: int) -> int:
    """Behind which step the database is, from `begin` on. Raises CdbError where it is behind none.

    After a rewind it may be behind an earlier one, too; either can be gone on from.
    """
    there = schema.last_block_index, schema.facts().coins
    for n_steps, state in enumerate(script.states[begin:], begin):
        if (state.newest_index, state.coins) == there:
            return n_steps
    raise CdbError(f"{there} is behind no step from {begin} on, which is acknowledged")


def do(schema: CassandraSchema, step: Step) -> None:
    """Do a step."""
    if step.blocks:
        schema.accept_packed(PackedBlocks.of(step.blocks))
    else:
        schema.rewind_to_block_index(step.to_index)
    schema.flush()


def _die_before(nth: int) -> None:
    sent, left = CqlTables._sent, nth

    def send(self: CqlTables, statement: Any) -> Any:
        nonlocal left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return sent(self, statement)

    CqlTables._sent = send  # type: ignore[method-assign]
