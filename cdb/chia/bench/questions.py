"""What is asked: calls of a node, with their arguments, drawn before anything is measured."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from cdb.bench.case import Parameters
from cdb.chia.bench.chain import Chain
from cdb.chia.bench.stores import Store


@dataclass(frozen=True, slots=True)
class Question:
    """A method of the stores, and how to call it with each of some arguments."""

    method: str
    parameters: Parameters
    call: Callable[[Store, Any], Awaitable[Any]]
    arguments: Sequence[Any]


def questions(chain: Chain, part: int) -> list[Question]:
    """All of them, each with one in `part` of the calls."""
    draw = chain.random.sample
    many, few, rare = (max(1, number // part) for number in (200, 20, 10))
    page = {"max_items": 1_000}
    return [
        *(
            Question(
                "get_coin_records",
                {"names": n},
                lambda store, names: store.calls.get_coin_records(names),
                [draw(chain.names, n) for _ in range(number)],
            )
            for n, number in ((1, many), (100, many), (1_000, few))
        ),
        Question(
            "get_coin_records_by_puzzle_hashes",
            {"hashes": 100, "coins": "unspent"},
            lambda store, hashes: store.calls.get_coin_records_by_puzzle_hashes(False, hashes),
            [draw(chain.addresses, 100) for _ in range(few)],
        ),
        Question(
            "get_coin_records_by_parent_ids",
            {"parents": 1},
            lambda store, parent: store.calls.get_coin_records_by_parent_ids(True, [parent]),
            draw(chain.spent, many),
        ),
        Question(
            "batch_coin_states_by_puzzle_hashes",
            {"of": "a busy hash", **page},
            lambda store, hashes: store.calls.batch_coin_states_by_puzzle_hashes(hashes, **page),
            [[chain.busy]] * rare,
        ),
        Question(
            "batch_coin_states_by_puzzle_hashes",
            {"of": "500 addresses and hints", **page},
            lambda store, hashes: store.calls.batch_coin_states_by_puzzle_hashes(hashes, **page),
            [draw(chain.addresses, 500) for _ in range(rare)],
        ),
    ]


def digest(answers: Sequence[Any]) -> str:
    """SHA-256 of answers: each some coins in any order, or a page of them and what follows."""
    found = sha256()
    for answer in answers:
        coins, following = answer if isinstance(answer, tuple) else (answer, None)
        each = coins.values() if isinstance(coins, dict) else coins
        found.update(repr((len(each), following)).encode())
        found.update(b"".join(sorted(map(bytes, each))))
    return found.hexdigest()
