"""Replay text ↔ blocks: the only place that knows the format (docs/replay-format.md)."""

import re
from binascii import unhexlify
from collections.abc import Iterable, Iterator
from typing import BinaryIO, NoReturn

from cdb.contract.blocks import BlockSpendInfo, canonical
from cdb.contract.coins import MAX_U32, MAX_U64, Coin, bytes32, bytes32_unchecked
from cdb.errors import ReplayError

MAX_LINE_BYTES = 65_536
EXCERPT_BYTES = 60

_NUMBER = rb"(0|[1-9][0-9]{0,19})"
_HEX64 = rb"([0-9a-fA-F]{64})"
_header = re.compile(rb"B " + rb" ".join([_NUMBER] * 4)).fullmatch
_spend = re.compile(rb"S " + _HEX64).fullmatch
_confirm = re.compile(rb"C " + _HEX64 + rb" " + _HEX64 + rb" " + _NUMBER).fullmatch
_comment = re.compile(rb"#[ -~]*").fullmatch

_COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
}
"""What such a file begins with, and what reads it."""

_HEADER_FORM = "'B index timestamp n-spends n-confirms', a comment or a blank line"
_SPEND_FORM = "'S ' and a name of 64 hex digits"
_CONFIRM_FORM = "'C ', a parent and a puzzle hash of 64 hex digits each, and an amount"


def read_blocks(
    stream: BinaryIO,
    *,
    max_blocks: int | None = None,
    first_line: int = 1,
    newest_index: int | None = None,
) -> Iterator[BlockSpendInfo]:
    """Yield the blocks of replay text, in bounded memory: one block at a time.

    max_blocks: stop before the first block whose index is max_blocks or more.
    first_line, newest_index: where the stream goes on with text that was read before, the number
    of its first line and the index of the block before it.
    Raises ReplayError at the first line that is wrong; every block before it has been yielded.
    """
    reader = _Reader(stream, first_line, newest_index)
    while (block := reader.block(max_blocks)) is not None:
        yield block


def block_text(block: BlockSpendInfo) -> bytes:
    """The block as canonical replay text."""
    block = canonical(block)
    counts = f"{len(block.spends)} {len(block.confirms)}"
    lines = [f"B {block.index} {block.timestamp} {counts}\n"]
    lines += [f"S {name.hex()}\n" for name in block.spends]
    lines += [
        f"C {coin.parent_coin_name.hex()} {coin.puzzle_hash.hex()} {coin.amount}\n"
        for coin in block.confirms
    ]
    return "".join(lines).encode("ascii")


def write_blocks(stream: BinaryIO, blocks: Iterable[BlockSpendInfo]) -> None:
    """Write blocks as canonical replay text."""
    for block in blocks:
        stream.write(block_text(block))


class _Reader:
    """Reads one block after the other and knows the line that it is at."""

    def __init__(self, stream: BinaryIO, first_line: int, newest_index: int | None) -> None:
        self._stream = stream
        self._line = first_line - 1
        self._newest = newest_index

    def block(self, max_blocks: int | None) -> BlockSpendInfo | None:
        """The next block; None at the end, or at a block whose index is not below max_blocks."""
        header = self._next_header()
        if header is None:
            return None
        index, timestamp, n_spends, n_confirms = header
        if max_blocks is not None and index >= max_blocks:
            return None
        spends = [self._read_spend(index, i, n_spends) for i in range(n_spends)]
        confirms = [self._read_confirm(index, i, n_confirms) for i in range(n_confirms)]
        return BlockSpendInfo(index, timestamp, spends, confirms)

    def _next_header(self) -> tuple[int, int, int, int] | None:
        while (line := self._next_line()) is not None:
            if not line or _comment(line):
                continue
            match = _header(line)
            if match is None:
                self._fail(_HEADER_FORM, line)
            index, timestamp, n_spends, n_confirms = map(int, match.groups())
            for what, value, limit in (
                ("a block index", index, MAX_U32),
                ("a timestamp", timestamp, MAX_U64),
                ("a number of spends", n_spends, MAX_U32),
                ("a number of confirms", n_confirms, MAX_U32),
            ):
                if value > limit:
                    self._fail(f"{what} of at most {limit}", line)
            if self._newest is not None and index <= self._newest:
                self._fail(f"a block index above {self._newest}, that of the block before", line)
            self._newest = index
            return index, timestamp, n_spends, n_confirms
        return None

    def _read_spend(self, index: int, done: int, total: int) -> bytes32:
        line = self._line_of_block(index, done, total, "spends")
        match = _spend(line)
        if match is None:
            self._fail(f"{_SPEND_FORM} (spend {done + 1} of {total} of block {index})", line)
        return bytes32_unchecked(unhexlify(match[1]))

    def _read_confirm(self, index: int, done: int, total: int) -> Coin:
        line = self._line_of_block(index, done, total, "confirms")
        match = _confirm(line)
        if match is None:
            self._fail(f"{_CONFIRM_FORM} (confirm {done + 1} of {total} of block {index})", line)
        parent, puzzle_hash, digits = match.groups()
        amount = int(digits)
        if amount > MAX_U64:
            self._fail(f"an amount of at most {MAX_U64}", line)
        return Coin(
            bytes32_unchecked(unhexlify(parent)), bytes32_unchecked(unhexlify(puzzle_hash)), amount
        )

    def _line_of_block(self, index: int, done: int, total: int, what: str) -> bytes:
        line = self._next_line()
        if line is None:
            problem = f"the replay ends after {done} of {total} {what} of block {index}"
            raise ReplayError(self._line, problem)
        return line

    def _next_line(self) -> bytes | None:
        """The next line without its LF or CRLF; None at the end."""
        line = self._stream.readline(MAX_LINE_BYTES)
        if not line:
            return None
        self._line += 1
        if line.endswith(b"\n"):
            return line[:-2] if line.endswith(b"\r\n") else line[:-1]
        if len(line) == MAX_LINE_BYTES:
            self._fail(f"a line of less than {MAX_LINE_BYTES} bytes", line)
        return line

    def _fail(self, expected: str, found: bytes) -> NoReturn:
        if self._line == 1:
            for magic, tool in _COMPRESSED.items():
                if found.startswith(magic):
                    problem = f"this is compressed by {tool}; give its text: {tool} -dc FILE"
                    raise ReplayError(self._line, problem)
        raise ReplayError(self._line, f"expected {expected}, found {_excerpt(found)}")


def _excerpt(line: bytes) -> str:
    if not line.isascii() or not line.decode("ascii").isprintable():
        return "bytes that are no text"
    more = "…" if len(line) > EXCERPT_BYTES else ""
    return f"{line[:EXCERPT_BYTES].decode('ascii')!r}{more}"
