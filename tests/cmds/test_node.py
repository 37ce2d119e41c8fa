"""cdb node: the script for chia's daemon, and how a database is; and what others say of it."""

import json
import os
import re
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cdb.chia import launcher
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.progress import no_bar
from cdb.errors import MissingEngineError, UnsupportedError, WrongDatabaseError
from cdb.node import status as status_module
from cdb.node.example import set_peak
from cdb.node.kept_rows import are_kept, rows_kept
from cdb.node.log import log_path_of
from cdb.node.migrate.migration import Migration, migrate
from cdb.node.status import status_of
from cdb.schemas import coin_log
from cdb.stores.coin_log.binding import missing
from cdb.text.mainnet_shape import mainnet_shaped_blocks
from tests.cmds.nodes import go_on, make_node, roll_back, tip_of
from tests.conftest import Commands, contents, digest_of, file_limit, set_version
from tests.node.made import MadeNode

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

Blocks = tuple[BlockSpendInfo, ...]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, blocks: Blocks) -> Path:
    """A directory with a node's database."""
    directory = tmp_path_factory.mktemp("node")
    make_node(directory / "node.sqlite", blocks)
    return directory


@pytest.fixture
def file(made: Path, tmp_path: Path) -> Path:
    """A node's database; its log lacks two blocks, which the file has."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "node.sqlite"


def status(run_command: Commands, file: Path) -> tuple[dict[str, Any], list[str]]:
    """What the command says as JSON, and its errors; exit code and errors must agree."""
    result = run_command("node_status", file, "--json")
    found = json.loads(result.out)
    assert isinstance(found, dict)
    errors = [line.removeprefix("error: ") for line in result.err.splitlines()]
    assert errors == found["problems"]
    assert result.code == (1 if errors else 0)
    return found, errors


def change(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def test_status_of_a_sound_database_changes_nothing(
    run_command: Commands, file: Path, blocks: Blocks
) -> None:
    before = contents(file.parent)
    found, errors = status(run_command, file)
    assert errors == []
    newest = blocks[-1].index
    log = log_path_of(file)
    times = found.pop("last_flush"), found.pop("versions")
    assert found == {
        "node_db": str(file),
        "coins": "in_log",
        "peak_height": newest + 2,
        "transaction_peak_height": newest,
        "copied_height": None,
        "log_height": blocks[-3].index,
        "log_height_after_operations": newest,
        "operations": {
            "count": 5,
            "lowest_height": blocks[-5].index,
            "newest_height": newest,
        },
        "is_backup_running": False,
        "next": None,
        "file_bytes": file.stat().st_size,
        "wal_bytes": None,
        "log_bytes": sum(each.stat().st_size for each in log.rglob("*") if each.is_file()),
        "problems": [],
    }
    assert times[0].startswith("20")
    assert times[1]["sqlite"] == sqlite3.sqlite_version
    shown = run_command("node_status", file).fine().out.decode()
    assert "all is well" in shown
    assert f"5 kept in cdb_ops, blocks {blocks[-5].index} to {newest}\n" in shown
    assert contents(file.parent) == before


def test_status_of_a_plain_node_says_what_is_next_on_its_way_into_cdb(
    run_command: Commands, tmp_path: Path, blocks: Blocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "plain.sqlite"
    MadeNode(file, blocks).close()

    def next_step() -> Any:
        found, errors = status(run_command, file)
        assert errors == []
        shown = run_command("node_status", file).fine().out.decode()
        assert re.search(r"^state +all is well$", shown, re.M)
        assert re.search(f"^next +{re.escape(found['next'])}$", shown, re.M)
        return found["next"]

    def copied() -> Any:
        shown = run_command("node_status", file).fine().out.decode()
        (line,) = re.findall(r"^newest block of the copy +(.*)$", shown, re.M)
        assert "newest block of the log" not in shown
        assert "cdb_ops" not in shown
        return status(run_command, file)[0]["copied_height"], line

    assert copied() == (None, "none")
    assert next_step() == f"to have its coins in cdb: cdb migrate {file}"
    with monkeypatch.context() as context:
        context.setattr(Migration, "_verify", interrupt)
        with pytest.raises(KeyboardInterrupt):
            migrate(file, tell=lambda plan: None, bar=no_bar)
    newest = blocks[-1].index
    assert copied() == (newest, f"{newest:,}; it is not in use")
    assert next_step() == f"it is copied up to block {newest}: cdb migrate {file} goes on"
    run_command("migrate", file).fine()
    activate = f"stop the node, and cdb migrate --activate {file}"
    assert next_step() == f"the copy, up to block {newest}, is verified: {activate}"
    shutil.move(log_path_of(file) / "MIGRATION", tmp_path)
    assert next_step().endswith(f"move it away; then cdb migrate {file}")
    assert copied() == (None, "none")
    shutil.move(tmp_path / "MIGRATION", log_path_of(file))
    run_command("migrate", "--activate", file).fine()
    assert next_step() == "start the node as cdb_full_node"
    shown = run_command("node_status", file).fine().out.decode()
    assert "1 kept in cdb_ops, without a block\n" in shown
    go_on(file, [BlockSpendInfo(newest + 1, 0, [], [])], tip_of(blocks[-1]))
    shown = run_command("node_status", file).fine().out.decode()
    assert f"2 kept in cdb_ops, block {newest + 1:,}\n" in shown
    assert "\nnext" not in shown
    assert "newest block of the copy" not in shown
    run_command("migrate", "--revert", file).fine()
    assert copied() == (newest + 1, f"{newest + 1:,}; it is not in use")


def test_an_example_goes_the_whole_way(run_command: Commands, tmp_path: Path) -> None:
    file, copy = tmp_path / "node.sqlite", tmp_path / "backup"
    made = run_command("node_example", file, "--coins", 500).fine()
    assert made.out.decode().endswith(f"with 500 made-up coins\nnext: cdb migrate {file}\n")
    assert list(contents(tmp_path)) == [file.name]
    blocks = tuple(mainnet_shaped_blocks(coins=500))
    found, _ = status(run_command, file)
    assert found["peak_height"] == found["transaction_peak_height"] == blocks[-1].index
    digest = digest_of(blocks)
    assert digest.encode() in run_command("verify", file).fine().out
    run_command("migrate", file).fine()
    run_command("migrate", "--activate", file).fine()
    assert status(run_command, file)[0]["log_height"] == blocks[-1].index
    assert digest.encode() in run_command("verify", log_path_of(file)).fine().out
    run_command("backup", file, copy).fine()
    run_command("restore", copy, tmp_path / "restored.sqlite").fine()
    run_command("migrate", "--revert", file).fine()
    assert digest.encode() in run_command("verify", file).fine().out


def test_an_example_is_made_whole_or_not_at_all_and_over_nothing(
    run_command: Commands, tmp_path: Path
) -> None:
    file = tmp_path / "node.sqlite"
    run_command("node_example", file, **file_limit(100_000)).error()
    assert contents(tmp_path) == {}
    file.write_text("mine")
    assert "name a new path" in run_command("node_example", file).error()
    assert contents(tmp_path) == {file.name: b"mine"}
    assert "create it first" in run_command("node_example", tmp_path / "no" / "file").error()


def interrupt(*arguments: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("height", [100, 101])
def test_the_peak_may_have_no_transactions(
    run_command: Commands, file: Path, blocks: Blocks, height: int
) -> None:
    with closing(sqlite3.connect(file)) as connection:
        set_peak(connection, blocks[-1].index + height, blocks[-1].index)
        connection.commit()
    found, _ = status(run_command, file)
    assert found["peak_height"] == blocks[-1].index + height
    assert found["transaction_peak_height"] == blocks[-1].index


def test_status_applies_a_rollback_in_thought(
    run_command: Commands, file: Path, blocks: Blocks
) -> None:
    roll_back(file, blocks[-10].index, tip_of(blocks[-10]))
    found, errors = status(run_command, file)
    assert errors == []
    assert found["log_height"] == blocks[-3].index
    assert found["log_height_after_operations"] == blocks[-10].index


def test_status_tells_of_a_running_backup_and_then_of_none(
    run_command: Commands, file: Path
) -> None:
    with rows_kept(log_path_of(file)), rows_kept(log_path_of(file)):
        assert status(run_command, file)[0]["is_backup_running"]
        assert "a backup runs" in run_command("node_status", file).fine().out.decode()
    assert not status(run_command, file)[0]["is_backup_running"]


def test_status_has_rows_kept_from_its_look_at_the_log_on(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, state_of, kept = log_path_of(file), status_module._state_of, []

    def look(path: Path) -> Any:
        kept.append(are_kept(log))
        return state_of(path)

    monkeypatch.setattr(status_module, "_state_of", look)
    assert not status_of(file).is_backup_running
    assert kept == [True]
    assert not are_kept(log)


def test_who_keeps_rows_and_is_killed_keeps_none(file: Path) -> None:
    log, (readable, writable) = log_path_of(file), os.pipe()
    child = os.fork()
    if child == 0:
        with rows_kept(log):
            os.write(writable, b"=")
            os.kill(os.getpid(), 9)
    assert os.read(readable, 1) == b"="
    os.waitpid(child, 0)
    assert not are_kept(log)
    with rows_kept(log):
        assert are_kept(log)
    assert are_kept(log.with_name("nowhere"))


def remove_log(file: Path) -> None:
    shutil.rmtree(log_path_of(file))


def damage_log(file: Path) -> None:
    log = log_path_of(file) / "log"
    log.write_bytes(log.read_bytes()[: log.stat().st_size // 2])


def empty_log(file: Path) -> None:
    remove_log(file)
    coin_log.indexed(log_path_of(file)).close()


def end_log_early(file: Path) -> None:
    with coin_log.indexed(log_path_of(file)) as log:
        log.rewind_to_block_index(9)


def lose_rows(file: Path) -> None:
    change(file, "DROP TABLE cdb_ops")


def say_other_format(file: Path) -> None:
    set_version(log_path_of(file), 1)


def lower_peak(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        set_peak(connection, 8, 7)
        connection.commit()


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (remove_log, r"node\.sqlite\.cdb: the coins of .*node\.sqlite are not there; put both"),
        (damage_log, r"node\.sqlite\.cdb/log: "),
        (empty_log, r"node\.sqlite\.cdb: .* goes on from .*, and up to there it holds no"),
        (
            end_log_early,
            r"node\.sqlite\.cdb: .* goes on from block \d+, and up to there block 9 is",
        ),
        (lose_rows, r"node\.sqlite: its coins are in cdb, and the table cdb_ops, .* is lost"),
        (say_other_format, r"node\.sqlite\.cdb: its format is coin_log 1, .*; a node syncs again"),
        (lower_peak, r"the newest transaction block is 7, and the newest of the coins is \d+"),
    ],
)
def test_status_of_what_is_not_well_is_one_line_of_that(
    run_command: Commands, file: Path, spoil: Callable[[Path], None], problem: str
) -> None:
    spoil(file)
    found, errors = status(run_command, file)
    assert found["file_bytes"] > 0
    assert len(errors) == 1
    assert re.search(problem, errors[0]), errors
    shown = run_command("node_status", file)
    assert shown.code == 1
    assert "a problem, below" in shown.out.decode()


def test_status_of_no_database(run_command: Commands, tmp_path: Path) -> None:
    assert "no database is here" in run_command("node_status", "nowhere").error()
    (tmp_path / "text").write_text("some text, and no database" * 100)
    assert "text: " in run_command("node_status", "text").error()
    change(tmp_path / "other", "CREATE TABLE t(x)")
    _, errors = status(run_command, tmp_path / "other")
    assert "this is no node's database" in errors[0]
    assert "Missing argument 'NODE_DB'" in run_command("node_status").usage_error()


@pytest.mark.parametrize(
    "line",
    [
        ["dump_blocks", "blockchain_v2"],
        ["verify", "blockchain_v2"],
        ["coins", "blockchain_v2", "--confirmed-at", "3"],
        ["load_blocks", "blockchain_v2", "--input", "/dev/null"],
    ],
)
def test_who_looks_for_coins_in_the_file_is_told_where_they_are(
    run_command: Commands, file: Path, line: list[str]
) -> None:
    before = contents(file.parent)
    error = run_command(*line, "--db", file).error()
    assert error == (f"{file}: its coins are in {file}.cdb; use coin_log with --db {file}.cdb")
    assert contents(file.parent) == before
    assert run_command("dump_blocks", "coin_log", "--db", f"{file}.cdb").fine().out


@pytest.mark.parametrize("command", ["info", "verify", "dump_blocks"])
def test_the_file_alone_tells_where_its_coins_are(
    run_command: Commands, file: Path, command: str
) -> None:
    error = run_command(command, file).error()
    assert error == f"{file}: its coins are in {file}.cdb; use coin_log with --db {file}.cdb"


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where cdb_full_node is; and chia is installed."""
    directory = tmp_path / "an environment's bin"
    directory.mkdir()
    (directory / "cdb_full_node").write_text('#!/bin/sh\necho "it runs: $*"\n')
    (directory / "cdb_full_node").chmod(0o755)
    monkeypatch.setattr(launcher, "check_installed", lambda: None)
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(directory))
    return directory


def test_install_and_remove(
    tmp_path: Path, scripts: Path, monkeypatch: pytest.MonkeyPatch, run_command: Commands
) -> None:
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert launcher.found_first() is None
    path = launcher.install(directory)
    assert launcher.install(directory) == path  # anew
    assert contents(directory).keys() == {"chia_full_node"}
    assert launcher.found_first() is None
    monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")
    assert launcher.found_first() == path
    process = run_command.popen(["chia_full_node", "--help", "a b"])
    assert process.communicate(timeout=60)[0] == b"it runs: --help a b\n"
    assert f"{path} is removed" in run_command("node_remove", directory).fine().out.decode()
    assert contents(directory) == {}
    assert "no such script is here" in run_command("node_remove", directory).error()


@pytest.mark.parametrize("made_by", ["file", "link", "directory"])
def test_what_is_not_its_own_is_neither_overwritten_nor_removed(
    tmp_path: Path, scripts: Path, made_by: str, run_command: Commands
) -> None:
    directory = tmp_path / "bin"
    directory.mkdir()
    script = directory / "chia_full_node"
    if made_by == "file":
        script.write_text("#!/usr/bin/python\nprint('chia')\n")
    elif made_by == "link":
        launcher.install(tmp_path)
        script.symlink_to(tmp_path / "chia_full_node")
    else:
        script.mkdir()
    before = contents(directory)
    with pytest.raises(WrongDatabaseError, match="not what 'cdb node install' made"):
        launcher.install(directory)
    assert "not what 'cdb node install' made" in run_command("node_remove", directory).error()
    assert contents(directory) == before


def test_install_refuses_where_nothing_could_run(
    tmp_path: Path, scripts: Path, monkeypatch: pytest.MonkeyPatch, run_command: Commands
) -> None:
    (scripts / "cdb_full_node").unlink()
    with pytest.raises(MissingEngineError, match=r"cdb_full_node is not there; pip install --for"):
        launcher.install(tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr("cdb.chia.full_node.find_spec", lambda name: None)
    with pytest.raises(UnsupportedError, match="chia-blockchain is not installed"):
        launcher.install(tmp_path)
    assert "nowhere" in run_command("node_install", "nowhere").error()
    (tmp_path / "a file").touch()
    assert "this is no directory" in run_command("node_install", "a file").error()


@pytest.mark.parametrize("has_module", [False, True])
def test_a_node_of_another_chia_does_not_start_and_says_both_versions(
    tmp_path: Path, run_command: Commands, has_module: bool
) -> None:
    (tmp_path / "chia" / "full_node").mkdir(parents=True)
    (tmp_path / "chia" / "__init__.py").touch()
    if has_module:
        (tmp_path / "chia" / "full_node" / "coin_store.py").write_text("from chia_rs import Coin")
        (tmp_path / "chia_rs.py").touch()
    metadata = tmp_path / "chia_blockchain-9.8.7.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: chia-blockchain\nVersion: 9.8.7\n")
    process = run_command.popen([sys.executable, "-m", "cdb.chia.full_node"])
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    text = errors.decode()
    assert text.startswith("error: chia-blockchain 9.8.7 is installed, and its coin store differs")
    assert "from those of 2.7.0 to 2.7.5" in text
    assert text.count("\n") == 1
