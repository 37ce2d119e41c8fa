"""Opening, until a first lookup is answered; the files may be in the page cache. And what memory
that takes.

After a clean close. After the loss of what the schema keeps in a folder derived/, if it has one.
After kill -9, with everything loaded anew and flushed.
"""

import os
import shutil
import signal
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from cdb.bench.answers import check_newest, check_questions
from cdb.bench.case import Case
from cdb.bench.database import Database
from cdb.bench.figures import Figures
from cdb.bench.stopwatch import Stopwatch
from cdb.bench.tail import packs_of
from cdb.contents.loader import Loader
from cdb.lab.places import place
from cdb.lab.process import KilledError, WorkloadError, fresh
from cdb.lab.profile import FAST
from cdb.process.meter import PeakMemory
from cdb.process.read_ahead import read_ahead

ORDER = 80

CHECKED_NAMES = 1_000
DERIVED = "derived"


def measure(database: Database) -> list[Case]:
    """See the module."""
    return [_case("close", database), _after_loss(database), _after_kill(database)]


def _case(after: str, database: Database) -> Case:
    return Case("open", {"after": after}, figures=fresh(open_here, database))


def _after_loss(database: Database) -> Case:
    derived = Path(database.path) / DERIVED
    if not derived.is_dir():
        reason = "it keeps nothing derived in a folder of its own"
        return Case.not_measured("open", {"after": "loss"}, reason)
    shutil.rmtree(derived)
    return _case("loss", database)


def _after_kill(database: Database) -> Case:
    with place(FAST, Path(database.path).parent, 0) as there:
        other = replace(database, path=str(there.directory / "db"))
        try:
            fresh(load_and_die, other)
        except KilledError:
            return _case("kill", other)
    raise WorkloadError("it was not killed")


def open_here(database: Database) -> Figures:
    """Open a database that holds the whole replay, in this process.

    Until the answer to a first look-up: milliseconds, and the memory of its own.
    """
    questions = database.truth.questions("any", "warm", CHECKED_NAMES)
    database.info  # noqa: B018 - it loads the schema's libraries, which are not the database's
    watch, memory = Stopwatch(), PeakMemory()
    with ExitStack() as closing:
        with watch.running():
            schema = closing.enter_context(database.open())
            check_questions(schema, questions.part(0, 1))
        taken = memory.bytes_more()
        check_newest(schema, database.truth.newest_index)
        check_questions(schema, questions)
    return {"milliseconds": 1_000 * watch.wall_seconds, "memory_bytes": taken}


def load_and_die(database: Database) -> float:
    """Load the replay, flush, and end by kill -9 with the database open."""
    loader = Loader(database.open(), flush_coins=database.flush_coins)
    for _ in loader.load(read_ahead(packs_of(database.replay))):
        pass
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("kill -9 did not end the process")
