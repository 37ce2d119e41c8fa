"""The committed replays load into every schema, and show what replays/README.md says."""

import hashlib
import re
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path

import pytest

from cdb.contents.loader import Loader
from cdb.contents.state import summarize, verify
from cdb.contract.blocks import BlockSpendInfo, canonical
from cdb.contract.coins import MAX_U32, MAX_U64
from cdb.contract.packed import PackedBlocks
from cdb.errors import ChainMismatchError
from cdb.schemas import Schema, SchemaInfo
from cdb.schemas.registry import find_schema, names_at_paths
from cdb.text.replay import block_text, read_blocks

REPLAYS = Path(__file__).parents[1] / "replays"
FOUND = [find_schema(name) for name in names_at_paths()]
SCHEMAS = [each.name for each in FOUND if each.spec.keeps_contract]

# SHA-256 of the canonical replay, and the state digest.
PINNED = {
    "tiny": (
        "9e494a04335504fd2d2070d62197c55f655a69cc4b1a7588b16e62fad81a5f9d",
        "2fbd7d2445ce9410e61a47bdff4594bc76066423126852c9f1354b87afb04c02",
    ),
    "ephemeral": (
        "5e1a155169f1553ece2a63bc3e5416e81fe8e470a5b814b8c64dc6b517b4de73",
        "3b899f86803bda2300bcfc83c9f3d97d5ce419f380beaa0a14b5d4fec956a1f3",
    ),
    "reorg_a": (
        "fef3e970a87ef07125c929cebf68685993e14bda30e539d4a180606bc7a36a2e",
        "09a51d534194bc17a51e0357ec03ab99d66ae81e33cff6c45d6ff36d628de93e",
    ),
    "reorg_b": (
        "831b80464528c4f63f21617a618d0288a51b6e8e320708b17b504ba87428cd1b",
        "bcd982d31278dcd546c9947f22ef211df7518004489a1d22f7c6866e7c0bb271",
    ),
    "mainnet_0_63": (
        "cb9fea215d0f77ef43d09919240e4983fbbab7b9bc9c1f95172cf88804b51d11",
        "c313efb165a77c68cd7fb4b2ddd0cc23fc20acd5b85c2e2c583d76335cf7b927",
    ),
}
FORK = 10


def blocks_of(name: str) -> list[BlockSpendInfo]:
    with (REPLAYS / f"{name}.txt").open("rb") as stream:
        return list(read_blocks(stream))


def text_of(blocks: Iterable[BlockSpendInfo]) -> bytes:
    return b"".join(map(block_text, blocks))


def load(database: Schema, blocks: Iterable[BlockSpendInfo]) -> None:
    for _ in Loader(database).load([PackedBlocks.of(blocks)]):
        pass


@pytest.fixture(params=SCHEMAS)
def schema(request: pytest.FixtureRequest) -> SchemaInfo:
    info = find_schema(request.param)
    if info.missing is not None:
        pytest.skip(f"{info.name}: {info.missing}")
    return info


def test_every_file_is_pinned() -> None:
    assert {path.stem for path in REPLAYS.glob("*.txt")} == set(PINNED)


@pytest.mark.parametrize("name", PINNED)
def test_a_replay_in_every_schema(schema: SchemaInfo, name: str, tmp_path: Path) -> None:
    text_sha256, digest = PINNED[name]
    with schema.open(tmp_path / "database") as database:
        load(database, blocks_of(name))
        assert verify(database).digest == digest
    with schema.open(tmp_path / "database", read_only=True) as database:
        assert hashlib.sha256(text_of(database.blocks())).hexdigest() == text_sha256
        assert verify(database).digest == digest


@pytest.mark.parametrize(("old", "new"), [("reorg_a", "reorg_b"), ("reorg_b", "reorg_a")])
def test_from_one_branch_to_the_other(
    schema: SchemaInfo, old: str, new: str, tmp_path: Path
) -> None:
    with schema.open(tmp_path / "database") as database:
        load(database, blocks_of(old))
        database.rewind_to_block_index(FORK)
        load(database, blocks_of(new))
        assert summarize(database).digest == PINNED[new][1]
    with schema.open(tmp_path / "database", read_only=True) as database:
        assert text_of(database.blocks()) == text_of(blocks_of(new))


def test_a_branch_is_not_loaded_onto_the_other(schema: SchemaInfo, tmp_path: Path) -> None:
    with schema.open(tmp_path / "database") as database:
        load(database, blocks_of("reorg_b"))
        with pytest.raises(ChainMismatchError, match="different chains"):
            load(database, blocks_of("reorg_a"))
        assert summarize(database).digest == PINNED["reorg_b"][1]


def test_a_reader_stays_where_it_was_opened(schema: SchemaInfo, tmp_path: Path) -> None:
    """In lookups and iterations alike, whatever a writer does meanwhile."""
    blocks = blocks_of("reorg_a")
    with schema.open(tmp_path / "database") as writer:
        load(writer, (block for block in blocks if block.index <= FORK))
        with schema.open(tmp_path / "database", read_only=True) as reader:
            before = verify(reader)
            load(writer, blocks)
            assert verify(reader) == before
            assert reader.block_info_for_block_index(blocks[-1].index) is None


def test_the_branches_part_after_the_fork() -> None:
    a, b = blocks_of("reorg_a"), blocks_of("reorg_b")
    both = [one for one, _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False))]
    assert both[-1].index == FORK
    coins_a, coins_b = (
        {coin: block.index for block in blocks[len(both) :] for coin in block.confirms}
        for blocks in (a, b)
    )
    assert any(coins_a[coin] != coins_b[coin] for coin in coins_a.keys() & coins_b.keys())


def test_tiny_shows_every_feature() -> None:
    text = (REPLAYS / "tiny.txt").read_bytes()
    blocks = blocks_of("tiny")
    coins = [coin for block in blocks for coin in block.confirms]
    assert re.search(rb"^#", text, re.MULTILINE)
    assert b"\n\n" in text
    assert b"\r" not in text
    assert re.search(rb"^S [0-9A-F]*[A-F]", text, re.MULTILINE)
    assert {0, MAX_U64} <= {coin.amount for coin in coins}
    assert [block.index for block in blocks] == [0, 1, 5, 8, 9, MAX_U32]
    assert {block.timestamp for block in blocks} >= {0, MAX_U64}
    assert any(not block.spends and not block.confirms for block in blocks)
    unsorted = [block for block in blocks if block != canonical(block)]
    assert len(unsorted) == 1
    assert has_ephemeral_coins(unsorted[0])


def has_ephemeral_coins(block: BlockSpendInfo) -> bool:
    return not {coin.name() for coin in block.confirms}.isdisjoint(block.spends)


def test_ephemeral_coins_come_in_chains() -> None:
    first, *others = blocks_of("ephemeral")
    assert [has_ephemeral_coins(block) for block in (first, *others)] == [0, 1, 1, 1, 0]
    assert longest_chain(others[0]) == 12


def longest_chain(block: BlockSpendInfo) -> int:
    """How many coins of the block descend from each other."""
    parents = {coin.name(): coin.parent_coin_name for coin in block.confirms}
    longest = 0
    for name in parents:
        length = 0
        while name in parents:
            name, length = parents[name], length + 1
        longest = max(longest, length)
    return longest


@pytest.mark.parametrize("name", sorted(PINNED.keys() - {"tiny"}))
def test_the_others_differ_from_canonical_text_in_comments_alone(name: str) -> None:
    text = (REPLAYS / f"{name}.txt").read_bytes()
    assert re.sub(rb"(?m)^#.*\n", b"", text) == text_of(blocks_of(name))


def test_no_file_is_long() -> None:
    assert all(path.stat().st_size < 20_000 for path in REPLAYS.iterdir())
