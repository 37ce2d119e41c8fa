"""How fast coin_log is, and the interval layouts load: an experiment, and the table of its figures.

A round is one run of each contestant. Each figure is of one round, so that a ratio is of loads that
were made one after the other.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

from cdb.bench.results import Document
from cdb.bench.rounds import Figure, Round, figure_of, ratio_of, rounds_of, values_of
from cdb.bench.schemas import FLOOR_SPEC, LOAD, Contestant
from cdb.engines import ENGINES

SELDOM_COINS = 1_000_000
FLOOR, LOG = "floor", "coin_log"
INTERVALS = [f"interval@{name}" for name, engine in ENGINES.items() if not engine.is_asked_for]
SELDOM = f", flush each {SELDOM_COINS:,}"
CONTESTANTS = {
    FLOOR: Contestant(FLOOR_SPEC, workloads=()),
    LOG: Contestant(LOG),
    FLOOR + SELDOM: Contestant(FLOOR_SPEC, workloads=(), flush_coins=SELDOM_COINS),
    LOG + SELDOM: Contestant(LOG, workloads=(), flush_coins=SELDOM_COINS),
    **{name: Contestant(name, workloads=()) for name in INTERVALS},
}
WORKLOADS = ("typed", "look_up", "open", "append", "objects", "memory")
TIP_COINS = 45


@dataclass(frozen=True, slots=True)
class Line:
    """What a figure comes to in all rounds; none of them: why."""

    label: str
    values: Sequence[float]
    reason: str = ""

    def texts(self) -> list[str]:
        """Label, median, least and greatest."""
        if not self.values:
            return [self.label, "not measured", "", ""]
        least, greatest = min(self.values), max(self.values)
        return [self.label, *map(_number, (median(self.values), least, greatest))]


def lines(documents: Sequence[Document]) -> Iterator[Line]:
    """The table, of runs over one replay."""
    rounds = rounds_of(documents)
    for label, figure in FIGURES.items():
        yield Line(label, *values_of(figure, rounds))


def _load_of(contestant: str) -> Figure:
    return figure_of(contestant, LOAD, "wall_seconds")


def _coins(of: Round) -> float:
    return float(of[LOG]["data"]["coins"])


def _nanocoins(of: Round) -> float:
    return _coins(of) / 1e9


_look_up = partial(figure_of, LOG, "look_up")
_open = partial(figure_of, LOG, "open", after="close")
_tip = partial(figure_of, LOG, "append", commit_coins=TIP_COINS)
_floor = _load_of(FLOOR)

FIGURES: Mapping[str, Figure] = {
    "load / floor, flush each 50,000": ratio_of(_load_of(LOG), _floor),
    f"load / floor{SELDOM}": ratio_of(_load_of(LOG + SELDOM), _load_of(FLOOR + SELDOM)),
    "load_blocks coin_log as typed, with digest / floor": ratio_of(
        figure_of(LOG, "typed", "wall_seconds"), _floor
    ),
    **{f"{name} load / floor": ratio_of(_load_of(name), _floor) for name in INTERVALS},
    **{
        f"one name as an object, µs: {who}": _look_up(
            "call_p50_microseconds", form="objects", batch=1, opened=who
        )
        for who in ("writer", "reader")
    },
    **{
        f"{form} a second, batches of 1,000": _look_up(
            "names_per_second", form=form, batch=1_000, opened="writer"
        )
        for form in ("objects", "packed")
    },
    "accept_block of objects, coins a second": figure_of(LOG, "objects", "coins_per_second"),
    "size, bytes per coin": ratio_of(figure_of(LOG, LOAD, "size_bytes"), _coins),
    "load in memory for a third of the database / without limit": figure_of(LOG, "memory", "ratio"),
    "open: memory of its own, bytes per coin": ratio_of(_open("memory_bytes"), _coins),
    "open: milliseconds": _open("milliseconds"),
    "tip commit of 45 coins / bare append and fdatasync": _tip("ratio"),
    "tip commit of 45 coins: p99 / median": ratio_of(
        _tip("commit_p99_microseconds"), _tip("commit_p50_microseconds")
    ),
    "load, seconds": _load_of(LOG),
    "load, ns per coin": ratio_of(_load_of(LOG), _nanocoins),
}


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.3g}"
