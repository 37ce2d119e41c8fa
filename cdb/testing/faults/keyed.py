"""Schemas with secondary keys, small, so that their indexes are in runs and batches, too."""

from functools import partial

from cdb.indexed import PUZZLE_HASH
from cdb.schemas import coin_log, rocks_kv

COIN_LOG = partial(coin_log.SMALL, index=PUZZLE_HASH)
ROCKS_KV = partial(rocks_kv.SMALL, index=PUZZLE_HASH)
