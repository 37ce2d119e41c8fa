"""Prints rows in aligned columns."""

from collections.abc import Sequence


def table(
    rows: Sequence[Sequence[str]],
    left: frozenset[int] = frozenset({0}),
    least: Sequence[int] | None = None,
) -> str:
    """Lines of aligned columns; the columns in ``left`` begin at the left, the others end at the
    right. A single column at the end may be of any length. least: how wide each column is at
    least."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if least is not None:
        widths = [*map(max, widths, least)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if place in left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
