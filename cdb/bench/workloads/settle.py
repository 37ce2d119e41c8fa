"""What is owed after the load: reopen the database, do the compaction that is due, close it.

A schema that has a method settle() does it there; any other one at its opening and closing.
"""

from cdb.bench.answers import check_newest
from cdb.bench.figures import on_disk
from cdb.bench.workload import Case, Cases, Database
from cdb.meter import Meter


def measure(database: Database) -> Cases:
    """See the module."""
    meter = Meter()
    with database.open() as schema:
        settle = getattr(schema, "settle", None)
        if settle is not None:
            settle()
        check_newest(schema, database.truth.newest_index)
    figures = {"wall_seconds": meter.seconds(), "written_bytes": meter.bytes_written()}
    return Cases([Case("settle", {}, figures=figures | on_disk(database.path))])
