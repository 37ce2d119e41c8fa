"""What a writer does, from a seed: packs of blocks, and rewinds."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random

from cdb.contents.state import StateSummary, summarize
from cdb.contract.blocks import BlockSpendInfo
from cdb.stores.memory import MemorySchema
from cdb.testing.chains import random_chain

REWINDS = 0.08
"""The share of steps that are rewinds."""
LONGEST_REWIND = 15
PACKS = (1, 1, 1, 2, 10)
"""How many blocks a step may accept."""


@dataclass(frozen=True, slots=True)
class Step:
    """blocks: to accept; or none: then to rewind to an index."""

    blocks: tuple[BlockSpendInfo, ...]
    to_index: int = 0


@dataclass(frozen=True)
class Script:
    """Steps of a chain of so many blocks. After each rewind indices are higher by one than before:
    so what an earlier block did can't be taken for what the one in its place did."""

    seed: int
    n_blocks: int

    @cached_property
    def steps(self) -> list[Step]:
        """All of them."""
        return [*self._steps()]

    @cached_property
    def states(self) -> list[StateSummary]:
        """What a database holds after 0, 1, … steps, by the reference model."""
        model = MemorySchema()
        states = [summarize(model)]
        for step in self.steps:
            if not step.blocks:
                model.rewind_to_block_index(step.to_index)
            for block in step.blocks:
                model.accept_block(block)
            states.append(summarize(model))
        return states

    def _steps(self) -> Iterator[Step]:
        random = Random(self.seed)  # noqa: S311 - reproducible, not secret
        source = random_chain(random, self.n_blocks).blocks
        place = shift = 0
        indices: list[int] = []
        while place < len(source):
            if place > LONGEST_REWIND and random.random() < REWINDS:
                place -= random.randint(1, LONGEST_REWIND)
                shift += 1
                del indices[place:]
                yield Step((), indices[-1])
            pack = source[place : place + random.choice(PACKS)]
            moved = [replace(block, index=block.index + shift) for block in pack]
            indices += [block.index for block in moved]
            yield Step(tuple(moved))
            place += len(pack)
