"""Checks what stands beside rocks_kv's RocksDB database, and makes it anew from that."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from cdb.damage import Damage
from cdb.errors import CorruptDatabaseError
from cdb.rocks_kv.binding import Options, RocksKv
from cdb.rocks_kv.promise import NEWEST_FILE, Promise, read_promise, write_promise

_READ_ONLY = Options(create=False, read_only=True, sync=False, commit_entries=1, ingest_entries=1)


def check_promise(path: Path) -> Iterator[Damage]:
    """Damage to NEWEST. Raises CorruptDatabaseError when RocksDB finds any to db/."""
    with closing(RocksKv(path / "db", _READ_ONLY)) as kv:
        kv.verify()
        try:
            promise = read_promise(path / NEWEST_FILE)
        except CorruptDatabaseError as error:
            yield Damage.of(error, "db")
            return
        if promise is None and not kv.state.is_new:
            yield Damage(path / NEWEST_FILE, "it is missing", "db")


def rewrite_promise(path: Path) -> None:
    """Promise what db/ has now: what it should have had, nobody knows any more."""
    with closing(RocksKv(path / "db", _READ_ONLY)) as kv:
        newest, sequence = kv.state.newest, kv.state.sequence
    promise = Promise(-1 if newest is None else newest, sequence)
    write_promise(path / NEWEST_FILE, promise)
