"""All the merging that is owed, from the opening to the close."""

from pathlib import Path

from cdb.bench.case import Case
from cdb.bench.figures import Usage, on_disk
from cdb.bench.stopwatch import Stopwatch
from cdb.bench.versioned.database import Files


def measure(files: Files) -> list[Case]:
    """See the module."""
    usage, clock = Usage(Path(files.path)), Stopwatch()
    database = clock.time(files.open)
    clock.time(database.settle)
    clock.time(database.close)
    return [Case("settle", figures={**clock.figures(), **usage.figures(), **on_disk(files.path)})]
