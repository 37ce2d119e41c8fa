"""What a node's table may hold and no chain has: counted, and left out or taken."""

from collections import Counter
from enum import Enum


class Oddity(Enum):
    """One kind of it: what people read, and what is done with it."""

    MALFORMED = "rows whose columns have other types or lengths than a node's", "left out"
    MISNAMED = "coins whose name is not their hash", "left out"
    EARLY_SPEND = "coins that are spent before they are confirmed", "left out"
    UNPLACED = "rows without a height that a block may have", "left out"
    FLAG = "coinbase flags that the parent's shape does not give", "taken without the flag"
    MARK = "spent heights below -1", "taken as unspent"
    ORPHAN = "marks -1 without a spent parent of the same kind", "taken as unspent"
    GENESIS = "coins of height 0", "taken"
    TIMES = "blocks with several timestamps", "taken with the latest"
    SPENDS_ONLY = "blocks that spend coins and confirm none", "taken"

    @property
    def text(self) -> str:
        """What there is too much of."""
        return self.value[0]

    @property
    def outcome(self) -> str:
        """What --force does with it."""
        return self.value[1]


Oddities = Counter[Oddity]


def told(oddities: Oddities) -> str:
    """What was counted, in one line."""
    return ", ".join(
        f"{count:,} {oddity.text} ({oddity.outcome})"
        for oddity, count in sorted(oddities.items(), key=lambda item: item[0].name)
        if count
    )
