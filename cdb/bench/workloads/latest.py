"""All coins that are unspent now: unspent(), in packed form and as objects.

Warm and settled, page by page; each is checked, out of the time, before the next one is asked for.
A case ends with the last coin, or when its time is up: a second for each million coins of the
replay, at least one, and half of that as objects, where there is a packed form, too. Memory is what
the process takes more at the worst than with the database open; pages of files are left out.
(Unspent coins by name are read_random's.)
"""

from functools import partial
from pathlib import Path

from cdb.bench.answers import fastest_lookups
from cdb.bench.asking import warm_up
from cdb.bench.case import Allowance, Case
from cdb.bench.database import Database
from cdb.bench.history_truth import UNSPENT
from cdb.bench.scans import StateCheck, Way, scan_figures, shared, ways_of

ORDER = 50

WARM_UP_SECONDS, QUICK_WARM_UP_SECONDS = 0.5, 0.02
ALL_SCANS = 6  # the time that all cases have, checks included, in that of a scan


def measure(database: Database) -> list[Case]:
    """See the module."""
    truth = database.truth.history()

    def case(way: Way, share: float) -> Case:
        check = StateCheck(truth, UNSPENT, database.order_of(schema))
        figures = partial(scan_figures, way, (), check, share * database.scan_seconds)
        return allowance.case("latest", {"form": way.form}, figures)

    with database.open() as schema:
        history = database.settled_history(schema)
        before = database.truth.questions("any", "warm_up")
        seconds = QUICK_WARM_UP_SECONDS if database.quick else WARM_UP_SECONDS
        warm_up(fastest_lookups(schema), Path(database.path), before, seconds)
        allowance = Allowance(ALL_SCANS * database.scan_seconds)
        return [case(*each) for each in shared(ways_of(history, "unspent"))]
