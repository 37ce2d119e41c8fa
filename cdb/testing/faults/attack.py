"""All that an adversary can do, beside the reference model; and what its coins cost.

Answers must be the model's. Coins that are crafted may cost no more than as many ordinary ones, but
for some: what a peer chooses never decides what a block costs. It is measured by the processor time
of the process that stores them, and only of masses. One attack of a load's seed has those, in
turns; all others have a few coins, because the model takes half a minute for masses.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from time import process_time

from cdb.contents.loader import accept
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import Coin, bytes32
from cdb.contract.packed import PackedBlocks
from cdb.contract.schema import Schema
from cdb.testing.adversary import ATTACKS, FEW, MASSES
from cdb.testing.chains import child
from cdb.testing.crafts import CRAFTS, MANY, ordinary_coins
from cdb.testing.faults.coverage import Coverage
from cdb.testing.faults.oracle import BrokenPromiseError, Case, error_text
from cdb.testing.faults.remote import RemoteSchema, remotely
from cdb.testing.faults.script import is_load
from cdb.testing.faults.trial import DATABASE, new_directory, usable

TRIAL = "attack"
MOST_TIMES = 4.0
"""What crafted coins may cost, of what ordinary ones do."""
GRACE_SECONDS = 1.0


def attack(
    spec: str, seed: int, directory: Path, *, most: int | None = None, only: str | None = None
) -> Coverage:
    """Make each attack on a new database. See Trial; its points are the attacks, by name."""
    usable(spec)
    chosen = [name for name in ATTACKS if only in (None, name)][:most]
    for name in chosen:
        n = MASSES if name == _in_masses(seed) and most is None else FEW * MANY
        place = new_directory(directory / name)
        try:
            _attack(spec, seed, name, place, n)
            if name in CRAFTS:
                check_cost(partial(_seconds, spec, place / "cost"), CRAFTS[name](n))
        except Exception as error:
            problem = f"{name} of {n} coins: {error_text(error)}"
            raise BrokenPromiseError(Case(TRIAL, spec, seed, name), problem) from error
    return Coverage(TRIAL, spec, seed, len(chosen), len(ATTACKS), len(chosen))


def _in_masses(seed: int) -> str | None:
    """The attack that this seed makes with masses."""
    return list(ATTACKS)[seed % len(ATTACKS)] if is_load(seed) else None


def _attack(spec: str, seed: int, name: str, place: Path, n: int) -> None:
    with remotely(spec, place / DATABASE) as (both, _):
        ATTACKS[name](both, Random(seed), n)  # noqa: S311 - reproducible


def _seconds(spec: str, place: Path, coins: Sequence[Coin]) -> float:
    with RemoteSchema(spec, new_directory(place) / DATABASE) as schema:
        return schema.do(store_seconds, coins)


def check_cost(seconds: Callable[[Sequence[Coin]], float], coins: Sequence[Coin]) -> None:
    """Whether coins cost no more than others. seconds: what it takes to store some anew."""
    ordinary, crafted = seconds(ordinary_coins(len(coins))), seconds(coins)
    assert crafted <= MOST_TIMES * ordinary + GRACE_SECONDS, (
        f"crafted, they cost {crafted:.1f} s of the processor, and ordinary ones {ordinary:.1f} s"
    )


def store_seconds(schema: Schema, coins: Sequence[Coin]) -> float:
    """The processor time that it takes to store coins, look them up, spend and rewind them."""
    confirming, spending, names = _loads(coins)
    begun = process_time()
    accept(schema, confirming)
    schema.flush()
    schema.coin_infos_for_coin_names(names)
    accept(schema, spending)
    schema.flush()
    schema.rewind_to_block_index(1)
    return process_time() - begun


def _loads(coins: Sequence[Coin]) -> tuple[PackedBlocks, PackedBlocks, list[bytes32]]:
    """The coins confirmed, and then spent for others, in a block each; and their names."""
    names = [coin.name() for coin in coins]
    spent = BlockSpendInfo(2, 0, names, [child(name, 1) for name in names])
    confirming, spending = (
        PackedBlocks.of([block]) for block in (BlockSpendInfo(1, 0, [], [*coins]), spent)
    )
    return confirming, spending, names
