"""Stores that give packed blocks and infos and lie: each lie is found, natively and in Python.

Both sides answer the same, and a state has the same digest when it is read as objects.
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from struct import Struct
from typing import Any

import pytest

from cdb.contents import packed_reads
from cdb.contents.state import compare, summarize, verify
from cdb.contract import packed_state
from cdb.contract.blocks import BlockSpendInfo, canonical
from cdb.contract.coins import CoinInfo, bytes32
from cdb.contract.packed import INFO_BYTES, INFO_FORMAT, PackedBlocks
from cdb.errors import ChainMismatchError, InvariantError
from cdb.extensions.native import native_missing
from cdb.schemas.memory import MemorySchema
from cdb.schemas.registry import find_schema
from cdb.testing.chains import EDGE_AMOUNTS, child, hash_of, reward, sample_chain
from tests.conftest import digest_of, load_all, own_schemas

CHAIN = [
    BlockSpendInfo(1, 0, [], [reward(1, n) for n in range(4)]),
    BlockSpendInfo(4, 0, [reward(1).name(), reward(1, 1).name()], [child(reward(1).name())]),
    BlockSpendInfo(5, 0, [], []),
    BlockSpendInfo(6, 0, [reward(1, 2).name()], [reward(6, n) for n in range(3)]),
    BlockSpendInfo(9, 0, [], [reward(9)]),
]
NAMES = [coin.name() for block in map(canonical, CHAIN) for coin in block.confirms]
SIXTH = NAMES[5:8]  # of block 6, in the order of its confirms
INFO = Struct(INFO_FORMAT)
native_only = pytest.mark.skipif(native_missing() is not None, reason=str(native_missing()))


@pytest.fixture(params=[pytest.param("native", marks=native_only), "python"], autouse=True)
def side(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which side goes over the coins."""
    name: str = request.param
    if name == "python":
        for module in (packed_state, packed_reads):
            monkeypatch.setattr(module, "native_missing", lambda: "not in this test")
    return name


class Packing(MemorySchema):
    """Gives all that it holds in packed form, in packs of two blocks, and no object."""

    def blocks(self) -> Iterator[BlockSpendInfo]:
        raise AssertionError("objects")

    def blocks_packed(self) -> Iterator[PackedBlocks]:
        blocks = self.iterated(list(super().blocks()))
        for at in range(0, len(blocks), 2):
            yield self.changed(PackedBlocks.of(blocks[at : at + 2]))

    def coin_infos_packed(self, coin_names: bytes) -> tuple[bytearray, bytearray]:
        names = [bytes32(coin_names[at : at + 32]) for at in range(0, len(coin_names), 32)]
        infos, found = bytearray(), bytearray()
        for name in names:
            answers = super().coin_infos_for_coin_names([name])
            found.append(len(answers))
            infos += pack(answers[0]) if answers else bytes(INFO_BYTES)
        return self.lied(names, infos, found)

    def iterated(self, blocks: list[BlockSpendInfo]) -> list[BlockSpendInfo]:
        return blocks

    def changed(self, blocks: PackedBlocks) -> PackedBlocks:
        return blocks

    def lied(
        self, names: Sequence[bytes], infos: bytearray, found: bytearray
    ) -> tuple[bytearray, bytearray]:
        return infos, found


def pack(info: CoinInfo) -> bytes:
    coin = info.coin
    return INFO.pack(
        *(coin.parent_coin_name, coin.puzzle_hash, coin.amount),
        *(info.confirmed_index, info.spent_index),
    )


def holding(kind: type[MemorySchema], blocks: Sequence[BlockSpendInfo] = CHAIN) -> MemorySchema:
    schema = kind()
    for block in blocks:
        schema.accept_block(block)
    return schema


def lies(field: int, value: object) -> type[Packing]:
    """A store that gives another value of a field of the coin SIXTH[1]."""

    class Lies(Packing):
        def lied(
            self, names: Sequence[bytes], infos: bytearray, found: bytearray
        ) -> tuple[bytearray, bytearray]:
            for place, name in enumerate(names):
                if name == SIXTH[1]:
                    fields = list(INFO.unpack_from(infos, INFO_BYTES * place))
                    fields[field] = value
                    INFO.pack_into(infos, INFO_BYTES * place, *fields)
            return infos, found

    return Lies


class SwapsTwoInfos(Packing):
    def lied(
        self, names: Sequence[bytes], infos: bytearray, found: bytearray
    ) -> tuple[bytearray, bytearray]:
        if SIXTH[1] in names:
            at = INFO_BYTES * names.index(SIXTH[1])
            one, other = infos[at : at + INFO_BYTES], infos[at + INFO_BYTES : at + 2 * INFO_BYTES]
            infos[at : at + 2 * INFO_BYTES] = other + one
        return infos, found


class MissesACoin(Packing):
    def lied(
        self, names: Sequence[bytes], infos: bytearray, found: bytearray
    ) -> tuple[bytearray, bytearray]:
        return infos, bytearray(
            name != SIXTH[1] and f for name, f in zip(names, found, strict=True)
        )


class MissesInLongLookups(Packing):
    def lied(
        self, names: Sequence[bytes], infos: bytearray, found: bytearray
    ) -> tuple[bytearray, bytearray]:
        return infos, found[:2] + bytes(len(found) - 2) if len(found) > 2 else found


class AnswersTooFew(Packing):
    def lied(
        self, names: Sequence[bytes], infos: bytearray, found: bytearray
    ) -> tuple[bytearray, bytearray]:
        return infos[INFO_BYTES:], found[1:]


class MatchesPrefixes(Packing):
    def lied(
        self, names: Sequence[bytes], infos: bytearray, found: bytearray
    ) -> tuple[bytearray, bytearray]:
        known = {name[:31] for name in NAMES}
        return infos, bytearray(name[:31] in known for name in names)


class OtherSpends(Packing):
    def iterated(self, blocks: list[BlockSpendInfo]) -> list[BlockSpendInfo]:
        return [self.spending(block) if block.index == 6 else block for block in blocks]

    def block_info_for_block_index(self, block_index: int) -> BlockSpendInfo | None:
        block = super().block_info_for_block_index(block_index)
        return self.spending(block) if block is not None and block_index == 6 else block

    def spending(self, block: BlockSpendInfo) -> BlockSpendInfo:
        return replace(block, spends=[bytes32(hash_of())])


class SpendsAnotherBlocks(OtherSpends):
    def spending(self, block: BlockSpendInfo) -> BlockSpendInfo:
        return replace(block, spends=[reward(1, 1).name()])


class SwapsItems(Packing):
    """Swaps the first two entries of one kind."""

    kind, entry_bytes = "confirms", 72

    def changed(self, blocks: PackedBlocks) -> PackedBlocks:
        entries = getattr(blocks, self.kind)
        n = self.entry_bytes
        if len(entries) < 2 * n:
            return blocks
        swapped = entries[n : 2 * n] + entries[:n] + entries[2 * n :]
        changed = replace(blocks, **{self.kind: swapped})
        return packed_state.with_names(changed)


class SwapsSpends(SwapsItems):
    kind, entry_bytes = "spends", 32


class GivesOtherNames(Packing):
    def changed(self, blocks: PackedBlocks) -> PackedBlocks:
        return replace(blocks, names=bytes(blocks.names).replace(SIXTH[1], SIXTH[0]))


class CutsConfirms(Packing):
    def changed(self, blocks: PackedBlocks) -> PackedBlocks:
        return replace(blocks, confirms=blocks.confirms[:-1])


class EndsFall(Packing):
    def changed(self, blocks: PackedBlocks) -> PackedBlocks:
        ends = array("Q", [2**40, *blocks.confirm_ends[1:]])
        return replace(blocks, confirm_ends=ends) if len(blocks) > 1 else blocks


class SpendEndsFall(Packing):
    def changed(self, blocks: PackedBlocks) -> PackedBlocks:
        ends = array("Q", [2**40, *blocks.spend_ends[1:]])
        return replace(blocks, spend_ends=ends) if len(blocks) > 1 else blocks


class LacksTimestamps(Packing):
    def changed(self, blocks: PackedBlocks) -> PackedBlocks:
        return replace(blocks, timestamps=blocks.timestamps[1:])


class HasNarrowTimestamps(Packing):
    def changed(self, blocks: PackedBlocks) -> PackedBlocks:
        return replace(blocks, timestamps=array("I", blocks.timestamps))


class HasSignedNames(Packing):
    def changed(self, blocks: PackedBlocks) -> PackedBlocks:
        return replace(blocks, names=memoryview(blocks.names).cast("b"))


class HasSignedInfos(Packing):
    def coin_infos_packed(self, coin_names: bytes) -> tuple[Any, Any]:
        infos, found = super().coin_infos_packed(coin_names)
        return memoryview(infos).cast("b"), found


class HasLargeIndex(Packing):
    def changed(self, blocks: PackedBlocks) -> PackedBlocks:
        return replace(blocks, indices=array("Q", [i + 2**32 for i in blocks.indices]))


class OtherTimestamp(Packing):
    def changed(self, blocks: PackedBlocks) -> PackedBlocks:
        return replace(blocks, timestamps=array("Q", [i == 6 for i in blocks.indices]))


class IteratesOutOfOrder(Packing):
    def iterated(self, blocks: list[BlockSpendInfo]) -> list[BlockSpendInfo]:
        return [*blocks[1:], blocks[0]]


class RepeatsABlock(Packing):
    def iterated(self, blocks: list[BlockSpendInfo]) -> list[BlockSpendInfo]:
        return [*blocks, blocks[-1]]


class LacksABlock(Packing):
    def iterated(self, blocks: list[BlockSpendInfo]) -> list[BlockSpendInfo]:
        return [block for block in blocks if block.index != 6]


class LacksTheLastBlock(Packing):
    def iterated(self, blocks: list[BlockSpendInfo]) -> list[BlockSpendInfo]:
        return blocks[:-1]


SAYS = f"block 6 confirms coin {SIXTH[1].hex()}, but a lookup says CoinInfo(coin=Coin("
NOT_FITTING = "packed blocks: "
LIES_TO_SUMMARIZE = [
    (SwapsTwoInfos, SAYS),
    (lies(0, bytes(32)), SAYS),
    (lies(1, bytes(32)), SAYS),
    (lies(2, 77), SAYS),
    (lies(3, 4), SAYS),
    (MissesACoin, f"block 6 confirms coin {SIXTH[1].hex()}, but a lookup misses it"),
    (MissesInLongLookups, "a lookup of many names gives other answers than lookups of one"),
    (AnswersTooFew, "a lookup of 5 names gives 4 answers"),
    (GivesOtherNames, f"block 6 confirms coin {SIXTH[1].hex()}, but names it {SIXTH[0].hex()}"),
    (CutsConfirms, NOT_FITTING),
    (EndsFall, NOT_FITTING),
    (SpendEndsFall, NOT_FITTING),
    (LacksTimestamps, NOT_FITTING),
    (HasNarrowTimestamps, NOT_FITTING),
    (HasSignedNames, NOT_FITTING),
    (HasSignedInfos, "a lookup's answers are not bytes"),
    (HasLargeIndex, f"block {4 + 2**32} has an index out of range"),
]
LIES_TO_VERIFY = [
    (lies(4, 9), "4 coins say that they are spent, and blocks spend 3"),
    (MatchesPrefixes, "a lookup finds coins that no block confirms"),
    (OtherSpends, "block 6 spends a coin that no lookup finds"),
    (SpendsAnotherBlocks, f"block 6 spends coin {reward(1, 1).name().hex()}, but it says 4"),
    (SwapsItems, "block 1 is not in canonical order, each entry once"),
    (SwapsSpends, "block 4 is not in canonical order, each entry once"),
    (OtherTimestamp, "block 6 alone differs from the one in the iteration"),
    (IteratesOutOfOrder, "block 1 comes after block 9"),
    (RepeatsABlock, "block 9 comes after block 9"),
    (LacksABlock, "3 coins say that they are spent, and blocks spend 2"),
    (LacksTheLastBlock, "the last block is 6, and the newest 9"),
]


@pytest.mark.parametrize(("kind", "problem"), LIES_TO_SUMMARIZE)
def test_a_lie_has_no_digest(kind: type[Packing], problem: str) -> None:
    for read in (summarize, verify):
        with pytest.raises(InvariantError) as caught:
            read(holding(kind))
        assert str(caught.value).startswith(problem)


@pytest.mark.parametrize(("kind", "problem"), LIES_TO_VERIFY)
def test_verify_finds_a_lie(kind: type[Packing], problem: str) -> None:
    with pytest.raises(InvariantError) as caught:
        verify(holding(kind))
    assert str(caught.value) == problem


@pytest.mark.parametrize("kind", [SwapsItems, lies(4, 9), OtherTimestamp])
def test_a_lie_about_what_is_digested_changes_the_digest(kind: type[Packing]) -> None:
    assert summarize(holding(kind)).digest != digest_of(CHAIN)


def test_the_first_block_with_a_breach_is_named() -> None:
    class Both(SwapsSpends):
        def block_info_for_block_index(self, block_index: int) -> BlockSpendInfo | None:
            return None if block_index == 1 else super().block_info_for_block_index(block_index)

    with pytest.raises(InvariantError, match=r"^block 1 alone differs from the one"):
        verify(holding(Both))


def test_packed_states_have_the_digest_of_objects() -> None:
    chain = sample_chain()
    for blocks in (CHAIN, chain.blocks, []):
        expected = summarize(holding(MemorySchema, blocks))
        assert summarize(holding(Packing, blocks)) == verify(holding(Packing, blocks)) == expected
        assert expected.digest == digest_of(map(canonical, blocks))


@pytest.mark.parametrize("name", own_schemas())
def test_every_schema_has_the_same_digest(name: str, tmp_path: object) -> None:
    info = find_schema(name)
    if info.missing is not None:
        pytest.skip(info.missing)
    blocks = sample_chain().blocks
    with info.open(f"{tmp_path}/db") as schema:
        load_all(schema, blocks)
        assert verify(schema) == summarize(schema) == summarize(holding(MemorySchema, blocks))
        compare(schema, holding(Packing, blocks))
        compare(holding(MemorySchema, blocks), schema)


def test_compare_names_the_first_difference_whatever_the_packs() -> None:
    other = [*CHAIN[:-1], replace(CHAIN[-1], timestamp=3)]
    for a, b in ((Packing, Packing), (Packing, MemorySchema), (MemorySchema, Packing)):
        compare(holding(a), holding(b))
        with pytest.raises(ChainMismatchError, match=r"^block 9 differs: timestamps 0 and 3$"):
            compare(holding(a), holding(b, other))
        with pytest.raises(ChainMismatchError, match=r"^block 9 is only in the first database$"):
            compare(holding(a), holding(b, CHAIN[:-1]))
        with pytest.raises(ChainMismatchError, match=r"^block 5 is only in the first database$"):
            compare(holding(a), holding(b, [block for block in CHAIN if block.index != 5]))


def test_a_spend_that_differs_is_compared() -> None:
    with pytest.raises(ChainMismatchError, match=r"^block 6 differs: only one of them spends coin"):
        compare(holding(Packing), holding(SpendsAnotherBlocks))
    with pytest.raises(ChainMismatchError, match=r"^block 6 differs: coin .* is spent at 0, 9$"):
        compare(holding(Packing), holding(lies(4, 9)))


def test_names_of_edge_amounts() -> None:
    coins = [replace(reward(1), amount=amount) for amount in EDGE_AMOUNTS]
    packed = PackedBlocks.of([BlockSpendInfo(1, 0, [], coins)])
    assert packed_state.names_of(packed.confirms) == packed.names
    assert packed_state.names_of(b"") == b""


def test_what_ascends() -> None:
    low, high = bytes(71) + b"\1", bytes(71) + b"\2"
    assert packed_state.first_unsorted(array("Q", [0, 2, 4]), low + high + low + high, 72) is None
    assert packed_state.first_unsorted(array("Q", [0, 2, 4]), low + high + high + low, 72) == 2
    assert packed_state.first_unsorted(array("Q", [0, 2, 4]), low + high + low + low, 72) == 2
    assert packed_state.first_unsorted(array("Q", [1, 2]), high + low, 72) is None
    assert packed_state.first_unsorted(array("Q"), b"", 72) is None


def test_entries_are_ordered_within_their_blocks() -> None:
    entries = b"".join([b"\x02b", b"\x02a", b"\xffa", b"\x00z", b"\x80y", b"\x01x"])
    order = packed_state.ascending(array("Q", [0, 3, 3, 6]), entries, 2)
    assert order.itemsize == 4
    assert order.tolist() == [1, 0, 2, 3, 5, 4]
    assert packed_state.gathered(order, entries, 2) == (b"\x02a\x02b\xffa\x00z\x01x\x80y")
    assert packed_state.gathered(order, b"012345", 1) == b"102354"
    assert packed_state.ascending(array("Q"), b"", 2).tolist() == []
    assert packed_state.gathered(array("I"), b"", 2) == b""
    for items in (entries[:-1], entries + b"x"):
        with pytest.raises(ValueError, match="items to put in order have"):
            packed_state.gathered(order, items, 2)


def test_a_spend_that_is_not_found_is_false_whatever_its_info_says() -> None:
    block = replace(CHAIN[0], index=7, spends=[NAMES[0], NAMES[1]], confirms=[])
    blocks = PackedBlocks.of([CHAIN[2], block])
    infos = 2 * INFO.pack(bytes(32), bytes(32), 0, 1, 7)
    assert packed_state.first_false_spend(blocks, infos, b"\1\1") is None
    assert packed_state.first_false_spend(blocks, infos, b"\1\0") == 1
    too_late = 2 * INFO.pack(bytes(32), bytes(32), 0, 8, 7)
    assert packed_state.first_false_spend(blocks, too_late, b"\1\1") == 1
    at_zero = PackedBlocks.of([replace(block, index=0)])
    nobody = 2 * INFO.pack(bytes(32), bytes(32), 0, 0, 0)
    assert packed_state.first_false_spend(at_zero, nobody, b"\1\1") == 0
