"""What a trial does: steps drawn from a seed, and the state that each of them must leave."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from random import Random

from cdb.blocks import BlockSpendInfo
from cdb.errors import CdbError
from cdb.loader import accept
from cdb.packed import PackedBlocks
from cdb.schemas.memory import MemorySchema
from cdb.schemas.protocol import Schema
from cdb.state import summarize
from cdb.testing.chains import Chain, random_block
from cdb.testing.side_by_side import settle

BLOCKS = 12
FLUSHES = (12, 3)
"""Of even and odd seeds: those that flush often have files to merge."""
REWINDS = 1
SETTLES = 1
CLOSES = 1


@dataclass(frozen=True)
class Accept:
    """Accept a block: nothing is promised yet. packed: as loads do."""

    block: BlockSpendInfo
    packed: bool


@dataclass(frozen=True)
class Flush:
    """Flush."""


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


@dataclass(frozen=True)
class Script:
    """Steps, the last of them a Close. states[n] is the digest after the first n of them."""

    seed: int
    steps: tuple[Step, ...]
    states: tuple[str, ...]


@cache
def script_of(seed: int, length: int = 1) -> Script:
    """12 blocks, flushes, a settling, a rewind to another branch and two closes, in any order.

    length: so many times all of that.
    """
    random = Random(seed)  # noqa: S311 - reproducible, not secret
    kinds: list[type[Step]] = [Accept] * (BLOCKS * length - 1)
    kinds += [Flush] * (FLUSHES[seed % 2] * length) + [Settle] * (SETTLES * length)
    kinds += [Rewind] * (REWINDS * length) + [Close] * (CLOSES * length)
    random.shuffle(kinds)
    chain, model = Chain(), MemorySchema()
    steps: list[Step] = []
    states = [summarize(model).digest]
    for kind in [Accept, *kinds, Close]:
        step: Step
        if kind is Accept:
            step = Accept(random_block(chain, random), packed=random.random() < 0.5)
            chain.append(step.block)
            model.accept_block(step.block)
        elif kind is Rewind:
            step = Rewind(random.choice([-1, *(block.index for block in chain.blocks)]))
            chain = chain.up_to(step.index)
            model.rewind_to_block_index(step.index)
        elif kind is Settle:
            step = Settle()
        else:
            step = Flush() if kind is Flush else Close()
        steps.append(step)
        states.append(summarize(model).digest)
    return Script(seed, tuple(steps), tuple(states))


def run(
    script: Script,
    first: int,
    open_schema: Callable[[], Schema],
    tell: Callable[[str, int], None] = lambda word, step: None,
) -> None:
    """Do the steps behind the first ones, which are done already.

    tell: is told ("begun", n) before step n, and ("kept", n) when all up to it must survive.
    """
    schema: Schema | None = None
    try:
        for n, step in enumerate(script.steps[first:], first + 1):
            tell("begun", n)
            schema = schema or open_schema()
            match step:
                case Accept(block, packed=True):
                    accept(schema, PackedBlocks.of([block]))
                case Accept(block):
                    schema.accept_block(block)
                case Flush():
                    schema.flush()
                case Settle():
                    settle(schema)
                case Rewind(index):
                    schema.rewind_to_block_index(index)
                case Close():
                    schema.close()
                    schema = None
            if not isinstance(step, Accept):
                tell("kept", n)
    except BaseException:
        # The first error counts, whatever closing makes of it.
        if schema is not None:
            with suppress(CdbError):
                schema.close()
        raise
