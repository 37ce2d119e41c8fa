"""The first blocks of blocks(): those of the first 200,000 coins.

Each one is held against the replay, out of the time.
"""

from bisect import bisect_left
from itertools import islice

from cdb.bench.case import Case
from cdb.bench.database import Database
from cdb.bench.stopwatch import Stopwatch
from cdb.bench.tail import packs_of
from cdb.lab.process import WrongAnswerError

ORDER = 40

COINS, QUICK_COINS = 200_000, 20_000
ROUND_BLOCKS = 1_000


def measure(database: Database) -> list[Case]:
    """See the module."""
    count = _blocks_of(database.replay, QUICK_COINS if database.quick else COINS)
    expected = (
        packed.block(place) for packed in packs_of(database.replay) for place in range(len(packed))
    )
    blocks = coins = 0
    watch = Stopwatch()
    with database.open() as schema:
        found = watch.time(lambda: iter(schema.blocks()))
        while blocks < count:
            part = watch.time(list, islice(found, min(ROUND_BLOCKS, count - blocks)))
            if not part or part != list(islice(expected, len(part))):
                raise WrongAnswerError("blocks() gave a wrong block")
            blocks += len(part)
            coins += sum(len(block.confirms) for block in part)
    seconds = watch.wall_seconds
    figures = {"blocks_per_second": blocks / seconds, "coins_per_second": coins / seconds}
    return [Case("read_iterate", {"blocks": count}, figures=figures)]


def _blocks_of(replay: str, coins: int) -> int:
    """How many blocks have the replay's first coins."""
    blocks = 0
    for packed in packs_of(replay):
        if packed.n_confirms >= coins:
            return blocks + bisect_left(packed.confirm_ends, coins) + 1
        blocks += len(packed)
        coins -= packed.n_confirms
    return blocks
