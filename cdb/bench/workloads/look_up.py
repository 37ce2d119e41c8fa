"""Look-ups as a program calls them: one name, and 1,000; as objects and packed; of one who writes
and of one who only reads.

Warm, and as read_random otherwise.
"""

from pathlib import Path

from cdb.bench.answers import BATCH_NAMES, Lookups, ObjectLookups, fastest_lookups
from cdb.bench.asking import ask, warm_up
from cdb.bench.case import Case
from cdb.bench.database import Database
from cdb.bench.workloads.read_random import QUICK_SECONDS, SECONDS
from cdb.schemas import Schema


def measure(database: Database) -> list[Case]:
    """See the module."""
    with database.open() as schema:
        cases = _cases(database, schema, "writer")
    with database.info.open(database.path, read_only=True) as schema:
        return cases + _cases(database, schema, "reader")


def _cases(database: Database, schema: Schema, who: str) -> list[Case]:
    seconds = QUICK_SECONDS if database.quick else SECONDS
    fastest = fastest_lookups(schema)
    warm_up(fastest, Path(database.path), database.truth.questions("any", "warm_up"), seconds)
    ways: list[Lookups] = [ObjectLookups(schema)]
    if fastest.form != ObjectLookups.form:
        ways.append(fastest)
    return [_case(database, lookups, batch, who) for lookups in ways for batch in (1, BATCH_NAMES)]


def _case(database: Database, lookups: Lookups, batch: int, who: str) -> Case:
    seconds = QUICK_SECONDS if database.quick else SECONDS
    done = ask(lookups, database.truth.questions("any", "warm"), batch, seconds)
    return Case(
        "look_up",
        {"form": lookups.form, "batch": batch, "opened": who},
        figures=done.figures(),
    )
