"""Objects: blocks given one by one as BlockSpendInfo, for callers who have no packed ones."""

import time
from dataclasses import dataclass

from cdb.bench.answers import check_newest, check_there
from cdb.bench.truth import packs_above, tail_packs
from cdb.durability import Durability
from cdb.schemas import find_schema


@dataclass(frozen=True, slots=True)
class ObjectFigures:
    """The rate of accept_block, with one flush at the end."""

    coins_per_second: float


def accept_objects(
    schema: str, path: str, durability: str, truth: str, tail_base_index: int, newest_index: int
) -> ObjectFigures:
    """Accept the tail's blocks, which are made as objects beforehand, after a rewind."""
    packs = packs_above(tail_base_index, tail_packs(truth))
    blocks = [packed.block(place) for packed in packs for place in range(len(packed))]
    with find_schema(schema).open(path, durability=Durability(durability)) as database:
        database.rewind_to_block_index(tail_base_index)
        start = time.perf_counter()
        for block in blocks:
            database.accept_block(block)
        database.flush()
        seconds = time.perf_counter() - start
        check_newest(database, newest_index)
        check_there(database, packs)
    return ObjectFigures(sum(packed.n_confirms for packed in packs) / seconds)
