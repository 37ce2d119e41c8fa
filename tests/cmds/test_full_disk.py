"""A disk that fills up anywhere in a load: one line, a database that opens, and loading goes on."""

import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cdb.contents.state import summarize, verify
from cdb.contract.blocks import BlockSpendInfo
from cdb.schemas import SchemaInfo
from tests.conftest import Commands, Result, digest_of, file_limit, fill, largest_file, load_all
from tests.engines import READERS_WRITE

Blocks = tuple[BlockSpendInfo, ...]

KIB = 1024


def check_and_go_on(
    result: Result, schema: SchemaInfo, path: Path, blocks: Blocks, digest: str
) -> None:
    """The load failed well, what it said it kept is there, and loading goes on."""
    error = result.error()
    assert result.out == b""
    assert path.name in error
    said = re.search(r"blocks up to (\d+) are loaded and flushed$", error)
    if said:
        with schema.open(path, read_only=True) as database:
            verify(database)
    with schema.open(path) as database:
        newest = -1 if database.last_block_index is None else database.last_block_index
        assert newest >= (int(said[1]) if said else -1)
        kept = [block for block in blocks if block.index <= newest]
        assert verify(database).digest == digest_of(kept)
        load_all(database, blocks)
    with schema.open(path) as database:
        assert summarize(database).digest == digest


def file_sizes(path: Path) -> list[int]:
    """The sizes of all files of a database, in bytes."""
    files = path.rglob("*") if path.is_dir() else path.parent.glob(f"{path.name}*")
    return [file.stat().st_size for file in files if file.is_file()]


@pytest.mark.parametrize("share", [0.01, 0.3, 0.8])
def test_files_that_may_not_grow(
    run_command: Commands,
    own_schema: SchemaInfo,
    share: float,
    loaded: Callable[[str], Path],
    replay: bytes,
    blocks: Blocks,
    digest: str,
) -> None:
    """RLIMIT_FSIZE: writing beyond it fails as on a full disk, everywhere and without root."""
    limit = int(share * max(file_sizes(loaded(own_schema.name))))
    options = ["--db", "db", "--flush-every", 200]
    result = run_command(
        "load_blocks",
        own_schema.name,
        *options,
        input=replay,
        **file_limit(limit),
    )
    check_and_go_on(result, own_schema, run_command.cwd / "db", blocks, digest)


def test_what_is_half_made_is_not_called_damaged(
    run_command: Commands, own_schema: SchemaInfo, replay: bytes
) -> None:
    """The disk was full, or the process died, before there was a first block to lose."""
    options = ["--db", "db"]
    limit = file_limit(KIB)
    run_command("load_blocks", own_schema.name, *options, input=replay, **limit).error()
    result = run_command("dump_blocks", own_schema.name, "--db", "db")
    assert replay.startswith(result.out)
    if result.code:
        assert "not the tables that belong here" not in result.error()
        assert "damage" not in result.error()


@pytest.mark.parametrize("share", [0.1, 0.4, 0.8])
def test_a_small_disk(
    run_command: Commands,
    own_schema: SchemaInfo,
    disk: Callable[[int], Path],
    share: float,
    loaded: Callable[[str], Path],
    replay: bytes,
    blocks: Blocks,
    digest: str,
) -> None:
    used = sum(file_sizes(loaded(own_schema.name)))
    path = disk(int(share * used) // KIB) / "db"
    options = ["--db", path, "--flush-every", 200]
    result = run_command("load_blocks", own_schema.name, *options, input=replay)
    disk(32 * KIB)
    if result.code == 0 and share > 0.5:  # a part of its file is room
        with own_schema.open(path) as database:
            assert summarize(database).digest == digest
        return
    check_and_go_on(result, own_schema, path, blocks, digest)
    assert re.search("disk( is)? full|SQLITE_IOERR_SHMSIZE", result.err), result.err


def test_a_full_disk_can_still_be_read(
    run_command: Commands, own_schema: SchemaInfo, disk: Callable[[int], Path], replay: bytes
) -> None:
    if own_schema.name in READERS_WRITE:
        pytest.skip("a reader writes to a table of readers")
    path = disk(32 * KIB) / "db"
    options = ["--db", path, "--no-digest"]
    run_command("load_blocks", own_schema.name, *options, input=replay).fine()
    disk(sum(file_sizes(path)) // KIB + 64)
    fill(path.parent)
    assert run_command("dump_blocks", own_schema.name, "--db", path).fine().out == replay


def test_a_limit_on_files_leaves_no_half_of_a_module(
    run_command: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a checkout that is new Python 3.11 would, and would believe it from then on."""
    (run_command.cwd / "fresh.py").write_text(f"WORDS = {[f'word {n}' for n in range(999)]}\n")
    bytecode = run_command.cwd / "__pycache__"
    process = run_command.popen([sys.executable, "-c", "import fresh"], **file_limit(KIB))
    assert process.wait() == 0
    assert not bytecode.exists()
    monkeypatch.syspath_prepend(run_command.cwd)
    with largest_file(KIB):
        importlib.import_module("fresh")
    del sys.modules["fresh"]
    assert not bytecode.exists()


@pytest.mark.parametrize(
    ("command", "file"),
    [
        (("demo", "--coins", "500"), "replay.txt"),
        (("bench", "run", "null", "--coins", "500"), "replay.txt"),
        (("bench", "run", "null", "--input", "there.txt"), "truth"),
    ],
)
def test_what_is_made_to_load_names_the_file_that_is_full(
    run_command: Commands, replay: bytes, command: tuple[str, ...], file: str
) -> None:
    """And not standard output, which has room."""
    (run_command.cwd / "there.txt").write_bytes(replay)
    result = run_command(*command, **file_limit(KIB))
    assert result.code == 1
    *_, error = result.err.splitlines()
    assert error.startswith("error: ")
    assert f"/{file}: File too large (EFBIG)" in error
    assert "Traceback" not in result.err
    assert [each.name for each in run_command.cwd.iterdir()] == ["there.txt"]
