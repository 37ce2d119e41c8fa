"""A long walk of a schema beside the reference model: what comes next is the seed's choice.

It accepts, refuses, flushes, settles, rewinds, reopens, looks up, and is killed (SIGKILL) between
two calls. Every answer and every error must be the model's.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

from cdb.contract.blocks import BlockSpendInfo
from cdb.errors import InvalidBlockError, UnknownCoinError
from cdb.testing.chains import Chain, breaches, hash_of, random_block
from cdb.testing.crafts import crafted_block, near
from cdb.testing.faults.coverage import Coverage
from cdb.testing.faults.oracle import BrokenPromiseError, Case, error_text
from cdb.testing.faults.remote import remotely
from cdb.testing.faults.trial import DATABASE, length, usable
from cdb.testing.side_by_side import CALLS, SideBySide

TRIAL = "walk"
STEPS = 1000
MAX_BLOCKS = 8
MAX_NAMES = 30
SHALLOW = 10
DEEP_SHARE = 0.1  # of the rewinds
ABANDONED_SHARE = 0.5  # of the refusals: they spend what a rewind took back


def walk(
    spec: str, seed: int, directory: Path, *, most: int | None = None, only: str | None = None
) -> Coverage:
    """Walk. See Trial; its points are the steps, and only is the last one of a shorter walk."""
    usable(spec)
    last = length(most, only, STEPS)
    random = Random(seed)  # noqa: S311 - reproducible, not secret
    done: Counter[str] = Counter()
    try:
        with remotely(spec, directory / DATABASE) as (both, opened):
            while done.total() < last:
                (name,) = random.choices(tuple(_STEPS), [weight for weight, _ in _STEPS.values()])
                if name == "killed":
                    opened[-1].kill()
                _STEPS[name][1](both, random)
                done[name] += 1
            both.agree()
    except Exception as error:
        case = Case(TRIAL, spec, seed, str(done.total() + 1))
        problem = f"after {dict(done)}: {error_text(error)}"
        raise BrokenPromiseError(case, problem) from error
    return Coverage(TRIAL, spec, seed, last, max(last, STEPS), len(opened), dict(done))


def _accept(both: SideBySide, random: Random) -> None:
    next_block = random.choice([random_block, crafted_block])
    assert both.offer([next_block(both.chain, random)], packed=False) is None


def _accept_packed(both: SideBySide, random: Random) -> None:
    blocks, _ = _next_blocks(both, random)
    assert both.offer(blocks, packed=True) is None


def _refuse(both: SideBySide, random: Random) -> None:
    good, chain = _next_blocks(both, random)
    block = random_block(chain, random)
    bad, error = random.choice(breaches(chain, block))
    there = {*chain.unspent, *chain.spent, *(coin.name() for coin in block.confirms)}
    abandoned = [name for name in both.abandoned if name not in there]
    if abandoned and block.index and random.random() < ABANDONED_SHARE:
        spends = [*block.spends, random.choice(abandoned)]
        bad, error = replace(block, spends=spends), UnknownCoinError
    # A field that is out of its range can't be packed.
    packed = error is not InvalidBlockError and random.random() < 0.5
    then = random.choice([*CALLS])
    assert both.offer([*good, bad], packed=packed, then=then) is error


def _rewind(both: SideBySide, random: Random) -> None:
    newest = both.chain.newest_index
    lowest = -2 if random.random() < DEEP_SHARE else newest - SHALLOW
    both.rewind(random.randint(lowest, newest + 2))


def _look_up(both: SideBySide, random: Random) -> None:
    names = [*both.chain.names, hash_of("nobody", random.random())]
    names = random.choices(names, k=random.randint(0, MAX_NAMES))
    both.look_up([*names, *(each for name in names[:1] for each in near(name))])


def _next_blocks(both: SideBySide, random: Random) -> tuple[list[BlockSpendInfo], Chain]:
    """Some blocks that can follow, and the chain that they would make."""
    makers = [random_block, crafted_block]
    grown = both.chain.grown(
        random.randint(0, MAX_BLOCKS), lambda chain: random.choice(makers)(chain, random)
    )
    return grown.above(both.chain.newest_index), grown


_STEPS: dict[str, tuple[int, Callable[[SideBySide, Random], None]]] = {
    "accepted": (25, _accept),
    "accepted in packs": (10, _accept_packed),
    "refused": (10, _refuse),
    "flushed": (10, lambda both, random: both.flush()),
    "settled": (1, lambda both, random: both.settle()),
    "rewound": (5, _rewind),
    "reopened": (2, lambda both, random: both.reopen()),
    "killed": (4, lambda both, random: both.open_after_kill()),
    "looked up": (25, _look_up),
    "compared": (8, lambda both, random: both.agree()),
}
"""What is done, and how often in a hundred times."""
