"""Stores that lie: each lie is found in packed form and in objects, natively and in Python.

Both sides answer the same, and a state has the same digest in either form.
"""

import hashlib
import re
from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from struct import iter_unpack

import pytest

from cdb.contents import packed_reads
from cdb.contents.state import compare, summarize, verify
from cdb.contract import packed_state
from cdb.contract.blocks import BlockSpendInfo, canonical
from cdb.contract.coins import MAX_U64, coin_name
from cdb.contract.packed import CONFIRM_BYTES, CONFIRM_FORMAT, PackedBlocks
from cdb.errors import ChainMismatchError, InvariantError
from cdb.extensions.native import native_missing
from cdb.lab.process import Limits, fresh_within
from cdb.schemas.memory import MemorySchema
from cdb.schemas.registry import find_schema
from cdb.testing.chains import EDGE_AMOUNTS, reward, sample_chain
from tests.broken import lies
from tests.broken.lies import CHAIN, INFO, NAMES, Packing, holding, packing
from tests.broken.table import Faults
from tests.conftest import digest_of, load_all, own_schemas

Form = Callable[[type[MemorySchema]], type[MemorySchema]]
Instructions = Mapping[str, str]
native_only = pytest.mark.skipif(native_missing() is not None, reason=str(native_missing()))


@pytest.fixture(params=[pytest.param("native", marks=native_only), "python"], autouse=True)
def side(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which side goes over the coins."""
    name: str = request.param
    if name == "python":
        for module in (packed_state, packed_reads):
            monkeypatch.setattr(module, "native_missing", lambda: "not in this test")
    return name


UNDIGESTED = [
    *(form(kind) for kind in lies.undigested.values() for form in (lambda kind: kind, packing)),
    *(*lies.in_objects.values(), *lies.in_packs.values()),
]
VERIFIED = [*lies.verified.values(), *map(packing, lies.verified.values())]


def says(kind: type[MemorySchema]) -> str:
    """How verify() begins to complain."""
    return f"^{re.escape(str(kind.__doc__))}"


@pytest.mark.parametrize("kind", UNDIGESTED)
def test_a_lie_has_no_digest(kind: type[MemorySchema]) -> None:
    for read in (summarize, verify):
        with pytest.raises(InvariantError, match=says(kind)):
            read(holding(CHAIN, kind))


@pytest.mark.parametrize("kind", VERIFIED)
def test_verify_finds_a_lie(kind: type[MemorySchema]) -> None:
    with pytest.raises(InvariantError, match=f"{says(kind)}$"):
        verify(holding(CHAIN, kind))


@pytest.mark.parametrize("form", [lambda kind: kind, packing], ids=["objects", "packed"])
@pytest.mark.parametrize(
    "name",
    [
        *("ForgetsASpend", "SpendsElsewhere", "InventsASpend"),
        *("ReversesConfirms", "HasAnotherTimestamp"),
    ],
)
def test_a_lie_about_what_is_digested_changes_the_digest(name: str, form: Form) -> None:
    assert summarize(holding(CHAIN, form(lies.verified[name]))).digest != digest_of(CHAIN)


def test_the_first_block_with_a_breach_is_named() -> None:
    both = Faults(__name__, packing(lies.verified["ReversesSpends"]))
    both.add("Both", "", block_info_for_block_index=lambda store, right, index: None)
    with pytest.raises(InvariantError, match=r"^block 1 alone differs from the one"):
        verify(holding(CHAIN, both["Both"]))


def test_packed_states_have_the_digest_of_objects() -> None:
    chain = sample_chain()
    for blocks in (CHAIN, chain.blocks, []):
        expected = summarize(holding(blocks, MemorySchema))
        assert summarize(holding(blocks, Packing)) == verify(holding(blocks, Packing)) == expected
        assert expected.digest == digest_of(map(canonical, blocks))


@pytest.mark.parametrize("name", own_schemas())
def test_every_schema_has_the_same_digest(name: str, tmp_path: object) -> None:
    info = find_schema(name)
    if info.missing is not None:
        pytest.skip(info.missing)
    blocks = sample_chain().blocks
    with info.open(f"{tmp_path}/db") as schema:
        load_all(schema, blocks)
        assert verify(schema) == summarize(schema) == summarize(holding(blocks, MemorySchema))
        compare(schema, holding(blocks, Packing))
        compare(holding(blocks, MemorySchema), schema)


def test_compare_names_the_first_difference_whatever_the_packs() -> None:
    other = [*CHAIN[:-1], replace(CHAIN[-1], timestamp=3)]
    for a, b in ((Packing, Packing), (Packing, MemorySchema), (MemorySchema, Packing)):
        compare(holding(CHAIN, a), holding(CHAIN, b))
        with pytest.raises(ChainMismatchError, match=r"^block 9 differs: timestamps 0 and 3$"):
            compare(holding(CHAIN, a), holding(other, b))
        with pytest.raises(ChainMismatchError, match=r"^block 9 is only in the first database$"):
            compare(holding(CHAIN, a), holding(CHAIN[:-1], b))
        with pytest.raises(ChainMismatchError, match=r"^block 5 is only in the first database$"):
            compare(holding(CHAIN, a), holding([block for block in CHAIN if block.index != 5], b))


def test_a_spend_that_differs_is_compared() -> None:
    with pytest.raises(ChainMismatchError, match=r"^block 6 differs: only one of them spends coin"):
        compare(
            holding(CHAIN, Packing), holding(CHAIN, packing(lies.verified["SpendsAnotherBlocks"]))
        )
    with pytest.raises(ChainMismatchError, match=r"^block 6 differs: coin .* is spent at 0, 9$"):
        compare(holding(CHAIN, Packing), holding(CHAIN, packing(lies.verified["InventsASpend"])))


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


@dataclass(frozen=True)
class Named:
    """The names of so many first coins each, and those that they should have."""

    names: list[bytes]
    right: bytes


def name_some() -> Named:
    """A workload: groups that fill the lanes of a vector register and that don't, and amounts of
    all lengths, at the edges of each."""
    amounts = [0, *(2**n + more for n in range(7, 64, 8) for more in (-1, 0, 1)), MAX_U64]
    hashes = [hashlib.sha256(bytes([n])).digest() for n in range(2 * len(amounts))]
    coins = b"".join(
        hashes[2 * n] + hashes[2 * n + 1] + amount.to_bytes(8, "big")
        for n, amount in enumerate(amounts)
    )
    parts = [coins[: CONFIRM_BYTES * n] for n in range(len(amounts) + 1)]
    right = b"".join(coin_name(*coin) for coin in iter_unpack(CONFIRM_FORMAT, coins))
    return Named([packed_state.names_of(part) for part in parts], right)


@native_only
@pytest.mark.parametrize("instructions", [{}, {"CDB_SHA256_IN_LANES": "1"}], ids=["own", "lanes"])
def test_names_are_those_of_hashlib_however_many_are_hashed_at_once(
    instructions: Instructions,
) -> None:
    named = fresh_within(Limits(environment=instructions), name_some)
    assert named.names == [named.right[: 32 * n] for n in range(len(named.names))]
