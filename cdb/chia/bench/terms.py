"""What the two sides of a comparison, the command and its processes, call things.

Importing this imports nothing of chia.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

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


@dataclass(frozen=True, slots=True)
class Files:
    """A store's files in a place, which nothing else is among, and the chain that they hold.

    quick: a tenth of the calls, where the figures don't matter.
    """

    WORKLOADS: ClassVar = "cdb.chia.bench"

    store: str
    place: Path
    n_coins: int
    quick: bool = False

    @property
    def directory(self) -> Path:
        """The store's."""
        return self.place / self.store

    @property
    def chain(self) -> Path:
        """What says what was loaded; there once that is done."""
        return self.place / f"{self.store}.chain"


@dataclass(frozen=True, slots=True)
class Parts:
    """So many blocks to sync, to add the hints of, to follow, and to follow while wallets ask."""

    synced: int
    hinted: int
    followed: int
    asked: int

    @property
    def blocks(self) -> int:
        """What the chain has then."""
        return self.synced + self.followed + self.asked


@dataclass(frozen=True, slots=True)
class WeekFiles:
    """What a store lives through: the parts of a replay, and then so many blocks to sync (rest).

    directory: the store's own. progress: the file in which blocks are counted. part_seconds: no
    part takes a block after so long, its first aside; None: each goes on to its end.
    """

    WORKLOADS: ClassVar = "cdb.chia.bench"

    store: str
    directory: Path
    replay: Path
    progress: Path
    parts: Parts
    rest: int
    part_seconds: float | None
