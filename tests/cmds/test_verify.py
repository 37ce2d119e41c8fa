"""verify: the state digest of what is sound, and where two databases differ."""

import json
import os
import signal
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cdb.contract.blocks import BlockSpendInfo
from cdb.schemas import SchemaInfo, find_schema
from cdb.schemas.memory import MemorySchema
from cdb.testing.chains import reward
from tests.conftest import COMMAND_SECONDS, Commands, closed, contents, digest_of, load_all
from tests.lab.processes import is_running

Blocks = tuple[BlockSpendInfo, ...]
Loaded = Callable[[str], Path]


def make(path: Path, blocks: Blocks) -> Path:
    """A memory database of these blocks."""
    with MemorySchema(path) as database:
        load_all(database, blocks)
    return path


def test_a_sound_database(
    run_command: Commands, own_schema: SchemaInfo, loaded: Loaded, blocks: Blocks, digest: str
) -> None:
    path = loaded(own_schema.name)
    before = closed(run_command.cwd)
    result = run_command("verify", own_schema.name, "--db", path).fine()
    spends = sum(len(block.spends) for block in blocks)
    assert [line.split(None, 1) for line in result.out.decode().splitlines()] == [
        ["database", f"{path} ({own_schema.name})"],
        ["blocks", f"{len(blocks)}"],
        ["coins", "2,000"],
        ["spends", f"{spends:,}"],
        ["newest", f"block  {blocks[-1].index}"],
        ["digest", digest],
    ]
    assert result.err == ""
    assert closed(run_command.cwd) == before


def test_equal_databases_of_all_schemas(
    run_command: Commands, own_schema: SchemaInfo, loaded: Loaded, digest: str
) -> None:
    one, other = loaded("memory"), loaded(own_schema.name)
    options = ["--db", one, "--against", own_schema.name, "--db2", other]
    result = run_command("verify", "memory", *options).fine()
    *reports, last = result.out.decode().splitlines()
    assert sum(digest in line for line in reports) == 2
    assert last == f"{one} and {other} hold the same blocks and coins"


def test_a_path_alone_names_the_schema(
    run_command: Commands, own_schema: SchemaInfo, loaded: Loaded, digest: str
) -> None:
    path = loaded(own_schema.name)
    expected = run_command("verify", own_schema.name, "--db", path).fine()
    for line in ([path], ["--db", path], [own_schema.name, path], [f"./{path.name}"]):
        result = run_command("verify", *line).fine()
        assert result.out.decode().splitlines()[1:] == expected.out.decode().splitlines()[1:]
    assert digest in expected.out.decode()


def test_a_schemas_name_is_no_path(run_command: Commands, loaded: Loaded) -> None:
    loaded("memory").rename(run_command.cwd / "memory")
    assert "memory.cdb: no database is here" in run_command("verify", "memory").error()
    run_command("verify", "./memory").fine()


def test_as_json(run_command: Commands, loaded: Loaded, blocks: Blocks, digest: str) -> None:
    one, other = loaded("memory"), loaded("sqlite_v3")
    options = ["--against", "sqlite_v3", "--db2", other, "--json"]
    result = run_command("verify", "memory", "--db", one, *options).fine()
    told = json.loads(result.out)
    assert [each["path"] for each in told["databases"]] == [str(one), str(other)]
    assert {each["digest"] for each in told["databases"]} == {digest}
    assert {each["newest_index"] for each in told["databases"]} == {blocks[-1].index}
    assert (told["damaged"], told["repaired"], told["are_the_same"]) == ([], [], True)


def test_damage_as_json(run_command: Commands, loaded: Loaded) -> None:
    path = loaded("sqlite_v3")
    (path / "FORMAT").write_text("nothing\n")
    result = run_command("verify", "sqlite_v3", "--db", path, "--json")
    assert result.code == 3
    told = json.loads(result.out)
    [damage] = told["damaged"]
    assert (damage["path"], damage["is_repairable"]) == (str(path / "FORMAT"), True)
    result = run_command("verify", "sqlite_v3", "--db", path, "--json", "--repair").fine()
    told = json.loads(result.out)
    assert told["repaired"] == [str(path / "FORMAT")]
    assert len(told["databases"]) == 1


def test_default_paths(run_command: Commands, replay: bytes) -> None:
    for schema in ("memory", "sqlite_v3"):
        run_command("load_blocks", schema, "--no-digest", input=replay).fine()
    result = run_command("verify", "memory", "--against", "cdb.schemas.sqlite_v3:REPLAY").fine()
    assert b"memory.cdb and sqlite_v3.cdb hold the same" in result.out


def test_an_empty_database(run_command: Commands) -> None:
    make(run_command.cwd / "db", ())
    out = run_command("verify", "memory", "--db", "db").fine().out.decode()
    assert digest_of([]) in out


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda blocks: (*blocks[:-1], replace(blocks[-1], timestamp=7)), "timestamps"),
        (
            lambda blocks: (
                *blocks[:-1],
                replace(blocks[-1], confirms=[*blocks[-1].confirms, reward(1)]),
            ),
            f"confirms coin {reward(1).name().hex()}",
        ),
        (
            lambda blocks: (*blocks, BlockSpendInfo(blocks[-1].index + 1, 0, [], [])),
            "only in the second database",
        ),
    ],
)
def test_databases_that_differ(
    run_command: Commands,
    loaded: Loaded,
    blocks: Blocks,
    change: Callable[[Blocks], Blocks],
    problem: str,
) -> None:
    other = change(blocks)
    pairs = zip(blocks, other, strict=False)
    differing = [index for index, (a, b) in enumerate(pairs) if a != b]
    index = other[differing[0] if differing else len(blocks)].index
    path = make(run_command.cwd / "other", other)
    options = ["--db", loaded("sqlite_v3"), "--against", "memory", "--db2", path]
    error = run_command("verify", "sqlite_v3", *options).error()
    assert f"block {index} " in error
    assert problem in error


def test_a_database_that_is_behind(run_command: Commands, loaded: Loaded, blocks: Blocks) -> None:
    """What later blocks spend is part of the state of the block that confirmed it."""
    other = make(run_command.cwd / "other", blocks[:-1])
    options = ["--db", loaded("memory"), "--against", "memory", "--db2", other]
    spent = set(blocks[-1].spends)
    index, name = next(
        (block.index, coin.name())
        for block in blocks
        for coin in block.confirms
        if coin.name() in spent
    )
    error = run_command("verify", "memory", *options).error()
    assert error == (f"block {index} differs: coin {name.hex()} is spent at {blocks[-1].index}, 0")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE coin_record SET spent_index = 146 WHERE rowid = 1",
        "UPDATE coin_record SET spent_index = 0 WHERE spent_index > 0",
        "UPDATE coin_record SET confirmed_index = confirmed_index + 1 WHERE rowid = 9",
        "UPDATE coin_record SET amount = x'0000000000000007' WHERE rowid = 9",
        "UPDATE coin_record SET amount = 'seven' WHERE rowid = 9",
        "UPDATE coin_record SET puzzle_hash = x'00' WHERE rowid = 9",
        "DELETE FROM coin_record WHERE rowid = 9",
        "DELETE FROM coin_record WHERE rowid = (SELECT max(rowid) FROM coin_record)",
        "DELETE FROM cdb_block WHERE block_index = (SELECT max(block_index) FROM cdb_block)",
        "UPDATE cdb_block SET timestamp = timestamp + 1 WHERE block_index > 100",
        "UPDATE cdb_block SET spent_rows = x'00' WHERE block_index > 100",
        "UPDATE cdb_block SET block_index = block_index + 1 WHERE block_index = 146",
        "DROP TABLE cdb_block",
    ],
)
def test_a_database_that_was_tampered_with(
    run_command: Commands, loaded: Loaded, change: str
) -> None:
    path = loaded("blockchain_v2")
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(change)
    connection.close()
    result = run_command("verify", "blockchain_v2", "--db", path)
    assert result.error()
    assert b"digest" not in result.out


@pytest.mark.parametrize("place", [0.0, 0.3, 0.6, 0.999])
def test_a_damaged_file_is_named(run_command: Commands, loaded: Loaded, place: float) -> None:
    path = loaded("memory")
    data = bytearray(path.read_bytes())
    data[int(place * len(data))] ^= 1
    path.write_bytes(data)
    for command in ("verify", "dump_blocks", "load_blocks"):
        result = run_command(command, "memory", "--db", path)
        assert result.error().startswith(str(path))
        assert command == "verify" or result.out == b""
        assert path.read_bytes() == data


def test_db2_needs_against(run_command: Commands) -> None:
    error = run_command("verify", "memory", "--db2", "x").usage_error()
    assert "--db2 needs --against" in error


@pytest.mark.parametrize("options", [["null"], ["memory", "--against", "null"]])
def test_null_has_nothing_to_verify(run_command: Commands, options: list[str]) -> None:
    make(run_command.cwd / "memory.cdb", ())
    error = run_command("verify", *options).error()
    assert error == "schema null keeps nothing that could be read"


@pytest.mark.parametrize("options", [["memory"], ["rocks", "--against", "memory"]])
def test_a_missing_database(run_command: Commands, options: list[str]) -> None:
    result = run_command("verify", *options)
    assert result.error()
    assert contents(run_command.cwd) == {}


MAPS_FAR = "tests.broken.files:MapsFar"


def test_a_database_that_kills_its_reader_is_told_in_one_line(
    run_command: Commands, blocks: Blocks
) -> None:
    """A file that is mapped lost its end: SIGBUS."""
    path = run_command.cwd / "db"
    with find_schema(MAPS_FAR).open(path) as database:
        load_all(database, blocks)
    os.truncate(path / "1", 4096)
    problem = run_command("verify", MAPS_FAR, "--db", path).error()
    assert problem.startswith(f"{path}: the process that read it was killed by SIGBUS: ")


def test_an_interrupt_ends_the_process_that_reads_too(run_command: Commands) -> None:
    run_command.cwd.joinpath("sleeper.py").write_text(SLEEPER)
    process = run_command.start("verify", "sleeper:Sleeper", "--db", "db")
    assert process.stdout is not None
    reader = int(process.stdout.readline())
    process.send_signal(signal.SIGINT)
    assert process.wait(COMMAND_SECONDS) == 130
    assert not is_running(reader)


SLEEPER = """
import os, time
from cdb.schemas.memory import MemorySchema

class Sleeper(MemorySchema):
    def __init__(self, path):
        print(os.getpid(), flush=True)
        for _ in range(600):
            time.sleep(0.1)  # a signal just before one long sleep would be seen after it
"""
