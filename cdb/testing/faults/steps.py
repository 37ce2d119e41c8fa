"""What a trial does, step by step, and the state that each step must leave."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from cdb.contents.state import summarize
from cdb.contract.blocks import BlockSpendInfo
from cdb.schemas.memory import MemorySchema
from cdb.testing.side_by_side import Refusal


@dataclass(frozen=True)
class Accept:
    """Accept a block: nothing is promised yet.

    pack: the blocks of one number, which follow on each other, come in one call, packed as loads
    do; None: it comes alone. refusal: what the call must be refused with, at this block or at one
    of the pack before it: then it changes nothing.
    """

    block: BlockSpendInfo
    pack: int | None
    refusal: Refusal | None = None


@dataclass(frozen=True)
class Flush:
    """Flush. in_steps: begin it and end it, where a schema does so."""

    in_steps: bool = False


@dataclass(frozen=True)
class Settle:
    """Flush, and do the compaction that is owed."""


@dataclass(frozen=True)
class Rewind:
    """Rewind to an index."""

    index: int


@dataclass(frozen=True)
class Close:
    """Close; the next step opens the database again."""


Step = Accept | Flush | Settle | Rewind | Close


def apply(model: MemorySchema, step: Step) -> None:
    """Do to the reference model what a step must do to a schema."""
    match step:
        case Accept(block, refusal=None):
            model.accept_block(block)
        case Rewind(index):
            model.rewind_to_block_index(index)


@dataclass(frozen=True)
class Script:
    """Steps, the last of them a Close."""

    seed: int
    steps: tuple[Step, ...]

    @cached_property
    def states(self) -> Sequence[str]:
        """states[n] is the digest after the first n steps, by the reference model."""
        model = MemorySchema()
        states = [summarize(model).digest]
        for step in self.steps:
            apply(model, step)
            changes = isinstance(step, Rewind) or (
                isinstance(step, Accept) and step.refusal is None
            )
            states.append(summarize(model).digest if changes else states[-1])
        return states

    def call_behind(self, done: int) -> Sequence[Step]:
        """The steps behind the first ones that are one call: one step, or the rest of a pack."""
        first = self.steps[done]
        if not isinstance(first, Accept) or first.pack is None:
            return [first]
        end = done
        while (
            end < len(self.steps)
            and isinstance(step := self.steps[end], Accept)
            and step.pack == first.pack
        ):
            end += 1
        return self.steps[done:end]
