"""What engines can't do, however they are used: data, which the trials hold their messages against.

A schema's module, whoever wrote it, names its own; see cdb.contract.spec. Those of an engine are in
cdb/engines/, those of SQLite in cdb/stores/rows/limits.py.
"""

from dataclasses import dataclass

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


DAMAGES = ("flip", "zero", "truncate", "swap", "stale", "fuzz")
"""The trials that change bytes of a file: what a process does then, it must not do in others."""

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
