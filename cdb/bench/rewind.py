"""Rewind: go back some heights, durably."""

import time
from dataclasses import dataclass

from cdb.bench.answers import check_gone, check_newest, check_there
from cdb.bench.truth import packs_above, tail_packs
from cdb.durability import Durability
from cdb.loader import Loader
from cdb.schemas import find_schema


@dataclass(frozen=True, slots=True)
class RewindFigures:
    """The time that one rewind took."""

    milliseconds: float


def rewind(
    schema: str, path: str, durability: str, truth: str, rewind_index: int, newest_index: int
) -> RewindFigures:
    """Go back to a block, and accept what came after it again, out of the measurement."""
    packs = tail_packs(truth)
    gone = packs_above(rewind_index, packs)
    with find_schema(schema).open(path, durability=Durability(durability)) as database:
        start = time.perf_counter()
        database.rewind_to_block_index(rewind_index)
        seconds = time.perf_counter() - start
        check_newest(database, rewind_index)
        check_gone(database, gone)
        for _ in Loader(database).load(packs):
            pass
        check_newest(database, newest_index)
        check_there(database, gone)
    return RewindFigures(1_000 * seconds)
