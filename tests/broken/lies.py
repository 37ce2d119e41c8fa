"""Stores that hold CHAIN, and lie about it. What is wrong is how verify()'s complaint begins."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from struct import Struct, iter_unpack
from typing import Any

from cdb.contract.blocks import BlockSpendInfo, canonical
from cdb.contract.coins import CoinInfo, bytes32_unchecked
from cdb.contract.packed import INFO_BYTES, INFO_FORMAT, PackedBlocks, pack_unnamed
from cdb.contract.packed_state import with_names
from cdb.schemas.memory import MemorySchema
from cdb.testing.chains import block_at, child, hash_of, reward
from tests.broken.table import Faults

CHAIN = [
    block_at(1, coins=4),
    BlockSpendInfo(4, 0, [reward(1).name(), reward(1, 1).name()], [child(reward(1).name())]),
    BlockSpendInfo(5, 0, [], []),
    BlockSpendInfo(6, 0, [reward(1, 2).name()], [reward(6, n) for n in range(3)]),
    block_at(9),
]
NAMES = [coin.name() for block in map(canonical, CHAIN) for coin in block.confirms]
SIXTH = NAMES[5:8]
"""Of block 6, in the order of its confirms."""
P = hash_of()
SPENT, UNSPENT = reward(1, 1).name(), reward(9).name()
INFO = Struct(INFO_FORMAT)


def _packed_info(info: CoinInfo) -> bytes:
    coin = info.coin
    return INFO.pack(
        *(coin.parent_coin_name, coin.puzzle_hash, coin.amount),
        *(info.confirmed_index, info.spent_index),
    )


class Packing(MemorySchema):
    """Gives all that it holds in packed form, in packs of two blocks, and no object."""

    def blocks(self) -> list[BlockSpendInfo]:
        """Nobody may want them."""
        raise AssertionError("objects")

    def blocks_packed(self) -> Iterator[PackedBlocks]:
        """See ReadsPacked."""
        blocks = list(super().blocks())
        for at in range(0, len(blocks), 2):
            yield with_names(pack_unnamed(blocks[at : at + 2]))

    def coin_infos_packed(self, coin_names: bytes) -> tuple[Any, Any]:
        """See ReadsPacked."""
        names = [bytes32_unchecked(name) for (name,) in iter_unpack("32s", coin_names)]
        together = self.coin_infos_for_coin_names(names)
        alone = [self.coin_infos_for_coin_names([name]) for name in names]
        found = [infos[:1] if infos[:1] and infos[0] in together else [] for infos in alone]
        packed = [_packed_info(infos[0]) if infos else bytes(INFO_BYTES) for infos in found]
        return bytearray(b"".join(packed)), bytearray(map(len, found))


def packing(kind: type[MemorySchema]) -> type[MemorySchema]:
    """A kind of store that gives what it says in packed form only."""
    return type(kind.__name__, (Packing, kind), {"__doc__": kind.__doc__})


def holding(
    blocks: Iterable[BlockSpendInfo], kind: type[MemorySchema] = MemorySchema
) -> MemorySchema:
    """A store in memory that holds these blocks."""
    schema = kind()
    for block in blocks:
        schema.accept_block(block)
    return schema


def _of_coin(name: bytes, lie: Callable[[CoinInfo], list[CoinInfo]]) -> dict[str, Any]:
    """Lookups that give something else for one coin."""

    def look_up(store: Any, right: Any, names: Sequence[bytes]) -> list[CoinInfo]:
        answers: list[CoinInfo] = []
        for each in names:
            for info in right([each]):
                answers += lie(info) if each == name else [info]
        return answers

    return {"coin_infos_for_coin_names": look_up}


def _saying(name: bytes, **fields: Any) -> dict[str, Any]:
    """Lookups that give other fields of one coin, or of its info."""

    def changed(info: CoinInfo) -> list[CoinInfo]:
        coin = {each: fields[each] for each in fields if hasattr(info.coin, each)}
        others = {each: fields[each] for each in fields if each not in coin}
        return [replace(info, coin=replace(info.coin, **coin), **others)]

    return _of_coin(name, changed)


def _blocks(lie: Callable[[BlockSpendInfo], BlockSpendInfo]) -> dict[str, Any]:
    """Blocks that differ, in the iteration and alone alike."""
    return {
        "blocks": lambda store, right: map(lie, right()),
        "block_info_for_block_index": lambda store, right, index: (
            (block := right(index)) and lie(block)
        ),
    }


def _spending(index: int, *names: Any) -> dict[str, Any]:
    """A block that has other spends."""
    return _blocks(lambda b: replace(b, spends=[*names]) if b.index == index else b)


def _listing(lie: Callable[[list[BlockSpendInfo]], list[BlockSpendInfo]]) -> dict[str, Any]:
    """An iteration that differs."""
    return {"blocks": lambda store, right: lie(list(right()))}


def _pack(**lies: Callable[[Any], Any]) -> dict[str, Any]:
    """Packs in which fields differ."""

    def changed(blocks: PackedBlocks) -> PackedBlocks:
        fields: Any = {field: lie(getattr(blocks, field)) for field, lie in lies.items()}
        return replace(blocks, **fields)

    return {"blocks_packed": lambda store, right: map(changed, right())}


def _first_far(ends: "array[int]") -> "array[int]":
    return array("Q", [2**40, *ends[1:]]) if len(ends) > 1 else ends


def _answering(lie: Callable[[Sequence[bytes], Any, Any], tuple[Any, Any]]) -> dict[str, Any]:
    """Packed lookups that differ: lie is given names, infos, and which were found."""

    def look_up(store: Any, right: Any, names: bytes) -> tuple[Any, Any]:
        return lie([name for (name,) in iter_unpack("32s", names)], *right(names))

    return {"coin_infos_packed": look_up}


def _swapped(names: Sequence[bytes], infos: Any, found: Any) -> tuple[Any, Any]:
    if SIXTH[1] in names:
        at = INFO_BYTES * names.index(SIXTH[1])
        one, other = infos[at : at + INFO_BYTES], infos[at + INFO_BYTES : at + 2 * INFO_BYTES]
        infos[at : at + 2 * INFO_BYTES] = other + one
    return infos, found


OTHER_ANSWERS = "a lookup of many names gives other answers than lookups of one"
UNSORTED = "is not in canonical order, each entry once"
SPENT_SAYS = f"block 1 confirms coin {SPENT.hex()}, but a lookup"
SIXTH_SAYS = f"block 6 confirms coin {SIXTH[1].hex()}, but "
SAYS = "a lookup says CoinInfo("
SPEND_SAYS = f"spends coin {SPENT.hex()}, but it says"
A_SPEND_LESS = "3 coins say that they are spent, and blocks spend 2"
A_SPEND_MORE = "4 coins say that they are spent, and blocks spend 3"
ALONE = "block 6 alone differs from the one in the iteration"
NOT_FITTING = "packed blocks: "

undigested = Faults(__name__, MemorySchema)
"""Such that no digest is taken of it."""
undigested.add("MissesACoin", f"{SPENT_SAYS} misses it", **_of_coin(SPENT, lambda info: []))
undigested.add("GivesAnotherAmount", SIXTH_SAYS + SAYS, **_saying(SIXTH[1], amount=77))
undigested.add("GivesAnotherIndex", SIXTH_SAYS + SAYS, **_saying(SIXTH[1], confirmed_index=4))
undigested.add("GivesAnotherParent", SIXTH_SAYS + SAYS, **_saying(SIXTH[1], parent_coin_name=P))
undigested.add("GivesAnotherHash", SIXTH_SAYS + SAYS, **_saying(SIXTH[1], puzzle_hash=P))
undigested.add(
    "MissesInLongLookups",
    OTHER_ANSWERS,
    coin_infos_for_coin_names=lambda store, right, names: right(names)[:2],
)

verified = Faults(__name__, MemorySchema)
"""Such that only verify() finds it."""
verified.add("ForgetsASpend", f"block 4 {SPEND_SAYS} 0", **_saying(SPENT, spent_index=0))
verified.add("SpendsElsewhere", f"block 4 {SPEND_SAYS} 6", **_saying(SPENT, spent_index=6))
verified.add("InventsASpend", A_SPEND_MORE, **_saying(SIXTH[1], spent_index=9))
verified.add("SpendsTheUnknown", "block 6 spends a coin that no lookup finds", **_spending(6, P))
verified.add("SpendsTwice", f"block 9 {SPEND_SAYS} 4", **_spending(9, SPENT))
verified.add("SpendsAnotherBlocks", f"block 6 {SPEND_SAYS} 4", **_spending(6, SPENT))
verified.add("DropsASpend", A_SPEND_LESS, **_spending(6))
verified.add(
    "MatchesPrefixes",
    "a lookup finds coins that no block confirms",
    coin_infos_for_coin_names=lambda store, right, names: right(
        [{each[:31]: each for each in NAMES}.get(name[:31], name) for name in names]
    ),
)
verified.add(
    "ReversesSpends",
    f"block 4 {UNSORTED}",
    **_blocks(lambda block: replace(block, spends=block.spends[::-1])),
)
verified.add(
    "ReversesConfirms",
    f"block 1 {UNSORTED}",
    **_blocks(lambda block: replace(block, confirms=block.confirms[::-1])),
)
verified.add(
    "RepeatsSpends",
    f"block 4 {UNSORTED}",
    **_listing(lambda blocks: [replace(each, spends=sorted(each.spends * 2)) for each in blocks]),
)
verified.add(
    "LacksABlockAlone",
    ALONE,
    block_info_for_block_index=lambda store, right, index: None if index == 6 else right(index),
)
verified.add(
    "HasAnotherTimestamp",
    ALONE,
    **_listing(lambda blocks: [replace(each, timestamp=each.index // 6 % 2) for each in blocks]),
)
verified.add("StartsLate", "block 1 comes after block 9", **_listing(lambda b: [*b[1:], b[0]]))
verified.add("RepeatsABlock", "block 9 comes after block 9", **_listing(lambda b: [*b, b[-1]]))
verified.add(
    "LacksTheLastBlock", "the last block is 6, and the newest 9", **_listing(lambda b: b[:-1])
)
verified.add("LacksABlock", A_SPEND_LESS, **_listing(lambda b: [*b[:3], *b[4:]]))
verified.add(
    "HasAnotherNewestIndex",
    "the last block is 9, and the newest 10",
    last_block_index=lambda store, right: (newest := right()) and newest + (newest == 9),
)

in_objects = Faults(__name__, MemorySchema)
"""Undigested as well, and no packed form can say it."""
in_objects.add("AnswersTwice", SPENT_SAYS, **_of_coin(SPENT, lambda info: [info, info]))
in_objects.add("GivesALongParent", SAYS, **_saying(SPENT, parent_coin_name=SPENT + b"!"))
in_objects.add("GivesALongPuzzleHash", SAYS, **_saying(SPENT, puzzle_hash=SPENT + b"!"))
in_objects.add(
    "AnswersOutOfOrder",
    "block 1 confirms coin",
    coin_infos_for_coin_names=lambda store, right, names: right(names)[::-1],
)

in_packs = Faults(__name__, Packing)
"""Undigested as well, and only a packed form can say it."""
in_packs.add("CutsConfirms", NOT_FITTING, **_pack(confirms=lambda items: items[:-1]))
in_packs.add("EndsFall", NOT_FITTING, **_pack(confirm_ends=_first_far))
in_packs.add("SpendEndsFall", NOT_FITTING, **_pack(spend_ends=_first_far))
in_packs.add("LacksTimestamps", NOT_FITTING, **_pack(timestamps=lambda items: items[1:]))
in_packs.add(
    "HasNarrowTimestamps", NOT_FITTING, **_pack(timestamps=lambda items: array("I", items))
)
in_packs.add(
    "HasSignedNames", NOT_FITTING, **_pack(names=lambda items: memoryview(items).cast("b"))
)
in_packs.add(
    "HasLargeIndex",
    f"block {4 + 2**32} has an index out of range",
    **_pack(indices=lambda items: array("Q", [each + 2**32 for each in items])),
)
in_packs.add(
    "GivesOtherNames",
    f"{SIXTH_SAYS}names it {SIXTH[0].hex()}",
    **_pack(names=lambda items: bytes(items).replace(SIXTH[1], SIXTH[0])),
)
in_packs.add("SwapsTwoInfos", SIXTH_SAYS + SAYS, **_answering(_swapped))
in_packs.add(
    "AnswersTooFew",
    "a lookup of 5 names gives 4 answers",
    **_answering(lambda names, infos, found: (infos[INFO_BYTES:], found[1:])),
)
in_packs.add(
    "HasSignedInfos",
    "a lookup's answers are not bytes",
    **_answering(lambda names, infos, found: (memoryview(infos).cast("b"), found)),
)
