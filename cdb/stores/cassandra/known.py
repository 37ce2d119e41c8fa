"""What a chain knows of the coins before some blocks, by as few rows as may matter."""

from collections.abc import Sequence

from cdb.contract.packed import Fields
from cdb.stores.cassandra.moment import Moment


class Known:
    """See KnownCoins, for one pack of blocks.

    A coin has a mark where a block confirmed a child of it that did not spend it. Marks stay, also
    where a rewind takes that block: one that is not needed costs a look-up, and is never wrong.
    """

    def __init__(self, moment: Moment) -> None:
        self._moment = moment
        self._coins: dict[bytes, Fields | None] = {}
        self._spent: list[int] = []

    def parents_of_older(self, early: Sequence[bytes], spends: Sequence[bytes]) -> set[bytes]:
        """See KnownCoins."""
        asked = dict.fromkeys([*early, *spends])
        marked = self._look_up([*asked])
        return marked | {name for name in early if (coin := self._coins[name]) and coin[-1]}

    def find(self, names: Sequence[bytes]) -> list[int | None]:
        """See KnownCoins: by their places in this call."""
        self._look_up([name for name in dict.fromkeys(names) if name not in self._coins])
        coins = [self._coins[name] for name in names]
        self._spent = [coin[-1] if coin else 0 for coin in coins]
        return [place if coin else None for place, coin in enumerate(coins)]

    def spent(self, coins: Sequence[int]) -> list[tuple[int, int]]:
        """See KnownCoins."""
        return [(coin, self._spent[coin]) for coin in coins if self._spent[coin]]

    def _look_up(self, names: list[bytes]) -> set[bytes]:
        """Get to know these coins; those with a mark."""
        found, marked = self._moment.coins(names)
        self._coins.update((name, found.get(name)) for name in names)
        return marked
