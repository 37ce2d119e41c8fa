"""Reading with nothing in memory but what opening the database takes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cdb.bench import page_cache
from cdb.bench.answers import Lookups, fastest_lookups
from cdb.bench.asking import ask
from cdb.bench.case import Case, Parameters
from cdb.bench.database import Database
from cdb.bench.figures import Figures
from cdb.bench.questions import Questions
from cdb.lab.process import NotMeasuredError
from cdb.process.meter import Meter, database_files
from cdb.schemas import Schema

PAGE_BYTES = 4_096
SECONDS, QUICK_SECONDS = 3.0, 0.2


def cold_case(
    database: Database, workload: str, parameters: Parameters, questions: Questions
) -> Case:
    """Ask for these names after the database's pages were dropped.

    The parameters say how many at once, and by how many threads; where they don't, by one.
    """
    batch, threads = int(parameters["batch"]), int(parameters.get("threads", 1))
    try:
        figures = cold_figures(database, questions, batch, threads=threads)
        return Case(workload, parameters, figures=figures)
    except NotMeasuredError as error:
        return Case.not_measured(workload, parameters, str(error))


def cold_figures(
    database: Database,
    questions: Questions,
    batch: int,
    lookups_of: Callable[[Schema], Lookups] = fastest_lookups,
    threads: int = 1,
) -> Figures:
    """The same, as figures. Raises NotMeasuredError."""
    if not len(questions):
        raise NotMeasuredError("the replay has too few coins")
    with opened_cold(database) as (schema, meter):
        seconds = QUICK_SECONDS if database.quick else SECONDS
        done = ask(lookups_of(schema), questions, batch, seconds, threads)
        pages = pages_fetched(meter, must_fetch=any(questions.found))
    return done.figures() | {"pages_per_name": pages / done.names}


@contextmanager
def opened_cold(database: Database) -> Iterator[tuple[Schema, Meter]]:
    """The database after its pages were dropped, and what measures from then on.

    It is opened for that, so that nothing of its own caches is left. Raises NotMeasuredError.
    """
    page_cache.drop(database_files(Path(database.path)))
    with database.open() as schema:
        page_cache.drop(database_files(Path(database.path)))
        yield schema, Meter()


def pages_fetched(meter: Meter, *, must_fetch: bool) -> float:
    """How many were read from the disk so far; must_fetch: what was read can't be without.

    Raises NotMeasuredError.
    """
    fetched = meter.bytes_fetched()
    if fetched is None:
        raise NotMeasuredError("this system doesn't count what a process reads from the disk")
    if not fetched and must_fetch:
        raise NotMeasuredError("nothing was read from the disk: the system kept it in memory")
    return fetched / PAGE_BYTES
