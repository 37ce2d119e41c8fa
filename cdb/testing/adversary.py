"""A peer that means harm: blocks that are valid, or must be refused, and are made to hurt.

It knows how every table hashes, and no key. Parents, puzzle hashes, amounts and indices are its own
choice; a coin's name is a SHA-256, of which it grinds a few bits. Each attack goes beside the
reference model, which says what is right.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import MAX_U32, MAX_U64, NAME_BYTES, Coin, bytes32
from cdb.errors import (
    AlreadySpentError,
    BlockOrderError,
    DuplicateCoinError,
    InvalidBlockError,
    UnknownCoinError,
)
from cdb.testing.chains import EDGE_AMOUNTS, Chain, child, hash_of, random_block, reward
from cdb.testing.side_by_side import CALLS, CLOSE, SideBySide

FEW = 24
"""Coins in an attack that tests can afford."""
MASSES = 100_000
MANY = 3
"""So many times as many, where the number itself is the attack."""
SAMPLE = 8
PACK_BLOCKS = 4
WORD_BITS = 64
TOP_BITS = 5
EARLY = 9
"""Which child of a coin comes before its time: none that other blocks have."""
BUCKETS = 85_229 * 172_933
"""Of libstdc++'s tables, whose hash of a number is the number, with 40,000 to 170,000 entries."""
FAR_INDICES = (-(2**63) - 1, -(2**31), -1, 2**31, MAX_U32 + 1, 2**63, MAX_U64 + 1)
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

Attack = Callable[[SideBySide, Random, int], None]
"""Tells both the same, with so many coins, and compares. Raises AssertionError."""


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


def coins_of_one_puzzle_hash(n: int) -> list[Coin]:
    """Coins that all belong to one."""
    return [Coin(hash_of("payer", place), hash_of("payee"), 1) for place in range(MANY * n)]


def families(n: int) -> list[Coin]:
    """Coins and their children, which come before the parents are spent."""
    parents = [reward(1, place) for place in range(-(-n // 2))]
    return [*(child(name, EARLY) for name in _names(parents)), *parents]


CRAFTS: Mapping[str, Callable[[int], list[Coin]]] = {
    **{kind: (lambda n, kind=kind: coins_of(kind, n)) for kind in PARENTS},  # type: ignore[misc]
    "ground": ground_coins,
    "siblings": sibling_coins,
    "one-puzzle-hash": coins_of_one_puzzle_hash,
    "families": families,
}
"""Coins that some table might take for each other, or find slowly."""


def crafted_coins(random: Random, n: int) -> list[Coin]:
    """Coins of one craft, of random's choice, for a block that has others, too."""
    craft = random.choice([*CRAFTS])
    coins = CRAFTS[craft](n + SAMPLE)
    return random.sample(coins, min(n, len(coins)))


def crafted_block(chain: Chain, random: Random) -> BlockSpendInfo:
    """A valid block that can follow, with coins that are crafted, or come before their time."""
    block = random_block(chain, random)
    there = {*chain.names, *_names(block.confirms)}
    coins = crafted_coins(random, random.randint(1, SAMPLE))
    parents = random.sample([*chain.unspent], min(len(chain.unspent), 2))
    coins += [child(name, EARLY) for name in parents]
    # Of the coins that are crafted some may be such children themselves.
    new = [coin for coin in dict.fromkeys(coins) if coin.name() not in there]
    timestamp = random.choice([0, 2**63 - 1, 2**63, MAX_U64])
    return BlockSpendInfo(block.index, timestamp, block.spends, [*block.confirms, *new])


def near(name: bytes32) -> list[bytes32]:
    """Names that differ from this one in one bit: at either end of the whole and of its words."""
    bits = [bit for word in range(0, 8 * NAME_BYTES, WORD_BITS) for bit in (word, word + 63)]
    number = int.from_bytes(name, "big")
    return [bytes32((number ^ 1 << bit).to_bytes(NAME_BYTES, "big")) for bit in bits]


def _craft(make: Callable[[int], list[Coin]]) -> Attack:
    def attack(both: SideBySide, random: Random, n: int) -> None:
        _live_through(both, random, make(n))

    return attack


def _live_through(both: SideBySide, random: Random, coins: Sequence[Coin]) -> None:
    """All that can happen to coins: twice, for a rewind takes it back."""
    start = both.chain.newest_index
    some = [coin.name() for coin in random.sample(coins, min(SAMPLE, len(coins)))]
    for packed in (True, False):
        both.accept(_in_blocks(both, coins), packed=packed)
        _refuse(both, random, DuplicateCoinError, confirms=coins[:1])
        both.look_up([*some, *(each for name in some for each in near(name))])
        both.accept([_next(both, spends=some)], packed=not packed)
        both.reopen()
        _refuse(both, random, AlreadySpentError, spends=some[:1])
        _refuse(both, random, DuplicateCoinError, confirms=coins[-1:])
        both.agree()
        if packed:
            both.rewind(start)
            _refuse(both, random, UnknownCoinError, spends=some[:1])


def _rewound(both: SideBySide, random: Random, n: int) -> None:
    """Coins of a branch that was abandoned are spent, and come again on the other."""
    kept = _rewards(both, n)
    both.accept([_next(both, confirms=kept)], packed=True)
    fork = both.chain.newest_index
    gone = _rewards(both, n, 1)
    both.accept([_next(both, spends=_names(kept), confirms=gone)], packed=True)
    both.flush()
    both.rewind(fork)
    both.accept(_in_blocks(both, _rewards(both, n, 2)), packed=True)
    for then, coin in zip(CALLS, gone, strict=False):
        _refuse(both, random, UnknownCoinError, spends=[coin.name()], then=then)
    both.accept([_next(both, spends=_names(kept[: n // 2]), confirms=gone)], packed=True)
    both.accept([_next(both, spends=_names(gone[: n // 2]))])
    _refuse(both, random, AlreadySpentError, spends=_names(gone[:1]))
    both.reopen()
    both.agree()


def _later(both: SideBySide, random: Random, n: int) -> None:
    """Coins are spent before a later block confirms them; or in the block that does, in a chain."""
    index = _newest(both)
    coins = _rewards(both, n)
    for coin in coins[:SAMPLE]:
        spending = BlockSpendInfo(index + 1, 0, [coin.name()], [])
        confirming = BlockSpendInfo(index + 2, 0, [], coins)
        error = both.offer([spending, confirming], packed=True, then=_call(random))
        assert error is UnknownCoinError
    line = [reward(index + 3, 1)]
    while len(line) < min(n, 10 * FEW):
        line.append(child(line[-1].name()))
    both.accept(
        [
            BlockSpendInfo(index + 2, 0, [], coins),
            BlockSpendInfo(index + 3, 0, _names(line[:0:-1]), line[::-1]),
            BlockSpendInfo(index + 4, 0, _names(coins), []),
        ],
        packed=True,
    )
    both.agree()


def _near_names(both: SideBySide, random: Random, n: int) -> None:
    """Names are spent that nobody has, but nearly."""
    coins = _rewards(both, n)
    both.accept(_in_blocks(both, coins), packed=True)
    for coin in coins[:2]:
        for name in near(coin.name()):
            _refuse(both, random, UnknownCoinError, spends=[name])
    both.reopen()
    both.look_up([name for coin in coins[: MASSES // 10] for name in near(coin.name())])
    both.agree()


def _early_children(both: SideBySide, random: Random, n: int) -> None:
    """Coins come before their parents are spent, or are there: in masses, and then once more."""
    parents = _rewards(both, n)
    names = _names(parents)
    start = both.chain.newest_index
    early = [child(name) for name in names]
    # Within one block a parent may stand behind its child, and never be spent.
    both.accept([_next(both, confirms=[*early[: n // 2], *parents])], packed=True)
    both.accept(_in_blocks(both, early[n // 2 :]), packed=True)
    for again in (early[0], early[-1]):
        spends = [again.parent_coin_name]
        _refuse(both, random, DuplicateCoinError, spends=spends, confirms=[again])
    both.reopen()
    _refuse(both, random, DuplicateCoinError, spends=names[1:2], confirms=early[1:2])
    both.accept([_next(both, spends=names, confirms=[child(name, 1) for name in names])])
    both.agree()
    both.rewind(start)
    both.accept([_next(both, confirms=parents)], packed=True)
    both.accept([_next(both, spends=names, confirms=early)], packed=True)
    both.agree()


def _many_spends(both: SideBySide, random: Random, n: int) -> None:
    """One block spends everything; first with one coin more that is unknown."""
    coins = _rewards(both, MANY * n)
    both.accept([_next(both, confirms=coins)], packed=True)
    fork = both.chain.newest_index
    for packed in (True, False):
        _refuse(both, random, UnknownCoinError, spends=[*_names(coins), hash_of("nobody")])
        both.accept([_next(both, spends=_names(coins))], packed=packed)
        both.rewind(fork)
    both.accept([_next(both, spends=_names(coins))], packed=True)
    both.agree()


def _limits(both: SideBySide, random: Random, n: int) -> None:
    """Every number at its limits, and asked for beyond them."""
    start = both.chain.newest_index
    coins = [
        Coin(hash_of("limit", place), hash_of(place), amount)
        for place, amount in enumerate(EDGE_AMOUNTS)
    ]
    both.accept([_next(both, confirms=coins)], packed=True)
    for timestamp in (0, 2**63 - 1, 2**63, MAX_U64):
        index = _newest(both) + 1
        both.accept([BlockSpendInfo(index, timestamp, [], [reward(index, 1)])])
    both.reopen()
    for index in (2**31 - 1, 2**31, MAX_U32):
        both.accept([BlockSpendInfo(index, 0, [], [reward(index, 1)])], packed=True)
    for index, error in ((MAX_U32, BlockOrderError), (MAX_U32 + 1, InvalidBlockError)):
        assert both.offer([BlockSpendInfo(index, 0, [], [])], packed=False) is error
    both.reopen()
    for index in FAR_INDICES:
        block = both.schema.block_info_for_block_index(index)
        assert block == both.model.block_info_for_block_index(index), f"block {index} differs"
    both.agree()
    for index in (MAX_U64 + 1, 2**63, MAX_U32, start):
        both.rewind(index)
        both.agree()


ATTACKS: Mapping[str, Attack] = {
    **{name: _craft(make) for name, make in CRAFTS.items()},
    "rewound": _rewound,
    "later": _later,
    "near-names": _near_names,
    "early-children": _early_children,
    "many-spends": _many_spends,
    "limits": _limits,
}
"""Each ends in a chain that the next one can follow."""


def _newest(both: SideBySide) -> int:
    """The newest index; 0 before the first block, which could spend nothing there."""
    return max(both.chain.newest_index, 0)


def _next(
    both: SideBySide, *, spends: Sequence[bytes32] = (), confirms: Sequence[Coin] = ()
) -> BlockSpendInfo:
    return BlockSpendInfo(_newest(both) + 1, 0, [*spends], [*confirms])


def _in_blocks(both: SideBySide, coins: Sequence[Coin]) -> list[BlockSpendInfo]:
    index, step = _newest(both) + 1, -(-len(coins) // PACK_BLOCKS)
    parts = (coins[begin : begin + step] for begin in range(0, len(coins), step))
    return [BlockSpendInfo(index + n, n, [], [*part]) for n, part in enumerate(parts)]


def _rewards(both: SideBySide, n: int, branch: int = 0) -> list[Coin]:
    """Coins that were never there."""
    return [reward(_newest(both) + 1, MASSES * MANY * branch + place) for place in range(n)]


def _names(coins: Iterable[Coin]) -> list[bytes32]:
    return [coin.name() for coin in coins]


def _call(random: Random) -> str:
    return random.choice([call for call in CALLS if call != CLOSE])


def _refuse(
    both: SideBySide,
    random: Random,
    error: type[Exception],
    *,
    spends: Sequence[bytes32] = (),
    confirms: Sequence[Coin] = (),
    then: str | None = None,
) -> None:
    """A block is refused alone, and in a pack behind one that is not."""
    bad = _next(both, spends=spends, confirms=confirms)
    assert both.offer([bad], packed=False) is error
    good = _next(both, confirms=[reward(bad.index, -1)])
    bad = BlockSpendInfo(good.index + 1, 0, bad.spends, bad.confirms)
    assert both.offer([good, bad], packed=True, then=then or _call(random)) is error
