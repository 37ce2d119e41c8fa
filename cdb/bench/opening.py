"""Opening: until the first lookup is answered, after a clean close, a kill -9, or a loss."""

import os
import shutil
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from cdb.ahead import ahead
from cdb.bench.answers import check_newest, check_questions
from cdb.bench.process import NotMeasuredError
from cdb.bench.truth import asked
from cdb.durability import Durability
from cdb.loader import Loader
from cdb.scanner import scan_packed
from cdb.schemas import find_schema

CHECKED_NAMES = 1_000
DERIVED = "derived"


@dataclass(frozen=True, slots=True)
class OpenFigures:
    """The time from the call until the answer to a first lookup."""

    milliseconds: float


def open_again(
    schema: str, path: str, durability: str, truth: str, newest_index: int
) -> OpenFigures:
    """Open a database that holds the whole replay; its pages may be in memory."""
    info = find_schema(schema)
    questions = asked(truth).warm.part(0, CHECKED_NAMES)
    start = time.perf_counter()
    with info.open(path, durability=Durability(durability)) as database:
        check_questions(database, questions.part(0, 1))
        seconds = time.perf_counter() - start
        check_newest(database, newest_index)
        check_questions(database, questions)
    return OpenFigures(1_000 * seconds)


def open_underived(
    schema: str, path: str, durability: str, truth: str, newest_index: int
) -> OpenFigures:
    """The same without what the database keeps in its folder derived/: it is made anew."""
    derived = Path(path) / DERIVED
    if not derived.is_dir():
        raise NotMeasuredError("it keeps nothing derived in a folder of its own")
    shutil.rmtree(derived)
    return open_again(schema, path, durability, truth, newest_index)


def load_and_die(
    schema: str, path: str, replay: str, flush_coins: int, durability: str
) -> OpenFigures:
    """Load a replay, flush, and end by kill -9 with the database open."""
    database = find_schema(schema).open(path, durability=Durability(durability))
    with Path(replay).open("rb", buffering=0) as stream:
        for _ in Loader(database, flush_coins=flush_coins).load(ahead(scan_packed(stream))):
            pass
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("kill -9 did not end the process")
