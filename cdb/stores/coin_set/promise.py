"""The file NEWEST beside an engine's database: how far that one has come, at least.

A file of an engine's that is cut may end early without a complaint, as RocksDB's manifest does; the
database would be an older one. What a promise says tells.
"""

import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from cdb.disk.damage import Damage
from cdb.disk.files import replace_file
from cdb.disk.paths import read_own
from cdb.errors import CorruptDatabaseError, storage_errors
from cdb.stores.coin_set.binding import CoinSet

NEWEST_FILE = "NEWEST"

_line = re.compile(rb"newest (-?[0-9]{1,10}) sequence ([0-9]{1,20}) crc32 [0-9a-f]{8}\n").fullmatch


class Promise(NamedTuple):
    """The newest block (-1 promises none), and the engine's sequence number."""

    newest: int
    sequence: int


def read_promise(path: Path) -> Promise | None:
    """What the file says; None where there is none. Raises CorruptDatabaseError."""
    with storage_errors(path):
        line = read_own(path)
    if line is None:
        return None
    match = _line(line)
    if match is None:
        problem = "damaged: it should read 'newest N sequence N crc32 XXXXXXXX'"
        raise CorruptDatabaseError(path, problem)
    promise = Promise(int(match[1]), int(match[2]))
    if line != _line_of(promise):
        raise CorruptDatabaseError(path, "damaged: its checksum is another one")
    return promise


def write_promise(path: Path, promise: Promise) -> None:
    """Replace the file in one step, durably: torn by a power cut, it would look like damage."""
    replace_file(path, _line_of(promise), durable=True)


def _line_of(promise: Promise) -> bytes:
    line = f"newest {promise.newest} sequence {promise.sequence}".encode("ascii")
    return b"%s crc32 %08x\n" % (line, zlib.crc32(line))


def reached(coins: CoinSet) -> Promise:
    """What can be promised: how far the engine has come."""
    state = coins.state
    return Promise(-1 if state.committed is None else state.committed, state.sequence)


def shortfall(promise: Promise, coins: CoinSet) -> str:
    """In what the engine's database is an older one than was promised; "" where it is not."""
    newest, sequence = reached(coins)
    if newest >= promise.newest and sequence >= promise.sequence:
        return ""
    had = f"block {promise.newest}, sequence {promise.sequence}"
    return f"damaged: it ends at block {newest}, sequence {sequence}, and had {had}"


def check_promise(path: Path, coins: CoinSet) -> Iterator[Damage]:
    """Damage to NEWEST, and to what it promises. path: of the database; coins: what is in its
    db/."""
    try:
        promise = read_promise(path / NEWEST_FILE)
    except CorruptDatabaseError as error:
        yield Damage.of(error, "db")
        return
    if promise is None:
        if not coins.state.is_new:
            yield Damage(path / NEWEST_FILE, "it is missing", "db")
    elif problem := shortfall(promise, coins):
        yield Damage(coins.path, problem)


def rewrite_promise(path: Path, coins: CoinSet) -> None:
    """Promise what db/ has now: what it should have had, nobody knows any more."""
    write_promise(path / NEWEST_FILE, reached(coins))
