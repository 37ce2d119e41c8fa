"""dump_blocks: canonical text, of a database that it only reads."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cdb.contract.blocks import BlockSpendInfo
from cdb.schemas import SchemaInfo
from tests.cmds.terminals import shown_on_a_terminal
from tests.conftest import Commands, closed, load_all, text_of

Blocks = tuple[BlockSpendInfo, ...]
Loaded = Callable[[str], Path]


def test_a_dump_is_the_input_and_changes_nothing(
    run_command: Commands, own_schema: SchemaInfo, loaded: Loaded, replay: bytes
) -> None:
    path = loaded(own_schema.name)
    before = closed(run_command.cwd)
    result = run_command("dump_blocks", own_schema.name, "--db", path).fine()
    assert result.out == replay
    assert result.err == ""
    assert closed(run_command.cwd) == before


@pytest.mark.parametrize("past", [0, 1])
def test_max_blocks_bounds_the_index(
    run_command: Commands, own_schema: SchemaInfo, past: int, loaded: Loaded, blocks: Blocks
) -> None:
    limit = blocks[20].index + past
    options = ["--db", loaded(own_schema.name), "--heights", limit]
    result = run_command("dump_blocks", own_schema.name, *options).fine()
    assert result.out == text_of(blocks[: 20 + past])


def test_to_a_file_of_a_path_alone(
    run_command: Commands, own_schema: SchemaInfo, loaded: Loaded, replay: bytes
) -> None:
    path = loaded(own_schema.name)
    result = run_command("dump_blocks", path, "--output", "replay.txt").fine()
    assert (result.out, result.err) == (b"", "")
    assert run_command.cwd.joinpath("replay.txt").read_bytes() == replay


@pytest.mark.parametrize("options", [(), ("--heights", 100)])
def test_progress_ends_at_the_last_block(
    run_command: Commands, loaded: Loaded, options: tuple[object, ...]
) -> None:
    line = ("dump_blocks", loaded("memory"), "--output", "replay.txt", *options)
    code, printed = shown_on_a_terminal(run_command, *line)
    assert code == 0
    assert re.search(r"(9\d|100)%\|", printed), printed
    assert "heights/s" in printed


def test_max_blocks_0_dumps_nothing(run_command: Commands, loaded: Loaded) -> None:
    options = ["--db", loaded("memory"), "--max-blocks=0"]
    assert run_command("dump_blocks", "memory", *options).fine().out == b""


def test_a_dump_loads_into_every_schema(
    run_command: Commands, own_schema: SchemaInfo, loaded: Loaded, replay: bytes
) -> None:
    dump = run_command.start("dump_blocks", "memory", "--db", loaded("memory"))
    name = own_schema.name
    result = run_command("load_blocks", name, "--db", "db", "--no-digest", stdin=dump.stdout)
    result.fine()
    with own_schema.open(run_command.cwd / "db", read_only=True) as database:
        assert text_of(database.blocks()) == replay


def test_a_dump_beside_a_writer_has_all_that_is_flushed_and_whole_blocks(
    run_command: Commands, own_schema: SchemaInfo, blocks: Blocks
) -> None:
    with own_schema.open(run_command.cwd / "db") as database:
        load_all(database, blocks[:30])
        database.accept_block(blocks[30])
        result = run_command("dump_blocks", own_schema.name, "--db", "db").fine()
        assert result.out in (text_of(blocks[:30]), text_of(blocks[:31]))
        database.accept_block(blocks[31])


@pytest.mark.parametrize("name", ["dump_blocks", "make_replay"])
def test_a_reader_that_goes_away_gets_no_traceback(
    run_command: Commands, loaded: Loaded, name: str
) -> None:
    arguments = ["memory", "--db", loaded("memory")] if name == "dump_blocks" else []
    writer = run_command.start(name, *arguments)
    line = ["head", "-1"]
    first = subprocess.run(line, stdin=writer.stdout, capture_output=True, check=True, timeout=60)
    assert writer.stdout is not None
    writer.stdout.close()
    assert writer.stderr is not None
    assert writer.stderr.read() == b""
    assert writer.wait(timeout=60) == 1
    assert first.stdout.startswith(b"B 3 ")


def test_a_full_disk_behind_the_dump_is_one_line(run_command: Commands, loaded: Loaded) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full on this system")
    with full.open("wb") as stdout:
        options = ["--db", loaded("memory")]
        result = run_command("dump_blocks", "memory", *options, stdout=stdout)
    assert result.error() == "standard output: disk full (ENOSPC); free some space"


def test_a_part_takes_no_whole_dumps_place(run_command: Commands, loaded: Loaded) -> None:
    path = loaded("coin_log")
    saved = run_command.cwd / "saved.txt"
    run_command("dump_blocks", path, "--output", saved).fine()
    whole = saved.read_bytes()
    with (path / "log").open("r+b") as log:
        log.seek((path / "log").stat().st_size // 2)
        log.write(bytes(512))
    problem = run_command("dump_blocks", path, "--output", saved).error()
    told = re.search(r"; the (\d+) blocks up to (\d+), before that, can be read; (.*)", problem)
    assert told is not None
    assert told[3] == f"{saved} stays as it was: name a new file for them"
    assert saved.read_bytes() == whole
    part = run_command("dump_blocks", path, "--output", "part.txt")
    assert part.code == 4
    assert part.err.endswith(f"; the {told[1]} blocks up to {told[2]}, before that, are written\n")
    text = run_command.cwd.joinpath("part.txt").read_bytes()
    assert text
    assert whole.startswith(text)
    assert run_command("dump_blocks", path, "--heights", told[2], "--output", saved).fine()
    assert text.startswith(saved.read_bytes())
    assert {file.name for file in run_command.cwd.iterdir()} >= {"saved.txt", "part.txt"}
    assert not [*run_command.cwd.glob("*.tmp")]
