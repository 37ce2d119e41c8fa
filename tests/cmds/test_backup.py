"""cdb backup and cdb restore: whole copies or none, whatever is killed, and nothing overwritten.

tests/chia/test_backup.py makes them beside a node that writes.
"""

import fcntl
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from cdb.contents.state import summarize
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.progress import StepBar, no_bar
from cdb.disk.home import Lock
from cdb.disk.rename import rename_new
from cdb.errors import CdbError, StorageError, WrongDatabaseError
from cdb.node.backup import making as backup_module
from cdb.node.backup import restore as restore_module
from cdb.node.backup import work_directory
from cdb.node.backup.directory import contents_of, file_in, log_in, write_contents
from cdb.node.backup.making import back_up
from cdb.node.backup.restore import check_backup, restore
from cdb.node.kept_rows import are_kept
from cdb.node.log import catch_up, log_path_of
from cdb.node.node_database import check_in_log, operations_of
from cdb.node.status import status_of
from cdb.schemas import coin_log
from cdb.stores.coin_log.binding import missing
from tests.cmds.nodes import make_node
from tests.conftest import Commands, contents, digest_of, file_limit
from tests.in_fork import dies_at, exit_code

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

Blocks = tuple[BlockSpendInfo, ...]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, blocks: Blocks) -> Path:
    """A directory with a node's database, a backup of it, and an older database."""
    directory = tmp_path_factory.mktemp("node")
    make_node(directory / "node.sqlite", blocks)
    make_node(directory / "old.sqlite", blocks[:50])
    back_up(directory / "node.sqlite", directory / "backup", no_bar)
    return directory


@pytest.fixture
def here(made: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture(autouse=True)
def _many_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are copied in more than one chunk."""
    monkeypatch.setattr("cdb.node.backup.restore._CHUNK_BYTES", 1_000)


def coins_of(file: Path) -> str:
    """The digest of the coins that belong to a file, once operations are applied."""
    assert status_of(file).problems == []
    with coin_log.indexed(log_path_of(file), read_only=True) as log:
        return summarize(log).digest


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def test_backup_and_restore(run_command: Commands, here: Path, blocks: Blocks) -> None:
    before = contents(here)
    newest = blocks[-1].index
    out = run_command("backup", "node.sqlite", "copy").fine().out.decode()
    assert f"copy is a backup up to block {newest}: a file of " in out
    out = run_command("restore", "copy", "new.sqlite").fine().out.decode()
    assert f"new.sqlite is restored up to block {newest}: a file of " in out
    assert coins_of(here / "new.sqlite") == digest_of(blocks)
    with closing(sqlite3.connect(here / "new.sqlite")) as connection:
        assert connection.execute("SELECT count(*) FROM cdb_ops").fetchall() == [(1,)]
        assert connection.execute("SELECT count(*) FROM current_peak").fetchall() == [(1,)]
    after = contents(here)
    assert {name: after[name] for name in before} == before
    added = {name.split("/")[0] for name in after.keys() - before.keys()}
    assert added == {"copy", "new.sqlite", "new.sqlite.cdb"}
    assert run_command("verify", "coin_log", "--db", "copy/node.sqlite.cdb").fine()


def test_a_backup_of_the_very_first_blocks_has_a_log_of_its_own(here: Path, blocks: Blocks) -> None:
    make_node(here / "young.sqlite", blocks[:3], n_rows=3, n_behind=3)
    back_up(here / "young.sqlite", here / "copy", no_bar)
    restore(here / "copy", here / "new.sqlite", no_bar)
    assert coins_of(here / "new.sqlite") == digest_of(blocks[:3])


def test_what_is_there_is_not_touched(run_command: Commands, here: Path) -> None:
    before = contents(here)
    error = run_command("restore", "backup", "old.sqlite").error()
    assert f"{here}/old.sqlite: it is there already; stop the node, and move it away" in error
    assert "is a directory" in run_command("restore", "backup", "backup").usage_error()
    assert contents(here) == before


@pytest.mark.parametrize("is_linked", [False, True])
def test_restore_waits_for_the_nodes_end(
    run_command: Commands, here: Path, is_linked: bool
) -> None:
    (here / "root" / "run").mkdir(parents=True)
    (here / "disk").mkdir()
    if is_linked:
        (here / "root" / "db").symlink_to(here / "disk")
    else:
        (here / "root" / "db").mkdir()
    line = ("restore", "backup", here / "root" / "db" / "node.sqlite")
    with (here / "root" / "run" / "full_node.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "stop the node" in run_command(*line).error()
    assert names(here / "root" / "db") == set()
    run_command(*line).fine()


@pytest.mark.parametrize("suffix", ["", "-wal", "-journal"])
@pytest.mark.parametrize("moment", ["before the coins", "between coins and file"])
def test_what_comes_while_names_change_stays(here: Path, moment: str, suffix: str) -> None:
    """A node that starts there has made files of its own; once they are gone, it goes on."""
    file, other = here / "new.sqlite", here / f"new.sqlite{suffix}"
    last = file if moment == "between coins and file" else log_path_of(file)
    _restore_until(here, file, last)
    other.write_bytes(b"of a node that was started")
    with pytest.raises(WrongDatabaseError, match="is there already"):
        restore(here / "backup", file, no_bar)
    assert other.read_bytes() == b"of a node that was started"
    other.unlink()
    restore(here / "backup", file, no_bar)
    assert status_of(file).problems == []


def _restore_until(here: Path, file: Path, last: Path | None) -> None:
    """Have a restore killed before it gives this name; None: before it removes its directory."""

    def rename(path: Path, target: Path) -> None:
        if target == last:
            raise KeyboardInterrupt
        rename_new(path, target)

    def remove(*arguments: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(restore_module, "rename_new", rename)
        if last is None:
            patch.setattr(restore_module._Restore, "_remove_work_directory", remove)
        with pytest.raises(KeyboardInterrupt):
            restore(here / "backup", file, no_bar)


@pytest.mark.parametrize("moment", ["at its lock", "before it is removed"])
@pytest.mark.parametrize("name", ["other.partial", "new.sqlite.restore"])
def test_a_directory_that_comes_to_the_unfinished_ones_place_stays(
    here: Path, monkeypatch: pytest.MonkeyPatch, moment: str, name: str
) -> None:
    """Its files have the very names that would be removed, and are somebody's."""
    somebodys = here / "somebodys"
    shutil.copytree(here / "backup", somebodys)
    (somebodys / "LOCK").touch()
    before = contents(somebodys)

    def come() -> None:
        (here / name).rename(here / "aside")
        somebodys.rename(here / name)

    def fail(*arguments: object) -> None:
        come()
        raise StorageError(here, "no room")

    def locked(lock: Lock, *paths: Path) -> None:
        init(lock, *paths)
        if paths[1] == here / name:
            come()

    init = Lock.__init__
    if moment == "at its lock":
        monkeypatch.setattr(Lock, "__init__", locked)
    else:
        for module in (backup_module, restore_module):
            monkeypatch.setattr(module, "check_room", fail)
    make = back_up if name == "other.partial" else restore
    paths = "node.sqlite", "other"
    if make is restore:
        paths = "backup", "new.sqlite"
    with pytest.raises(StorageError, match=r"moved or removed|no room"):
        make(here / paths[0], here / paths[1], no_bar)
    assert contents(here / name) == before


@pytest.mark.parametrize("moment", ["between coins and file", "at the end"])
def test_a_killed_restore_does_not_count_what_was_moved_away(here: Path, moment: str) -> None:
    """The node ran on it, or somebody made room: it is not said to be there."""
    file = here / "new.sqlite"
    _restore_until(here, file, file if moment == "between coins and file" else None)
    (here / "away").mkdir()
    for path in (file, log_path_of(file)):
        if path.exists():
            shutil.move(path, here / "away")
    with pytest.raises(WrongDatabaseError, match=r"is another now; remove .*new\.sqlite\.restore"):
        restore(here / "backup", file, no_bar)
    assert not file.exists()
    shutil.rmtree(here / "new.sqlite.restore")
    restore(here / "backup", file, no_bar)
    assert status_of(file).problems == []


def test_a_restore_that_is_killed_at_its_end_is_finished(here: Path) -> None:
    file = here / "new.sqlite"
    _restore_until(here, file, None)
    restore(here / "backup", file, no_bar)
    assert status_of(file).problems == []
    assert not (here / "new.sqlite.restore").exists()


@pytest.mark.parametrize("moment", ["before the coins", "at the end"])
def test_a_killed_restore_is_finished_without_its_backup(
    run_command: Commands, here: Path, moment: str
) -> None:
    """All was copied before: the disk with the backup may be back on its shelf."""
    file = here / "new.sqlite"
    _restore_until(here, file, log_path_of(file) if moment == "before the coins" else None)
    shutil.move(here / "backup", here / "shelf")
    assert "no backup is here" in run_command("restore", "another", "new.sqlite").error()
    out = run_command("restore", "backup", "new.sqlite").fine().out.decode()
    assert "new.sqlite is restored up to block" in out
    assert status_of(file).problems == []
    assert not (here / "new.sqlite.restore").exists()
    assert "no backup is here" in run_command("restore", "backup", "newer.sqlite").error()


def test_a_killed_restore_is_finished_on_a_device_of_another_number(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start of the system may give it one."""
    file = here / "new.sqlite"
    _restore_until(here, file, file)
    lstat = Path.lstat

    def changed(path: Path) -> os.stat_result:
        status = [*lstat(path)]
        status[2] += 1
        return os.stat_result(status)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "lstat", changed)
        restore(here / "backup", file, no_bar)
    assert status_of(file).problems == []


def test_of_another_backup_a_restore_does_not_go_on(here: Path, blocks: Blocks) -> None:
    file = here / "new.sqlite"
    _restore_until(here, file, file)
    shutil.rmtree(here / "backup")
    make_node(here / "younger.sqlite", blocks[:9], n_rows=3, n_behind=0)
    back_up(here / "younger.sqlite", here / "backup", no_bar)
    with pytest.raises(
        WrongDatabaseError,
        match=r"was killed here, .* is another now",
    ):
        restore(here / "backup", file, no_bar)


def test_a_backup_that_was_written_to_is_refused(run_command: Commands, here: Path) -> None:
    (here / "backup" / "node.sqlite-wal").write_bytes(b"")
    error = run_command("restore", "backup", "new.sqlite").error()
    assert "node.sqlite-wal: something has written to the backup" in error


def test_a_second_backup_never_empties_the_first(here: Path) -> None:
    """It comes when the first has its name, and not yet let go of its lock."""
    real = Path.rename
    with pytest.MonkeyPatch.context() as patch:

        def rename(one: Path, other: Path) -> Path:
            done = real(one, other)
            with pytest.raises(WrongDatabaseError, match="is there already"):
                back_up(here / "node.sqlite", here / "new", no_bar)
            return done

        patch.setattr(Path, "rename", rename)
        back_up(here / "node.sqlite", here / "new", no_bar)
    check_backup(here / "new", no_bar)


@pytest.mark.parametrize("name", ["lone.sqlite.cdb", "lone.sqlite-wal"])
def test_no_half_of_a_database_is_overwritten(run_command: Commands, here: Path, name: str) -> None:
    (here / name).mkdir()
    assert f"{name}: it is there already" in run_command("restore", "backup", "lone.sqlite").error()


def flip_log(copy: Path) -> None:
    log = log_in(copy) / "log"
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)


def flip_coin_index(copy: Path) -> None:
    manifest = log_in(copy) / "derived" / "manifest"
    data = bytearray(manifest.read_bytes())
    data[len(data) // 2] ^= 1
    manifest.write_bytes(data)


def flip_acked(copy: Path) -> None:
    acked = log_in(copy) / "acked"
    data = bytearray(acked.read_bytes())
    data[0] ^= 1
    acked.write_bytes(data)


def flip_hint(copy: Path) -> None:
    hint = b"a hint that is in an index, too."
    with closing(sqlite3.connect(file_in(copy))) as connection:
        connection.execute("INSERT INTO hints VALUES (x'01', ?)", (hint,))
        connection.commit()
    data = file_in(copy).read_bytes()
    assert data.count(hint) == 2
    file_in(copy).write_bytes(data.replace(hint, hint.upper(), 1))


def flip_row(copy: Path) -> None:
    """The amount of a coin of the newest block: nothing else tells that it was another one."""
    with closing(sqlite3.connect(file_in(copy))) as connection:
        [(record,)] = connection.execute("SELECT record FROM cdb_ops WHERE kind = 'block'")
        changed = record[:-1] + bytes([record[-1] ^ 1])
        connection.execute("UPDATE cdb_ops SET record = ?", (changed,))
        connection.commit()


def cut_file(copy: Path) -> None:
    os.truncate(file_in(copy), file_in(copy).stat().st_size - 4096)


def exchange_log(copy: Path) -> None:
    shutil.rmtree(log_in(copy))
    shutil.copytree(copy.parent / "old.sqlite.cdb", log_in(copy))


def lose_log(copy: Path) -> None:
    shutil.rmtree(log_in(copy))


def lose_head(copy: Path) -> None:
    (copy / "BACKUP").unlink()


def garble_head(copy: Path) -> None:
    (copy / "BACKUP").write_text("cdb node backup 1\n{}\n")


def raise_height(copy: Path) -> None:
    contents = contents_of(copy)
    write_contents(copy, replace(contents, height=contents.height + 1))


def grow_file(copy: Path) -> None:
    with file_in(copy).open("ab") as file:
        file.write(bytes(4096))


def put_in_log(copy: Path) -> None:
    (log_in(copy) / "derived" / "diary").write_text("not a part of it")


def write_later_head(copy: Path) -> None:
    (copy / "BACKUP").write_text("cdb node backup 2\n{}\n")


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (flip_log, "node.sqlite.cdb/log: "),
        (flip_coin_index, "node.sqlite.cdb/derived/manifest: "),
        (flip_acked, "node.sqlite.cdb/acked: "),
        (flip_hint, "backup/node.sqlite: row 1 missing from index"),
        (flip_row, "backup/node.sqlite: its table cdb_ops says other than the coins"),
        (cut_file, "backup/node.sqlite: "),
        (exchange_log, "goes on from block"),
        (lose_log, "node.sqlite.cdb: no database is here"),
        (lose_head, "backup: this is no backup, or one that was never finished"),
        (garble_head, "backup/BACKUP: damaged"),
        (raise_height, "backup/BACKUP: it says height "),
        (grow_file, "backup/BACKUP: it says "),
        (put_in_log, "backup/BACKUP: it says "),
        (write_later_head, "backup/BACKUP: it is of no backup that this cdb knows"),
    ],
)
def test_what_is_not_whole_is_not_restored(
    run_command: Commands, here: Path, spoil: Callable[[Path], None], problem: str
) -> None:
    spoil(here / "backup")
    before = contents(here)
    assert problem in run_command("restore", "backup", "new.sqlite").error()
    assert contents(here) == before


@pytest.mark.parametrize(
    ("work", "name", "line"),
    [
        ("new.partial", "node.sqlite", ["backup", "node.sqlite", "new"]),
        ("new.sqlite.restore", "node.sqlite", ["restore", "backup", "new.sqlite"]),
        ("new.sqlite.restore", "READY", ["restore", "backup", "new.sqlite"]),
    ],
)
def test_what_has_our_names_and_is_not_ours_stays(
    run_command: Commands, here: Path, work: str, name: str, line: list[str]
) -> None:
    (here / work).mkdir()
    (here / work / name).write_text("dear diary")
    before = contents(here)
    assert f"{work}: " in (error := run_command(*line).error())
    assert "needs this name; move away what is here" in error
    assert contents(here) == before


def test_a_file_that_is_replaced_while_it_is_looked_at_is_not_backed_up(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = check_in_log

    def check_and_replace(connection: sqlite3.Connection, file: Path) -> None:
        check(connection, file)
        (here / "old.sqlite").replace(file)

    monkeypatch.setattr(backup_module, "check_in_log", check_and_replace)
    with pytest.raises(StorageError, match="it was removed or replaced while it was read"):
        back_up(here / "node.sqlite", here / "new", no_bar)
    assert "new" not in names(here)


def test_what_can_not_be_backed_up(run_command: Commands, here: Path) -> None:
    before = contents(here)
    assert "something is there already" in run_command("backup", "node.sqlite", "backup").error()
    assert "no database is here" in run_command("backup", "nowhere", "new").error()
    assert (
        "/a is no directory; create it first" in run_command("backup", "node.sqlite", "a/b").error()
    )
    for end in ("-wal", "-shm", "-journal"):
        assert (
            "SQLite needs this name"
            in run_command("backup", "node.sqlite", f"node.sqlite{end}").error()
        )
    within = run_command("backup", "node.sqlite", "node.sqlite.cdb/new").error()
    assert "this lies in the node's coin log; name a path outside it" in within
    (here / "new.partial").mkdir()
    (here / "new.partial" / "diary").touch()
    assert (
        "new.partial: the backup needs this" in run_command("backup", "node.sqlite", "new").error()
    )
    shutil.rmtree(here / "new.partial")
    flip = here / "old.sqlite.cdb" / "log"
    flip.write_bytes(flip.read_bytes()[:-100])
    assert "old.sqlite.cdb/log: " in run_command("backup", "old.sqlite", "new").error()
    shutil.rmtree(here / "old.sqlite.cdb")
    assert "are not there; put both back" in run_command("backup", "old.sqlite", "new").error()
    with closing(sqlite3.connect(here / "old.sqlite")) as connection:
        connection.execute("DROP TABLE cdb_ops")
        assert "cdb_ops is lost" in run_command("backup", "old.sqlite", "new").error()
        connection.execute("DROP TABLE coin_record")
        connection.execute("CREATE TABLE coin_record(coin_name blob PRIMARY KEY)")
        error = run_command("backup", "old.sqlite", "new").error()
        assert "its coins are in chia's own table, not in cdb" in error
    left = {name: data for name, data in contents(here).items() if "old.sqlite" not in name}
    assert left == {name: data for name, data in before.items() if "old.sqlite" not in name}


@pytest.mark.parametrize("line", [["backup", "node.sqlite", "new"], ["restore", "backup", "new"]])
def test_a_full_disk_leaves_nothing(run_command: Commands, here: Path, line: list[str]) -> None:
    before = contents(here)
    result = run_command(*line, **file_limit(20_000))
    assert "new" in result.error()
    assert contents(here) == before


TRACED = {module.__file__ for module in (backup_module, restore_module, work_directory)}
EACH = 14
"""So many steps further the next one is killed."""


def test_a_killed_backup_is_none_and_the_next_one_is_whole(here: Path, blocks: Blocks) -> None:
    before = contents(here)
    n = 1
    while dies_at(n, lambda: back_up(here / "node.sqlite", here / "new", no_bar), TRACED):
        assert {name: contents(here)[name] for name in before} == before
        if not (here / "new").exists():
            if not (here / "new.partial" / "BACKUP").exists():
                with pytest.raises(CdbError):
                    restore(here / "new.partial", here / "restored", no_bar)
            left = log_in(here / "new.partial") / "log"
            if left.exists():  # it counts for nothing
                left.write_bytes(b"no log")
            back_up(here / "node.sqlite", here / "new", no_bar)
        check_backup(here / "new", no_bar)
        with coin_log.indexed(log_in(here / "new"), read_only=True) as log:
            assert summarize(log).digest == digest_of(blocks)
        assert names(here) - {"new"} == {name for name in before if "/" not in name}
        shutil.rmtree(here / "new")
        n += EACH
    assert n > 50


def test_a_backup_that_is_killed_once_it_has_its_name_is_whole(here: Path, blocks: Blocks) -> None:
    real = Path.rename

    def die_once_renamed(one: Path, other: Path) -> None:
        real(one, other)
        os._exit(9)

    def back_up_and_die() -> None:
        Path.rename = die_once_renamed  # type: ignore[method-assign, assignment]
        back_up(here / "node.sqlite", here / "new", no_bar)

    assert exit_code(back_up_and_die) == 9
    check_backup(here / "new", no_bar)
    with coin_log.indexed(log_in(here / "new"), read_only=True) as log:
        assert summarize(log).digest == digest_of(blocks)
    with pytest.raises(WrongDatabaseError, match="is there already"):
        back_up(here / "node.sqlite", here / "new", no_bar)


def test_a_backup_has_the_rows_that_the_log_takes_in_meanwhile(
    here: Path, blocks: Blocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node goes on between the two copies: it deletes what its log has for sure, if it may."""
    file, copy_file = here / "node.sqlite", backup_module._copy_file

    def go_on(source: Path, target: Path, bar: StepBar) -> None:
        with closing(sqlite3.connect(file)) as node:
            with coin_log.indexed(log_path_of(file)) as log:
                catch_up(log, log_path_of(file), file, operations_of(node, file))
                assert log.last_block_index == blocks[-1].index
            if not are_kept(log_path_of(file)):
                node.execute("DELETE FROM cdb_ops WHERE number < (SELECT max(number) FROM cdb_ops)")
                node.commit()
        copy_file(source, target, bar)

    monkeypatch.setattr(backup_module, "_copy_file", go_on)
    back_up(file, here / "new", no_bar)
    check_backup(here / "new", no_bar)
    with coin_log.indexed(log_in(here / "new"), read_only=True) as log:
        assert summarize(log).digest == digest_of(blocks)


def test_a_killed_restore_leaves_nothing_and_the_next_one_finishes(
    here: Path, blocks: Blocks
) -> None:
    copy, file, work = here / "backup", here / "there.sqlite", here / "there.sqlite.restore"
    before = contents(here)
    n, seen = 1, set()

    def put_back() -> None:
        restore(copy, file, no_bar)

    while dies_at(n, put_back, TRACED):
        seen.add(file.exists())
        if n % 42 < EACH and not file.exists():  # and once more, on the way
            dies_at(n // 2, put_back, TRACED)
        if not file.exists() or (work / "READY").exists():
            put_back()
        elif work.exists():
            shutil.rmtree(work)
        assert coins_of(file) == digest_of(blocks)
        shutil.rmtree(log_path_of(file))
        file.unlink()
        assert contents(here) == before
        n += EACH
    assert n > 50
    assert seen == {False, True}
