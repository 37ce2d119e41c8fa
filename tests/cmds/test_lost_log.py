"""A node's log that is not there, or not its own: what each command says, and that it helps."""

import os
import re
import shlex
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.progress import no_bar
from cdb.errors import CorruptDatabaseError, WrongDatabaseError
from cdb.node.backup import making
from cdb.node.backup.making import back_up
from cdb.node.log import RESTORE
from cdb.node.lost_log import log_needed
from cdb.node.migrate import activation
from cdb.node.migrate.migration_file import Standing
from cdb.schemas import coin_log, find_schema
from cdb.stores.coin_log.binding import missing
from tests.cmds.nodes import go_on, tip_of
from tests.conftest import Commands, contents, set_version
from tests.node.made import MadeNode, rows_of

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

Blocks = tuple[BlockSpendInfo, ...]
N_BLOCKS, N_SINCE = 40, 10

COMMANDS = {
    "migrate": ("migrate", "node.sqlite"),
    "activate": ("migrate", "--activate", "node.sqlite"),
    "drop": ("migrate", "--drop", "node.sqlite"),
    "revert": ("migrate", "--revert", "node.sqlite"),
    "backup": ("backup", "node.sqlite", "new"),
    "status": ("node", "status", "node.sqlite"),
}
FINE = {
    "migrate": "error: .*its coins are in .*node.sqlite.cdb already",
    "activate": "is active already",
    "drop": "of .* MB, .* MB are free",
    "revert": "its own table again",
    "backup": "is a backup up to block",
    "status": "all is well",
}
"""What each says where the log is there."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, blocks: Blocks) -> Path:
    """Two databases that are active, one that a node has used since, and backups of them."""
    directory = tmp_path_factory.mktemp("made")
    for name, count in (("unused", N_BLOCKS), ("used", N_BLOCKS), ("other", 9)):
        path = directory / name / "node.sqlite"
        path.parent.mkdir()
        MadeNode(path, blocks[:count]).close()
        activation.activate(path, tell=lambda plan: None, bar=no_bar)
        if name == "used":
            since = blocks[N_BLOCKS : N_BLOCKS + N_SINCE]
            go_on(path, since, tip_of(blocks[N_BLOCKS - 1]))
        back_up(path, path.parent / "kept", no_bar)
    return directory


def lose(log: Path) -> None:
    shutil.rmtree(log)


def empty(log: Path) -> None:
    lose(log)
    log.mkdir()


def empty_but_for_the_lock(log: Path) -> None:
    empty(log)
    (log / "LOCK").touch()


def lose_log_file(log: Path) -> None:
    (log / "log").unlink()


def put_file(log: Path) -> None:
    lose(log)
    log.write_bytes(b"")


def put_new(log: Path) -> None:
    lose(log)
    coin_log.indexed(log).close()


def put_another_schemas(log: Path) -> None:
    lose(log)
    find_schema("flat_file").open(log).close()


def put_one_without_index(log: Path) -> None:
    lose(log)
    find_schema("coin_log").open(log).close()


def put_anothers(log: Path) -> None:
    lose(log)
    shutil.copytree(log.with_name("other.sqlite.cdb"), log)


def cut_log(log: Path) -> None:
    (log / "log").write_bytes((log / "log").read_bytes()[:500])


def empty_log(log: Path) -> None:
    (log / "log").write_bytes(b"")


def lose_format(log: Path) -> None:
    (log / "FORMAT").unlink()


def flip_manifest(log: Path) -> None:
    manifest = log / "derived" / "manifest"
    data = bytearray(manifest.read_bytes())
    data[len(data) // 2] ^= 1
    manifest.write_bytes(data)


GONE, FOREIGN, DAMAGED, DERIVED = "gone", "foreign", "damaged", "derived"
STATES: dict[Callable[[Path], None], tuple[str, str]] = {
    lose: (GONE, "the coins of .*node.sqlite are not there"),
    empty: (GONE, "the coins of .*node.sqlite are not there"),
    empty_but_for_the_lock: (GONE, "the coins of .*node.sqlite are not there"),
    lose_log_file: (GONE, "node.sqlite.cdb/log: it is missing, and with it the coins of .*node"),
    put_file: (FOREIGN, "this is not the coin log of .*node.sqlite, but a file"),
    put_new: (FOREIGN, "node.sqlite goes on from block .* it holds no coins"),
    put_another_schemas: (FOREIGN, "not the coin log of .*node.sqlite, but a database of flat"),
    put_one_without_index: (FOREIGN, "not the coin log of .*node.sqlite: it has no index by puzz"),
    put_anothers: (FOREIGN, "node.sqlite goes on from block"),
    cut_log: (DAMAGED, "node.sqlite.cdb/log: "),
    empty_log: (DAMAGED, "node.sqlite.cdb/"),
    lose_format: (DERIVED, "FORMAT: it is missing"),
    flip_manifest: (DERIVED, "node.sqlite.cdb/derived"),
}
"""What is found, of which kind it is, and what it is called."""
PUT_BACK, REVERT = "put it back, or ", r"'(cdb migrate --revert \S+)' brings chia's own table back"
REPAIR = r"'(cdb verify coin_log --db \S+ --repair)' mends what is derived"
ADVICE = {
    (GONE, False): f"; {PUT_BACK}{REVERT}, which has all coins$",
    (FOREIGN, False): f"; {PUT_BACK}{REVERT}, which has all coins$",
    (DAMAGED, False): f"; {REVERT}, which has all coins$",
    (DERIVED, False): f"; {REPAIR}, or {REVERT}, which has all coins$",
    (GONE, True): f"; {RESTORE}$",
    (FOREIGN, True): f"; {RESTORE}$",
    (DAMAGED, True): f"; {RESTORE}$",
    (DERIVED, True): f"; {REPAIR}; else {RESTORE}$",
}
"""What is advised, by the kind and by whether a node has run since activation."""


@pytest.fixture(params=[False, True], ids=["no node has run", "a node has run"])
def is_used(request: pytest.FixtureRequest) -> bool:
    """Whether a node has run since activation."""
    return bool(request.param)


@pytest.fixture
def here(made: Path, tmp_path: Path, is_used: bool) -> Path:
    """A directory with a copy of one of them."""
    shutil.copytree(made / ("used" if is_used else "unused"), tmp_path, dirs_exist_ok=True)
    shutil.copytree(made / "other" / "node.sqlite.cdb", tmp_path / "other.sqlite.cdb")
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_what_each_says_of_a_log_that_is_there(
    run_command: Commands, here: Path, is_used: bool, name: str
) -> None:
    result = run_command(*COMMANDS[name])
    assert re.search(FINE[name], result.out.decode() + result.err)
    assert (result.code == 0) == (name != "migrate")


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("spoil", STATES, ids=lambda spoil: spoil.__name__)
def test_what_each_says_of_a_log_that_is_not(
    run_command: Commands, here: Path, is_used: bool, name: str, spoil: Callable[[Path], None]
) -> None:
    """And nothing has changed, but for a revert that needs no log."""
    kind, problem = STATES[spoil]
    spoil(here / "node.sqlite.cdb")
    before = contents(here)
    result = run_command(*COMMANDS[name])
    if name == "revert" and not is_used:
        out = result.fine().out.decode()
        assert "has its own table again" in out
        assert "not needed" in out
        assert len(rows_of(here / "node.sqlite")) > N_BLOCKS
        return
    error = result.err.splitlines()[-1]
    assert result.code == 1
    assert re.search(problem, error)
    assert re.search(ADVICE[kind, is_used], error)
    assert contents(here) == before


def damage_rows(here: Path) -> str:
    with closing(sqlite3.connect(here / "node.sqlite")) as connection, connection:
        connection.execute("UPDATE cdb_ops SET record = x'00'")
    return "its table cdb_ops is damaged"


def say_other_format(here: Path) -> str:
    set_version(here / "node.sqlite.cdb", 1)
    return "its format is coin_log 1"


@pytest.mark.parametrize("name", ["activate", "drop", "backup", "status"])
@pytest.mark.parametrize("spoil", [damage_rows, say_other_format])
def test_what_no_log_mends_names_a_revert_while_that_helps(
    run_command: Commands, here: Path, is_used: bool, name: str, spoil: Callable[[Path], str]
) -> None:
    problem = spoil(here)
    error = run_command(*COMMANDS[name]).err.splitlines()[-1]
    assert problem in error
    assert PUT_BACK not in error
    assert bool(re.search(f"{REVERT}, which has all coins$", error)) == (not is_used)
    if not is_used:
        run_command(*_advised(REVERT, error)).fine()
        assert len(rows_of(here / "node.sqlite")) > N_BLOCKS


def follow_repair(run_command: Commands, here: Path, error: str) -> None:
    run_command(*_advised(REPAIR, error)).fine()


def follow_revert(run_command: Commands, here: Path, error: str) -> None:
    run_command(*_advised(REVERT, error)).fine()
    assert len(rows_of(here / "node.sqlite")) > N_BLOCKS
    remove(here / "node.sqlite.cdb")
    run_command(*COMMANDS["migrate"]).fine()
    run_command(*COMMANDS["activate"]).fine()


def follow_put_back(run_command: Commands, here: Path, error: str) -> None:
    assert PUT_BACK in error
    remove(here / "node.sqlite.cdb")
    shutil.copytree(here / "original", here / "node.sqlite.cdb")


def follow_backup(run_command: Commands, here: Path, error: str) -> None:
    assert "put both back from the same backup" in error
    remove(here / "node.sqlite")
    remove(here / "node.sqlite.cdb")
    run_command("restore", "kept", "node.sqlite").fine()


def _advised(pattern: str, error: str) -> list[str]:
    found = re.search(pattern, error)
    assert found
    return shlex.split(found[1])[1:]


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


PARTS = {
    (GONE, False): (follow_put_back, follow_revert),
    (FOREIGN, False): (follow_put_back, follow_revert),
    (DAMAGED, False): (follow_revert,),
    (DERIVED, False): (follow_repair, follow_revert),
    (GONE, True): (follow_backup,),
    (FOREIGN, True): (follow_backup,),
    (DAMAGED, True): (follow_backup,),
    (DERIVED, True): (follow_repair, follow_backup),
}
"""What does each part of an advice."""


@pytest.mark.parametrize("spoil", STATES, ids=lambda spoil: spoil.__name__)
@pytest.mark.parametrize("part", [0, 1])
def test_each_part_of_an_advice_helps(
    run_command: Commands, here: Path, is_used: bool, spoil: Callable[[Path], None], part: int
) -> None:
    """As it is typed."""
    kind, _ = STATES[spoil]
    parts = PARTS[kind, is_used]
    if part == len(parts):
        return
    shutil.copytree(here / "node.sqlite.cdb", here / "original")
    spoil(here / "node.sqlite.cdb")
    error = run_command(*COMMANDS["drop"]).err.splitlines()[-1]
    parts[part](run_command, here, error)
    run_command(*COMMANDS["status"]).fine()


def test_damage_that_a_backup_meets_as_it_reads_gets_the_same_advice(
    here: Path, is_used: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log with an index opens without a look at all of its blocks."""
    cut_log(here / "node.sqlite.cdb")
    monkeypatch.setattr(making, "check_log", lambda file: None)
    with pytest.raises(CorruptDatabaseError) as caught:
        back_up(here / "node.sqlite", here / "new", no_bar)
    assert re.search(ADVICE[DAMAGED, is_used], str(caught.value))
    assert not (here / "new").exists()


def test_verify_of_a_nodes_log_gives_the_same_advice(
    run_command: Commands, here: Path, is_used: bool
) -> None:
    cut_log(here / "node.sqlite.cdb")
    error = run_command("verify", "node.sqlite.cdb").err.splitlines()[-1]
    assert "damaged beyond repair" in error
    assert re.search(ADVICE[DAMAGED, is_used], error)


def test_a_damaged_copy_that_is_not_in_use_is_made_again(
    run_command: Commands, here: Path, is_used: bool
) -> None:
    run_command(*COMMANDS["revert"]).fine()
    cut_log(here / "node.sqlite.cdb")
    error = run_command("verify", "node.sqlite.cdb").err.splitlines()[-1]
    assert error.endswith("; remove node.sqlite.cdb and migrate again")


@pytest.mark.parametrize("name", ["two\nlines.sqlite", "latin\udcff.sqlite"])
def test_advice_about_any_path_can_be_typed(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    needed = log_needed(tmp_path / "gone", file, lambda: True)
    with pytest.raises(WrongDatabaseError) as caught, needed:
        pytest.fail("there is no log")
    (word,) = re.findall(r"cdb migrate --revert (.*)' brings", caught.value.advice)
    said = subprocess.run(["bash", "-c", f"printf %s {word}"], check=True, capture_output=True)
    assert said.stdout == os.fsencode(file)


@pytest.mark.parametrize("name", COMMANDS)
def test_advice_about_a_damaged_file_names_it(run_command: Commands, here: Path, name: str) -> None:
    """And no schema is left for people to find out."""
    file = here / "node.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = file.read_bytes()
    file.write_bytes(data[:100] + bytes(len(data) - 100))
    result = run_command(*COMMANDS[name])
    assert result.code == 1
    error = result.err.splitlines()[-1]
    assert "SCHEMA" not in error
    assert "PATH" not in error
    (line,) = re.findall(r"cdb (verify \S+)", error)
    assert Path(shlex.split(line)[1]).name == "node.sqlite"
    assert "node.sqlite" in run_command(*shlex.split(line)).err


def test_advice_about_what_a_migration_noted_can_be_typed(tmp_path: Path) -> None:
    log = tmp_path / "with blanks"
    log.mkdir()
    (log / "MIGRATION").write_text("none")
    with pytest.raises(CorruptDatabaseError, match=f"; remove '{log}' and migrate again$"):
        Standing.read(log)
