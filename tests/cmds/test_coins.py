"""coins: what secondary keys find, as lines for people and for programs."""

import csv
import json
import shlex
import shutil
import subprocess
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import CoinInfo
from cdb.schemas import find_schema
from cdb.schemas.memory import MemorySchema
from tests.conftest import Commands, closed, contents, load_all, ready_schemas
from tests.engines import OTHER

Blocks = tuple[BlockSpendInfo, ...]
HASHES = ("name", "puzzle_hash", "parent")
INDEXED = [found for found in map(find_schema, ready_schemas()) if found.indexed is not None]


@pytest.fixture(scope="module")
def model(blocks: Blocks) -> MemorySchema:
    """All the blocks, in the model."""
    memory = MemorySchema()
    load_all(memory, blocks)
    return memory


@pytest.fixture(params=[found.indexed for found in INDEXED])
def line(request: pytest.FixtureRequest, tmp_path: Path, blocks: Blocks) -> list[object]:
    """The command and a database of each schema that has secondary keys."""
    with find_schema(request.param).open(tmp_path / "db") as database:
        load_all(database, blocks)
    return ["coins", request.param, "--db", "db"]


def as_json(infos: list[CoinInfo]) -> list[dict[str, Any]]:
    return [
        {
            "name": info.coin.name().hex(),
            "confirmed_index": info.confirmed_index,
            "spent_index": info.spent_index,
            "amount": info.coin.amount,
            "puzzle_hash": info.coin.puzzle_hash.hex(),
            "parent": info.coin.parent_coin_name.hex(),
        }
        for info in infos
    ]


def as_columns(infos: list[CoinInfo]) -> list[list[str]]:
    return [
        [
            info.coin.name().hex(),
            str(info.confirmed_index),
            str(info.spent_index) if info.spent_index else "unspent",
            str(info.coin.amount),
            info.coin.puzzle_hash.hex(),
            info.coin.parent_coin_name.hex(),
        ]
        for info in infos
    ]


def test_it_prints_what_the_keys_find(
    run_command: Commands, line: list[object], blocks: Blocks, model: MemorySchema
) -> None:
    coins = [coin for block in blocks for coin in block.confirms][::100]
    spends = [name for block in blocks for name in block.spends][::50]
    hashes = [coin.puzzle_hash for coin in coins]
    some, other = (block.index for block in (blocks[-5], blocks[20]))
    before = closed(run_command.cwd)
    cases: list[tuple[list[object], list[CoinInfo]]] = [
        (
            [f"--puzzle-hash={each.hex()}" for each in hashes],
            model.coin_infos_for_puzzle_hashes(hashes),
        ),
        (
            ["--puzzle-hash", f"0x{hashes[0].hex().upper()}", "--unspent", "--limit", 3],
            model.coin_infos_for_puzzle_hashes(hashes[:1], include_spent=False, limit=3),
        ),
        (
            [f"--parent={each.hex()}" for each in spends],
            model.coin_infos_for_parents(spends),
        ),
        (
            [*(f"--parent={each.hex()}" for each in spends), "--unspent", "--limit=2"],
            model.coin_infos_for_parents(spends, include_spent=False, limit=2),
        ),
        (["--confirmed-at", some], model.coin_infos_confirmed_at(some)),
        (
            ["--confirmed-at", some, "--unspent"],
            [info for info in model.coin_infos_confirmed_at(some) if not info.spent_index],
        ),
        (
            [f"--spent-at={some}", f"--spent-at={other}", f"--spent-at={some}", "--limit=9"],
            (model.coin_infos_spent_at(other) + model.coin_infos_spent_at(some))[:9],
        ),
    ]
    for options, infos in cases:
        out = run_command(*line, *options, "--json").fine().out.decode()  # type: ignore[arg-type]
        assert [json.loads(each) for each in out.splitlines()] == as_json(infos)
        assert infos
        result = run_command(*line, *options).fine()  # type: ignore[arg-type]
        heads, *rows = result.out.decode().splitlines()
        assert heads.split() == [
            *("name", "confirmed", "spent", "amount", "puzzle", "hash", "parent")
        ]
        assert [row.split() for row in rows] == as_columns(infos)
        assert len({len(row) for row in rows}) == 1
    assert closed(run_command.cwd) == before


def test_as_csv(
    run_command: Commands, line: list[object], blocks: Blocks, model: MemorySchema
) -> None:
    index = blocks[-5].index
    out = run_command(*line, "--confirmed-at", index, "--csv").fine().out.decode()  # type: ignore[arg-type]
    found = [
        {name: value if name in HASHES else int(value) for name, value in row.items()}
        for row in csv.DictReader(StringIO(out))
    ]
    assert found == as_json(model.coin_infos_confirmed_at(index))
    assert found
    empty = run_command(*line, "--confirmed-at", 0, "--csv").fine()  # type: ignore[arg-type]
    assert empty.out.decode() == out.splitlines()[0] + "\n"


def test_a_path_alone_is_enough(run_command: Commands, line: list[object]) -> None:
    options = ("--confirmed-at", 3, "--json")
    expected = run_command(*line, *options).fine()  # type: ignore[arg-type]
    assert run_command("coins", "db", *options).fine() == expected


def test_nothing_that_is_found_is_nothing_printed(
    run_command: Commands, line: list[object]
) -> None:
    for options in (
        ["--parent", "00" * 32],
        ["--puzzle-hash", "00" * 32, "--json"],
        ["--spent-at", 0],
        ["--confirmed-at", 2**32 - 1],
        ["--confirmed-at", 3, "--limit=0"],
    ):
        result = run_command(*line, *options).fine()  # type: ignore[arg-type]
        assert (result.out, result.err) == (b"", "")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ([], "give one of --puzzle-hash, --parent, --confirmed-at and --spent-at; "),
        (["--limit=3"], "give one of "),
        (["--parent", "00" * 32, "--spent-at=3"], "give one of "),
        (["--spent-at=3", "--unspent"], "--spent-at finds spent coins alone"),
        (["--parent", "00" * 31], f"'{'00' * 31}' is not 64 hex digits"),
        (["--parent", "00" * 34], "'0000000000000000…' is not 64 hex digits"),
        (["--parent", ""], "'' is not 64 hex digits"),
        (["--puzzle-hash", "0x"], "'0x' is not 64 hex digits"),
        (["--puzzle-hash", "0g" * 32], "is not 64 hex digits"),
        (["--puzzle-hash", " " + "0" * 62 + " "], "is not 64 hex digits"),
        (["--puzzle-hash", "٣" * 64], "is not 64 hex digits"),
        (["--confirmed-at=-1"], "--confirmed-at"),
        (["--confirmed-at=4294967296"], "--confirmed-at"),
        (["--spent-at=soon"], "--spent-at"),
        (["--spent-at=3", "--limit=-1"], "--limit"),
    ],
)
def test_usage_errors(run_command: Commands, options: list[str], problem: str) -> None:
    assert problem in run_command("coins", "memory", *options).usage_error()
    assert contents(run_command.cwd) == {}


def test_a_schema_without_keys_says_who_has_them_and_what_to_type(
    run_command: Commands, loaded: Callable[[str], Path], replay: bytes
) -> None:
    made = "load_blocks blockchain_v2:INDEXED --db NEW --input REPLAY"
    schemas = " or ".join(str(found.indexed) for found in INDEXED)
    result = run_command("coins", "sqlite_v3", "--db", loaded("sqlite_v3"), "--spent-at=3")
    error = result.error()
    assert error.endswith(
        ": sqlite_v3 has no secondary keys; 'cdb load_blocks SCHEMA --db NEW --input REPLAY' makes"
        f" one, where SCHEMA is {schemas}"
    )
    result = run_command("coins", "blockchain_v2", "--db", loaded("blockchain_v2"), "--spent-at=3")
    assert result.error().endswith(
        f": this database has no secondary keys; 'cdb {made}' makes one with them"
    )
    assert result.out == b""
    run_command.cwd.joinpath("REPLAY").write_bytes(replay)
    for name in (made.split()[1], *schemas.split(" or ")):
        line = [name if word == made.split()[1] else word for word in made.split()]
        run_command(*line, "--no-digest").fine()
        run_command("coins", name, "--db", "NEW", "--spent-at=3").fine()
        new = run_command.cwd / "NEW"
        shutil.rmtree(new) if new.is_dir() else new.unlink()


@pytest.mark.parametrize(
    ("spec", "indexed"),
    [
        ("coin_log", "coin_log:INDEXED"),
        (f"mono_space@{OTHER},payload=inline", f"mono_space@{OTHER}:INDEXED,payload=inline"),
        ("interval@rocksdb,payload=inline", "interval@rocksdb:INDEXED,payload=inline"),
    ],
)
def test_what_is_told_gives_a_database_its_keys(
    spec: str, indexed: str, run_command: Commands, blocks: Blocks
) -> None:
    found = find_schema(spec)
    if found.missing is not None:
        pytest.skip(found.missing)
    with found.open(run_command.cwd / "a db") as schema:
        load_all(schema, blocks)
    question = ("coins", spec, "--db", "a db", "--confirmed-at", blocks[0].index, "--json")
    error = run_command(*question).error()
    told = f"load_blocks {indexed} --db 'a db' --input /dev/null"
    assert error.endswith(f"no secondary keys; 'cdb {told}' gives it some")
    run_command(*shlex.split(told)).fine()
    assert run_command(*question).fine().out


def test_what_cannot_be_asked(run_command: Commands) -> None:
    error = run_command("coins", "null", "--spent-at=3").error()
    assert error == "schema null keeps nothing that could be read"
    assert "no database is here" in run_command("coins", "memory", "--spent-at=3").error()
    assert "did you mean" in run_command("coins", "memroy", "--spent-at=3").error()
    assert contents(run_command.cwd) == {}


def test_closed_and_full_outputs_are_one_line(
    run_command: Commands, loaded: Callable[[str], Path], blocks: Blocks
) -> None:
    heights = [f"--confirmed-at={block.index}" for block in blocks]
    line = ["memory", "--db", loaded("memory"), *heights]
    process = run_command.start("coins", *line)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 1
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full on this system")
    with full.open("wb") as stdout:
        result = run_command("coins", *line, stdout=stdout, stderr=subprocess.PIPE)
    assert result.error() == "standard output: disk full (ENOSPC); free some space"
