"""Faults of a store in memory: in what it takes, takes back, and does beside that."""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Never

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import CoinInfo
from cdb.schemas.memory import MemorySchema
from tests.broken.table import Faults

broken = Faults(__name__, MemorySchema)


def known(store: Any, names: Sequence[bytes]) -> list[bytes]:
    """Names of coins that are there, in the place of those of none."""
    return [name if name in store._coins else next(iter(store._coins)) for name in names]


def unspent(infos: Sequence[CoinInfo]) -> list[CoinInfo]:
    """As if no coin were spent."""
    return [replace(info, spent_index=0) for info in infos]


def _keeping(*kept: str) -> Callable[..., None]:
    def rewind(store: Any, right: Any, index: int) -> None:
        before = {each: dict(getattr(store, each)) for each in kept}
        right(index)
        for each, items in before.items():
            getattr(store, each).update(items)

    return rewind


def _raising(error: Exception) -> Callable[..., Never]:
    def fail(*_: object) -> Never:
        raise error

    return fail


broken(
    "coin_infos_for_coin_names",
    # A lookup of many names misses one.
    MissesACoin=lambda store, right, names: right(names)[len(names) > 10 :],
    # A lookup of unknown names finds something.
    KnowsTooMuch=lambda store, right, names: right(known(store, names)),
    # A lookup in another thread than the first one finds no coin spent.
    ForgetsBesideAWriter=lambda store, right, names: (
        right(names)
        if threading.current_thread() is threading.main_thread()
        else unspent(right(names))
    ),
)
# Heights have 31 bits.
broken(
    "coin_infos_for_coin_names",
    WrapsHeights=lambda store, right, names: [
        replace(info, spent_index=info.spent_index % 2**31) for info in right(names)
    ],
)


def _newest_second(_: object, right: Callable[..., Any]) -> Iterator[BlockSpendInfo]:
    yield next(iter(right()))
    yield [*right()][-1]


broken(
    "blocks",
    # An iteration misses the last block.
    MissesABlock=lambda store, right: list(right())[:-1],
    # It shows what came after its beginning.
    LeavesItsMoment=_newest_second,
)
broken(
    "accept_block",
    # A block's last spend is lost.
    LosesSpends=lambda store, right, block: right(replace(block, spends=block.spends[:-1])),
)
broken(
    "rewind_to_block_index",
    StaysWhereItIs=lambda *_: None,
    RewindsTooFar=lambda store, right, index: right(index - 1),
    KeepsSpends=_keeping("_spent"),
    KeepsCoins=_keeping("_coins", "_confirmed"),
)
broken(
    "flush",
    # It raises what no schema should.
    Buggy=_raising(KeyError("flush")),
    # Its process is killed.
    Dies=lambda *_: os.kill(os.getpid(), signal.SIGKILL),
)
broken(
    "settle",
    # It breaks nothing, and has compaction to do.
    Settles=lambda store: store._path and store._path.with_name("db.settled").touch(),
    # It fails, and holds what it held.
    CannotSettle=_raising(KeyError("settle")),
)
