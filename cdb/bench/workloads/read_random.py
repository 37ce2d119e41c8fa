"""Coins by name, in random order: names drawn evenly from all coins, or from the newest tenth.

Absent names are those of no coin. Lookups are packed (without an object a coin) where the schema
has coin_infos_packed. Warm: the database's files were read into the page cache, and other names
were asked for. Cold: the database was closed, its pages were dropped from the page cache, it was
opened, and they were dropped once more; a page has 4,096 bytes, read-ahead included. Unsettled:
after the last flush of a load, before its close. Threads share one database. A case ends with its
names, or when its time is up.
"""

from pathlib import Path

from cdb.bench.answers import BATCH_NAMES, Lookups, ObjectLookups, fastest_lookups
from cdb.bench.asking import ask, warm_up
from cdb.bench.case import Case, Parameters
from cdb.bench.cold import cold_case
from cdb.bench.database import Database
from cdb.bench.questions import Questions
from cdb.schemas import Schema

ORDER = 20

BATCHES = (1, 100, BATCH_NAMES)
THREADS = (2, 4, 8, 16, 32, 64)
SECONDS, QUICK_SECONDS = 0.75, 0.05
UNSETTLED_NAMES = 20_000
COLD_NAMES = ((1, 1, 500), (100, 1, 2_000), (BATCH_NAMES, 1, 10_000), (1, 8, 2_000), (1, 64, 4_000))
"""Names a call, threads, and names in all. With many threads as many reads wait for the disk."""


def measure(database: Database) -> list[Case]:
    """See the module."""
    with database.open() as schema:
        warm = _warm(database, schema)
        form = fastest_lookups(schema).form
    return [*warm, *_cold(database, form)]


def unsettled(database: Database, schema: Schema) -> Case:
    """The case that is measured in the process of a load."""
    questions = database.truth.questions("any", "warm", UNSETTLED_NAMES)
    return _case(database, fastest_lookups(schema), questions, state="unsettled")


def _warm(database: Database, schema: Schema) -> list[Case]:
    truth = database.truth
    existing, recent = truth.questions("any", "warm"), truth.questions("recent", "warm")
    absent = Questions.absent(len(existing))
    lookups = fastest_lookups(schema)
    warm_up(lookups, Path(database.path), truth.questions("any", "warm_up"), 2 * _seconds(database))
    cases = [
        *(_case(database, lookups, existing, batch=batch) for batch in BATCHES),
        *(_case(database, lookups, absent, names="absent", batch=batch) for batch in BATCHES),
        *(_case(database, lookups, existing, threads=threads) for threads in THREADS),
        _case(database, lookups, recent, names="recent"),
    ]
    if lookups.form != ObjectLookups.form:
        cases.append(_case(database, ObjectLookups(schema), existing))
    return cases


def _cold(database: Database, form: str) -> list[Case]:
    """Each case has names of its own: what keeps pages below this system may be out of reach."""
    existing, start = database.truth.questions("any", "cold"), 0
    share = min(len(existing) / sum(count for *_, count in COLD_NAMES), 1.0)
    asked: list[tuple[str, int, int, Questions]] = []
    for batch, threads, count in COLD_NAMES:
        stop = start + max(int(share * count), 1)
        asked.append(("existing", batch, threads, existing.part(start, stop)))
        start = stop
    most = max(count for *_, count in COLD_NAMES)
    asked.append(("absent", BATCH_NAMES, 1, Questions.absent(most)))
    asked.append(("recent", BATCH_NAMES, 1, database.truth.questions("recent", "cold", most)))
    return [
        cold_case(
            database,
            "read_random",
            _parameters(names=names, batch=batch, threads=threads, cache="cold", form=form),
            questions,
        )
        for names, batch, threads, questions in asked
    ]


def _case(database: Database, lookups: Lookups, questions: Questions, **others: str | int) -> Case:
    parameters = _parameters(form=lookups.form, **others)
    batch, threads = int(parameters["batch"]), int(parameters["threads"])
    done = ask(lookups, questions, batch, _seconds(database), threads)
    return Case("read_random", parameters, figures=done.figures())


def _parameters(**others: str | int) -> Parameters:
    return {
        "names": "existing",
        "batch": BATCH_NAMES,
        "threads": 1,
        "cache": "warm",
        "state": "settled",
        **others,
    }


def _seconds(database: Database) -> float:
    """How long to ask for names that are in memory."""
    return QUICK_SECONDS if database.quick else SECONDS
