"""Whatever is wrong: one clear line, exit code 1, and nothing half-applied or changed."""

import bz2
import ctypes
import gzip
import lzma
import os
import sqlite3
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cdb.contents.state import summarize, verify
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import Coin
from cdb.errors import CdbError, WrongDatabaseError
from cdb.schemas import SchemaInfo, find_schema, schema_names
from cdb.schemas.memory import MemorySchema
from cdb.testing.chains import hash_of, reward
from tests.conftest import (
    Commands,
    Result,
    contents,
    digest_of,
    load_all,
    own_schemas,
    ready_schemas,
    set_version,
    text_of,
)
from tests.engines import READERS_WRITE

Blocks = tuple[BlockSpendInfo, ...]
Loaded = Callable[[str], Path]

GOOD = 30
"""How many good blocks come before the bad one."""
READING = ("dump_blocks", "verify")
COMMANDS = ("load_blocks", *READING)


# Schemas


@pytest.mark.parametrize("name", COMMANDS)
def test_an_unknown_schema(run_command: Commands, name: str) -> None:
    error = run_command(name, "sqlite").error()
    assert error.startswith("no schema 'sqlite'; did you mean ")
    assert "sqlite_v3" in error
    assert contents(run_command.cwd) == {}


def test_an_unknown_schema_like_no_other(run_command: Commands) -> None:
    error = run_command("load_blocks", "xyzzy").error()
    assert all(name in error for name in schema_names())


@pytest.mark.parametrize("spec", ["./my_schema.py", "my_schema.py", "..", "memory:NOTHING", ""])
def test_what_is_no_schema(run_command: Commands, spec: str) -> None:
    assert run_command("load_blocks", spec).error()


@pytest.mark.parametrize("source", ["import not_installed_anywhere", "undefined_name", "def f(:"])
def test_a_module_that_cannot_be_imported(run_command: Commands, source: str) -> None:
    run_command.cwd.joinpath("my_schema.py").write_text(source + "\n")
    error = run_command("load_blocks", "my_schema").error()
    assert "my_schema can't be imported" in error


@pytest.mark.parametrize("name", READING)
def test_null_cannot_be_read(run_command: Commands, name: str) -> None:
    result = run_command(name, "null")
    assert result.error() == "schema null keeps nothing that could be read"
    assert result.out == b""


def test_a_durability_that_a_schema_lacks(run_command: Commands, replay: bytes) -> None:
    result = run_command("load_blocks", "null", "--durability", "power", input=replay)
    assert result.error() == "schema null has no durability 'power'; it offers none"


# Replays


def test_a_missing_input_file(run_command: Commands) -> None:
    error = run_command("load_blocks", "memory", "--input", "nowhere.txt").error()
    assert error.startswith("nowhere.txt: No such file or directory (ENOENT); ")
    assert contents(run_command.cwd) == {}, "a database was made for nothing"


def test_a_directory_as_input(run_command: Commands) -> None:
    result = run_command("load_blocks", "memory", "--input", ".")
    assert "directory" in result.usage_error()
    assert contents(run_command.cwd) == {}


@pytest.mark.parametrize("binary", [b"\x89PNG\r\n\x1a\n" + bytes(100), b"\xff" * 100_000, b"\0"])
def test_what_is_no_replay(run_command: Commands, binary: bytes) -> None:
    for name in ("memory", "sqlite_v3"):
        error = run_command("load_blocks", name, input=binary).error()
        assert error.startswith("line 1: expected ")
        assert error.endswith(" found bytes that are no text; no database was made")
        assert contents(run_command.cwd) == {}


@pytest.mark.parametrize("module", [gzip, bz2, lzma])
def test_a_replay_that_is_compressed(
    run_command: Commands, replay: bytes, module: ModuleType
) -> None:
    error = run_command("load_blocks", "memory", input=module.compress(replay)).error()
    tool = {"bz2": "bzip2", "lzma": "xz"}.get(module.__name__, "gzip")
    advice = f"give its text: {tool} -dc FILE"
    assert error == f"line 1: this is compressed by {tool}; {advice}; no database was made"
    assert contents(run_command.cwd) == {}


def bad_replay(blocks: Blocks, tail: str) -> bytes:
    """Good blocks, and then a tail, in which names stand for what they say."""
    newest = blocks[GOOD - 1].index
    known = blocks[3].confirms[0]
    spends = {name for block in blocks[:GOOD] for name in block.spends}
    words = {
        "next": str(newest + 1),
        "newest": str(newest),
        "hash": hash_of("nobody").hex(),
        "spent": min(spends).hex(),
        "unspent": next(
            coin.name().hex()
            for block in blocks[:GOOD]
            for coin in block.confirms
            if coin.name() not in spends
        ),
        "known": confirm(known),
        "new": confirm(reward(1)),
        "other": confirm(reward(1, 1)),
    }
    return text_of(blocks[:GOOD]) + tail.format(**words).encode()


def confirm(coin: Coin) -> str:
    return f"C {coin.parent_coin_name.hex()} {coin.puzzle_hash.hex()} {coin.amount}"


@pytest.mark.parametrize(
    ("tail", "at", "problem"),
    [
        ("B {next} 1 10 0\nS {hash}\nS {spent}\n", 3, "ends after 2 of 10 spends of block {next}"),
        ("B {next} 1 1 2\nS {unspent}\n{new}\n", 3, "ends after 1 of 2 confirms of block {next}"),
        ("B {next} 1 1 1", 1, "ends after 0 of 1 spends of block {next}"),
        ("B {next} 1 0 1\nC {hash} 00", 2, "expected 'C ', a parent"),
        ("B {next} 1 1 0\nS {hash}0\n", 2, "expected 'S ' and a name of 64 hex digits"),
        ("B {next} 1 1 0\n{new}\n", 2, "found 'C "),
        ("B {next} 1 1 1\n{new}\nS {unspent}\n", 2, "(spend 1 of 1 of block {next})"),
        ("B {next} 1 0 0\n{new}\n", 2, "expected 'B index timestamp n-spends n-confirms'"),
        ("B {next} 1 0 1\n\n{new}\n", 2, "found ''"),
        ("B {next} 1 0 1\n{new} \n", 2, "(confirm 1 of 1 of block {next})"),
        ("B {newest} 1 0 0\n", 1, "a block index above {newest}"),
        ("B 0 1 0 0\n", 1, "a block index above {newest}"),
        ("B 4294967296 1 0 0\n", 1, "a block index of at most 4294967295"),
        ("B {next} 1.5 0 0\n", 1, "found 'B {next} 1.5 0 0'"),
        ("B {next} +1 0 0\n", 1, "found 'B {next} +1 0 0'"),
        ("\0\1\2\n", 1, "comment or a blank line, found bytes that are no text"),
        ("#" * 70_000, 1, "a line of less than 65536 bytes"),
    ],
)
def test_a_corrupt_replay(
    run_command: Commands, blocks: Blocks, tail: str, at: int, problem: str
) -> None:
    text = bad_replay(blocks, tail)
    n_lines = text_of(blocks[:GOOD]).count(b"\n") + at
    newest = blocks[GOOD - 1].index
    result = run_command("load_blocks", "memory", "--flush-every", 10**9, input=text)
    error = result.error()
    assert result.out == b""
    assert error.startswith(f"line {n_lines}: ")
    # {next} belongs to a good header, so block next is above newest only without one.
    assert problem.format(next=newest + 1, newest=newest) in error
    kept = blocks[:GOOD]
    extra = tail.startswith("B {next} 1 0 0\n")
    assert error.endswith(f"; blocks up to {newest + extra} are loaded and flushed")
    with MemorySchema(run_command.cwd / "memory.cdb") as database:
        assert list(database.blocks())[:GOOD] == list(kept)
        assert database.last_block_index == newest + extra


@pytest.mark.parametrize(
    ("tail", "problem", "coin"),
    [
        ("B {next} 1 2 1\nS {unspent}\nS {hash}\n{new}\n", "does not exist", "{hash}"),
        ("B {next} 1 2 1\nS {unspent}\nS {spent}\n{new}\n", "spent already", "{spent}"),
        ("B {next} 1 2 1\nS {unspent}\nS {unspent}\n{new}\n", "a coin twice", "{unspent}"),
        ("B {next} 1 1 2\nS {unspent}\n{new}\n{known}\n", "exists already", "known"),
        ("B {next} 1 1 3\nS {unspent}\n{new}\n{other}\n{new}\n", "a coin twice", "new"),
    ],
)
def test_a_block_that_is_refused(
    run_command: Commands, blocks: Blocks, tail: str, problem: str, coin: str
) -> None:
    text = bad_replay(blocks, tail)
    newest = blocks[GOOD - 1].index
    result = run_command("load_blocks", "sqlite_v3", "--flush-every", 10**9, input=text)
    error = result.error()
    name = {
        "known": blocks[3].confirms[0].name().hex(),
        "new": reward(1).name().hex(),
    }.get(coin) or bad_replay((blocks), coin)[len(text_of(blocks[:GOOD])) :].decode()
    assert error.startswith(f"block {newest + 1} refused: ")
    assert problem in error
    assert f"coin {name}; " in error
    assert error.endswith(f"; blocks up to {newest} are loaded and flushed")
    with find_schema("sqlite_v3").open(run_command.cwd / "sqlite_v3.cdb") as database:
        assert summarize(database).digest == digest_of(blocks[:GOOD])


def test_after_a_refusal_everything_before_it_is_durable_and_loading_goes_on(
    run_command: Commands, own_schema: SchemaInfo, blocks: Blocks, replay: bytes, digest: str
) -> None:
    text = bad_replay(blocks, "B {next} 1 2 1\nS {unspent}\nS {hash}\n{new}\n")
    command = ["load_blocks", own_schema.name, "--db", "db"]
    assert f"coin {hash_of('nobody').hex()}" in run_command(*command, input=text).error()
    with own_schema.open(run_command.cwd / "db") as database:
        assert database.last_block_index == blocks[GOOD - 1].index
        assert verify(database).digest == digest_of(blocks[:GOOD])
    assert digest in run_command(*command, input=replay).fine().err


def test_a_refusal_of_the_first_block(run_command: Commands) -> None:
    text = b"B 0 1 1 0\nS %b\n" % (b"00" * 32)
    error = run_command("load_blocks", "sqlite_v3", input=text).error()
    assert error.startswith("block 0 refused: block 0 can spend nothing")
    assert error.endswith("; no block is loaded and flushed")


def test_another_chain(run_command: Commands, loaded: Loaded, blocks: Blocks) -> None:
    path = loaded("sqlite_v3")
    text = text_of([*blocks[:-1], BlockSpendInfo(blocks[-1].index, 0, [], [])])
    more = text + b"B %d 1 0 0\n" % (blocks[-1].index + 1)
    for replay in (text, more, more.splitlines(keepends=True)[-1]):
        error = run_command("load_blocks", "sqlite_v3", "--db", path, input=replay).error()
        assert "different chains" in error
        assert str(blocks[-1].index) in error
    with find_schema("sqlite_v3").open(path) as database:
        assert summarize(database).digest == digest_of(blocks)


# Databases


@pytest.mark.parametrize("name", READING)
def test_a_missing_database_is_not_made(
    run_command: Commands, own_schema: SchemaInfo, name: str
) -> None:
    result = run_command(name, own_schema.name, "--db", "nowhere.db")
    assert "nowhere.db" in result.error()
    assert result.out == b""
    assert contents(run_command.cwd) == {}


@pytest.mark.parametrize("name", ["load_blocks", "dump_blocks"])
def test_a_missing_parent_directory(
    run_command: Commands, own_schema: SchemaInfo, name: str
) -> None:
    result = run_command(name, own_schema.name, "--db", "nowhere/my.db", input=b"B 1 1 0 0\n")
    assert "nowhere/my.db" in result.error()
    assert contents(run_command.cwd) == {}


@pytest.mark.parametrize("arguments", [("load_blocks", "coin_log"), ("verify", "coin_log")])
def test_an_empty_path_is_not_the_current_directory(
    run_command: Commands, arguments: tuple[str, ...]
) -> None:
    """As a shell leaves it of a variable that has no value."""
    error = run_command(*arguments, "--db", "", input=b"").usage_error()
    assert "'--db': the path is empty; name one, or . for the current directory" in error
    assert contents(run_command.cwd) == {}


def test_a_home_directory_that_no_shell_has_put_there(run_command: Commands) -> None:
    """As bash leaves it in --db=~/my.cdb."""
    error = run_command("load_blocks", "coin_log", "--db=~/my.cdb", input=b"").error()
    assert "/~ is no directory; create it first; ~ is home only to a shell" in error
    missing = run_command("load_blocks", "coin_log", "--db=nowhere/~", input=b"").error()
    assert "only to a shell" not in missing


@pytest.mark.parametrize("name", ["load_blocks", "dump_blocks"])
def test_a_file_in_place_of_the_directory(
    run_command: Commands, own_schema: SchemaInfo, name: str
) -> None:
    (run_command.cwd / "file").write_text("mine")
    result = run_command(name, own_schema.name, "--db", "file/db")
    assert "file/db" in result.error()
    assert contents(run_command.cwd) == {"file": b"mine"}


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("my db?#%20&mode=ro;é'\"\n.cdb", id="odd"),
        pytest.param(os.fsdecode(b"not-utf-8-\xff"), id="not UTF-8"),
    ],
)
def test_any_file_name_will_do(
    run_command: Commands, own_schema: SchemaInfo, path: str, replay: bytes, digest: str
) -> None:
    try:
        (run_command.cwd / path).touch()
    except OSError as error:
        pytest.skip(f"this file system has no such names: {error}")
    (run_command.cwd / path).unlink()
    result = run_command("load_blocks", own_schema.name, "--db", path, input=replay).fine()
    assert digest in result.err
    assert run_command("dump_blocks", own_schema.name, "--db", path).fine().out == replay
    assert {
        os.fsencode(name).split(b"/")[0].removesuffix(b".lock")
        for name in contents(run_command.cwd)
    } == {os.fsencode(path)}


def test_a_file_name_that_is_too_long(run_command: Commands, own_schema: SchemaInfo) -> None:
    result = run_command("load_blocks", own_schema.name, "--db", "x" * 300, input=b"")
    assert "File name too long" in result.error()
    assert contents(run_command.cwd) == {}


def test_a_path_that_is_too_long_for_sqlite(run_command: Commands, replay: bytes) -> None:
    folder = run_command.cwd.joinpath(*["x" * 200] * 3)
    folder.mkdir(parents=True)
    for name in ("sqlite_v3", "blockchain_v2"):
        path = folder / name
        error = run_command("load_blocks", name, "--db", path, input=replay).error()
        assert "; name a shorter one" in error
        assert "rights" not in error
    assert "; name a shorter one" in run_command("node_example", folder / "node").error()
    run_command("load_blocks", "memory", "--db", folder / "m", input=replay).fine()


@pytest.mark.parametrize("other", own_schemas())
def test_a_database_of_another_schema(
    run_command: Commands, other: str, loaded: Loaded, replay: bytes
) -> None:
    path = loaded(other)
    before = contents(run_command.cwd)
    for name in ready_schemas():
        if name == other:
            continue
        with (
            pytest.raises(WrongDatabaseError, match=str(path)) as refused,
            find_schema(name).open(path, read_only=True),
        ):
            pytest.fail(f"{name} opened a {other} database")
        if name == "blockchain_v2":
            assert refused.value.problem.startswith("this is a database of ")
            assert refused.value.problem.endswith(
                "; open it with that schema, not with blockchain_v2"
            )
        assert "damage" not in "".join(run_command("verify", name, "--db", path).error())
        result = run_command("load_blocks", name, "--db", path, input=replay)
        assert str(path) in result.error()
        after = contents(run_command.cwd)
        assert after.keys() - before.keys() <= {f"{path.name}.lock"}
        assert {key: after.get(key) for key in before} == before


def _text_file(path: Path) -> None:
    path.write_text("my diary\n" * 1000)


def _binary_file(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 100)


def _directory(path: Path) -> None:
    (path / "photos").mkdir(parents=True)
    (path / "photos" / "me.jpg").write_bytes(b"\xff\xd8" * 50)


def _sqlite_file(path: Path) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("CREATE TABLE contacts(name TEXT)")
    connection.close()


def _sqlite_wal_file(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=WAL")
    with connection:
        connection.execute("CREATE TABLE coin(name TEXT)")
    connection.close()


FOREIGN = [_text_file, _binary_file, _directory, _sqlite_file, _sqlite_wal_file]


@pytest.mark.parametrize("make", FOREIGN)
def test_what_is_not_ours_is_left_alone(
    run_command: Commands, own_schema: SchemaInfo, make: Callable[[Path], None], replay: bytes
) -> None:
    path = run_command.cwd / "theirs"
    make(path)
    before = contents(run_command.cwd)
    with pytest.raises(CdbError, match=str(path)), own_schema.open(path, read_only=True):
        pytest.fail("it was opened")
    assert contents(run_command.cwd) == before
    result = run_command("load_blocks", own_schema.name, "--db", path, input=replay)
    assert str(path) in result.error()
    assert contents(run_command.cwd) == before


@pytest.mark.parametrize(("name", "version"), [("load_blocks", 0), ("dump_blocks", 99)])
def test_another_version(
    run_command: Commands,
    own_schema: SchemaInfo,
    name: str,
    version: int,
    loaded: Loaded,
    replay: bytes,
) -> None:
    path = loaded(own_schema.name)
    set_version(path, version)
    (run_command.cwd / f"{path.name}.lock").touch()
    before = contents(run_command.cwd)
    result = run_command(name, own_schema.name, "--db", path, input=replay)
    error = result.error()
    assert str(path) in error
    assert f" {version}, and this cdb reads " in error
    assert "use the cdb that wrote it, or load the replay text again" in error
    assert result.out == b""
    assert contents(run_command.cwd) == before


@pytest.mark.parametrize(
    "text",
    ["", "cdb\n", "cdb sqlite_v3 one\n", "cdb sqlite_v3 1", "\xff\n", "cdb sqlite_v3 01\n"],
)
def test_a_damaged_format_file(run_command: Commands, loaded: Loaded, text: str) -> None:
    path = loaded("sqlite_v3")
    (path / "FORMAT").write_text(text, "latin-1")
    before = contents(run_command.cwd)
    for name in ("load_blocks", "dump_blocks"):  # verify: see test_repair
        error = run_command(name, "sqlite_v3", "--db", path).error()
        assert "FORMAT: damaged" in error
        assert f"cdb verify sqlite_v3 --db {path} says" in error
    assert contents(run_command.cwd) == before


def test_a_locked_database(
    run_command: Commands, own_schema: SchemaInfo, blocks: Blocks, replay: bytes, digest: str
) -> None:
    path = run_command.cwd / "db"
    with own_schema.open(path) as holder:
        load_all(holder, blocks[:GOOD])
        result = run_command("load_blocks", own_schema.name, "--db", path, input=replay)
        error = result.error()
        assert error.startswith(f"{path}: ")
        assert "another process has this database open for writing" in error
        assert holder.last_block_index == blocks[GOOD - 1].index
        load_all(holder, blocks)
        assert verify(holder).digest == digest


# Standard streams that are closed


def test_closed_standard_input(run_command: Commands) -> None:
    result = run_command("load_blocks", "memory", stdin=None, preexec_fn=partial(os.close, 0))
    assert result.code in (1, 2)
    assert "Traceback" not in result.err
    assert contents(run_command.cwd) == {}


def test_closed_standard_output(run_command: Commands, loaded: Loaded) -> None:
    """What nobody gets is not called fine."""
    line = ["dump_blocks", "memory", "--db", str(loaded("memory"))]
    result = run_command(*line, stdin=None, stdout=None, preexec_fn=partial(os.close, 1))
    assert result.error() == "standard output: Bad file descriptor (EBADF); don't close it"


def test_closed_standard_error(run_command: Commands, replay: bytes, blocks: Blocks) -> None:
    (run_command.cwd / "replay.txt").write_bytes(replay)
    options = ["--db", "db", "--input", "replay.txt"]
    no_stderr: dict[str, Any] = {"stderr": None, "preexec_fn": partial(os.close, 2)}
    assert run_command("load_blocks", "memory", *options, **no_stderr).code == 0
    with MemorySchema(run_command.cwd / "db") as database:
        assert list(database.blocks()) == list(blocks)


# Permissions


PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2


def obey_permissions() -> None:
    """Make root obey permission bits after the next exec, as other users do."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None)
        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
                raise OSError("can't drop capabilities")


@pytest.fixture
def unprivileged(run_command: Commands) -> Callable[..., object]:
    """run_command for a user who may not do everything; skips where that can't be had."""
    (run_command.cwd / "closed").mkdir(mode=0o555)
    try:
        probe = run_command.popen(["touch", "closed/x"], preexec_fn=obey_permissions)
    except subprocess.SubprocessError as error:
        pytest.skip(f"root's privileges can't be dropped here: {error}")
    if probe.wait(timeout=60) == 0:
        pytest.skip("root's privileges can't be dropped here")
    return lambda *line, **options: run_command(*line, preexec_fn=obey_permissions, **options)


def test_a_directory_that_may_not_be_written(
    unprivileged: Commands, run_command: Commands, own_schema: SchemaInfo, replay: bytes
) -> None:
    result = unprivileged("load_blocks", own_schema.name, "--db", "closed/db", input=replay)
    error = result.error()
    assert "closed/" in error
    assert "denied" in error.lower() or "unable to open" in error
    assert contents(run_command.cwd / "closed") == {}


def close_for_writing(directory: Path) -> None:
    for path in [*directory.rglob("*"), directory]:
        path.chmod(0o555 if path.is_dir() else 0o444)


def open_for_writing(directory: Path) -> None:
    for path in [directory, *directory.rglob("*")]:
        path.chmod(0o755)


def test_a_database_that_may_only_be_read(
    unprivileged: Commands,
    run_command: Commands,
    own_schema: SchemaInfo,
    loaded: Loaded,
    replay: bytes,
) -> None:
    if own_schema.name in READERS_WRITE:
        pytest.skip("a reader writes to a table of readers")
    path = loaded(own_schema.name)
    before = contents(run_command.cwd)
    close_for_writing(run_command.cwd)
    try:
        result = unprivileged("load_blocks", own_schema.name, "--db", path, input=replay)
        assert str(path) in result.error()
        dump = unprivileged("dump_blocks", own_schema.name, "--db", path)
        assert dump.fine().out == replay
    finally:
        open_for_writing(run_command.cwd)
    assert contents(run_command.cwd) == before


def check_one_problem(result: Result, word: str) -> None:
    """An error, or a usage error, which is what click makes of a path that can't be read."""
    assert result.out == b""
    assert word in (result.error() if result.code == 1 else result.usage_error())


@pytest.mark.parametrize("name", ["load_blocks", "dump_blocks"])
def test_files_that_may_not_be_read(
    unprivileged: Commands,
    run_command: Commands,
    own_schema: SchemaInfo,
    name: str,
    loaded: Loaded,
) -> None:
    path = loaded(own_schema.name)
    files = [file for file in [path, *path.rglob("*")] if file.is_file()]
    for file in files:
        file.chmod(0)
    result = unprivileged(name, own_schema.name, "--db", path)
    open_for_writing(run_command.cwd)
    check_one_problem(result, str(path))


@pytest.mark.parametrize("name", ["load_blocks", "dump_blocks"])
def test_a_directory_that_may_not_be_entered(
    unprivileged: Commands, run_command: Commands, own_schema: SchemaInfo, name: str
) -> None:
    directory = run_command.cwd / "secret"
    directory.mkdir(mode=0)
    result = unprivileged(name, own_schema.name, "--db", directory / "db")
    directory.chmod(0o755)
    check_one_problem(result, str(directory))
    assert contents(directory) == {}


def test_an_input_that_may_not_be_read(unprivileged: Commands, run_command: Commands) -> None:
    (run_command.cwd / "replay.txt").touch(mode=0)
    result = unprivileged("load_blocks", "memory", "--db", "db", "--input", "replay.txt")
    check_one_problem(result, "replay.txt")
    assert not (run_command.cwd / "db").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("info", "nothere.cdb"), "nothere.cdb: no database is here"),
        (("verify", "nothere.sqlite"), "nothere.sqlite: no database is here"),
        (("restore", "nosuch", "x"), "nosuch: no backup is here"),
        (("make_replay", "--output", "nosuch/x"), "nosuch/x: nosuch is no directory; create it"),
        (("make_replay", "--output", "text/x"), "text/x: text is no directory; create it"),
        (("node_install", "nosuch"), "nosuch: no directory is here"),
        (("migrate", "text"), "text: this is no SQLite file; name a node's, such as"),
        (("node_status", "text"), "text: this is no SQLite file; name a node's, such as"),
        (("backup", "text", "b"), "text: this is no SQLite file; name a node's, such as"),
    ],
)
def test_what_is_not_there_is_told_by_its_own_name(
    run_command: Commands, arguments: tuple[str, ...], told: str
) -> None:
    (run_command.cwd / "text").write_text("B 1 2 3\n")
    assert run_command(*arguments).error().startswith(told)
    assert contents(run_command.cwd) == {"text": b"B 1 2 3\n"}
