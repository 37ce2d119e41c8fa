"""Databases of other versions, and what no schema made: an error, and not a byte is changed."""

import os
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from cdb.errors import (
    CorruptDatabaseError,
    DatabaseError,
    DatabaseNotFoundError,
    WrongDatabaseError,
)
from cdb.schemas import SchemaInfo, find_schema
from cdb.stores.rows.lsm import flat_run, manifest, sqlite_run
from cdb.testing.base import accept_all
from cdb.testing.chains import sample_chain
from tests.conftest import closed, contents, set_version

Loaded = Callable[[str], Path]
OTHER = r"its format is .*\b{}\b.*, and this cdb reads \S.*; .* load the replay text again"


def assert_refused(
    info: SchemaInfo, path: Path, errors: tuple[type[DatabaseError], ...], match: str
) -> None:
    """Neither to read nor to write nor to check it."""
    before = closed(path.parent)
    for read_only in (True, False):
        with pytest.raises(errors, match=f"^[^\n]*{match}[^\n]*$") as caught:
            info.open(path, read_only=read_only)
        assert str(path) in str(caught.value)
        assert closed(path.parent) == before
    if info.spec.check is not None:
        with suppress(DatabaseError):
            assert list(info.spec.check(path, lambda coins: None))
        assert closed(path.parent) == before


@pytest.mark.parametrize("version", [0, 99, 999_999_999])
def test_an_earlier_or_a_later_version(
    own_schema: SchemaInfo, loaded: Loaded, version: int
) -> None:
    path = loaded(own_schema.name)
    set_version(path, version)
    path.with_name(f"{path.name}.lock").touch()
    assert_refused(own_schema, path, (WrongDatabaseError,), OTHER.format(version))


def test_a_version_is_written_in_one_way(own_schema: SchemaInfo, loaded: Loaded) -> None:
    """Else what a bad hand or disk has made of it would pass."""
    path = loaded(own_schema.name)
    if not path.is_dir() and own_schema.name != "memory":
        pytest.skip("SQLite keeps a number")
    file = path / "FORMAT" if path.is_dir() else path
    head, newline, rest = file.read_bytes().partition(b"\n")
    file.write_bytes(re.sub(rb" (\d+)( |$)", rb" 0\1\2", head) + newline + rest)
    assert_refused(own_schema, path, (WrongDatabaseError, CorruptDatabaseError), path.name)


@pytest.mark.parametrize(
    ("schema", "module"),
    [
        ("flat_file", manifest),
        ("sqlite_row", manifest),
        ("flat_file", flat_run),
        ("sqlite_row", sqlite_run),
    ],
)
def test_an_index_of_a_later_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, schema: str, module: object
) -> None:
    info, path = find_schema(schema), tmp_path / "db"
    with monkeypatch.context() as later:
        later.setattr(module, "VERSION", 99)
        with info.open(path) as database:
            accept_all(database, sample_chain().blocks)
    assert_refused(info, path, (WrongDatabaseError,), OTHER.format(99))


def _empty_directory(path: Path) -> None:
    path.mkdir()


def _empty_file(path: Path) -> None:
    path.touch()


def _zeros(path: Path) -> None:
    path.write_bytes(bytes(8192))


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _others_format(path: Path) -> None:
    path.mkdir()
    (path / "FORMAT").write_text("cdb somebodys_own 1\n")


def _format_of_another_program(path: Path) -> None:
    path.mkdir()
    (path / "FORMAT").write_bytes(bytes(range(256)))


FOREIGN = [_zeros, _pipe, _others_format, _format_of_another_program]
REFUSED = (WrongDatabaseError, CorruptDatabaseError, DatabaseNotFoundError)


@pytest.mark.parametrize("make", FOREIGN)
def test_what_no_schema_made(
    own_schema: SchemaInfo, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    path = tmp_path / "theirs"
    make(path)
    assert_refused(own_schema, path, REFUSED, "theirs")


def begun(schema: SchemaInfo, directory: Path) -> Callable[[Path], None] | None:
    """What a crash leaves while a database is made: an opening for writing goes on there."""
    made = directory / "made"
    schema.open(made).close()
    if made.is_dir():
        shutil.rmtree(made)
        return _empty_directory
    is_sqlite = made.read_bytes().startswith(b"SQLite")
    for file in directory.glob("made*"):
        file.unlink()
    return _empty_file if is_sqlite else None


@pytest.mark.parametrize("make", [_empty_directory, _empty_file])
def test_what_is_empty_holds_no_database(
    own_schema: SchemaInfo, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    path = tmp_path / "empty"
    make(path)
    if make is not begun(own_schema, tmp_path):
        assert_refused(own_schema, path, REFUSED, "empty")
        return
    before = contents(tmp_path)
    with pytest.raises(REFUSED, match=str(path)):
        own_schema.open(path, read_only=True)
    assert contents(tmp_path) == before
    own_schema.open(path).close()
    with own_schema.open(path, read_only=True) as database:
        assert database.last_block_index is None


def test_a_format_that_is_lost_can_be_made_again(own_schema: SchemaInfo, loaded: Loaded) -> None:
    path = loaded(own_schema.name)
    if not path.is_dir():
        pytest.skip("its format is in its file")
    (path / "FORMAT").unlink()
    advice = "FORMAT is missing, .*; cdb verify SCHEMA --db PATH --repair makes it again"
    assert_refused(own_schema, path, (WrongDatabaseError,), advice)
    check, repair = own_schema.spec.check, own_schema.spec.repair
    assert check is not None
    assert repair is not None
    repair(path, list(check(path, lambda coins: None)), lambda coins: None)
    own_schema.open(path).close()
