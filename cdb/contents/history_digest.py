"""Digests of what history answers, the same for the same coins whatever the schema.

A row is 40 bytes: a coin's name, its confirmed and its spent index, both 4 bytes, big endian. A
state comes in an order of the schema's own, so its digest is free of order: the sum modulo 2^256 of
the SHA-256 of each row, as 32 bytes, big endian. (A sum, not XOR: that sees nothing of a row that
comes twice.)
That of versions is the SHA-256 of all rows in their order.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from struct import Struct, iter_unpack
from typing import NamedTuple

from cdb.contract.coins import CoinInfo
from cdb.contract.history import Page, indices_in
from cdb.contract.packed_state import COIN_FORMAT
from cdb.contract.schema import HistorySchema

_ROW = Struct(COIN_FORMAT)


class RowsDigest(NamedTuple):
    """How many rows there are, and the digest of them, in hex."""

    rows: int
    digest: str


def digest_of_state(rows: Iterable[bytes]) -> RowsDigest:
    """Of a state, or of what is unspent: the same in any order."""
    count, total = 0, 0
    for row in rows:
        count += 1
        total += int.from_bytes(hashlib.sha256(row).digest(), "big")
    return RowsDigest(count, f"{total % 2**256:064x}")


def digest_of_versions(rows: Iterable[bytes]) -> RowsDigest:
    """Of versions, in their order."""
    count, digest = 0, hashlib.sha256()
    for row in rows:
        count += 1
        digest.update(row)
    return RowsDigest(count, digest.hexdigest())


def is_spent(row: bytes) -> bool:
    """Whether a row's coin is spent."""
    return any(row[-4:])


def state_rows(history: HistorySchema, height: int) -> Iterator[bytes]:
    """The rows of state_at()."""
    return _rows(history, "state_at", height)


def unspent_rows(history: HistorySchema) -> Iterator[bytes]:
    """The rows of unspent()."""
    return _rows(history, "unspent")


def version_rows(history: HistorySchema, first: int, last: int) -> Iterator[bytes]:
    """The rows of versions()."""
    return _rows(history, "versions", first, last)


def _rows(history: HistorySchema, method: str, *heights: int) -> Iterator[bytes]:
    """By the packed form, where the schema has it."""
    packed: Callable[..., Iterator[Page]] | None = getattr(history, f"{method}_packed", None)
    if packed is None:
        infos: Iterator[CoinInfo] = getattr(history, method)(*heights)
        return map(row_of, infos)
    return (row for page in packed(*heights) for row in rows_of_page(Page(*page)))


def row_of(info: CoinInfo) -> bytes:
    """The row of a coin."""
    return _ROW.pack(info.coin.name(), info.confirmed_index, info.spent_index)


def rows_of_page(page: Page) -> Iterator[bytes]:
    """The rows of a page."""
    names = (name for (name,) in iter_unpack("32s", page.names))
    return map(_ROW.pack, names, *indices_in(page.infos))
