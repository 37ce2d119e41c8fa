"""Draws a script from a seed: small ones, of eight seeds one crafted; from one of four a load."""

from functools import cache
from random import Random

from cdb.testing.chains import Chain, random_block
from cdb.testing.crafts import crafted_block
from cdb.testing.faults.load_script import load_steps
from cdb.testing.faults.steps import Accept, Close, Flush, Rewind, Script, Settle, Step

BLOCKS = 12
FLUSHES = (12, 3)
"""Of even and odd seeds: those that flush often have files to merge."""
REWINDS = 1
SETTLES = 1
CLOSES = 1
SEEDS_PER_LOAD = 4
FIRST_LOAD = 3
SEEDS_PER_CRAFTED = 8
FIRST_CRAFTED = 5
"""Its blocks are an adversary's."""
FAULTS_OF_A_LOAD = 100
"""Of thousands: each takes as long as a hundred of a small script."""
LOAD_SHARE = 4
"""A load is as long as several small scripts."""


def is_load(seed: int) -> bool:
    """Whether the seed's script is a load."""
    return seed % SEEDS_PER_LOAD == FIRST_LOAD


def most_of(seed: int, most: int | None) -> int | None:
    """How many faults a trial makes of the seed's script: of a load's only a choice."""
    return most or (FAULTS_OF_A_LOAD if is_load(seed) else None)


@cache
def script_of(seed: int, length: int = 1) -> Script:
    """The seed's script: of 3, 7, 11, … a load, see load_script.py, of any other seed a small one.

    length: so many times all that is in it, a load's a quarter so often.
    """
    if is_load(seed):
        random = Random(seed)  # noqa: S311 - reproducible, not secret
        return Script(seed, tuple(load_steps(random, max(1, length // LOAD_SHARE))))
    return small_script_of(seed, length)


@cache
def small_script_of(seed: int, length: int = 1) -> Script:
    """12 blocks, flushes, a settling, a rewind to another branch and two closes, in any order.

    length: so many times all of that.
    """
    random = Random(seed)  # noqa: S311 - reproducible, not secret
    kinds: list[type[Step]] = [Accept] * (BLOCKS * length - 1)
    kinds += [Flush] * (FLUSHES[seed % 2] * length) + [Settle] * (SETTLES * length)
    kinds += [Rewind] * (REWINDS * length) + [Close] * (CLOSES * length)
    random.shuffle(kinds)
    next_block = crafted_block if seed % SEEDS_PER_CRAFTED == FIRST_CRAFTED else random_block
    chain = Chain()
    steps: list[Step] = []
    for kind in [Accept, *kinds, Close]:
        step: Step
        if kind is Accept:
            block = next_block(chain, random)
            step = Accept(block, pack=len(steps) if random.random() < 0.5 else None)
            chain.append(block)
        elif kind is Rewind:
            step = Rewind(random.choice([-1, *(block.index for block in chain.blocks)]))
            chain = chain.up_to(step.index)
        elif kind is Settle:
            step = Settle()
        else:
            step = Flush(in_steps=len(steps) % 2 == 1) if kind is Flush else Close()
        steps.append(step)
    return Script(seed, tuple(steps))
