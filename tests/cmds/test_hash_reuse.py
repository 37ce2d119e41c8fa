"""hash_reuse as users type it, beside a count by hand."""

import json

import pytest

from cdb.contract.blocks import BlockSpendInfo
from cdb.text.mainnet_shape import mainnet_shaped_blocks
from tests.conftest import Commands, text_of

BLOCKS = list(mainnet_shaped_blocks(coins=6_000))


def coins_again(blocks: list[BlockSpendInfo], heights: int) -> int:
    """Coins with the puzzle hash of an earlier coin, at most so many heights below."""
    placed = [(block.index, coin.puzzle_hash) for block in blocks for coin in block.confirms]
    return sum(
        any(each == puzzle_hash and height - at <= heights for at, each in placed[:place])
        for place, (height, puzzle_hash) in enumerate(placed)
    )


@pytest.mark.parametrize("windows", [[0], [3, 0, 3], [700], [10, 200]])
def test_the_counts_are_those_by_hand(run_command: Commands, windows: list[int]) -> None:
    blocks = BLOCKS[:400]
    options = [word for heights in windows for word in ("--within", heights)]
    typed = run_command("hash_reuse", "--json", *options, input=text_of(blocks)).fine()
    found = json.loads(typed.out)
    assert found["coins"] == sum(len(block.confirms) for block in blocks)
    shown = {each["heights"]: each["coins"] for each in found["within"]}
    assert shown == {heights: coins_again(blocks, heights) for heights in windows}
    for each in found["within"]:
        assert each["share"] == each["coins"] / found["coins"]
        assert each["saved_bytes"] == each["share"] * (32 - 3)
        held = [
            sum(len(b.confirms) for b in blocks if 0 <= newest.index - b.index <= each["heights"])
            for newest in blocks
        ]
        assert each["most_coins"] == max(held)


def test_people_read_a_table(run_command: Commands) -> None:
    (run_command.cwd / "replay.txt").write_bytes(text_of(BLOCKS))
    lines = run_command("hash_reuse", "--input", "replay.txt").fine().out.decode().splitlines()
    assert lines[0] == "of 6,000 coins, those with the puzzle hash of an earlier coin"
    assert [line.split("  ")[0] for line in lines[1:4]] == ["within", "the same block", "1 height"]
    assert "1,000 heights" in lines[-2]


def test_bad_input_is_one_line(run_command: Commands) -> None:
    told = run_command("hash_reuse", input=b"no replay\n").error()
    assert "line 1" in told or ":1:" in told
    empty = run_command("hash_reuse", "--json", input=b"").fine()
    assert json.loads(empty.out)["coins"] == 0
