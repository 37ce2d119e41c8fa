"""Schemas with secondary keys, small, so that their indexes are in runs and batches, too."""

from collections.abc import Callable
from functools import partial

from cdb.contract.secondary_keys import PUZZLE_HASH
from cdb.schemas import Schema, find_schema


def _keyed(name: str) -> Callable[..., Schema]:
    opened: Callable[..., Schema] = find_schema(f"{name}:SMALL").spec.factory
    return partial(opened, index=PUZZLE_HASH)


COIN_LOG = _keyed("coin_log")
ROCKS_KV = _keyed("rocks_kv")
