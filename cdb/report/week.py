"""A node's week on both coin stores: its parts, what wallets asked, and all figures."""

from collections.abc import Iterator

from cdb.report import units
from cdb.report.model import Case, NodeComparison, WeekAsked
from cdb.report.node_lines import (
    NodeTable,
    cases_of,
    figure_by_figure,
    line_of,
    names_of,
    side_by_side,
)

_PART = (
    ("wall", "wall_seconds"),
    ("written", "disk_written_bytes"),
    ("longest stall", "late_max_microseconds"),
)
_CALL = (
    ("p50", "call_p50_microseconds"),
    ("p99", "call_p99_microseconds"),
    ("max", "call_max_microseconds"),
)


def week_of(asked: WeekAsked) -> str:
    """What was asked for: ``a week of 100,000 blocks``."""
    return f"a week of {asked.blocks:,} blocks"


def limit_line(asked: WeekAsked) -> str:
    """What limited it."""
    return (
        f"{asked.blocks:,} blocks were to be synced; chia's store had "
        f"{units.duration(asked.part_seconds)} for each part, and cdb's did as many as that."
    )


def week_tables(comparison: NodeComparison) -> Iterator[NodeTable]:
    """Its parts at a glance, what wallets asked, and then all figures."""
    cases = cases_of(comparison)
    parts = [case for case in cases if case.parameter("blocks") is not None]
    asked = [case for case in cases if _has(comparison, case, _CALL[0][1])]
    for caption, what, figures, of in (
        ("Parts of the week", "part", _PART, parts),
        ("What wallets ask, while blocks arrive", "call", _CALL, asked),
    ):
        names = tuple(name for _, name in figures)
        lines = [line_of(comparison, case, str(case), names) for case in of]
        yield side_by_side(caption, what, figures, lines)
    for case in cases:
        if case not in asked:
            lines = [
                line_of(comparison, case, units.label(name), (name,))
                for name in names_of(comparison, case)
            ]
            yield figure_by_figure(f"All of it: {case}", lines)


def _has(comparison: NodeComparison, case: Case, name: str) -> bool:
    return name in names_of(comparison, case)
