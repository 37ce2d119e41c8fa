"""Replay text to packed blocks: by the native scanner, or in Python where that is missing.

The native side is native/scan/scan.cpp, behind the contracts of cdb_scan.h there. It reads the same
language as cdb.text.replay but explains no errors: where it is stuck, read_blocks takes the next
block.
"""

from array import array
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, BinaryIO, cast

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import MAX_U32, NAME_BYTES
from cdb.contract.packed import CONFIRM_BYTES, PackedBlocks
from cdb.extensions.native import native_missing, native_scanner
from cdb.text.replay import read_blocks

DEFAULT_CHUNK_BYTES = 1 << 20  # so that a chunk and what is made of it fit into a core's cache

_PIPE_BYTES = 65_536  # a read that gives less has emptied the pipe: its writer is slower than we


def scan_packed(
    stream: BinaryIO, *, max_blocks: int | None = None, chunk_bytes: int = DEFAULT_CHUNK_BYTES
) -> Iterator[PackedBlocks]:
    """Yield the blocks of replay text, packed, those of about chunk_bytes of text at a time.

    (One at a time where the native scanner is missing: making objects costs far more than calls.)

    The blocks, in canonical order, and the errors are those of read_blocks: ReplayError at the
    first line that is wrong, and whatever reading raises, after every block before it.

    max_blocks: stop before the first block whose index is max_blocks or more.
    Takes what a pipe has to give, and does not wait for a whole chunk. Memory is bounded by a few
    times the larger of chunk_bytes and the largest block.
    """
    if chunk_bytes < 1:
        raise ValueError(f"chunk_bytes must be at least 1, not {chunk_bytes}")
    if native_missing() is None:
        return _scan(native_scanner.load(), stream, max_blocks, chunk_bytes)
    return (PackedBlocks.of([block]) for block in read_blocks(stream, max_blocks=max_blocks))


def _scan(
    native: ModuleType, stream: BinaryIO, max_blocks: int | None, chunk_bytes: int
) -> Iterator[PackedBlocks]:
    lib = native.lib
    text = _Text(stream)
    scanner = _NativeScanner(native, max_blocks)
    newest_index: int | None = None
    while True:
        text.fill(chunk_bytes)
        status, packed = scanner.scan(text, newest_index)
        if packed:
            newest_index = packed.indices[-1]
            yield packed
        if status in (lib.CDB_SCAN_END, lib.CDB_SCAN_LIMIT):
            return
        if status == lib.CDB_SCAN_UNCLEAN:
            block = _read_block(text, max_blocks, newest_index)
            if block is None:
                return
            newest_index = block.index
            yield PackedBlocks.of([block])
        elif text.failure is not None:
            raise text.failure


def _read_block(
    text: "_Text", max_blocks: int | None, newest_index: int | None
) -> BlockSpendInfo | None:
    stream = cast(BinaryIO, text)  # readline is all that read_blocks needs of it
    blocks = read_blocks(
        stream, max_blocks=max_blocks, first_line=text.lines + 1, newest_index=newest_index
    )
    return next(blocks, None)


class _Text:
    """What of a stream was read and is not scanned yet."""

    def __init__(self, stream: BinaryIO) -> None:
        readable: Any = stream
        # One system call at a time: when one fails, what those before it gave is kept.
        self._read_into: Callable[[memoryview], int | None]
        self._read_into = getattr(readable, "readinto1", readable.readinto)
        self.buffer = bytearray()
        self.start = 0
        self.end = 0
        self.lines = 0
        """The number of lines before start."""
        self.ended = False
        self.failure: Exception | None = None
        """What ended the stream: to be raised when all text before it is scanned."""

    @property
    def held_bytes(self) -> int:
        return self.end - self.start

    def skip(self, n_bytes: int, n_lines: int) -> None:
        """Be done with text."""
        self.start += n_bytes
        self.lines += n_lines

    def fill(self, n_bytes: int) -> None:
        """Read until n_bytes are held, or the stream ends, fails, or has no more to give for now.

        What is held already is the beginning of a block that needs more: an eighth more at least,
        so that a block that comes in small pieces is not scanned again for each of them.
        """
        least_bytes = self.held_bytes + self.held_bytes // 8 + 1
        n_bytes = max(n_bytes, 2 * self.held_bytes)
        self._make_room(n_bytes)
        with memoryview(self.buffer) as view:
            while self.held_bytes < n_bytes and not self.ended and self.failure is None:
                try:
                    n_read = self._read_into(view[self.end : n_bytes])
                except Exception as error:
                    self.failure = error
                else:
                    self.end += n_read or 0
                    self.ended = not n_read
                    if n_read and n_read < _PIPE_BYTES and self.held_bytes >= least_bytes:
                        return

    def readline(self, limit: int) -> bytes:
        """As streams have it."""
        while not self._has_line(limit) and not self.ended:
            if self.failure is not None:
                raise self.failure
            self.fill(limit)
        stop = self.buffer.find(b"\n", self.start, self.end) + 1 or self.end
        line = bytes(self.buffer[self.start : min(stop, self.start + limit)])
        self.skip(len(line), 1)
        return line

    def _make_room(self, n_bytes: int) -> None:
        held = self.buffer[self.start : self.end]
        if len(self.buffer) < n_bytes:
            self.buffer = bytearray(n_bytes)
        self.buffer[: len(held)] = held
        self.start, self.end = 0, len(held)

    def _has_line(self, limit: int) -> bool:
        return self.held_bytes >= limit or self.buffer.find(b"\n", self.start, self.end) >= 0


class _NativeScanner:
    """Calls the native scanner, with arrays that are used again and again."""

    def __init__(self, native: ModuleType, max_blocks: int | None) -> None:
        self._ffi = native.ffi
        self._lib = native.lib
        self._allocate = self._ffi.new_allocator(should_clear_after_alloc=False)
        self._room_bytes = -1
        self._arrays: list[Any] = []
        self._input = self._ffi.new("cdb_scan_input *")
        self._output = self._ffi.new("cdb_scan_output *")
        limit = MAX_U32 + 1
        self._input.max_blocks = limit if max_blocks is None else min(max(max_blocks, 0), limit)

    def scan(self, text: _Text, newest_index: int | None) -> tuple[int, PackedBlocks]:
        """Scan whole blocks of the text, and skip them: a cdb_scan_status, and the blocks."""
        self._make_room(text.held_bytes)
        chars = self._ffi.from_buffer("uint8_t[]", text.buffer)
        self._input.text = chars + text.start
        self._input.text_bytes = text.held_bytes
        self._input.last = text.ended
        self._input.newest_index = -1 if newest_index is None else newest_index
        status: int = self._lib.cdb_scan(self._input, self._output)
        text.skip(self._output.text_bytes, self._output.lines)
        return status, self._packed()

    def _make_room(self, text_bytes: int) -> None:
        """Have arrays for all that a text of this size can hold."""
        if text_bytes <= self._room_bytes:
            return
        self._room_bytes = text_bytes
        blocks = text_bytes // self._lib.CDB_BLOCK_LINE_BYTES + 1
        spends = text_bytes // self._lib.CDB_SPEND_LINE_BYTES + 1
        confirms = text_bytes // self._lib.CDB_CONFIRM_LINE_BYTES + 1
        self._arrays.clear()
        for field, type_name, n in (
            ("indices", "uint64_t[]", blocks),
            ("timestamps", "uint64_t[]", blocks),
            ("spend_ends", "uint64_t[]", blocks),
            ("confirm_ends", "uint64_t[]", blocks),
            ("spends", "cdb_hash[]", spends),
            ("confirms", "cdb_coin[]", confirms),
            ("names", "cdb_hash[]", confirms),
        ):
            memory = self._allocate(type_name, n)
            self._arrays.append(memory)
            setattr(self._output, field, memory)

    def _packed(self) -> PackedBlocks:
        found = self._output
        n = found.blocks
        n_spends = found.spend_ends[n - 1] if n else 0
        n_confirms = found.confirm_ends[n - 1] if n else 0
        return PackedBlocks(
            array("Q", self._bytes(found.indices, 8 * n)),
            array("Q", self._bytes(found.timestamps, 8 * n)),
            array("Q", self._bytes(found.spend_ends, 8 * n)),
            array("Q", self._bytes(found.confirm_ends, 8 * n)),
            self._bytes(found.spends, NAME_BYTES * n_spends),
            self._bytes(found.confirms, CONFIRM_BYTES * n_confirms),
            self._bytes(found.names, NAME_BYTES * n_confirms),
        )

    def _bytes(self, pointer: Any, n_bytes: int) -> bytes:
        copied: bytes = self._ffi.buffer(pointer, n_bytes)[:]
        return copied
