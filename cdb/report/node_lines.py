"""Lines that hold a figure of chia's coin store against cdb's."""

from collections.abc import Sequence
from dataclasses import dataclass

from cdb.bench.node_rounds import STORES
from cdb.report import units
from cdb.report.model import Case, NodeComparison, Spread
from cdb.report.tables import NONE, Table

THEIRS, OURS = STORES


@dataclass(frozen=True, slots=True)
class Line:
    """What both stores took for the same: figures by their names, and a spread for each."""

    label: str
    names: tuple[str, ...]
    theirs: tuple[Spread | None, ...]
    ours: tuple[Spread | None, ...]

    @property
    def told(self) -> tuple[tuple[str, Spread | None], ...]:
        """Names and spreads, chia's first."""
        return (
            *zip(self.names, self.theirs, strict=True),
            *zip(self.names, self.ours, strict=True),
        )

    @property
    def ratios(self) -> tuple[str, ...]:
        """How many times as much chia's store takes, by the medians."""
        return tuple(map(_ratio, self.theirs, self.ours))


@dataclass(frozen=True, slots=True)
class NodeTable:
    """Lines under a header, whose first cell is that of their labels."""

    caption: str
    header: tuple[str, ...]
    lines: tuple[Line, ...]

    def as_texts(self) -> Table:
        """With min / median / max of each."""
        rows = (
            (
                line.label,
                *(NONE if spread is None else spread.text(name) for name, spread in line.told),
                *line.ratios,
            )
            for line in self.lines
        )
        return Table(self.header, tuple(rows))


def side_by_side(
    caption: str, what: str, figures: Sequence[tuple[str, str]], lines: Sequence[Line]
) -> NodeTable:
    """A table whose lines have these figures of both stores: of each its label, and its name."""
    header = [f"{store}: {label}" for store in (THEIRS, OURS) for label, _ in figures]
    header += [f"{label}: {THEIRS} / {OURS}" for label, _ in figures]
    return NodeTable(caption, (what, *header), tuple(lines))


def figure_by_figure(caption: str, lines: Sequence[Line]) -> NodeTable:
    """A table with a figure a line."""
    return NodeTable(caption, ("what", THEIRS, OURS, f"{THEIRS} / {OURS}"), tuple(lines))


def line_of(comparison: NodeComparison, case: Case, label: str, names: tuple[str, ...]) -> Line:
    """What both stores took in a case."""
    theirs, ours = (comparison.figures.get(store, {}).get(case, {}) for store in (THEIRS, OURS))
    return Line(label, names, tuple(map(theirs.get, names)), tuple(map(ours.get, names)))


def _ratio(theirs: Spread | None, ours: Spread | None) -> str:
    if theirs is None or ours is None or ours.median <= 0:
        return NONE
    return units.times(theirs.median / ours.median)


def names_of(comparison: NodeComparison, case: Case) -> tuple[str, ...]:
    """The figures of a case that either store has."""
    names = (name for each in comparison.figures.values() for name in each.get(case, ()))
    return tuple(dict.fromkeys(names))


def cases_of(comparison: NodeComparison) -> list[Case]:
    """All cases that either store has, in their order."""
    return list(dict.fromkeys(case for each in comparison.figures.values() for case in each))
