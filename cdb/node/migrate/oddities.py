"""What a node's table may hold and no chain has: counted, and left out or taken."""

from collections import Counter
from enum import Enum

_LEFT_OUT = "left out"


class Oddity(Enum):
    """One kind of it: what people read, and what is done with it."""

    MALFORMED = "rows whose columns have other types or lengths than a node's", _LEFT_OUT
    MISNAMED = "coins whose name is not their hash", _LEFT_OUT
    EARLY_SPEND = "coins that are spent before they are confirmed", _LEFT_OUT
    UNPLACED = "rows without a height that a block may have", _LEFT_OUT
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


def left_out(oddities: Oddities) -> int:
    """How many rows were not taken."""
    return sum(count for oddity, count in oddities.items() if oddity.outcome == _LEFT_OUT)


def told(oddities: Oddities) -> str:
    """What was counted, in one line."""
    return ", ".join(
        f"{count:,} {oddity.text} ({oddity.outcome})"
        for oddity, count in sorted(oddities.items(), key=lambda item: item[0].name)
        if count
    )
