"""Prints rows in aligned columns, and figures as people read them."""

from collections.abc import Sequence


def table(rows: Sequence[Sequence[str]], left: frozenset[int] = frozenset({0})) -> str:
    """Lines of aligned columns; the columns in ``left`` begin at the left, the others end at the
    right. A single column at the end may be of any length."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if place in left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def duration(seconds: float) -> str:
    """Seconds as a reader takes them in: ``0.42 s``, ``12.3 s``, ``22 m 38 s``, ``1 h 05 m``."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} m {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} m"


def size(n_bytes: int | None) -> str:
    """Bytes in decimal units: ``815 B``, ``1.25 MB``, ``18.9 GB``; n/a for None."""
    if n_bytes is None:
        return "n/a"
    if n_bytes < 1000:
        return f"{n_bytes} B"
    value = float(n_bytes)
    for unit in ("kB", "MB", "GB", "TB"):
        value /= 1000
        if value < 999.5 or unit == "TB":
            break
    return f"{value:.3g} {unit}"
