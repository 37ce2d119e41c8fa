"""What other designs come to, of chains small enough to count by hand."""

from array import array
from pathlib import Path

from cdb.contract.coins import NAME_BYTES
from cdb.contract.packed import PackedBlocks
from cdb.lab.designs import chunks
from cdb.lab.designs.columns import Columns, read_columns
from cdb.lab.designs.deltas import cost
from cdb.lab.designs.layers import most_coins, share
from cdb.testing.chains import sample_chain
from tests.conftest import Commands, text_of

CHAIN = sample_chain(40)
# Coins of the heights 1, 1, 2 and 5; spent at 2 (row 0), 5 (row 3: at once) and 9 (row 1).
COLUMNS = Columns(array("I", [1, 1, 2, 5]), array("I", [2, 0, 5, 3, 9, 1]), newest=9)


def replay_in(directory: Path) -> Path:
    path = directory / "replay.txt"
    path.write_bytes(text_of(CHAIN.blocks))
    return path


def test_columns_are_those_of_the_replay(tmp_path: Path) -> None:
    columns = read_columns(replay_in(tmp_path))
    packed = PackedBlocks.of(CHAIN.blocks)
    names = [
        bytes(packed.names[at : at + NAME_BYTES]) for at in range(0, len(packed.names), NAME_BYTES)
    ]
    assert len(columns.confirmed) == len(names)
    assert columns.newest == packed.indices[-1]
    spent = [(height, names[row]) for height, row in columns.pairs]
    assert spent == [(b.index, name) for b in CHAIN.blocks for name in sorted(b.spends)]


def test_layers_count_spends_of_near_coins() -> None:
    assert share(COLUMNS, 1) == 1 / 3
    assert share(COLUMNS, 2) == 2 / 3
    assert share(COLUMNS, 9) == 1
    assert most_coins(COLUMNS, 1) == 2
    assert most_coins(COLUMNS, 2) == 4
    assert most_coins(COLUMNS, 100) == 7


def test_deltas_add_up() -> None:
    # Bases at 4 and 8, of 3 and 4 coins; three changes, one of them above 8.
    found = cost(COLUMNS, 4)
    assert found.bytes_kept == 4 * (3 + 4) + 8 * 3
    assert found.opening_changes == 1
    assert found.early_bytes == 0
    assert cost(COLUMNS, 100).bytes_kept == 8 * 3


def test_both_indexes_lead_to_the_coin(tmp_path: Path) -> None:
    directory = tmp_path / "built"
    directory.mkdir()
    built = chunks.build(replay_in(tmp_path), directory)
    packed = PackedBlocks.of(CHAIN.blocks)
    for at in range(packed.n_confirms):
        name = bytes(packed.names[at * NAME_BYTES :][:NAME_BYTES])
        coin = bytes(packed.confirms[at * 72 :][:72])
        assert built.find_place(name) == built.find_offset(name) == coin


def test_the_command_prints_three_tables(run_command: Commands, tmp_path: Path) -> None:
    result = run_command("bench_designs", replay_in(tmp_path), "--dir", tmp_path).fine()
    told = result.out.decode()
    for name in ("PathDB", "LETUS", "Monad", "a copy of a log of 1 chunks"):
        assert name in told
