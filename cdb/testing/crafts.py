"""Coins that are made to hurt, and blocks that have them: some table might take them for each
other, or find them slowly.

Who makes them knows how every table hashes, and no key. Parents, puzzle hashes, amounts and indices
are a peer's own choice; a coin's name is a SHA-256, of which it grinds a few bits.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import MAX_U64, NAME_BYTES, Coin, bytes32, is_reward
from cdb.errors import DuplicateCoinError
from cdb.testing.chains import (
    EDGE_AMOUNTS,
    Breach,
    Chain,
    child,
    coins_of_payee,
    hash_of,
    paid,
    random_block,
    reward,
    sample_chain,
)

MANY = 3
"""So many times as many, where the number itself is the attack."""
SAMPLE = 8
WORD_BITS = 64
TOP_BITS = 5
EARLY = 9
"""Which child of a coin comes before its time: none that other blocks have."""
BUCKETS = 85_229 * 172_933
"""Of libstdc++'s tables, whose hash of a number is the number, with 40,000 to 170,000 entries."""
GROUND_BITS = 24
GROUND_AMOUNTS = """
10256252 30310271 30459650 36377073 41942181 57883821 93171482 99880753 101803660 162155219
171346271 174347052 197734802 205278059 210804699 218443600 221851044 236089279 261574817 273102892
278510128 283570833 289174016 332071436 337353142 342967416 348026246 359106980 361934058 389964342
414305306 437433481 471344405 494528850 495355005 515264116 517965244 558591906 644251042 690059169
695188962 719617775 745067248 745459592 801528712 811775416 814569365 867927713 886093910 911074929
930919189 938102508 959312971 1001178975 1003179740 1009800477 1014229260 1017641054 1029362293
1029484636 1045339004 1055620442 1066434332 1068671629
"""
"""Found among the first 2^30: with these the name of one parent's child begins with zeros."""


def _of_heads(n: int) -> bytes32:
    """The first 16 bytes are the same."""
    return bytes32(hash_of("head")[:16] + hash_of("tail", n)[:16])


def _of_tails(n: int) -> bytes32:
    """The last 16 bytes are."""
    return bytes32(hash_of("head", n)[:16] + hash_of("tail")[:16])


def _of_top_bits(n: int) -> bytes32:
    """Only the leading bits of the four words differ, in either order of bytes."""
    mixed = hash_of("mixed", n // 2)
    words = [(mixed[word] >> (8 - TOP_BITS)) << (WORD_BITS - TOP_BITS) for word in range(4)]
    return bytes32(b"".join(word.to_bytes(8, ("big", "little")[n % 2]) for word in words))


def _of_sequence(n: int) -> bytes32:
    """One number after the other, at either end."""
    return bytes32((n // 2).to_bytes(NAME_BYTES, ("big", "little")[n % 2]))


def _of_buckets(n: int) -> bytes32:
    """The first 8 bytes are multiples of how many buckets a table has."""
    tail = bytearray(hash_of("tail")[8:])
    tail[-2] = n % 256
    return bytes32((n * BUCKETS).to_bytes(8, "big") + tail)


PARENTS: Mapping[str, Callable[[int], bytes32]] = {
    "heads": _of_heads,
    "tails": _of_tails,
    "top-bits": _of_top_bits,
    "sequence": _of_sequence,
    "buckets": _of_buckets,
}
"""Names that are crafted at will, the n-th of each kind: of parents that never come."""


def ordinary_coins(n: int) -> list[Coin]:
    """As many as an attack has, and nothing about them is chosen."""
    return [reward(0, place) for place in range(n)]


def coins_of(kind: str, n: int) -> list[Coin]:
    """So many coins with crafted parents, but for those that are the same."""
    parents = dict.fromkeys(map(PARENTS[kind], range(n)))
    return [Coin(parent, hash_of("crafted", kind), 1) for parent in parents]


def ground_coins(n: int) -> list[Coin]:
    """Coins whose own names share their first bits."""
    parent = hash_of("ground")
    return [child(parent, 0, int(amount)) for amount in GROUND_AMOUNTS.split()[:n]]


def sibling_coins(n: int) -> list[Coin]:
    """Coins that differ in nothing but their amounts."""
    amounts = dict.fromkeys([*EDGE_AMOUNTS, *range(2, n)])
    return [child(hash_of("mother"), 0, amount) for amount in amounts][:n]


def families(n: int) -> list[Coin]:
    """Coins and their children, which come before the parents are spent."""
    parents = [reward(1, place) for place in range(-(-n // 2))]
    return [*(child(name, EARLY) for name in (coin.name() for coin in parents)), *parents]


CRAFTS: Mapping[str, Callable[[int], list[Coin]]] = {
    **{kind: (lambda n, kind=kind: coins_of(kind, n)) for kind in PARENTS},  # type: ignore[misc]
    "ground": ground_coins,
    "siblings": sibling_coins,
    "one-puzzle-hash": lambda n: coins_of_payee(MANY * n),
    "families": families,
}
"""Coins that some table might take for each other, or find slowly."""


def crafted_coins(random: Random, n: int) -> list[Coin]:
    """Coins of one craft, of random's choice, for a block that has others, too."""
    craft = random.choice([*CRAFTS])
    coins = CRAFTS[craft](n + SAMPLE)
    return random.sample(coins, min(n, len(coins)))


def crafted_block(chain: Chain, random: Random, *, kin: bool = False) -> BlockSpendInfo:
    """A valid block that can follow, with coins that are crafted, or come before their time.

    kin: also such as come after their parent's spend, or with a parent that is not spent.
    """
    block = random_block(chain, random)
    own = [coin.name() for coin in block.confirms]
    coins = crafted_coins(random, random.randint(1, SAMPLE))
    parents = random.sample([*chain.unspent], min(len(chain.unspent), 2))
    if kin:
        parents += [random.choice([*names]) for names in (chain.spent, own) if names]
    coins += [child(name, EARLY) for name in parents]
    there = {*chain.names, *own}
    # Of the coins that are crafted some may be such children themselves.
    new = [coin for coin in dict.fromkeys(coins) if coin.name() not in there]
    timestamp = random.choice([0, 2**63 - 1, 2**63, MAX_U64])
    return BlockSpendInfo(block.index, timestamp, block.spends, [*block.confirms, *new])


def near(name: bytes32) -> list[bytes32]:
    """Names that differ from this one in one bit, at either end of the whole and of its words; and
    in all bits."""
    bits = [bit for word in range(0, 8 * NAME_BYTES, WORD_BITS) for bit in (word, word + 63)]
    number = int.from_bytes(name, "big")
    masks = [*(1 << bit for bit in bits), (1 << 8 * NAME_BYTES) - 1]
    return [bytes32((number ^ mask).to_bytes(NAME_BYTES, "big")) for mask in masks]


def kin() -> list[BlockSpendInfo]:
    """Children of every kind: of rewards, of strangers, before and after their parents' spends."""
    old = [reward(1, n) for n in range(6)]
    early, regular, late, unspent, eve, plain = (coin.name() for coin in old)
    stranger = hash_of("never there")
    line = [reward(6, 1)]
    line += [child(line[0].name())]
    line += [child(line[1].name())]
    return [
        # A reward in the very block of its height, in that of another, and of heights to come.
        BlockSpendInfo(1, 10, [], [*old, paid(1), paid(1, 1), paid(40), paid(2**32 - 1)]),
        BlockSpendInfo(2, 20, [regular], [child(regular), child(regular, 1, 2), child(early, 9)]),
        BlockSpendInfo(4, 30, [early, late], [paid(1, 2), paid(4), paid(1, 0, 7)]),
        BlockSpendInfo(5, 0, [], [child(late, 5), child(stranger), child(stranger, 1)]),
        BlockSpendInfo(6, 50, [line[0].name(), line[1].name()], line),
        BlockSpendInfo(7, 60, [], [paid(6), paid(3), paid(7), child(unspent), child(plain, 1)]),
        BlockSpendInfo(8, 70, [plain], [child(plain), child(regular, 7), child(stranger, 2)]),
        BlockSpendInfo(9, 2**64 - 1, [eve, child(late, 5).name()], []),
        BlockSpendInfo(40, 90, [paid(40).name()], [paid(40, 1), child(paid(40).name())]),
    ]


def alike(n: int) -> list[Coin]:
    """Coins whose parents and puzzle hashes are crafted to share bits, n of each kind."""
    return [
        Coin(make(place), bytes32(make(n - place)), 1)
        for make in PARENTS.values()
        for place in range(n)
    ]


def chain_with_kin() -> Chain:
    """With children of every kind."""
    chain = sample_chain(15)
    before = chain.newest_index + 1
    for block in kin():
        chain.append(replace(block, index=before + block.index))
    return chain


def _early_again(chain: Chain, block: BlockSpendInfo) -> BlockSpendInfo | None:
    """Confirms an early child once more, now with its parent's spend."""
    free = chain.unspent.keys() - block.spends
    for coin in chain.unspent.values():
        if coin.parent_coin_name in free and block.index:
            return replace(
                block,
                spends=[*block.spends, coin.parent_coin_name],
                confirms=[*block.confirms, coin],
            )
    return None


def _reward_again(chain: Chain, block: BlockSpendInfo) -> BlockSpendInfo | None:
    """Confirms a reward once more that is not the newest of its kind."""
    rewards = [coin for coin in chain.unspent.values() if is_reward(coin.parent_coin_name)]
    lowest = min(rewards, key=lambda coin: coin.parent_coin_name, default=None)
    return None if lowest is None else replace(block, confirms=[*block.confirms, lowest])


KIN_BREACHES = {
    "early child again": Breach(DuplicateCoinError, _early_again),
    "reward again": Breach(DuplicateCoinError, _reward_again),
}
"""Beside BREACHES, in chain_with_kin(): those for which a store must keep account of parents."""


def masses(n: int) -> list[BlockSpendInfo]:
    """n coins of one puzzle hash, PAYEE, 20 a block, and one that is alone with its own."""
    coins = coins_of_payee(n)
    return [
        BlockSpendInfo(
            m,
            0,
            [],
            [*coins[20 * m - 20 : 20 * m], Coin(hash_of("lonely", m), hash_of("only", m), 1)],
        )
        for m in range(1, n // 20 + 1)
    ]


def late_rewards() -> list[BlockSpendInfo]:
    """Heights without a block pay their rewards in the next one."""
    return [
        BlockSpendInfo(index, 0, [], [paid(height) for height in range(index - 3, index)])
        for index in range(3, 300, 3)
    ]
