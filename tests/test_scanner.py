"""The scanner gives the blocks and errors of read_blocks, on every input and in every chunking."""

import io
import os
import re
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, BinaryIO, cast
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.packed import PackedBlocks
from cdb.errors import ReplayError
from cdb.extensions.native import native_missing, native_scanner
from cdb.testing.chains import EDGE_AMOUNTS, sample_chain
from cdb.testing.strategies import valid_chains
from cdb.text import scanner
from cdb.text.replay import MAX_LINE_BYTES, block_text, read_blocks
from cdb.text.scanner import DEFAULT_CHUNK_BYTES, scan_packed
from tests.conftest import text_of

needs_native = pytest.mark.skipif(native_missing() is not None, reason=str(native_missing()))
each_scanner = pytest.mark.parametrize(
    "name", [pytest.param("native", marks=needs_native), "python"]
)

A, B, C, D = (digit * 64 for digit in (b"a", b"b", b"c", b"d"))
SMALL = b"\n".join(
    [
        b"B 0 1600000000 0 2",
        b"C %b %b 0" % (A, C),
        b"C %b %b 18446744073709551615" % (A, B),
        b"B 7 1600000019 2 1\r",
        b"S %b\r" % D,
        b"S %b" % C,
        b"C 0123456789ABCDEFabcdef%b %b 10" % (A[22:], B),
        b"B 8 1600000020 0 0",
        b"",
        b"# a comment",
        b"\r",
        b"B 4294967295 18446744073709551615 1 0",
        b"S %b" % A,
        b"",
    ]
)

Outcome = tuple[PackedBlocks, str | None]


@contextmanager
def using(name: str) -> Iterator[None]:
    """Within, scan_packed uses the native scanner or, for "python", none."""
    with pytest.MonkeyPatch.context() as patched:
        if name == "python":
            patched.setitem(sys.modules, "cdb.extensions._scan", None)
        yield


def unpacked(runs: Iterator[PackedBlocks]) -> Iterator[BlockSpendInfo]:
    """The blocks, once each run has proved to be what Python makes of its blocks."""
    for run in runs:
        blocks = [run.block(i) for i in range(len(run))]
        assert blocks
        assert run == PackedBlocks.of(blocks)
        yield from blocks


def outcome(blocks: Iterator[BlockSpendInfo]) -> Outcome:
    """All blocks up to the first error, packed, and the error."""
    found = []
    error = None
    try:
        for block in blocks:
            found.append(block)
    except (ReplayError, OSError) as raised:
        error = repr(raised)
    return PackedBlocks.of(found), error


def scanned(
    text: bytes, chunk_bytes: int = DEFAULT_CHUNK_BYTES, max_blocks: int | None = None
) -> Outcome:
    stream = io.BytesIO(text)
    return outcome(unpacked(scan_packed(stream, max_blocks=max_blocks, chunk_bytes=chunk_bytes)))


def careful(text: bytes, max_blocks: int | None = None) -> Outcome:
    return outcome(read_blocks(io.BytesIO(text), max_blocks=max_blocks))


# Clean text


@each_scanner
def test_a_mainnet_shaped_replay(name: str, replay: bytes) -> None:
    with using(name):
        for chunk_bytes in (5_000, DEFAULT_CHUNK_BYTES):
            assert scanned(replay, chunk_bytes) == careful(replay)


@each_scanner
def test_every_chunk_size(name: str) -> None:
    expected = careful(SMALL)
    assert (len(expected[0]), expected[1]) == (4, None)
    with using(name):
        for chunk_bytes in range(1, len(SMALL) + 2):
            assert scanned(SMALL, chunk_bytes) == expected


@needs_native
def test_runs_hold_about_a_chunk(replay: bytes) -> None:
    runs = list(scan_packed(io.BytesIO(replay), chunk_bytes=20_000))
    assert len(replay) // 40_000 < len(runs) <= len(replay) // 10_000


def test_without_the_native_scanner_blocks_come_one_by_one(replay: bytes) -> None:
    with using("python"):
        runs = scan_packed(io.BytesIO(replay))
        assert {len(run) for run in runs} == {1}


@each_scanner
def test_any_order_within_a_block(name: str) -> None:
    n = 500
    random = Random(1)
    spends = [b"S %064x\n" % random.getrandbits(256) for _ in range(n)]
    confirms = [b"C %064x %064x %d\n" % (i % 7, i % 3, i % 100) for i in range(n)]
    random.shuffle(confirms)
    text = b"B 5 1 %d %d\n" % (n, n) + b"".join(spends + confirms)
    with using(name):
        assert scanned(text) == careful(text)


@needs_native
def test_names_of_all_sizes_of_amounts() -> None:
    amounts = {*EDGE_AMOUNTS, *(256**i * k - d for i in range(8) for k in (1, 128) for d in (0, 1))}
    lines = [b"C %b %b %d\n" % (A, B, amount) for amount in sorted(amounts)]
    text = b"B 1 1 0 %d\n" % len(lines) + b"".join(lines)
    assert scanned(text) == careful(text)


@needs_native
def test_every_byte_in_place_of_every_hex_digit() -> None:
    for place in range(64):
        for byte in range(256):
            digits = A[:place] + bytes([byte]) + A[place + 1 :]
            runs = scan_packed(io.BytesIO(b"B 1 1 1 0\nS %b\n" % digits))
            if chr(byte) in "0123456789abcdefABCDEF":
                assert next(runs).spends == bytes.fromhex(digits.decode())
            else:
                with pytest.raises(ReplayError, match=r"^line 2: expected 'S '"):
                    next(runs)


# Damage


@each_scanner
@pytest.mark.parametrize("chunk_bytes", [1, 100, DEFAULT_CHUNK_BYTES])
def test_truncated_at_every_byte(name: str, chunk_bytes: int) -> None:
    with using(name):
        for length in range(len(SMALL)):
            assert scanned(SMALL[:length], chunk_bytes) == careful(SMALL[:length])


@each_scanner
@pytest.mark.parametrize("bad", b"\0\n\r #+09BCSgx\x7f\xff")
def test_every_byte_replaced(name: str, bad: int) -> None:
    with using(name):
        for place in range(len(SMALL)):
            text = SMALL[:place] + bytes([bad]) + SMALL[place + 1 :]
            assert scanned(text) == careful(text)


@each_scanner
def test_every_byte_left_out_or_doubled(name: str) -> None:
    with using(name):
        for place in range(len(SMALL)):
            for text in (
                SMALL[:place] + SMALL[place + 1 :],
                SMALL[:place] + SMALL[place:][:1] + SMALL[place:],
            ):
                assert scanned(text, 64) == careful(text)


EXTRA_LINES = [b"\n", b"\r\n", b"# a comment\n", b"#\r\n", b"# \x7f\n", b"B 9 9 0 0\n", b"S\n"]


@each_scanner
@pytest.mark.parametrize("extra", EXTRA_LINES)
def test_lines_between_lines(name: str, extra: bytes) -> None:
    lines = SMALL.splitlines(keepends=True)
    with using(name):
        for place in range(len(lines) + 1):
            text = b"".join([*lines[:place], extra, *lines[place:]])
            assert scanned(text, 200) == careful(text)


@st.composite
def edited_texts(draw: st.DrawFn) -> bytes:
    text = text_of(draw(valid_chains(6)).blocks)
    if draw(st.booleans()):
        text = text.replace(b"\n", b"\r\n")
    if draw(st.booleans()):
        text = text.upper()
    for _ in range(draw(st.integers(0, 3))):
        start, end = sorted(draw(st.tuples(*[st.integers(0, len(text))] * 2)))
        pieces = [text[start:end], b"", b"\n", b"\r\n", b"#\n", b" ", b"0"]
        insert = draw(st.sampled_from(pieces) | st.binary(max_size=4))
        text = text[:start] + insert + text[end if draw(st.booleans()) else start :]
    return text


@each_scanner
@settings(database=None, deadline=None, derandomize=True, max_examples=300)
@given(
    text=edited_texts(),
    chunk_bytes=st.integers(1, 3_000),
    max_blocks=st.none() | st.integers(0, 40),
)
def test_any_edit(name: str, text: bytes, chunk_bytes: int, max_blocks: int | None) -> None:
    with using(name):
        assert scanned(text, chunk_bytes, max_blocks) == careful(text, max_blocks)


@each_scanner
@settings(database=None, deadline=None, derandomize=True)
@given(text=st.binary(max_size=200), chunk_bytes=st.integers(1, 250))
def test_any_bytes(name: str, text: bytes, chunk_bytes: int) -> None:
    with using(name):
        assert scanned(text, chunk_bytes) == careful(text)


# Limits

NUMBERS = [
    *(
        "",
        "0",
        "00",
        "07",
        "-0",
        "-7",
        "+7",
        " 7",
        "7 ",
        "7\t",
        "7\x00",
        "7.0",
        "7e0",
        "0x7",
        "1_0",
    ),
    *("٣", "4294967295", "4294967296", "9999999999", "18446744073709551615"),
    *("18446744073709551616", "18446744073709551620", "28446744073709551615"),
    *("99999999999999999999", "184467440737095516150", "9" * 5_000, "0" * 5_000),
]


@each_scanner
@pytest.mark.parametrize("number", NUMBERS)
def test_numbers(name: str, number: str) -> None:
    forms = [
        "B {} 1 0 0\n",
        "B 1 {} 0 0\n",
        "B 1 1 {} 0\n",
        "B 1 1 0 {}\n",
        f"B 1 1 0 1\nC {A.decode()} {B.decode()} {{}}\n",
    ]
    with using(name):
        for form in forms:
            text = form.format(number).encode()
            for variant in (text, text.removesuffix(b"\n"), text + b"B 4294967295 9 0 0\n"):
                assert scanned(variant, 50) == careful(variant)


@each_scanner
@pytest.mark.parametrize("line_end", [b"", b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("start", [b"#", b"B 1 1 0 0", b"S " + A, b""])
def test_lines_of_almost_the_longest_length(name: str, start: bytes, line_end: bytes) -> None:
    before = b"B 0 1 0 0\n"
    with using(name):
        for length in range(MAX_LINE_BYTES - 3, MAX_LINE_BYTES + 2):
            line = start + b"x" * (length - len(start)) + line_end
            for text in (before + line, before + line + b"B 2 1 0 0\n"):
                for chunk_bytes in (1_000, DEFAULT_CHUNK_BYTES):
                    assert scanned(text, chunk_bytes) == careful(text)


@each_scanner
@pytest.mark.parametrize("index", [0, 7, 8, 9])
@pytest.mark.parametrize("chunk_bytes", [1, 24, DEFAULT_CHUNK_BYTES])
def test_indices_rise(name: str, index: int, chunk_bytes: int) -> None:
    text = b"B 0 1 0 0\nB 8 1 0 0\n# here\nB %d 1 0 0\nB 10 1 0 0\n" % index
    with using(name):
        assert scanned(text, chunk_bytes) == careful(text)


@each_scanner
@pytest.mark.parametrize("max_blocks", [-1, 0, 1, 7, 8, 9, 2**32 - 1, 2**32, 2**64, None])
@pytest.mark.parametrize("end", [b"", b"B 4294967295 1 7 0\nno replay any more\n", b"B 5 1 0 0\n"])
def test_max_blocks(name: str, max_blocks: int | None, end: bytes) -> None:
    text = SMALL[: SMALL.index(b"B 4294967295")] + end
    with using(name):
        for chunk_bytes in (1, 500, DEFAULT_CHUNK_BYTES):
            assert scanned(text, chunk_bytes, max_blocks) == careful(text, max_blocks)


# Large blocks


@each_scanner
def test_a_block_of_many_chunks_between_small_ones(name: str) -> None:
    n = 5_000
    coins = b"".join(b"C %064x %064x %d\n" % (i, i % 7, i) for i in range(n))
    text = b"B 1 1 0 0\nB 2 1 0 %d\n" % n + coins + SMALL[SMALL.index(b"B 7") :]
    with using(name):
        assert scanned(text, 1_000) == careful(text)
        broken = text.replace(b"C %064x " % (n - 1), b"C %063xx " % (n - 1))
        assert scanned(broken, 1_000) == careful(broken)
        assert scanned(text[:400_000], 1_000) == careful(text[:400_000])


@each_scanner
def test_a_huge_count_costs_nothing(name: str) -> None:
    blocks = b"".join(b"B %d 1 0 0\n" % i for i in range(2, 100_000))
    with using(name):
        for counts in (b"4294967295 0", b"0 4294967295"):
            stream = io.BytesIO(b"B 1 1 " + counts + b"\n" + blocks)
            tracemalloc.start()
            try:
                with pytest.raises(ReplayError, match=r"^line 2: .* 1 of 4294967295 of block 1\)"):
                    next(scan_packed(stream, chunk_bytes=10_000))
                assert tracemalloc.get_traced_memory()[1] < 1_000_000
            finally:
                tracemalloc.stop()
            assert stream.tell() < 200_000


@each_scanner
def test_memory_holds_a_few_chunks(name: str) -> None:
    text = text_of(sample_chain(4_000).blocks)
    tracemalloc.start()
    try:
        coins = sum(run.n_confirms for run in scan_packed(io.BytesIO(text), chunk_bytes=10_000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert coins > 20_000
    assert peak < 500_000


# Streams


class FailingStream(io.RawIOBase):
    """Gives text in small pieces, and then fails as a bad disk does."""

    def __init__(self, text: bytes) -> None:
        self._rest = text

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._rest:
            raise OSError(5, "Input/output error")
        size = min(100, len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def failing_stream(text: bytes) -> BinaryIO:
    return cast(BinaryIO, FailingStream(text))


@each_scanner
def test_a_read_that_fails_comes_after_the_blocks_before_it(name: str) -> None:
    lines = SMALL.splitlines(keepends=True)
    with using(name):
        for n in range(len(lines) + 1):
            for text in (b"".join(lines[:n]), b"".join(lines[:n]) + b"x\n"):
                expected = outcome(read_blocks(failing_stream(text)))
                assert expected[1] is not None
                for chunk_bytes in (1, 300, DEFAULT_CHUNK_BYTES):
                    runs = scan_packed(failing_stream(text), chunk_bytes=chunk_bytes)
                    assert outcome(unpacked(runs)) == expected


@contextmanager
def opened_pipe(text: bytes, _: Path) -> Iterator[BinaryIO]:
    reading, writing = os.pipe()

    def write() -> None:
        with os.fdopen(writing, "wb") as stream:
            stream.write(text)

    writer = threading.Thread(target=write)
    writer.start()
    with os.fdopen(reading, "rb") as stream:
        yield stream
    writer.join()


@contextmanager
def opened_file(text: bytes, path: Path) -> Iterator[BinaryIO]:
    path.write_bytes(text)
    with path.open("rb") as stream:
        yield stream


@contextmanager
def opened_raw_file(text: bytes, path: Path) -> Iterator[BinaryIO]:
    path.write_bytes(text)
    with path.open("rb", buffering=0) as stream:
        yield cast(BinaryIO, stream)


@each_scanner
@pytest.mark.parametrize("opened", [opened_pipe, opened_file, opened_raw_file])
def test_streams(
    name: str,
    opened: Callable[[bytes, Path], AbstractContextManager[BinaryIO]],
    tmp_path: Path,
    replay: bytes,
) -> None:
    with using(name), opened(replay, tmp_path / "replay.txt") as stream:
        assert outcome(unpacked(scan_packed(stream, chunk_bytes=100_000))) == careful(replay)


# What is native, and what is not


@needs_native
@pytest.mark.parametrize("bad", [b"", b"x\n"])
def test_what_the_native_scanner_leaves_to_python_does_not_end_the_scan(
    monkeypatch: pytest.MonkeyPatch, bad: bytes
) -> None:
    native = native_scanner.load()
    calls = 0

    def stuck_at_every_other_call(given: Any, found: Any) -> int:
        nonlocal calls
        calls += 1
        if calls % 2:
            return int(native.lib.cdb_scan(given, found))
        found.blocks = found.text_bytes = found.lines = 0
        return int(native.lib.CDB_SCAN_UNCLEAN)

    class Lib:
        cdb_scan = staticmethod(stuck_at_every_other_call)

        def __getattr__(self, name: str) -> Any:
            return getattr(native.lib, name)

    stub = SimpleNamespace(ffi=native.ffi, lib=Lib())
    monkeypatch.setattr(native_scanner, "load", lambda: stub)
    text = text_of(sample_chain(20).blocks) + bad
    for chunk_bytes in (1, 1_000, DEFAULT_CHUNK_BYTES):
        assert scanned(text, chunk_bytes) == careful(text)
    assert calls > 10


@needs_native
def test_clean_text_is_never_left_to_python(replay: bytes) -> None:
    with patch.object(scanner, "read_blocks", side_effect=AssertionError("it was called")):
        assert scanned(replay, 1_000)[1] is None
        assert scanned(SMALL, 1)[1] is None


@needs_native
@pytest.mark.parametrize("last", [False, True])
def test_what_follows_the_text_is_not_seen(last: bool) -> None:
    native = native_scanner.load()
    for n_bytes in range(len(SMALL) + 1):
        found = []
        # The second has nothing behind it: `make asan` finds reads there that change nothing.
        for held_bytes in (len(SMALL), n_bytes):
            memory = native.ffi.new("uint8_t[]", held_bytes)
            native.ffi.memmove(memory, SMALL, held_bytes)
            text = scanner._Text(io.BytesIO())
            text.buffer = native.ffi.buffer(memory)
            text.end = n_bytes
            text.ended = last
            status, packed = scanner._NativeScanner(native, None).scan(text, None)
            found.append((status, packed, text.start, text.lines))
        assert found[0] == found[1]


def test_what_is_missing_is_said_in_one_line() -> None:
    with using("python"):
        missing = native_missing()
    assert missing is not None
    assert re.fullmatch(r"the native scanner .*\(.*cdb\.extensions\._scan.*\); install .*", missing)


@each_scanner
def test_a_chunk_has_at_least_one_byte(name: str) -> None:
    with using(name), pytest.raises(ValueError, match="chunk_bytes must be at least 1, not 0"):
        scan_packed(io.BytesIO(), chunk_bytes=0)


def test_the_careful_reader_goes_on_where_it_is_told() -> None:
    text = io.BytesIO(b"B 8 1 0 0\nB 9 1 0 0\nx\n")
    blocks = read_blocks(text, first_line=100, newest_index=7)
    assert [next(blocks).index, next(blocks).index] == [8, 9]
    with pytest.raises(ReplayError, match=r"^line 102: "):
        next(blocks)
    with pytest.raises(ReplayError, match=r"^line 3: expected a block index above 8"):
        next(read_blocks(io.BytesIO(b"B 8 1 0 0\n"), first_line=3, newest_index=8))


class Dribble(io.RawIOBase):
    """Gives a few bytes a read, and knows how many it gave."""

    def __init__(self, text: bytes, piece_bytes: int) -> None:
        self._text = text
        self._piece_bytes = piece_bytes
        self.given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._text[self.given :][: min(self._piece_bytes, len(buffer))]
        buffer[: len(piece)] = piece
        self.given += len(piece)
        return len(piece)


@pytest.mark.parametrize("piece_bytes", [1, 7, 100, 5_000])
def test_a_slow_pipe_is_read_like_a_file(piece_bytes: int) -> None:
    text = b"# slow\n" + text_of(sample_chain(30).blocks).replace(b"\n", b"\r\n")
    for end in (len(text), len(text) - 40):
        stream = cast(BinaryIO, Dribble(text[:end], piece_bytes))
        assert outcome(unpacked(scan_packed(stream))) == careful(text[:end])


def test_a_block_is_yielded_as_soon_as_a_pipe_has_given_it() -> None:
    blocks = sample_chain(30).blocks
    sizes = [len(block_text(block)) for block in blocks]
    stream = Dribble(text_of(blocks), 1_000)
    yielded = 0
    for packed in scan_packed(cast(BinaryIO, stream)):
        yielded += sum(sizes[: len(packed)])
        del sizes[: len(packed)]
        # Not more than one block, cut off by the end of what was given, is held back.
        assert stream.given - yielded < 2 * max(sizes, default=1_000) + 1_000
