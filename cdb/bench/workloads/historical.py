"""Coins as they were at a height: by name, and all of them.

By name: names of coins, or of no coin, each asked for as of a height and, in turns, as they are
now, so that plain_ratio is of one process and the same names; cdb.bench.asking says how it is made.
Heights: the newest block's; one and ten below it; random, another one each round, of coins drawn
evenly from those that were there then (a look-up that finds nothing would cost less); around
creation and spend: coins that were created, or spent, at about the same time, as of the middle
one's height or the one before; half, only cold: as of which half of the drawn coins were there,
which are asked for.

All of them: state_at() of the newest block's height, and of a tenth of it.

In packed form and as objects; warm and cold; settled, and by name unsettled, all as read_random has
it. Scans are those of latest; a cold one ends when its time is up. A case ends with its names, or
when its time is up.
"""

import random
from bisect import bisect_right
from collections.abc import Iterator
from functools import partial
from itertools import islice, repeat
from pathlib import Path
from statistics import median_low

from cdb.bench.answers import (
    BATCH_NAMES,
    Lookups,
    ObjectLookups,
    ObjectLookupsAsOf,
    fastest_lookups,
    fastest_lookups_as_of,
)
from cdb.bench.asking import ROUND_BATCHES, ROUND_NAMES, ask_in_turns, warm_up
from cdb.bench.case import Allowance, Case, Parameters
from cdb.bench.cold import cold_figures, opened_cold, pages_fetched
from cdb.bench.database import Database, kept_history
from cdb.bench.figures import Figures
from cdb.bench.history_truth import EARLY, TIP
from cdb.bench.questions import SEED, Questions
from cdb.bench.scans import OBJECTS, StateCheck, scan_figures, shared, ways_of
from cdb.lab.process import NotMeasuredError
from cdb.schemas import HistorySchema, Schema, history_of

ORDER = 60

BATCHES = (1, 100, BATCH_NAMES)
BELOW_TIP = {"tip": 0, "tip - 1": 1, "tip - 10": 10}
AROUND = ("creation", "spend")
SECONDS, QUICK_SECONDS = 0.3, 0.02  # by name, both ways together
ALL_CASES, ALL_SCANS = 30, 10  # the time that all cases have, in that of one by name, and of a scan
UNSETTLED_NAMES = 20_000
MOST_DRAWN = 1_000  # heights, until there is one as of which enough coins were there
COLD_NAMES = {1: 800, BATCH_NAMES: 6_000}  # of which half are asked for

Ways = tuple[Lookups, Lookups]
"""As of a height, and plain."""
Rounds = Iterator[tuple[Questions, Questions]]


def measure(database: Database) -> list[Case]:
    """See the module."""
    with database.open() as schema:
        history = database.settled_history(schema)
        before = database.truth.questions("any", "warm_up")
        warm_up(fastest_lookups(schema), Path(database.path), before, 2 * _seconds(database))
        seconds = ALL_CASES * _seconds(database) + ALL_SCANS * database.scan_seconds
        allowance = Allowance(seconds)
        asking = _Asking(database, history, allowance)
        warm = [*_scans(database, history, allowance), *asking.cases()]
    return [*warm, *_cold(database, asking.form, allowance)]


def unsettled(database: Database, schema: Schema) -> list[Case]:
    """The cases that are measured in the process of a load; none where no history is kept."""
    try:
        history = kept_history(schema)
    except NotMeasuredError:
        return []
    asking = _Asking(database, history, Allowance(2 * _seconds(database)))
    existing = database.truth.questions("any", "warm", UNSETTLED_NAMES)
    return [
        asking.case(questions, names=names, state="unsettled")
        for names, questions in (
            ("existing", existing),
            ("absent", Questions.absent(len(existing))),
        )
    ]


class _Asking:
    """Asks by name, as of heights and plainly. form: packed, where the schema has both so."""

    def __init__(self, database: Database, history: HistorySchema, allowance: Allowance) -> None:
        self._seconds = _seconds(database)
        self._truth = database.truth
        self._allowance = allowance
        self._in_objects: Ways = ObjectLookupsAsOf(history), ObjectLookups(history)
        fastest: Ways = fastest_lookups_as_of(history), fastest_lookups(history)
        are_alike = len({each.form for each in fastest}) == 1
        self._ways = fastest if are_alike else self._in_objects
        self.form = self._ways[0].form

    def cases(self) -> Iterator[Case]:
        """Those that are warm and settled."""
        existing = self._truth.questions("any", "warm")
        for batch in BATCHES:
            yield self.case(existing, batch=batch)
        for label, below in BELOW_TIP.items():
            rounds = _rounds(existing, BATCH_NAMES, repeat(self._truth.newest_index - below))
            yield self._case(self._ways, rounds, height=label)
        for label in AROUND:
            yield self._case(self._ways, _rounds_around(existing, label), height=label)
        yield self.case(Questions.absent(len(existing)), names="absent")
        if self.form != ObjectLookups.form:
            heights = random_heights(self._truth.newest_index)
            yield self._case(self._in_objects, _rounds_there(existing, BATCH_NAMES, heights))

    def case(self, questions: Questions, **others: str | int) -> Case:
        """As of random heights."""
        batch = int(others.get("batch", BATCH_NAMES))
        heights = random_heights(self._truth.newest_index)
        rounds = _rounds_there if any(questions.found) else _rounds
        return self._case(self._ways, rounds(questions, batch, heights), **others)

    def _case(self, ways: Ways, rounds: Rounds, **others: str | int) -> Case:
        parameters = _parameters(form=ways[0].form, **others)
        figures = partial(self._figures, ways, rounds, int(parameters["batch"]))
        return self._allowance.case("historical", parameters, figures)

    def _figures(self, ways: Ways, rounds: Rounds, batch: int) -> Figures:
        turns = ask_in_turns(ways, rounds, batch, self._seconds)
        return turns.one.figures() | {
            "plain_names_per_second": turns.other.names_per_second,
            "plain_ratio": turns.ratio,
        }


def random_heights(newest_index: int) -> Iterator[int]:
    """The same ones for all schemas."""
    rand = random.Random(SEED)  # noqa: S311 - reproducible, not secret
    return iter(lambda: rand.randint(0, newest_index), None)


def _rounds(questions: Questions, batch: int, heights: Iterator[int]) -> Rounds:
    """Of some batches each, as of another height each."""
    size = max(ROUND_BATCHES * batch, ROUND_NAMES)
    for start in range(0, len(questions), size):
        plain = questions.part(start, start + size)
        yield plain.as_of(next(heights)), plain


def _rounds_there(questions: Questions, batch: int, heights: Iterator[int]) -> Rounds:
    """As many, of coins that were there; heights as of which there were few are left out."""
    size = max(ROUND_BATCHES * batch, ROUND_NAMES)
    confirmed = [index for index, _ in questions.indices()]
    places = sorted(range(len(confirmed)), key=confirmed.__getitem__)
    confirmed.sort()
    rand = random.Random(SEED)  # noqa: S311 - reproducible, not secret
    for _ in range(0, len(questions), size):
        drawn = (
            (height, there)
            for height in islice(heights, MOST_DRAWN)
            if (there := bisect_right(confirmed, height)) >= min(batch, len(places) / 2)
        )
        height, there = next(drawn, (confirmed[-1], len(confirmed)))
        chosen = rand.sample(range(there), min(size, there))
        plain = questions.ordered(places[each] for each in chosen)
        yield plain.as_of(height), plain


def _rounds_around(questions: Questions, what: str) -> Rounds:
    """Of a batch each: coins that were created, or spent, at about the same time."""
    index_of = AROUND.index(what)
    indices = [each[index_of] for each in questions.indices()]
    happened = (place for place, index in enumerate(indices) if index)
    ordered = questions.ordered(sorted(happened, key=indices.__getitem__))
    starts = list(range(0, len(ordered), BATCH_NAMES))
    random.Random(SEED).shuffle(starts)  # noqa: S311 - reproducible, not secret
    for number, start in enumerate(starts):
        plain = ordered.part(start, start + BATCH_NAMES)
        middle = plain.indices()[len(plain) // 2][index_of]
        yield plain.as_of(middle - number // 2 % 2), plain


def _scans(database: Database, history: HistorySchema, allowance: Allowance) -> Iterator[Case]:
    truth, order = database.truth.history(), database.order_of(history)
    heights = {TIP: database.truth.newest_index, EARLY: truth.early_height}
    for way, share in shared(ways_of(history, "state_at")):
        for state, height in heights.items():
            check, seconds = StateCheck(truth, state, order), share * database.scan_seconds
            figures = partial(scan_figures, way, (height,), check, seconds)
            yield allowance.case("historical", _scanned(state, way.form), figures)


def _cold(database: Database, form: str, allowance: Allowance) -> Iterator[Case]:
    """Each case has names of its own, and others than read_random's, where there are enough."""
    questions = database.truth.questions("any", "cold")
    start = max(len(questions) - sum(COLD_NAMES.values()), 0)
    share = min(len(questions) / sum(COLD_NAMES.values()), 1.0)
    lookups_of = partial(_lookups_as_of, form)
    for batch, count in COLD_NAMES.items():
        stop = start + max(int(share * count), 1)
        asked = _half_there(questions.part(start, stop))
        start = stop
        parameters = _parameters(batch=batch, height="half", cache="cold", form=form)
        figures = partial(cold_figures, database, asked, batch, lookups_of)
        yield allowance.case("historical", parameters, figures)
    with database.open() as schema:
        form = ways_of(history_of(schema), "state_at")[0].form
    figures = partial(_cold_scan, database)
    yield allowance.case("historical", _scanned(TIP, form, cache="cold"), figures)


def _half_there(questions: Questions) -> Questions:
    """Those that were there when half of them were."""
    confirmed = [index for index, _ in questions.indices()]
    if not confirmed:
        return questions
    height = median_low(confirmed)
    there = (place for place, index in enumerate(confirmed) if index <= height)
    return questions.ordered(there).as_of(height)


def _lookups_as_of(form: str, schema: Schema) -> Lookups:
    history = history_of(schema)
    return ObjectLookupsAsOf(history) if form == OBJECTS else fastest_lookups_as_of(history)


def _cold_scan(database: Database) -> Figures:
    truth = database.truth
    with opened_cold(database) as (schema, meter):
        check = StateCheck(truth.history(), TIP, database.order_of(schema))
        way = ways_of(history_of(schema), "state_at")[0]
        figures = scan_figures(way, (truth.newest_index,), check, database.scan_seconds)
        pages = pages_fetched(meter, must_fetch=True)
    return figures | {"pages_per_row": pages / (figures["rows"] or 1)}


def _parameters(**others: str | int) -> Parameters:
    return {
        "names": "existing",
        "batch": BATCH_NAMES,
        "height": "random",
        "cache": "warm",
        "state": "settled",
        **others,
    }


def _scanned(state: str, form: str, cache: str = "warm") -> Parameters:
    return {"scan": "state_at", "height": state, "cache": cache, "form": form}


def _seconds(database: Database) -> float:
    return QUICK_SECONDS if database.quick else SECONDS
