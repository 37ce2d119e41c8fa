"""Lookups with nothing in memory but what opening the database takes."""

from pathlib import Path

from cdb.bench import page_cache
from cdb.bench.answers import fastest_lookups
from cdb.bench.asking import ask
from cdb.bench.questions import Questions
from cdb.bench.workload import Case, Database, Parameters
from cdb.lab.process import NotMeasuredError
from cdb.meter import Meter, database_files

PAGE_BYTES = 4_096
SECONDS, QUICK_SECONDS = 3.0, 0.2


def cold_case(
    database: Database, workload: str, parameters: Parameters, questions: Questions, batch: int
) -> Case:
    """Ask for these names, for so many at once, after the database's pages were dropped.

    It is opened for that, so that nothing of its own caches is left.
    """
    try:
        if not len(questions):
            raise NotMeasuredError("the replay has too few coins")
        page_cache.drop(database_files(Path(database.path)))
        with database.open() as schema:
            page_cache.drop(database_files(Path(database.path)))
            meter = Meter()
            seconds = QUICK_SECONDS if database.quick else SECONDS
            done = ask(fastest_lookups(schema), questions, batch, seconds)
            fetched = meter.bytes_fetched()
        if fetched is None:
            raise NotMeasuredError("this system doesn't count what a process reads from the disk")
        if not fetched and questions.infos:
            raise NotMeasuredError("nothing was read from the disk: the system kept it in memory")
    except NotMeasuredError as error:
        return Case.not_measured(workload, parameters, str(error))
    pages = fetched / PAGE_BYTES / done.names
    return Case(workload, parameters, figures=done.figures() | {"pages_per_name": pages})
