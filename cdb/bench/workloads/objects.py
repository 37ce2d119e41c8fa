"""The replay's last 170,000 coins through accept_block: blocks as objects, for who has no others.

They are made beforehand, as BlockSpendInfo; after a rewind, and with one flush at the end.
"""

from cdb.bench.case import Case
from cdb.bench.database import Database
from cdb.bench.stopwatch import Stopwatch
from cdb.bench.tail import packs_of

ORDER = 110


def measure(database: Database) -> list[Case]:
    """See the module."""
    truth = database.truth
    packs = packs_of(truth.tail, above=truth.accepted_index)
    blocks = [packed.block(place) for packed in packs for place in range(len(packed))]
    watch = Stopwatch()
    with database.open() as schema:
        schema.rewind_to_block_index(truth.accepted_index)
        with watch.running():
            for block in blocks:
                schema.accept_block(block)
            schema.flush()
        database.check_coins(schema, truth.newest_index)
    coins = sum(len(block.confirms) for block in blocks)
    return [Case("objects", figures={"coins_per_second": coins / watch.wall_seconds})]
