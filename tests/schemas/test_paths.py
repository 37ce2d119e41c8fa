"""A path is resolved once, links included; inside a database nothing follows a link, and a writer
changes no other user's files."""

import os
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from cdb.contract.blocks import BlockSpendInfo, canonical
from cdb.disk.home import Lock
from cdb.errors import (
    DatabaseError,
    DatabaseLockedError,
    DatabaseNotFoundError,
    StorageError,
    WrongDatabaseError,
)
from cdb.process.meter import size_bytes
from cdb.schemas import Schema, SchemaInfo, find_schema
from cdb.schemas.registry import history_of
from cdb.stores.rows.coin_rows import CoinRows
from cdb.testing.base import accept_all
from cdb.testing.chains import sample_chain
from cdb.testing.faults.subjects import subject_of
from cdb.testing.side_by_side import settle
from tests.conftest import contents, copy_at_rest, own_schemas, stored

BLOCKS = list(map(canonical, sample_chain().blocks))
HALF = len(BLOCKS) // 2
NOBODY = 65_534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture(scope="module", params=own_schemas())
def schema(request: pytest.FixtureRequest) -> SchemaInfo:
    """Each of cdb's schemas that can be used here."""
    return find_schema(request.param)


@pytest.fixture
def real(tmp_path: Path) -> Path:
    """Where a database may be made; its directory has nothing else in it."""
    (tmp_path / "real").mkdir()
    return tmp_path / "real" / "db"


@pytest.fixture(scope="module")
def _crashed(schema: SchemaInfo, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("crashed")
    (directory / "open").mkdir()
    with opened(schema, directory / "open" / "db") as database:
        accept_all(database, BLOCKS[:HALF])
    with opened(schema, directory / "open" / "db") as database:
        accept_all(database, BLOCKS[HALF:])
        database.flush()
        copy_at_rest(directory / "open", directory / "copy")
    return directory / "copy"


@pytest.fixture
def crashed(_crashed: Path, real: Path) -> Path:
    """A database of BLOCKS that was closed halfway, and then left by a crash after a flush."""
    shutil.copytree(_crashed, real.parent, dirs_exist_ok=True)
    return real


def opened(schema: SchemaInfo, path: Path | str, *, read_only: bool = False) -> Schema:
    """A database, with no fsync where the schema allows it: nothing here is about the disk."""
    return schema.open(path, durability=schema.spec.durabilities[-1], read_only=read_only)


def blocks_at(schema: SchemaInfo, path: Path | str) -> list[BlockSpendInfo]:
    """What a reader finds there."""
    with opened(schema, path, read_only=True) as database:
        return list(database.blocks())


def no_progress(coins: int) -> None:
    """Show nothing."""


def all_in(path: Path) -> list[Path]:
    """Everything that a database consists of, the innermost first, but its path itself."""
    return sorted((each for each in path.parent.rglob("*") if each != path), reverse=True)


def damages_at(schema: SchemaInfo, path: Path) -> list[str]:
    """What verify finds in the files there."""
    return (
        []
        if schema.spec.check is None
        else [str(each) for each in schema.spec.check(path, no_progress)]
    )


# Links that lead to a database


def _to_file(link: Path, real: Path) -> Path:
    link.symlink_to(real)
    return link


def _relative(link: Path, real: Path) -> Path:
    link.symlink_to(os.path.relpath(real, link.parent))
    return link


def _to_directory(link: Path, real: Path) -> Path:
    link.symlink_to(real.parent)
    return link / real.name


def _to_link(link: Path, real: Path) -> Path:
    link.symlink_to(link.with_name("next"))
    link.with_name("next").symlink_to(real)
    return link


WAYS = [_to_file, _relative, _to_directory, _to_link]
Way = Callable[[Path, Path], Path]


@pytest.fixture(params=WAYS)
def link(request: pytest.FixtureRequest, tmp_path: Path, real: Path) -> Path:
    """A path that leads to the real one by a link, which is in a directory of its own."""
    (tmp_path / "links").mkdir()
    way: Way = request.param
    return way(tmp_path / "links" / "link", real)


@contextmanager
def links_untouched(tmp_path: Path) -> Iterator[None]:
    """What is beside a link stays as it is, and so does the link."""

    def links() -> dict[Path, Path]:
        return {path: path.readlink() for path in (tmp_path / "links").iterdir()}

    before = links()
    yield
    assert links() == before


def test_a_database_is_made_and_written_where_a_link_leads_to(
    schema: SchemaInfo, tmp_path: Path, real: Path, link: Path
) -> None:
    with links_untouched(tmp_path):
        with opened(schema, link) as database:
            accept_all(database, BLOCKS[:HALF])
        with opened(schema, real) as database:
            accept_all(database, BLOCKS[HALF:-1])
        with opened(schema, link) as database:
            accept_all(database, BLOCKS[-1:])
        assert blocks_at(schema, link) == blocks_at(schema, real) == BLOCKS
        assert damages_at(schema, link) == []
    assert size_bytes(link) == size_bytes(real) > 0


def test_a_writer_whose_database_was_moved_changes_no_other_one(
    schema: SchemaInfo, real: Path
) -> None:
    """It goes on with its own files, or says so; what it acknowledged is where they are now."""
    moved, other = real.parent.with_name("moved"), real.parent.with_name("other")
    other.mkdir()
    with opened(schema, other / real.name) as others:
        accept_all(others, BLOCKS[:3])
    acknowledged = HALF
    database = schema.open(real)
    accept_all(database, BLOCKS[:HALF])
    database.flush()
    real.parent.rename(moved)
    other.rename(real.parent)
    with suppress(StorageError):
        accept_all(database, BLOCKS[HALF:])
        database.flush()
        acknowledged = len(BLOCKS)
    with suppress(StorageError):
        database.close()
    found = blocks_at(schema, moved / real.name)
    assert found == BLOCKS[: len(found)]
    assert len(found) >= acknowledged
    assert blocks_at(schema, real) == BLOCKS[:3]
    assert damages_at(schema, real) == damages_at(schema, moved / real.name) == []


def test_a_moved_writer_beside_the_one_that_has_its_place(schema: SchemaInfo, real: Path) -> None:
    moved = real.parent.with_name("moved")
    database = schema.open(real)
    accept_all(database, BLOCKS[:HALF])
    database.flush()
    real.parent.rename(moved)
    real.parent.mkdir()
    with opened(schema, real) as others:
        accept_all(others, BLOCKS[:3])
        others.flush()
        with suppress(StorageError):
            accept_all(database, BLOCKS[HALF:])
        with suppress(StorageError):
            database.close()
        accept_all(others, BLOCKS[3:4])
    for path, n_least in (real, 4), (moved / real.name, HALF):
        found = blocks_at(schema, path)
        assert found == BLOCKS[: len(found)]
        assert len(found) >= n_least
        assert damages_at(schema, path) == []


def _move(taken: Path, other: Path) -> None:
    taken.rename(taken.with_name("moved"))


def _remove(taken: Path, other: Path) -> None:
    if taken.is_dir():
        shutil.rmtree(taken)
    else:
        taken.unlink()


def _replace(taken: Path, other: Path) -> None:
    _move(taken, other)
    other.rename(taken)


@pytest.mark.parametrize("take", [_move, _remove, _replace])
@pytest.mark.parametrize("file", ["db", "db/coins.sqlite"])
def test_a_writer_whose_files_were_taken_shows_no_others(
    schema: SchemaInfo, real: Path, file: str, take: Callable[[Path, Path], None]
) -> None:
    """Its own, or it says so, whether its directory stays or not."""
    other = real.parent.with_name("other")
    other.mkdir()
    with opened(schema, other / real.name) as others:
        accept_all(others, BLOCKS[:3])
    with suppress(StorageError), opened(schema, real) as database:
        accept_all(database, BLOCKS[:HALF])
        database.flush()
        if not (real.parent / file).exists():
            pytest.skip(f"it has no {file}")
        asks: list[Callable[[], list[object]]] = [
            lambda: list(database.blocks()),
            lambda: list(history_of(database).unspent()),
        ]
        before = [ask() for ask in asks]
        take(real.parent / file, real.parent.with_name("other") / file)
        for ask, own in zip(asks, before, strict=True):
            with suppress(StorageError):
                assert ask() == own
        with suppress(StorageError):
            accept_all(database, BLOCKS[HALF:])
    if take is _replace:
        # SQLite takes what its -wal has for the new file's; of what came later it has nothing.
        with suppress(DatabaseError):
            assert len(blocks_at(schema, real)) <= HALF


@pytest.mark.parametrize("spec", ["rocks:SMALL", "interval@rocksdb:SMALL"])
def test_rocksdb_goes_on_where_its_directory_was_moved(
    spec: str, real: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It merges in the background, and would write even if no guard refused to."""
    schema = find_schema(spec)
    if schema.missing is not None:
        pytest.skip(schema.missing)
    moved, other = real.parent.with_name("moved"), real.parent.with_name("other")
    other.mkdir()
    with opened(schema, other / real.name) as others:
        accept_all(others, BLOCKS[:3])
    (of_others,) = (contents(current.parent) for current in other.rglob("CURRENT"))
    monkeypatch.setattr(Lock, "check_in_place", lambda lock: None)
    monkeypatch.setattr(CoinRows, "check_in_place", lambda rows: None)
    with opened(schema, real) as database:
        accept_all(database, BLOCKS[:HALF])
        real.parent.rename(moved)
        other.rename(real.parent)
        accept_all(database, BLOCKS[HALF:])
        database.rewind_to_block_index(BLOCKS[-3].index)
        accept_all(database, BLOCKS[-2:])
        settle(database)
    assert [contents(current.parent) for current in real.rglob("CURRENT")] == [of_others]
    assert blocks_at(schema, moved / real.name) == BLOCKS


def test_a_link_is_read_beside_a_living_writer(
    schema: SchemaInfo, tmp_path: Path, real: Path, link: Path
) -> None:
    with links_untouched(tmp_path), opened(schema, real) as database:
        accept_all(database, BLOCKS)
        database.flush()
        assert blocks_at(schema, link) == BLOCKS


def test_a_link_to_what_a_crash_left(
    schema: SchemaInfo, tmp_path: Path, crashed: Path, link: Path
) -> None:
    with links_untouched(tmp_path):
        assert blocks_at(schema, link) == BLOCKS
        assert damages_at(schema, link) == []
        with opened(schema, link) as database:
            assert list(database.blocks()) == BLOCKS
    assert blocks_at(schema, crashed) == BLOCKS


def test_one_writer_by_whatever_path(
    schema: SchemaInfo, tmp_path: Path, real: Path, link: Path
) -> None:
    other = tmp_path / "other"
    other.symlink_to(real)
    paths = (real, link, other)
    for first in paths:
        with opened(schema, first):
            for second in paths:
                with pytest.raises(DatabaseLockedError, match=str(real)):
                    opened(schema, second)
    assert other.readlink() == real


@pytest.mark.parametrize("read_only", [False, True])
def test_an_empty_path_is_not_the_current_directory(
    schema: SchemaInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_only: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DatabaseNotFoundError, match="'': the path is empty; name one"):
        opened(schema, "", read_only=read_only)
    assert contents(tmp_path) == {}


def test_a_later_chdir_changes_nothing(
    schema: SchemaInfo, tmp_path: Path, real: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    opened(schema, real).close()
    monkeypatch.chdir(real.parent)
    with opened(schema, "db") as database:
        accept_all(database, BLOCKS[:HALF])
        database.flush()
        monkeypatch.chdir(tmp_path / "elsewhere")
        accept_all(database, BLOCKS[HALF:])
        database.rewind_to_block_index(BLOCKS[-2].index)
        assert list(database.blocks()) == BLOCKS[:-1]
    assert contents(tmp_path / "elsewhere") == {}
    assert blocks_at(schema, real) == BLOCKS[:-1]


def test_no_file_takes_the_number_of_a_closed_stream(schema: SchemaInfo, real: Path) -> None:
    """Else what is printed there would be written into it."""
    kept = os.dup(0)
    try:
        os.close(0)
        with opened(schema, real) as database:
            accept_all(database, BLOCKS)
            database.flush()
            assert os.path.samestat(os.fstat(0), os.stat(os.devnull))  # noqa: PTH116
    finally:
        os.dup2(kept, 0)
        os.close(kept)


def test_a_link_that_leads_nowhere(schema: SchemaInfo, tmp_path: Path, real: Path) -> None:
    """A writer makes what is missing, but no directory around it."""
    link, far = tmp_path / "link", tmp_path / "far"
    link.symlink_to(real)
    far.symlink_to(real.parent / "missing" / "db")
    before = contents(tmp_path)
    for path in (link, far):
        with pytest.raises(DatabaseNotFoundError, match=f"{path}: no database is where it leads"):
            opened(schema, path, read_only=True)
    missing = f"{real.parent}/missing"
    told = f"{far}: this link leads to {missing}/db, and {missing} is no directory; create it first"
    with pytest.raises(DatabaseNotFoundError, match=told):
        opened(schema, far)
    assert contents(tmp_path) == before
    opened(schema, link).close()
    assert blocks_at(schema, real) == []
    assert link.is_symlink()


def test_what_is_not_there_cannot_be_gone_back_from(schema: SchemaInfo, tmp_path: Path) -> None:
    path = tmp_path / "missing" / ".." / "db"
    for read_only in (False, True):
        with pytest.raises(DatabaseNotFoundError):
            schema.open(path, read_only=read_only)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["/", "a" * 300, "a/" * 2100 + "a"])
def test_paths_that_no_database_can_have(schema: SchemaInfo, path: str) -> None:
    for read_only in (False, True):
        with pytest.raises(DatabaseError) as error:
            schema.open(path, read_only=read_only)
        assert str(error.value).startswith(path)


def test_links_in_a_circle(schema: SchemaInfo, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "back")
    (tmp_path / "back").symlink_to(link)
    for path in (link, link / "db"):
        for read_only in (True, False):
            with pytest.raises(StorageError, match=f"{path}: .*ELOOP.*mend the links"):
                opened(schema, path, read_only=read_only)
    assert sorted(tmp_path.iterdir()) == [tmp_path / "back", link]


# What is planted inside a database


def _link(entry: Path, outside: Path) -> None:
    entry.symlink_to(outside)


def _dangling_link(entry: Path, outside: Path) -> None:
    entry.symlink_to(outside.with_name("missing"))


def _pipe(entry: Path, outside: Path) -> None:
    os.mkfifo(entry)


def _other_kind(entry: Path, outside: Path) -> None:
    if outside.is_dir():
        entry.touch()
    else:
        entry.mkdir()


PLANT = [_link, _dangling_link, _pipe, _other_kind]


def found_at(schema: SchemaInfo, path: Path) -> str:
    """All that verify says of the files."""
    try:
        return "\n".join(damages_at(schema, path))
    except DatabaseError as error:
        return str(error)


@contextmanager
def planted(entry: Path, outside: Path, plant: Callable[[Path, Path], None]) -> Iterator[None]:
    """Something else is where an entry was, which is outside meanwhile."""
    outside.mkdir()
    entry.rename(outside / "entry")
    plant(entry, outside / "entry")
    yield
    if entry.is_dir() and not entry.is_symlink():
        entry.rmdir()
    else:
        entry.unlink()
    (outside / "entry").rename(entry)
    outside.rmdir()


@pytest.mark.parametrize("plant", PLANT)
def test_what_is_planted_in_place_of_any_file(
    schema: SchemaInfo, tmp_path: Path, crashed: Path, plant: Callable[[Path, Path], None]
) -> None:
    """It is an error that names it, to whoever comes; what is outside stays as it is."""
    for entry in all_in(crashed):
        with planted(entry, tmp_path / "outside", plant):
            before = contents(tmp_path / "outside")
            assert schema.spec.check is None or str(entry) in found_at(schema, crashed)
            for read_only in (True, False):
                if read_only and entry.name == "db.lock":  # which is for writers
                    assert blocks_at(schema, crashed) == BLOCKS
                    continue
                with pytest.raises(DatabaseError) as caught:
                    opened(schema, crashed, read_only=read_only)
                assert caught.value.path == str(entry)
                assert "\n" not in str(caught.value)
                assert contents(tmp_path / "outside") == before
    assert blocks_at(schema, crashed) == BLOCKS


def refusal_of(schema: SchemaInfo, path: Path, *, read_only: bool) -> DatabaseError | None:
    """Why a database isn't opened; None where it is, and closed again."""
    try:
        opened(schema, path, read_only=read_only).close()
    except DatabaseError as error:
        return error
    return None


def names_beside(path: Path) -> list[Path]:
    """Files of a database, and where SQLite or cdb might make one beside each."""
    files = [file for file in [path, *all_in(path)] if file.is_file()]
    suffixes = ("", ".lock", ".tmp", "-wal", "-shm", "-journal")
    return [file.with_name(file.name + suffix) for file in files for suffix in suffixes]


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """Somebody's file, which stays as it is, and alone."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "entry").write_bytes(b"somebody's")
    yield outside / "entry"
    assert contents(outside) == {"entry": b"somebody's"}


@pytest.mark.parametrize("plant", [_link, _dangling_link, _pipe])
def test_what_is_planted_where_a_file_may_be_made(
    schema: SchemaInfo, crashed: Path, outside: Path, plant: Callable[[Path, Path], None]
) -> None:
    """Beside a file, where the name may mean nothing to the schema, it is refused or left alone."""
    refused = set()
    for name in names_beside(crashed):
        if name.exists():
            continue
        plant(name, outside)
        for read_only in (True, False):
            refusal = refusal_of(schema, crashed, read_only=read_only)
            if refusal is not None:
                assert refusal.path == str(name)
                refused.add(name)
        name.unlink()  # is there still
        assert name in refused or name.parent == crashed.parent
    assert refused


@pytest.mark.parametrize("plant", [_link, _dangling_link, _pipe])
def test_what_is_planted_where_a_database_is_to_be_made(
    schema: SchemaInfo, crashed: Path, outside: Path, plant: Callable[[Path, Path], None]
) -> None:
    """What is refused is left as it was."""
    names = names_beside(crashed)
    for name in names:
        if name == crashed:
            continue
        shutil.rmtree(crashed.parent)
        name.parent.mkdir(parents=True)
        plant(name, outside)
        before = contents(crashed.parent)
        if refusal_of(schema, crashed, read_only=False) is not None:
            assert contents(crashed.parent) == before
        assert name.is_symlink() or name.is_fifo()


# Files of another user


@as_root
def test_a_writer_refuses_what_belongs_to_another_user(schema: SchemaInfo, crashed: Path) -> None:
    """Be it any one file. Readers don't ask."""
    for entry in [crashed, *all_in(crashed)]:
        os.chown(entry, NOBODY, -1)
        before = stored(crashed.parent)
        with pytest.raises(
            WrongDatabaseError, match=r"belongs to user .*run as that user"
        ) as caught:
            opened(schema, crashed)
        assert caught.value.path == str(entry)
        assert stored(crashed.parent) == before
        assert blocks_at(schema, crashed) == BLOCKS
        assert damages_at(schema, crashed) == []
        for each in [crashed, *all_in(crashed)]:  # root's SQLite gives away a -shm
            os.chown(each, os.geteuid(), -1)
    with opened(schema, crashed) as database:
        assert list(database.blocks()) == BLOCKS


@as_root
def test_a_whole_database_of_another_user(schema: SchemaInfo, crashed: Path) -> None:
    for entry in [crashed, *all_in(crashed)]:
        os.chown(entry, NOBODY, -1)
    before = stored(crashed.parent)
    with pytest.raises(WrongDatabaseError, match="belongs to user"):
        opened(schema, crashed)
    if schema.spec.repair is not None:
        with pytest.raises(WrongDatabaseError, match="belongs to user"):
            schema.spec.repair(crashed, [], no_progress)
    assert stored(crashed.parent) == before
    assert blocks_at(schema, crashed) == BLOCKS


@as_root
def test_a_repair_of_another_users_database_writes_nothing(
    schema: SchemaInfo, crashed: Path
) -> None:
    if schema.spec.check is None or schema.spec.repair is None or not crashed.is_dir():
        pytest.skip("nothing of it can be repaired")
    (crashed / "FORMAT").unlink()
    os.chown(crashed, NOBODY, -1)
    before = stored(crashed.parent)
    damages = list(schema.spec.check(crashed, no_progress))
    assert [damage.path for damage in damages] == [crashed / "FORMAT"]
    with pytest.raises(WrongDatabaseError, match="belongs to user"):
        schema.spec.repair(crashed, damages, no_progress)
    assert stored(crashed.parent) == before


@pytest.mark.parametrize("read_only", [True, False])
def test_too_few_descriptors_are_told_as_such(
    schema: SchemaInfo, real: Path, *, read_only: bool
) -> None:
    """Never as damage, nor as what is another's or is not there."""
    for known in subject_of(schema.name).limits:
        if known.trials == "open-files":
            pytest.skip(known.reason)
    with opened(schema, real) as database:
        accept_all(database, BLOCKS[:HALF])
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    first = len(list(Path("/proc/self/fd").iterdir())) - 1
    told = []
    for limit in range(first, first + 40):
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        try:
            with schema.open(real, read_only=read_only):
                break
        except StorageError as error:
            told.append(str(error))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    else:
        pytest.fail("it opens with no limit that was tried")
    assert all("ulimit -n" in each for each in told)


def test_an_iteration_names_its_own_database(own_schema: SchemaInfo, tmp_path: Path) -> None:
    """Also once that is closed, and another one has the number of its descriptor."""
    if own_schema.missing is not None:
        pytest.skip(own_schema.missing)
    first, second = tmp_path / "first", tmp_path / "second"
    for path in (first, second):
        with own_schema.open(path) as database:
            accept_all(database, BLOCKS[:9])
    database = own_schema.open(first, read_only=True)
    blocks = iter(database.blocks())
    next(blocks)
    database.close()
    told = None
    with own_schema.open(second, read_only=True):
        try:
            assert [block.index for block in blocks] == [block.index for block in BLOCKS[1:9]]
        except DatabaseError as error:
            told = error.path
    assert told is None or told.startswith(str(first))


def test_a_directory_is_no_file_of_a_node(tmp_path: Path) -> None:
    with pytest.raises(WrongDatabaseError, match="this is a directory") as refused:
        find_schema("blockchain_v2").open(tmp_path)
    assert refused.value.path == str(tmp_path)


@pytest.mark.parametrize("is_relative", [False, True])
def test_a_repair_is_of_what_was_found_there(
    real: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_relative: bool
) -> None:
    schema = find_schema("coin_log")
    other = tmp_path / "other"
    for path in (real, other):
        with schema.open(path) as database:
            accept_all(database, BLOCKS[:9])
    (real / "acked").unlink()
    damages = list(schema.check(real, lambda done: None))
    assert damages
    before = contents(other)
    with pytest.raises(WrongDatabaseError, match="is not of this database; verify it again"):
        schema.repair(other, damages, lambda done: None)
    assert contents(other) == before
    monkeypatch.chdir(real.parent)
    schema.repair(Path(real.name) if is_relative else real, damages, lambda done: None)
    assert list(schema.check(real, lambda done: None)) == []
