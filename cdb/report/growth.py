"""How the cost of a coin grows: groups that differ in their replay alone, and one load's pace."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import exp, log

from cdb.report import units
from cdb.report.model import LOAD, Curve, Group, Setting, Spread
from cdb.report.parts import NONE, Table

_COSTS = {"time": "wall_microseconds_per_coin", "CPU": "cpu_microseconds_per_coin"}
_WINDOWS = 36
Sizes = dict[int, list[Group]]
"""Groups by the coins of their replay, from the least on."""


def alike(groups: Iterable[Group], group: Group) -> Sizes:
    """The groups that differ from one in their replay alone, and itself."""
    sizes: Sizes = defaultdict(list)
    for other in sorted(groups, key=lambda each: each.setting.coins):
        if _without_replay(other.setting) == _without_replay(group.setting):
            sizes[other.setting.coins].append(other)
    return sizes


def _without_replay(setting: Setting) -> Setting:
    return replace(setting, coins=0, source="", digest="")


def growth_table(sizes: Sizes) -> Iterator[Table]:
    """What a coin of a load costs in each size, with the last as a multiple of the first; none of
    a single size."""
    rows = tuple(_rows([*sizes.values()]))
    if rows:
        header = ("a coin of a load", *(f"{coins:,} coins" for coins in sizes), "last / first")
        yield Table.of_texts("What a coin of a load costs", header, rows)


def growth_of(sizes: Sizes, schema: str) -> tuple[int, int, float] | None:
    """From how many coins to how many, and how much longer a coin takes then; None if unknown."""
    told = [
        (coins, spread.median)
        for coins, groups in sizes.items()
        if (spread := _newest(groups, schema, _COSTS["time"])) is not None
    ]
    if len(told) < 2 or not told[0][1]:
        return None
    return told[0][0], told[-1][0], told[-1][1] / told[0][1]


def peaks(sizes: Sizes, schema: str) -> dict[int, Spread]:
    """The peak memory of a schema's newest load of each size: a busy machine does not change it."""
    name = "peak_rss_bytes"
    told = {coins: _newest(groups, schema, name, quiet=False) for coins, groups in sizes.items()}
    return {coins: spread for coins, spread in told.items() if spread is not None}


def short(coins: int) -> str:
    """A number of coins in few characters: ``13.5 M``."""
    return units.rate(coins).removesuffix("/s")


def _rows(sizes: Sequence[Sequence[Group]]) -> Iterator[tuple[str, ...]]:
    """Two lines for each schema that was loaded in more than one size."""
    rows = (row for groups in sizes for group in groups for row in group.lines)
    for schema in dict.fromkeys(row.schema for row in rows):
        for label, name in _COSTS.items():
            spreads = [_newest(groups, schema, name) for groups in sizes]
            told = [spread.median for spread in spreads if spread]
            if len(told) > 1 and told[0]:
                texts = (spread.median_text(name) if spread else NONE for spread in spreads)
                yield (f"{schema}, {label}", *texts, units.times(told[-1] / told[0]))


def _newest(
    groups: Iterable[Group], schema: str, name: str, *, quiet: bool = True
) -> Spread | None:
    """Of replays of one size, which may have been made in several ways; quiet: a quiet machine's
    first."""
    rows = [row for group in groups for row in group.lines if row.schema == schema]
    told = [row for row in rows if row.figure(LOAD, name)]
    newest = max(told, key=lambda row: (quiet and not row.busy, row.matrix), default=None)
    return None if newest is None else newest.figure(LOAD, name)


def speeds(curve: Curve) -> list[tuple[int, float]]:
    """Coins so far and coins a second since the point before, in windows that widen evenly.

    >>> speeds(((1000, 1.0), (2000, 3.0)))
    [(1000, 1000.0), (2000, 500.0)]
    """
    coins = [at for at, _ in curve]
    first, last = log(coins[0]), log(coins[-1])
    wanted = [exp(first + (last - first) * n / _WINDOWS) for n in range(_WINDOWS + 1)]
    # At its end exp(log(x)) may be a little more than x.
    places = dict.fromkeys(min(bisect_left(coins, at), len(coins) - 1) for at in wanted)
    result, before, since = [], 0, 0.0
    for place in places:
        at, seconds = curve[place]
        if at > before and seconds > since:
            result.append((at, (at - before) / (seconds - since)))
            before, since = at, seconds
    return result


def middle(curves: Sequence[Curve]) -> Curve:
    """The curve of the run whose time is the median."""
    return sorted(curves, key=lambda curve: curve[-1][1])[(len(curves) - 1) // 2]
