"""All coins that are unspent now: unspent(), in packed form and as objects.

Warm and settled, page by page; each is checked, out of the time, before the next one is asked for.
A case ends with the last coin, or when its time is up. Memory is what the process takes more at the
worst than with the database open; pages of files are left out. (Unspent coins by name are
read_random's.)
"""

from functools import partial
from pathlib import Path

from cdb.bench.answers import fastest_lookups
from cdb.bench.asking import warm_up
from cdb.bench.history_truth import UNSPENT
from cdb.bench.scans import StateCheck, Way, scan_figures, ways_of
from cdb.bench.workload import Allowance, Case, Cases, Database

SECONDS, QUICK_SECONDS = 2.0, 0.1
ALL_SECONDS, QUICK_ALL_SECONDS = 10.0, 1.0


def measure(database: Database) -> Cases:
    """See the module."""
    truth, order = database.truth.history(), database.info.history
    seconds = QUICK_SECONDS if database.quick else SECONDS
    allowance = Allowance(QUICK_ALL_SECONDS if database.quick else ALL_SECONDS)

    def case(way: Way) -> Case:
        check = StateCheck(truth, UNSPENT, order)
        figures = partial(scan_figures, way, (), check, seconds)
        return allowance.case("latest", {"form": way.form}, figures)

    with database.open() as schema:
        history = database.settled_history(schema)
        before = database.truth.questions("any", "warm_up")
        warm_up(fastest_lookups(schema), Path(database.path), before, seconds / 4)
        return Cases([case(way) for way in ways_of(history, "unspent")])
