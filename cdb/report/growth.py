"""How the cost of a coin grows: groups that differ in their replay alone, beside each other."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from cdb.report import units
from cdb.report.model import LOAD, Group, Setting, Spread
from cdb.report.tables import NONE, Table

_COSTS = {"wall": "wall_microseconds_per_coin", "CPU": "cpu_microseconds_per_coin"}


def growth_tables(groups: Iterable[Group]) -> Iterator[tuple[Setting, Table]]:
    """For groups of several sizes the setting of the largest, and what a coin of a load costs in
    each, with the last as a multiple of the first."""
    alike: dict[Setting, list[Group]] = defaultdict(list)
    for group in groups:
        alike[replace(group.setting, coins=0, source="", digest="")].append(group)
    for those in alike.values():
        sizes: dict[int, list[Group]] = defaultdict(list)
        for group in sorted(those, key=lambda each: each.setting.coins):
            sizes[group.setting.coins].append(group)
        rows = tuple(_rows([*sizes.values()]))
        if rows:
            header = ("a coin of a load", *(f"{coins:,} coins" for coins in sizes), "last / first")
            yield sizes[max(sizes)][0].setting, Table(header, rows)


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


def _newest(groups: Iterable[Group], schema: str, name: str) -> Spread | None:
    """Of replays of one size, which may have been made in several ways."""
    rows = [row for group in groups for row in group.lines if row.schema == schema]
    told = [row for row in rows if row.figure(LOAD, name)]
    newest = max(told, key=lambda row: row.matrix, default=None)
    return None if newest is None else newest.figure(LOAD, name)
