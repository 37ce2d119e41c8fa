"""What the two sides of a comparison, the command and its processes, call things."""

from typing import TypedDict

SYNCHRONOUS = "NORMAL"
"""What SQLite has by `db_sync: auto`."""
SYNC, HINT, FOLLOW, ASKED, END, REST = (
    "sync",
    "hints of the sync",
    "follow the tip",
    "follow the tip, wallets asking",
    "in the end",
    "sync of the rest",
)
"""What a week is made of: workloads of its cases. The rest is synced where there was no time."""


class WeekJob(TypedDict):
    """What a store lives through: so many blocks of a replay to sync, of those to add the hints, to
    follow, and to follow while wallets ask; and then, where it goes on, to sync again.

    directory: the store's own. progress: the file in which blocks are counted. part_seconds: no
    part goes on for longer; None: each to its end.
    """

    store: str
    directory: str
    replay: str
    progress: str
    synced: int
    hinted: int
    followed: int
    asked: int
    rest: int
    part_seconds: float | None
