"""A schema that is dropped and was not closed ends then, as in a crash: nothing of it goes on."""

import gc
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from cdb.disk.home import LOCK_FILE, Lock
from cdb.errors import DatabaseLockedError
from cdb.schemas import Schema
from cdb.schemas.coin_log import coin_log, missing
from cdb.schemas.registry import SchemaInfo
from cdb.stores.coin_log.binding import CoinLog
from cdb.testing.base import accept_all
from cdb.testing.chains import sample_chain

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""Python itself tells of the lock that nobody has closed."""

BLOCKS = sample_chain(9).blocks


def use_and_drop(open_schema: Callable[[Path], Schema], path: Path) -> None:
    schema = open_schema(path)
    accept_all(schema, BLOCKS if schema.last_block_index is None else [])
    schema.flush()
    next(iter(schema.blocks()))


def open_files(path: Path) -> list[str]:
    found = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            found.append(str(descriptor.readlink()))
    return [file for file in found if file.startswith(str(path))]


def test_nothing_of_it_stays_open(own_schema: SchemaInfo, tmp_path: Path) -> None:
    if own_schema.missing is not None:
        pytest.skip(own_schema.missing)
    path = tmp_path / "database"
    for read_only in (False, False, True):
        use_and_drop(partial(own_schema.open, read_only=read_only), path)
        gc.collect()
        assert open_files(tmp_path) == []
    with own_schema.open(path) as schema:
        assert [block.index for block in schema.blocks()] == [block.index for block in BLOCKS]


@pytest.mark.parametrize("read_only", [False, True])
def test_nothing_stays_open_of_one_that_is_closed_and_kept(
    own_schema: SchemaInfo, tmp_path: Path, *, read_only: bool
) -> None:
    """A disk can be unmounted at once, whoever still has the object."""
    if own_schema.missing is not None:
        pytest.skip(own_schema.missing)
    path = tmp_path / "database"
    own_schema.open(path).close()
    schema = own_schema.open(path, read_only=read_only)
    list(schema.blocks())
    schema.close()
    assert open_files(tmp_path) == []
    assert schema is not None


def test_an_iteration_over_it_goes_on(own_schema: SchemaInfo, tmp_path: Path) -> None:
    if own_schema.missing is not None:
        pytest.skip(own_schema.missing)
    path = tmp_path / "database"
    use_and_drop(own_schema.open, path)
    for read_only in (False, True):
        iteration = own_schema.open(path, read_only=read_only).blocks()
        gc.collect()
        assert len(list(iteration)) == len(BLOCKS)


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_the_next_writer_comes_when_its_threads_are_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They write to the log and make checkpoints: two writers would destroy what they were told to
    keep."""
    path, ended = tmp_path / "database", list[bool]()
    close = CoinLog.close

    def close_locked(self: CoinLog) -> None:
        close(self)
        with pytest.raises(DatabaseLockedError):
            Lock(path / LOCK_FILE, path)
        ended.append(True)

    monkeypatch.setattr(CoinLog, "close", close_locked)
    use_and_drop(coin_log, path)
    gc.collect()
    assert ended == [True]
    Lock(path / LOCK_FILE, path).release()
