"""An append-only log of blocks; a 6-byte index, derived from it, finds a coin's place there.

    log                 the blocks, in checksummed records: the truth
    acked               how much of the log is durable for sure
    derived/manifest    which of the files below count
    derived/base-*      block table and spent heights of all blocks but the newest
    derived/history-*   the same of those that came since
    derived/run-*       sorted runs of (name's leading bits, row)

All of derived/ is rebuilt from the log when it is missing. See docs/schemas/coin_log.md.
"""

from functools import partial

from cdb.contract.history import BY_CREATION
from cdb.contract.schema import (
    AcceptsPacked,
    FlushesBeside,
    HistoryPacked,
    ReadsPacked,
    TellsFacts,
)
from cdb.contract.spec import SchemaSpec
from cdb.stores.coin_log.binding import Sizes, missing
from cdb.stores.coin_log.check import check, repair
from cdb.stores.coin_log.schema import CoinLogSchema, IndexedCoinLogSchema, coin_log, indexed

__all__ = [
    "SCHEMA",
    "CoinLogSchema",
    "IndexedCoinLogSchema",
    "check",
    "coin_log",
    "indexed",
    "missing",
    "repair",
]

SCHEMA = SchemaSpec(
    coin_log,
    missing=missing,
    offers=(AcceptsPacked, ReadsPacked, FlushesBeside, HistoryPacked, TellsFacts),
    indexed=indexed,
    history=BY_CREATION,
    check=check,
    repair=repair,
    small=partial(
        coin_log,
        sizes=Sizes(memtable_coins=20, merge_runs=2, recent_bits=2, unverified_spends=5),
    ),
    limits=("derived index", "promise", "coin_log"),
    checksummed="db/(FORMAT|acked|log|derived/.*)",
)
