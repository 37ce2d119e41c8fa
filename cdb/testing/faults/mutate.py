"""Files that nobody wrote: real ones, changed at will, and perhaps with checksums that are right.

A checksum keeps most changes from what lies behind it. So it is often made right again, where the
format is our own, and rows of SQLite files are often changed by SQLite itself.
"""

import hashlib
import sqlite3
import struct
import zlib
from collections.abc import Callable, Mapping
from contextlib import closing
from random import Random

from cdb.disk.files import SQLITE_MAGIC
from cdb.stores.rows.lsm.flat_run import MAGIC, PAGE_BYTES, PAGE_RECORDS
from cdb.testing.faults.damage import Damaged, Way

FORGED = "forged"
"""How the place of a change begins whose checksums are right: what it says may be served."""
MOST_EDITS = 3
MOST_BYTES = 32
FLOOD_BYTES = 100_000

_JOURNAL_MODES = slice(18, 20)  # of an SQLite header: 2 for WAL, which a database in memory can't
_COLUMNS = """SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c
    WHERE t.type = 'table' ORDER BY 1, 2"""
_VALUES: tuple[object, ...] = (
    *(None, 0, 1, -1, 2**31, 2**32, 2**63 - 1, -(2**63), 1.5, float("inf")),
    *("", "7", "\0", b"", b"\xff", bytes(31), bytes(32), b"\xff" * 33, bytes(FLOOD_BYTES)),
)

Edit = Callable[[bytearray, bytes, Random], None]
"""Changes contents in place; the bytes are others, to take pieces from."""


def mutated(contents: bytes, other: bytes, random: Random) -> bytes:
    """Contents with 1 to 3 edits, some of them with pieces of the other."""
    changed = bytearray(contents)
    for _ in range(random.randint(1, MOST_EDITS)):
        random.choice(_EDITS)(changed, other, random)
    return bytes(changed)


def _overwrite(contents: bytearray, other: bytes, random: Random) -> None:
    begin, end = _piece(contents, random)
    contents[begin:end] = random.randbytes(end - begin)


def _insert(contents: bytearray, other: bytes, random: Random) -> None:
    begin, _ = _piece(contents, random)
    contents[begin:begin] = random.randbytes(random.randint(1, MOST_BYTES))


def _delete(contents: bytearray, other: bytes, random: Random) -> None:
    begin, end = _piece(contents, random)
    del contents[begin:end]


def _truncate(contents: bytearray, other: bytes, random: Random) -> None:
    begin, _ = _piece(contents, random)
    del contents[begin:]


def _splice(contents: bytearray, other: bytes, random: Random) -> None:
    begin, end = _piece(contents, random)
    first, last = _piece(other, random)
    contents[begin:end] = other[first:last]


def _repeat(contents: bytearray, other: bytes, random: Random) -> None:
    begin, end = _piece(contents, random)
    contents[end:end] = contents[begin:end] * random.randint(1, MOST_BYTES)


def _flood(contents: bytearray, other: bytes, random: Random) -> None:
    begin, _ = _piece(contents, random)
    contents[begin:begin] = random.choice((b"[", b"9", b"\0", b"\xff", b"\n")) * FLOOD_BYTES


def _number(contents: bytearray, other: bytes, random: Random) -> None:
    begin, _ = _piece(contents, random)
    width_bytes = random.choice((1, 2, 4, 8))
    most = 256**width_bytes - 1
    number = random.choice((0, 1, most // 2, most // 2 + 1, most - 1, most))
    encoded = number.to_bytes(width_bytes, "little")
    contents[begin : begin + width_bytes] = random.choice((encoded, encoded[::-1]))


def _digits(contents: bytearray, other: bytes, random: Random) -> None:
    begin, end = _piece(contents, random)
    digits = random.choice((b"0", b"-1", b"1e999", b"4294967296", b"18446744073709551616"))
    contents[begin:end] = digits


_EDITS: tuple[Edit, ...] = (
    *(_overwrite, _insert, _delete, _truncate, _splice, _repeat, _flood, _number, _digits),
)


def _piece(contents: bytes | bytearray, random: Random) -> tuple[int, int]:
    """Where a short piece begins and ends; its file may be empty by now."""
    begin = random.randrange(len(contents) + 1)
    return begin, min(begin + random.randint(1, MOST_BYTES), len(contents))


def _change(contents: bytes, earlier: Mapping[int, bytes], random: Random) -> Damaged | None:
    name = f"{random.getrandbits(32):08x}"
    if contents.startswith(SQLITE_MAGIC) and random.random() < 0.5:
        return _with_another_value(contents, f"{FORGED}-{name}", random)
    changed = mutated(contents, random.choice([contents, *earlier.values()]), random)
    if random.random() < 0.5 and (sealed := _sealed(contents, changed)) is not None:
        return Damaged(f"{FORGED}-{name}", sealed)
    return Damaged(name, changed)


MUTATION = Way("files are changed at will, and read within limits of time and memory", _change)


def _sealed(contents: bytes, changed: bytes) -> bytes | None:
    """The changed contents with right checksums; None if the format isn't one of ours."""
    if contents.startswith(b"sha256 "):
        _, _, body = changed.partition(b"\n")
        return b"sha256 %s\n" % hashlib.sha256(body).hexdigest().encode() + body
    if contents.startswith(b"# cdb memory"):
        body = changed[: changed.rfind(b"#")]
        return body + b"# sha256 %s\n" % hashlib.sha256(body).hexdigest().encode()
    if contents.startswith(MAGIC):
        return _sealed_run(changed)
    return None


def _sealed_run(changed: bytes) -> bytes | None:
    """A flat run; see cdb.stores.rows.lsm.flat_run."""
    run = bytearray(changed)
    if len(run) < PAGE_BYTES:
        return None
    seed = zlib.crc32(run[:40])
    struct.pack_into("<I", run, 40, seed)
    (count,) = struct.unpack_from("<Q", run, 32)
    tail = PAGE_BYTES * min(1 - (-count // PAGE_RECORDS), len(run) // PAGE_BYTES)
    for page in range(PAGE_BYTES, tail, PAGE_BYTES):
        struct.pack_into("<I", run, page, zlib.crc32(run[page + 4 : page + PAGE_BYTES], seed))
    if tail < len(run) - 4:
        struct.pack_into("<I", run, len(run) - 4, zlib.crc32(run[tail:-4], seed))
    return bytes(run)


def _with_another_value(contents: bytes, place: str, random: Random) -> Damaged | None:
    """An SQLite database with another value in one column; None where that can't be."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(_with(contents, _JOURNAL_MODES, b"\1\1"))
        database.execute("PRAGMA ignore_check_constraints = ON")
        columns = database.execute(_COLUMNS).fetchall()
        if not columns:
            return None
        table, column = random.choice(columns)
        values = database.execute(f"SELECT {column} FROM {table}").fetchall()  # noqa: S608
        if not values:
            return None
        (value,) = random.choice(values)
        update = f"UPDATE {table} SET {column} = ? WHERE {column} IS ?"  # noqa: S608
        try:
            with database:
                database.execute(update, (random.choice(_VALUES), value))
        except sqlite3.Error:  # a constraint
            return None
        return Damaged(place, _with(database.serialize(), _JOURNAL_MODES, contents[_JOURNAL_MODES]))


def _with(contents: bytes, where: slice, piece: bytes) -> bytes:
    changed = bytearray(contents)
    changed[where] = piece
    return bytes(changed)
