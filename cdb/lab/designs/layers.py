"""PathDB's layers: which share of look-ups the newest heights answer from memory, and what they
take.

A look-up here is that of a coin that a block spends: the one kind whose names nobody chooses to
measure. The blocks within the newest heights are of each height in turn.
"""

from cdb.lab.designs.columns import Columns

HEIGHTS = (128, 1_000, 4_000, 16_000, 64_000)
ENTRY_BYTES = 48
"""Of a coin in memory: its name, where it is, and by which block it is spent."""


def share(columns: Columns, heights: int) -> float:
    """Of all spends, those of coins that so many heights have confirmed, the spend's included."""
    near = sum(1 for height, row in columns.pairs if height - columns.confirmed[row] < heights)
    return near / max(1, len(columns.spends) // 2)


def most_coins(columns: Columns, heights: int) -> int:
    """That so many heights, one after the other, confirm or spend at most."""
    touched = [0] * (columns.newest + 2)
    for height in columns.confirmed:
        touched[height] += 1
    for height in columns.spends[::2]:
        touched[height] += 1
    within = most = 0
    for height, n in enumerate(touched):
        within += n - (touched[height - heights] if height >= heights else 0)
        most = max(most, within)
    return most


def layers_rows(columns: Columns) -> list[list[str]]:
    """A line for each of HEIGHTS, below a header."""
    rows = [["newest heights", "share of spends", "coins at most", "MB"]]
    for heights in HEIGHTS:
        coins = most_coins(columns, heights)
        told = f"{share(columns, heights):.1%}", f"{coins:,}", f"{coins * ENTRY_BYTES / 1e6:.1f}"
        rows.append([f"{heights:,}", *told])
    return rows
