"""What blocks left of the coins that they touched: versions(first, last) of 1, 100 and 10,000
heights and of all of them; at the start, in the middle and at the tip.

Warm and settled; scans are those of latest. One is made again and again while there is time, so
that calls are of several where they are short; a call is one to its last row. As objects, where
there is a packed form, too, only 10,000 heights at the tip.
"""

from functools import partial
from itertools import product
from pathlib import Path

from cdb.bench.answers import fastest_lookups
from cdb.bench.asking import warm_up
from cdb.bench.case import Allowance, Case
from cdb.bench.database import Database
from cdb.bench.figures import Figures, latency_figures
from cdb.bench.history_truth import ALL, HEIGHTS, PLACES, WindowTruth
from cdb.bench.scans import VersionsCheck, Way, scan, ways_of
from cdb.lab.process import NotMeasuredError
from cdb.process.meter import PeakMemory

ORDER = 70

SHARES: dict[int | str, float] = {1: 0.1, 100: 0.15, 10_000: 0.5, ALL: 1}  # of a scan's time
WARM_UP_SECONDS, QUICK_WARM_UP_SECONDS = 0.5, 0.02
ALL_SCANS = 10  # the time that all cases have, checks included
AS_OBJECTS = (10_000, "tip")


def measure(database: Database) -> list[Case]:
    """See the module."""
    windows = {(each.heights, each.place): each for each in database.truth.history().windows}
    asked: list[tuple[int | str, str]] = [(*each,) for each in product(HEIGHTS, PLACES)]
    asked.append((ALL, PLACES[0]))

    def case(way: Way, heights: int | str, place: str) -> Case:
        parameters = {"heights": heights, "place": place, "form": way.form}
        window, seconds = windows.get((heights, place)), SHARES[heights] * database.scan_seconds
        return allowance.case("archival", parameters, partial(_figures, way, window, seconds))

    with database.open() as schema:
        history = database.settled_history(schema)
        before = database.truth.questions("any", "warm_up")
        seconds = QUICK_WARM_UP_SECONDS if database.quick else WARM_UP_SECONDS
        warm_up(fastest_lookups(schema), Path(database.path), before, seconds)
        allowance = Allowance(ALL_SCANS * database.scan_seconds)
        way, *others = ways_of(history, "versions")
        cases = [case(way, *window) for window in asked]
        cases += [case(other, *AS_OBJECTS) for other in others]
    return cases


def _figures(way: Way, window: WindowTruth | None, seconds: float) -> Figures:
    if window is None:
        raise NotMeasuredError("the replay has fewer heights")
    memory = PeakMemory()
    rows, taken, calls, longest = 0, 0.0, list[float](), 0
    while taken < seconds:
        check = VersionsCheck(window)
        done = scan(way, (window.first, window.last), check, seconds - taken)
        rows += done.rows
        longest = max(longest, done.rows)
        taken += done.seconds
        if done.is_whole:
            calls.append(done.seconds)
    return {
        "rows": longest,
        "rows_per_second": rows / taken,
        **latency_figures("call", calls),
        "memory_bytes": memory.bytes_more(),
    }
