"""The adversary's own test: who falls to one attack is caught by it, and by no other."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from cdb.contract.coins import Coin
from cdb.schemas.memory import MemorySchema
from cdb.testing.adversary import ATTACKS, FEW
from cdb.testing.chains import Chain, block_at, hash_of
from cdb.testing.crafts import (
    GROUND_AMOUNTS,
    GROUND_BITS,
    SAMPLE,
    coins_of,
    crafted_block,
    ground_coins,
    near,
)
from cdb.testing.faults import CATALOGUE, BrokenPromiseError, attack
from cdb.testing.side_by_side import SideBySide
from tests.broken.attacked import Gullible, broken


def fatal_attacks(twin: type[MemorySchema]) -> list[str]:
    """The attacks that find something wrong with a schema that keeps nothing on disk."""
    fatal = []
    for name, attack_ in ATTACKS.items():
        schema = twin()
        try:
            attack_(SideBySide(lambda: schema), Random(1), FEW)  # noqa: B023 - called at once
        except Exception:
            fatal.append(name)
    return fatal


FATAL = {
    "KnowsHeads": "heads",
    "KnowsTails": "tails",
    "AddsUp": "top-bits",
    "SplitsBits": "sequence",
    "KnowsBuckets": "buckets",
    "KnowsShortNames": "ground",
    "KnowsShortAmounts": "siblings",
    "CountsInOneByte": "one-puzzle-hash",
    "TrustsFamilies": "early-children",
    "KeepsTheAbandoned": "rewound",
    "LooksAhead": "later",
    "SpendsWhatIsNear": "near-names",
    "TakesFewSpends": "many-spends",
    "IsSigned": "limits",
}


def test_no_attack_finds_something_in_the_model() -> None:
    assert fatal_attacks(Gullible) == []


@pytest.mark.parametrize("name", FATAL)
def test_each_attack_is_the_only_one_that_finds_something(name: str) -> None:
    assert fatal_attacks(broken[name]) == [FATAL[name]]


def test_ground_names_share_their_first_bits() -> None:
    coins = ground_coins(len(GROUND_AMOUNTS.split()))
    assert len(coins) == 64
    assert all(not int.from_bytes(coin.name(), "big") >> (256 - GROUND_BITS) for coin in coins)


def test_near_names_differ_in_one_bit_or_in_all() -> None:
    name = hash_of(1)
    numbers = [int.from_bytes(each, "big") ^ int.from_bytes(name, "big") for each in near(name)]
    assert Counter(number.bit_count() for number in numbers) == {1: 8, 256: 1}
    assert len(set(numbers)) == 9


def test_crafted_coins_that_cost_more_than_others_are_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A table whose hash adds up is searched step by step, and nothing but its time is wrong."""
    assert fatal_attacks(broken["Probes"]) == []

    def steps(coins: Sequence[Coin]) -> float:
        schema = broken["Probes"]()
        monkeypatch.setattr(attack, "process_time", lambda: schema.steps)
        return attack.store_seconds(schema, coins)

    with pytest.raises(AssertionError, match=r"crafted, they cost .* and ordinary ones 8000\.0 s"):
        attack.check_cost(steps, coins_of("top-bits", 4010)[:4000])
    for kind in ("heads", "tails", "sequence"):
        attack.check_cost(steps, coins_of(kind, 1000))


def test_an_attack_is_told_with_the_command_that_makes_it_again(tmp_path: Path) -> None:
    with pytest.raises(BrokenPromiseError, match=r"ground of 72 coins: .*DuplicateCoin") as caught:
        CATALOGUE["attack"].trial(
            "tests.broken.attacked:KnowsShortNames", 1, tmp_path, most=None, only="ground"
        )
    assert caught.value.case.command.endswith("KnowsShortNames --seed 1 --only ground")


def test_a_crafted_block_is_valid_whatever_comes_together() -> None:
    """Also where a crafted coin is the early child of a coin that is there."""
    chain = Chain()
    chain.append(block_at(1, coins=SAMPLE))
    for seed in range(300):
        names = [coin.name() for coin in crafted_block(chain, Random(seed)).confirms]
        assert len({*names}) == len(names)
