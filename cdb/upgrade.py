"""Makes a database of the format before one of this cdb's: a new one is made beside it, and takes
its place once it is proved to hold the same.

    PATH              the database: of the format before, and then of this one
    PATH.upgrade      the new one while it is made; right after the exchange, the old one
    PATH.formatN      the old one, in the end

PATH and PATH.upgrade change names in one step. So whenever the process is killed, PATH is a whole
database, of the one format or of the other; the next upgrade() clears up and goes on.
"""

import hashlib
import os
import shutil
from array import array
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from cdb.disk.exchange import exchange
from cdb.disk.files import fsync_dir
from cdb.disk.home import FORMAT_FILE, LOCK_FILE, Lock, is_unused, schema_at, wrong_version
from cdb.disk.paths import check_directory, located
from cdb.disk.room import SPARE_BYTES, check_room, free_bytes_at
from cdb.errors import (
    BlockError,
    CorruptDatabaseError,
    DatabaseError,
    InvariantError,
    UnsupportedError,
    WrongDatabaseError,
    storage_errors,
)
from cdb.loader import Loader
from cdb.packed import PackedBlocks
from cdb.packed_reads import packed_reads
from cdb.progress import Progress, StepBar, no_bar
from cdb.schemas import SchemaInfo
from cdb.schemas.protocol import Former
from cdb.state import StateSummary
from cdb.state import verify as verify_state

FLUSH_COINS = 1_000_000


@dataclass(frozen=True, slots=True)
class Plan:
    """What an upgrade is about to do.

    version: of the format that there is. kept: where the old database will be; None if nowhere.
    """

    path: Path
    version: int
    needed_bytes: int
    free_bytes: int
    kept: Path | None


@dataclass(frozen=True, slots=True)
class Upgraded:
    """What an upgrade has done.

    summary: what the database holds; None where it was of this format before. kept: where the old
    one is now; None where this upgrade has kept none.
    """

    path: Path
    summary: StateSummary | None
    kept: Path | None


def upgrade(
    schema: SchemaInfo,
    path: str | PathLike[str],
    *,
    keep_old: bool = True,
    tell: Callable[[Plan], object] = lambda plan: None,
    bar: StepBar = no_bar,
) -> Upgraded:
    """Upgrade the database at a path, durably.

    tell: is told the plan before anything is made. bar: gives what is told of a step's coins.
    Raises UnsupportedError, DatabaseLockedError, WrongDatabaseError, CorruptDatabaseError,
    InvariantError or StorageError. The path has a whole database whatever happens.
    """
    if schema.former is None:
        raise UnsupportedError(f"schema {schema.name} has no older format")
    return _Upgrade(schema, schema.former, located(path, read_only=True), keep_old, bar).run(tell)


class _Upgrade:
    def __init__(
        self, schema: SchemaInfo, former: Former, path: Path, keep_old: bool, bar: StepBar
    ) -> None:
        self._schema, self._former, self._path, self._bar = schema, former, path, bar
        self._new = path.with_name(f"{path.name}.upgrade")
        kept = path.with_name(f"{path.name}.format{former.version - 1}")
        self._kept = kept if keep_old else None

    def run(self, tell: Callable[[Plan], object]) -> Upgraded:
        self._version()
        lock = Lock(self._path / LOCK_FILE, self._path)
        try:
            check_directory(self._path, read_only=False, folders=(self._former.folder,))
            if self._version() == self._former.version:
                return Upgraded(self._path, None, self._finish_former_one())
            tell(self._checked_plan())
            summary = self._build_and_verify()
            self._exchange()
            return Upgraded(self._path, summary, self._put_away_old())
        finally:
            lock.release()

    def _version(self) -> int:
        """The version at the path: this format's, or the one before."""
        found = schema_at(self._path)
        name, former = self._schema.name, self._former
        if found is None:
            raise WrongDatabaseError(self._path, f"this is no {name} database; name one")
        if found[0] != name:
            raise WrongDatabaseError(self._path, f"this is a {found[0]} database, not of {name}")
        if found[1] not in (former.version - 1, former.version):
            raise wrong_version(self._path, name, found[1], former.version)
        return found[1]

    def _finish_former_one(self) -> Path | None:
        """Put away what an upgrade has left that was killed behind the exchange."""
        if not os.path.lexists(self._new):
            return None
        if not self._is_left(self._former.version - 1):
            raise self._in_the_way(self._new)
        lock = Lock(self._new / LOCK_FILE, self._new)
        try:
            if schema_at(self._new) is not None:
                return self._put_away_old()
            _remove(self._new)
            return None
        finally:
            lock.release()

    def _put_away_old(self) -> Path | None:
        if self._kept is None:
            _remove(self._new)
            return None
        self._check_kept_is_free()
        with storage_errors(self._new):
            self._new.rename(self._kept)
        fsync_dir(self._path.parent)
        return self._kept

    def _checked_plan(self) -> Plan:
        self._clear_new()
        self._check_kept_is_free()
        with storage_errors(self._path):
            size = sum(file.stat().st_size for file in self._path.rglob("*"))
        needed = size + size // 8 + SPARE_BYTES
        parent = self._path.parent
        check_room(parent, f"upgrading {self._path.name}", needed)
        free = free_bytes_at(parent)
        return Plan(self._path, self._former.version - 1, needed, free, self._kept)

    def _clear_new(self) -> None:
        """Remove what an upgrade has left that was killed before the exchange."""
        if not os.path.lexists(self._new):
            return
        if not self._is_left(self._former.version):
            raise self._in_the_way(self._new)
        lock = Lock(self._new / LOCK_FILE, self._new)
        try:
            _remove(self._new)
        finally:
            lock.release()

    def _is_left(self, version: int) -> bool:
        """Whether an upgrade has left what is there, of this version or without one."""
        if self._new.is_symlink() or not self._new.is_dir():
            return False
        found = schema_at(self._new)
        if found is None:
            return is_unused(self._new)
        return found == (self._schema.name, version)

    def _check_kept_is_free(self) -> None:
        if self._kept is not None and os.path.lexists(self._kept):
            raise self._in_the_way(self._kept)

    def _in_the_way(self, path: Path) -> WrongDatabaseError:
        return WrongDatabaseError(path, "the upgrade needs this name; move away what is here")

    def _build_and_verify(self) -> StateSummary:
        try:
            self._check_exchange()
            content = self._build()
            summary = self._verify(content)
            with storage_errors(self._new):
                shutil.copymode(self._path, self._new)
            fsync_dir(self._new)
            return summary
        except BaseException:
            with suppress(DatabaseError):
                _remove(self._new)
            raise

    def _exchange(self) -> None:
        try:
            exchange(self._path, self._new)
        except DatabaseError:
            if self._is_left(self._former.version):  # else the names are exchanged, and it is old
                _remove(self._new)
            raise

    def _check_exchange(self) -> None:
        """Fail now, rather than when all is done."""
        if self._path.is_mount():
            problem = f"a file system is mounted at {self._path}, which can't change its name"
            raise UnsupportedError(
                f"{problem}; move the database into a directory of its own there"
            )
        names = [self._new / f"{FORMAT_FILE}.{n}" for n in range(2)]
        with storage_errors(self._new):
            self._new.mkdir()
            for name in names:
                name.touch()
        exchange(*names)
        with storage_errors(self._new):
            for name in names:
                name.unlink()

    def _build(self) -> "_Content":
        content = _Content()
        with self._bar("new database") as progress, self._schema.open(self._new) as database:
            packs = content.passing(self._former.blocks(self._path), progress)
            try:
                for _ in Loader(database, flush_coins=FLUSH_COINS).load(packs):
                    pass
            except BlockError as error:
                raise CorruptDatabaseError(
                    self._path, f"of its blocks one is wrong: {error}"
                ) from error
        return content

    def _verify(self, content: "_Content") -> StateSummary:
        """Hold the new database against the old one's blocks, and its look-ups against its blocks.

        The state digest is one of blocks, and of what these spend: where both hold, it is the same.
        """
        with self._schema.open(self._new, read_only=True) as database:
            found = _Content()
            with self._bar("blocks") as progress:
                for _ in found.passing(packed_reads(database).blocks(), progress):
                    pass
            if found.digests() != content.digests():
                raise InvariantError(f"{self._new} has not got the blocks of {self._path}")
            with self._bar("coins") as progress:
                return verify_state(database, progress)


class _Content:
    """What blocks hold, however they are packed."""

    def __init__(self) -> None:
        self._fields = [hashlib.sha256() for _ in range(7)]
        self._spends = self._confirms = 0

    def passing(self, packs: Iterator[PackedBlocks], progress: Progress) -> Iterator[PackedBlocks]:
        """The packs, which are taken note of."""
        for packed in packs:
            self._add(packed)
            progress(packed.n_confirms)
            yield packed

    def _add(self, packed: PackedBlocks) -> None:
        spend_ends = array("Q", [end + self._spends for end in packed.spend_ends])
        confirm_ends = array("Q", [end + self._confirms for end in packed.confirm_ends])
        self._spends += packed.n_spends
        self._confirms += packed.n_confirms
        numbers = (packed.indices, packed.timestamps, spend_ends, confirm_ends)
        for field, data in zip(
            self._fields, (*numbers, packed.spends, packed.confirms, packed.names), strict=True
        ):
            field.update(data)

    def digests(self) -> list[bytes]:
        """A digest of each field of all blocks."""
        return [field.digest() for field in self._fields]


def _remove(database: Path) -> None:
    """Remove a database that nobody uses: what says whose it is goes last."""
    with storage_errors(database):
        for path in sorted(database.iterdir()):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name not in (FORMAT_FILE, LOCK_FILE):
                path.unlink()
        fsync_dir(database)
        for name in (FORMAT_FILE, LOCK_FILE):
            (database / name).unlink(missing_ok=True)
        database.rmdir()
    fsync_dir(database.parent)
