"""coin_log with secondary keys and small runs: a checkpoint writes runs of three indexes."""

from functools import partial

from cdb.schemas import coin_log

COIN_LOG = partial(coin_log.SMALL, index=coin_log.PUZZLE_HASH)
