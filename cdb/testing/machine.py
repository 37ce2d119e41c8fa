"""A Hypothesis state machine that drives a schema and the reference model side by side."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from cdb.contract.schema import Schema
from cdb.errors import InvalidBlockError, UnknownCoinError
from cdb.testing.chains import hash_of
from cdb.testing.crafts import near
from cdb.testing.side_by_side import CALLS, SideBySide
from cdb.testing.strategies import invalid_blocks, next_blocks


def run_machine(
    machine: type["ContractMachine"],
    open_schema: Callable[[Path], Schema],
    directory: Path,
    *,
    examples: int,
    steps: int,
) -> None:
    """Run a kind of ContractMachine; each example has a database of its own in the directory."""
    paths = count()

    class Machine(machine):  # type: ignore[valid-type, misc]
        def __init__(self) -> None:
            super().__init__(open_schema, lambda: directory / f"database-{next(paths)}")

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


class ContractMachine(RuleBasedStateMachine):
    """Accepts, refuses, flushes, settles, reopens, rewinds, looks up; after it both must agree."""

    beside: type[SideBySide] = SideBySide

    def __init__(self, open_schema: Callable[[Path], Schema], new_path: Callable[[], Path]) -> None:
        super().__init__()
        self._open = open_schema
        self._new_path = new_path

    @initialize()
    def create(self) -> None:
        """Begin with an empty database."""
        path = self._new_path()
        self.both = self.beside(lambda: self._open(path))

    @rule(data=st.data(), packed=st.booleans())
    def accept(self, data: st.DataObject, packed: bool) -> None:
        """A valid block is accepted, in either form."""
        assert self.both.offer([data.draw(next_blocks(self.both.chain))], packed=packed) is None

    @rule(data=st.data())
    def refuse(self, data: st.DataObject) -> None:
        """An invalid block is refused by both, with the same error."""
        block, error = data.draw(invalid_blocks(self.both.chain))
        assert self.both.offer([block], packed=False) is error

    @precondition(lambda self: self.both.abandoned)
    @rule(data=st.data(), packed=st.booleans(), then=st.sampled_from([*CALLS]))
    def refuse_the_abandoned(self, data: st.DataObject, packed: bool, then: str) -> None:
        """Coins that a rewind took back are unknown."""
        self.refuse_one_of_the_abandoned(data, packed=packed, then=then)

    def refuse_one_of_the_abandoned(self, data: st.DataObject, *, packed: bool, then: str) -> None:
        """Spend one, and have the refusal at once or by one of the calls."""
        block = data.draw(next_blocks(self.both.chain))
        name = data.draw(st.sampled_from(self.both.abandoned))
        if block.index and name not in {coin.name() for coin in block.confirms}:
            bad = replace(block, spends=[*block.spends, name])
            assert self.both.offer([bad], packed=packed, then=then) is UnknownCoinError

    @precondition(lambda self: self.both.chain.names)
    @rule(data=st.data())
    def look_up_near_names(self, data: st.DataObject) -> None:
        """Names that differ from a coin's in one bit are unknown."""
        name = data.draw(st.sampled_from(self.both.chain.names))
        self.both.look_up([name, *near(name)])

    @rule(data=st.data(), n_blocks=st.integers(0, 3), then=st.sampled_from([*CALLS]))
    def refuse_in_a_pack(self, data: st.DataObject, n_blocks: int, then: str) -> None:
        """Of a pack the blocks before an invalid one are accepted; the rest of it is refused."""
        chain = self.both.chain.grown(n_blocks, lambda grown: data.draw(next_blocks(grown)))
        blocks = chain.above(self.both.chain.newest_index)
        bad, error = data.draw(invalid_blocks(chain))
        # A field that is out of its range can't be packed.
        packed = error is not InvalidBlockError
        assert self.both.offer([*blocks, bad], packed=packed, then=then) is error

    @rule()
    def flush(self) -> None:
        """A flush changes nothing that can be read."""
        self.both.flush()

    @rule()
    def settle(self) -> None:
        """Nor does the compaction that is owed."""
        self.both.settle()

    @rule()
    def reopen(self) -> None:
        """Closing and opening changes nothing that can be read."""
        self.both.reopen()

    @precondition(lambda self: self.both.chain.blocks)
    @rule(data=st.data())
    def rewind(self, data: st.DataObject) -> None:
        """A rewind to anywhere, from below the first block to above the newest."""
        self.both.rewind(data.draw(st.integers(-2, self.both.chain.newest_index + 2)))

    @rule(data=st.data())
    def look_up(self, data: st.DataObject) -> None:
        """Any names, known or not, in any order, asked for twice or not at all."""
        names = [*self.both.chain.names, hash_of("nobody")]
        self.both.look_up(data.draw(st.lists(st.sampled_from(names), max_size=20)))

    @invariant()
    def agree(self) -> None:
        """Both hold the same blocks and the same coins."""
        self.both.agree()

    def teardown(self) -> None:
        """Release the database."""
        if hasattr(self, "both"):
            self.both.schema.close()
