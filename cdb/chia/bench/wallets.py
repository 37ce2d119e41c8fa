"""What wallets ask while blocks arrive, and what both stores have to answer alike.

An answer comes before the block that arrives meanwhile, or after it. What was true at the height
at which the wallets began is in it either way: later coins and spends are left out of what is
compared.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from random import Random
from struct import pack
from typing import Any

from chia_rs import CoinState

from cdb.bench.case import Case, Parameters
from cdb.bench.figures import latency_figures
from cdb.bench.stopwatch import Stopwatch
from cdb.chia.bench.chain import SEED
from cdb.chia.bench.feed import Known
from cdb.chia.bench.stores import Store

NAMES, HASHES = 100, 20


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A method of the stores, and how to call it about so many coins that wallets know."""

    method: str
    parameters: Parameters
    n_known: int
    call: Callable[[Any, list[Known]], Awaitable[Any]]


def _names(known: Sequence[Known]) -> list[Any]:
    return [coin.name for coin in known]


def _hashes(known: Sequence[Known]) -> list[Any]:
    return [*dict.fromkeys(coin.puzzle_hash for coin in known)]


REQUESTS = (
    Request(
        "get_coin_states_by_ids",
        {"names": NAMES},
        NAMES,
        lambda calls, known: calls.get_coin_states_by_ids(True, _names(known)),
    ),
    Request(
        "get_coin_states_by_puzzle_hashes",
        {"hashes": HASHES},
        HASHES,
        lambda calls, known: calls.get_coin_states_by_puzzle_hashes(True, set(_hashes(known))),
    ),
    Request(
        "batch_coin_states_by_puzzle_hashes",
        {"of": "addresses and hints", "hashes": HASHES},
        HASHES,
        lambda calls, known: calls.batch_coin_states_by_puzzle_hashes(_hashes(known)),
    ),
    Request(
        "get_coin_records_by_parent_ids",
        {"parents": 1},
        1,
        lambda calls, known: calls.get_coin_records_by_parent_ids(True, [known[0].parent]),
    ),
    Request("get_coin_record", {}, 1, lambda calls, known: calls.get_coin_record(known[0].name)),
    Request(
        "get_coins_added_at_height",
        {},
        1,
        lambda calls, known: calls.get_coins_added_at_height(known[0].height),
    ),
)


class Wallets:
    """They make requests, all at once, about coins that were known at a height."""

    def __init__(self, requests: Sequence[Request], height: int, known: Sequence[Known]) -> None:
        self._height = height
        self._known = [*known]
        self._random = Random(SEED)  # noqa: S311 - no secret
        self._requests = {request: (Stopwatch(), sha256()) for request in requests}

    def calls(self, store: Store) -> list[Awaitable[Any]]:
        """One of each request, about other coins each time."""
        return [
            _call(store, request, self._drawn(request.n_known), watch)
            for request, (watch, _) in self._requests.items()
        ]

    def tell(self, answers: Sequence[Any]) -> None:
        """What the calls gave, in their order."""
        for answer, (_, told) in zip(answers, self._requests.values(), strict=True):
            told.update(as_of(self._height, answer))

    def cases(self) -> list[Case]:
        """How long each kind of request took, and what its answers come to."""
        return [
            Case(
                request.method,
                request.parameters,
                figures=latency_figures("call", watch.laps),
                answers=told.hexdigest(),
            )
            for request, (watch, told) in self._requests.items()
        ]

    def _drawn(self, number: int) -> list[Known]:
        return self._random.sample(self._known, min(number, len(self._known)))


async def _call(store: Store, request: Request, known: list[Known], watch: Stopwatch) -> Any:
    with watch.running():
        return await request.call(store.calls, known)


def as_of(height: int, answer: Any) -> bytes:
    """What an answer says of a height and below: coins in any order, a page of them, or one."""
    coins = answer[0] if isinstance(answer, tuple) else answer
    if not isinstance(coins, list | set):
        coins = [] if coins is None else [coins]
    found = sorted(_states(height, coins))
    return b"".join([pack("=I", len(found)), *found])


def _states(height: int, coins: Any) -> Iterator[bytes]:
    for each in coins:
        if isinstance(each, CoinState):
            confirmed, spent = each.created_height or 0, each.spent_height or 0
        else:
            confirmed, spent = each.confirmed_block_index, each.spent_block_index
        if confirmed <= height:
            yield bytes(each.coin) + pack("=II", confirmed, spent if spent <= height else 0)
