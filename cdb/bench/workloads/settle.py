"""What is owed after the load: reopen the database, do the compaction that is due, close it.

A schema that settles does it there; any other one at its opening and closing.
"""

from cdb.bench.answers import check_newest
from cdb.bench.case import Case
from cdb.bench.database import Database
from cdb.bench.figures import on_disk
from cdb.process.meter import Meter
from cdb.schemas import offer_of

ORDER = 10


def measure(database: Database) -> list[Case]:
    """See the module."""
    meter = Meter()
    with database.open() as schema:
        settles = offer_of(schema).settles
        if settles is not None:
            settles.settle()
        check_newest(schema, database.truth.newest_index)
    figures = {"wall_seconds": meter.seconds(), "written_bytes": meter.bytes_written()}
    return [Case("settle", {}, figures=figures | on_disk(database.path))]
