"""What engines can't do, however they are used: tests try it all the same, and count it apart.

A schema's module names its own; see cdb.contract.spec. Those of an engine are in cdb/engines/.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatch

from cdb.contract.durability import Durability


@dataclass(frozen=True, slots=True)
class Limit:
    """What the engine beneath a schema can't do.

    trials: the kinds of trials that show it, as a pattern of their names (fnmatch; `python -m
    cdb.testing.faults --help` lists them). problem: what they say then, as a regular expression
    that is searched for; the database is called `db` there. reason: why nothing helps, for people.
    durability: the only level at which it shows; None for all.
    """

    trials: str
    problem: str
    reason: str
    durability: Durability | None = None


def shown(limits: Iterable[Limit], trial: str, problem: str) -> Limit | None:
    """The first of the limits that a failed trial shows; None where it shows none of them."""
    for limit in limits:
        if fnmatch(trial, limit.trials) and re.search(limit.problem, problem):
            return limit
    return None


DAMAGES = ("flip", "zero", "truncate", "swap", "stale", "fuzz")
"""The trials that change bytes of a file: what a process does then, it must not do in others."""

SQLITE_ROWS = Limit(
    "*",
    r"damage is served: db(/coins\.sqlite)?, .*verify finds it",
    "SQLite has no checksums: where a coin was confirmed and spent, and which there are, verify"
    " alone holds against the blocks",
)
SQLITE_WAL = Limit(
    "*",
    r"damage is served: \S+-wal, ",
    "SQLite takes damage in a -wal for its torn end, and leaves out the commits behind it",
)
OLDER_ROWS = Limit(
    "stale",
    r"damage is served: db/coins\.sqlite, whole-of-step-",
    "the rows are all that counts: put back as they once were, they are the database of then, where"
    " the index covers no more than they have",
)
OLDER_INDEX = Limit(
    "stale",
    "damage is overlooked: db/(index|derived)/manifest, whole",
    "an older index covers less, and the rest comes from the rows or the log",
)
"""Of a schema whose index is derived: an older manifest of it, put back whole, goes unnoticed."""
OLDER_PROMISE = Limit(
    "stale",
    "damage is overlooked: db/(acked|NEWEST), ",
    "it promised less then, and that is kept, too; of coin_log what was closed is in the manifest",
)
COIN_ROWS = (SQLITE_ROWS, SQLITE_WAL, OLDER_ROWS)
"""Of any schema whose coins are SQLite rows in a directory, whatever finds them by name."""

SQLITE_NOT_DURABLE = ("*-shm",)
"""SQLite's index of a -wal, which it makes again."""
