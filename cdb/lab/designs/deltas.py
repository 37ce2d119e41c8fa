"""LETUS's deltas: the spent heights as a base each K heights, and the changes between.

A state as of a height reads the base before it and replays the changes since; an opening does so at
the tip. Bytes are those of arrays without gaps: 4 a coin in a base, 8 a change.
"""

from bisect import bisect_right
from typing import NamedTuple

from cdb.lab.designs.columns import Columns

EACH = (1_000, 3_000, 10_000, 30_000, 100_000)
SPENT_BYTES, CHANGE_BYTES = 4, 8


class Cost(NamedTuple):
    """bytes_kept: bases and changes. early_bytes: that a state at a tenth of the height reads.
    opening_changes, changes: that an opening replays, and a state does on average."""

    bytes_kept: int
    early_bytes: int
    opening_changes: int
    changes: float


def cost(columns: Columns, each: int) -> Cost:
    """With a base each so many heights."""
    heights = columns.spends[::2]
    bases = range(each, columns.newest + 1, each)
    coins = [bisect_right(columns.confirmed, base) for base in bases]
    kept = SPENT_BYTES * sum(coins) + CHANGE_BYTES * len(heights)
    early = columns.newest // 10
    before = early // each * each
    changes = bisect_right(heights, early) - bisect_right(heights, before)
    base_bytes = SPENT_BYTES * bisect_right(columns.confirmed, before) if before else 0
    newest = columns.newest // each * each
    opening = len(heights) - bisect_right(heights, newest)
    average = each / 2 * len(heights) / max(1, columns.newest)
    return Cost(kept, base_bytes + CHANGE_BYTES * changes, opening, average)


def deltas_rows(columns: Columns) -> list[list[str]]:
    """A line for each K of EACH, below a header."""
    coins = max(1, len(columns.confirmed))
    header = "K", "bytes per coin", "an early state reads", "an opening replays", "a state replays"
    rows = [[*header]]
    for each in EACH:
        found = cost(columns, each)
        rows.append(
            [
                f"{each:,}",
                f"{found.bytes_kept / coins:.2f}",
                f"{found.early_bytes / 1e6:.2f} MB",
                f"{found.opening_changes:,}",
                f"{found.changes:,.0f}",
            ]
        )
    return rows
