"""What a trial does: steps drawn from a seed, and the state that each of them must leave."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from random import Random

from cdb.blocks import BlockSpendInfo
from cdb.errors import CdbError
from cdb.schemas.memory import MemorySchema
from cdb.schemas.protocol import Schema
from cdb.state import summarize
from cdb.testing.chains import EDGE_AMOUNTS, Chain, child, reward

BLOCKS = 12
FLUSHES = (12, 3)
"""Of even and odd seeds: those that flush often have files to merge."""
REWINDS = 1
CLOSES = 1
MOST_SPENDS = 4
MOST_REWARDS = 5


@dataclass(frozen=True)
class Accept:
    """Accept a block: nothing is promised yet."""

    block: BlockSpendInfo


@dataclass(frozen=True)
class Flush:
    """Flush."""


@dataclass(frozen=True)
class Rewind:
    """Rewind to an index."""

    index: int


@dataclass(frozen=True)
class Close:
    """Close; the next step opens the database again."""


Step = Accept | Flush | Rewind | Close


@dataclass(frozen=True)
class Script:
    """Steps, the last of them a Close. states[n] is the digest after the first n of them."""

    seed: int
    steps: tuple[Step, ...]
    states: tuple[str, ...]


@cache
def script_of(seed: int) -> Script:
    """12 blocks, flushes, a rewind to another branch and two closes, in an order of the seed's."""
    random = Random(seed)  # noqa: S311 - reproducible, not secret
    kinds: list[type[Step]] = [Accept] * (BLOCKS - 1)
    kinds += [Flush] * FLUSHES[seed % 2] + [Rewind] * REWINDS + [Close] * CLOSES
    random.shuffle(kinds)
    chain, model = Chain(), MemorySchema()
    steps: list[Step] = []
    states = [summarize(model).digest]
    for kind in [Accept, *kinds, Close]:
        step: Step
        if kind is Accept:
            step = Accept(_block(chain, random))
            chain.append(step.block)
            model.accept_block(step.block)
        elif kind is Rewind:
            step = Rewind(random.choice([-1, *(block.index for block in chain.blocks)]))
            chain = chain.up_to(step.index)
            model.rewind_to_block_index(step.index)
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
                case Accept(block):
                    schema.accept_block(block)
                case Flush():
                    schema.flush()
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


def _block(chain: Chain, random: Random) -> BlockSpendInfo:
    index = chain.newest_index + random.randint(1, 3)
    unspent = list(chain.unspent) if index else []
    spends = random.sample(unspent, min(len(unspent), random.randint(0, MOST_SPENDS)))
    amounts = iter(lambda: random.choice(EDGE_AMOUNTS), None)
    # Of so many rewards at an index, another branch takes others.
    rewards = random.sample(range(1000), random.randint(0, MOST_REWARDS))
    confirms = [reward(index, n, next(amounts)) for n in rewards]
    confirms += [child(name, n, next(amounts)) for name in spends for n in range(2)]
    if confirms and index:
        ephemeral = random.choice(confirms).name()
        spends.append(ephemeral)
        confirms.append(child(ephemeral, 0, next(amounts)))
    return BlockSpendInfo(index, random.getrandbits(64), spends, confirms)
