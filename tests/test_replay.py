"""Replay text: what is read, what is refused and at which line, and what is written."""

import io
import tracemalloc
from collections.abc import Iterator
from itertools import islice
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdb.contract.blocks import BlockSpendInfo, canonical
from cdb.contract.coins import MAX_U32, MAX_U64, Coin, bytes32
from cdb.errors import ReplayError
from cdb.testing.chains import Chain, hash_of, reward, sample_chain
from cdb.testing.strategies import valid_chains
from cdb.text.replay import MAX_LINE_BYTES, block_text, read_blocks, write_blocks
from tests.conftest import CALM, text_of

A, B, C, D = (digit * 64 for digit in (b"a", b"b", b"c", b"d"))
SMALL = b"\n".join(
    [
        b"B 0 1600000000 0 2",
        b"C %b %b 0" % (A, B),
        b"C %b %b 18446744073709551615" % (A, C),
        b"B 7 1600000019 2 1",
        b"S %b" % C,
        b"S %b" % D,
        b"C 0123456789ABCDEFabcdef%b %b 10" % (A[22:], B),
        b"B 8 1600000020 0 0",
        b"",
        b"# a comment",
        b"B 4294967295 18446744073709551615 1 0",
        b"S %b" % A,
        b"",
    ]
)


def read(text: bytes) -> tuple[list[BlockSpendInfo], ReplayError | None]:
    """The blocks up to the first error, and the error."""
    blocks = []
    try:
        for block in read_blocks(io.BytesIO(text)):
            blocks.append(block)
    except ReplayError as error:
        return blocks, error
    return blocks, None


def judge(text: bytes) -> tuple[list[BlockSpendInfo], int | None]:
    """What docs/replay-format.md says: the blocks before the first bad line, and that line."""
    *lines, last = text.split(b"\n")
    lines = [line[:-1] if line[-1:] == b"\r" else line for line in lines]
    lines += [last] if last else []
    blocks: list[BlockSpendInfo] = []
    at = 0

    def next_line() -> bytes:
        nonlocal at
        at += 1
        if at > len(lines):
            at = len(lines)
            raise ValueError
        return lines[at - 1]

    try:
        while at < len(lines):
            line = next_line()
            if line == b"" or (line[:1] == b"#" and all(32 <= byte <= 126 for byte in line)):
                continue
            index, timestamp, n_spends, n_confirms = _fields(line, b"B", 5)
            head = BlockSpendInfo(_number(index, MAX_U32), _number(timestamp, MAX_U64), [], [])
            if blocks and head.index <= blocks[-1].index:
                raise ValueError
            counts = _number(n_spends, MAX_U32), _number(n_confirms, MAX_U32)
            for _ in range(counts[0]):
                (name,) = _fields(next_line(), b"S", 2)
                head.spends.append(_hash(name))
            for _ in range(counts[1]):
                parent, puzzle, amount = _fields(next_line(), b"C", 4)
                head.confirms.append(Coin(_hash(parent), _hash(puzzle), _number(amount, MAX_U64)))
            blocks.append(head)
    except ValueError:
        return blocks, at
    return blocks, None


def _fields(line: bytes, kind: bytes, count: int) -> list[bytes]:
    first, *rest = line.split(b" ")
    if first != kind or len(rest) != count - 1:
        raise ValueError
    return rest


def _number(text: bytes, limit: int) -> int:
    if not text or set(text) - set(b"0123456789") or text != b"%d" % int(text):
        raise ValueError
    if int(text) > limit:
        raise ValueError
    return int(text)


def _hash(text: bytes) -> bytes32:
    if len(text) != 64 or set(text) - set(b"0123456789abcdefABCDEF"):
        raise ValueError
    return bytes32.fromhex(text.decode())


def check_like_the_specification(text: bytes) -> None:
    """Read a text, hold blocks and line against judge(), and what is accepted against its dump."""
    blocks, error = read(text)
    expected, line = judge(text)
    assert blocks == expected, text
    assert (None if error is None else error.line) == line, text
    if error is not None:
        message = str(error)
        assert message.startswith(f"line {line}: ")
        assert message.isprintable(), message
    else:
        dumped = text_of(blocks)
        again, error = read(dumped)
        assert error is None
        assert again == list(map(canonical, blocks))
        assert text_of(again) == dumped


def fails(text: bytes, line: int, *words: str) -> list[BlockSpendInfo]:
    """The blocks before the error, which must name this line and these words."""
    blocks, error = read(text)
    assert error is not None, "it was accepted"
    assert error.line == line, error
    for word in words:
        assert word in str(error)
    return blocks


# Writing, and round trips


def test_the_canonical_form_is_this() -> None:
    coins = [
        Coin(bytes32(b"\x02" * 32), bytes32(b"\xab" * 32), 10),
        Coin(bytes32(b"\x01" * 32), bytes32(b"\xff" * 32), 0),
        Coin(bytes32(b"\x02" * 32), bytes32(b"\xab" * 32), 9),
    ]
    spends = [bytes32(b"\xff" * 32), bytes32(b"\x0f" * 32)]
    assert block_text(BlockSpendInfo(7, 2**64 - 1, spends, coins)) == (
        b"B 7 18446744073709551615 2 3\n"
        + b"S %b\nS %b\n" % (b"0f" * 32, b"ff" * 32)
        + b"C %b %b 0\n" % (b"01" * 32, b"ff" * 32)
        + b"C %b %b 9\nC %b %b 10\n" % (b"02" * 32, b"ab" * 32, b"02" * 32, b"ab" * 32)
    )
    assert spends[0] == b"\xff" * 32, "block_text() changed its argument"


def test_a_mainnet_shaped_replay_comes_back_byte_for_byte(
    replay: bytes, blocks: tuple[BlockSpendInfo, ...]
) -> None:
    assert list(read_blocks(io.BytesIO(replay))) == list(blocks)
    out = io.BytesIO()
    write_blocks(out, read_blocks(io.BytesIO(replay)))
    assert out.getvalue() == replay


@settings(CALM, max_examples=60)
@given(valid_chains(), st.randoms(use_true_random=False))
def test_any_chain_comes_back_from_any_order(chain: Chain, random: Random) -> None:
    text = text_of(chain.blocks)
    assert list(read_blocks(io.BytesIO(text))) == list(map(canonical, chain.blocks))
    shuffled = []
    for block in chain.blocks:
        head, *lines = block_text(block).decode().splitlines(keepends=True)
        spends, confirms = lines[: len(block.spends)], lines[len(block.spends) :]
        random.shuffle(spends)
        random.shuffle(confirms)
        shuffled += [head, *spends, *confirms]
    assert text_of(read_blocks(io.BytesIO("".join(shuffled).encode()))) == text


def test_order_is_kept_as_it_was_read() -> None:
    text = b"B 1 2 2 0\nS %b\nS %b\n" % (B, A)
    (block,) = read_blocks(io.BytesIO(text))
    assert block.spends == [bytes32(b"\xbb" * 32), bytes32(b"\xaa" * 32)]
    assert type(block.spends[0]) is bytes32


def test_an_empty_text_has_no_blocks() -> None:
    for text in (b"", b"\n", b"\r\n", b"# nothing", b"#\n\n# ~ !\r\n"):
        assert read(text) == ([], None)


# What is read beside the canonical form


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("cut", [False, True])
def test_line_ends(line_end: bytes, cut: bool) -> None:
    text = SMALL.replace(b"\n", line_end)
    blocks, error = read(text.removesuffix(line_end) if cut else text)
    assert error is None
    assert blocks == judge(SMALL)[0]
    assert len(blocks) == 4


def test_lf_and_crlf_may_be_mixed() -> None:
    assert read(SMALL.replace(b"\n", b"\r\n", 5)) == read(SMALL)


def test_either_case_is_read_and_lower_case_is_written() -> None:
    upper = b"B 1 2 1 1\nS %b\nC %b %b 3\n" % (A.upper(), B.upper(), C.upper())
    assert text_of(read_blocks(io.BytesIO(upper))) == upper.replace(A.upper(), A).replace(
        B.upper(), B
    ).replace(C.upper(), C)


@pytest.mark.parametrize("extra", [b"\n", b"\r\n", b"# any thing: {}!~ C\n", b"#\n", b"\n\n# x\n"])
def test_blanks_and_comments_stand_only_between_blocks(extra: bytes) -> None:
    blocks, _ = read(SMALL)
    lines = SMALL.splitlines(keepends=True)
    for place in range(len(lines) + 1):
        text = b"".join([*lines[:place], extra, *lines[place:]])
        if place in (1, 2, 4, 5, 6, 11):
            expected = "'S '" if place in (4, 5, 11) else "'C '"
            before = fails(text, place + 1, expected)
            assert before == [block for block in blocks if block.index < (0, 7, 9)[place // 4]]
        else:
            assert read(text) == (blocks, None)


# Traps

NUMBERS = [
    "",
    "1_000",
    "+7",
    "-7",
    "-0",
    "٣",
    "７",
    "07",
    "00",
    "7.0",
    "7e0",
    "0x7",
    "7\t",
    "7\x0b",
    "7\x00",
    "7\xa0",
    "7 ",
    " 7",
    "7\u2028",
    "7\x85",
    "seven",
    "nan",
    "1" * 21,
    "9" * 5000,
]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("field", range(4))
def test_what_int_takes_but_the_format_does_not(number: str, field: int) -> None:
    values = ["7", "7", "0", "0"]
    values[field] = number
    line = "B " + " ".join(values)
    blocks = fails(f"B 1 1 0 0\n{line}\nB 9 1 0 0\n".encode(), 2, "expected 'B index")
    assert [block.index for block in blocks] == [1]


@pytest.mark.parametrize("number", NUMBERS)
def test_what_is_no_amount(number: str) -> None:
    text = f"B 1 1 0 1\nC {A.decode()} {B.decode()} {number}\n".encode()
    assert fails(text, 2, "expected 'C '", "confirm 1 of 1 of block 1") == []


@pytest.mark.parametrize(
    "wrong",
    [
        A[:-1],
        A[:-2],
        A + b"a",
        b" " + A[1:],
        A[:-1] + b" ",
        A[:30] + b"    " + A[34:],
        A[:30] + b"\x00" + A[31:],
        A[:62] + b"\xd9\xa3",
        A[:-1] + b"g",
        A[:62] + b"0x",
        b"0x" + A[:62],
        b"0x" + A,
        A[:31] + b"_" + A[32:],
        b"",
    ],
)
@pytest.mark.parametrize(
    "form", [b"B 1 1 1 0\nS %b\n", b"B 1 1 0 1\nC %%b %b 1\n" % B, b"B 1 1 0 1\nC %b %%b 1\n" % B]
)
def test_what_is_no_hash(wrong: bytes, form: bytes) -> None:
    assert judge(form % A)[1] is None
    assert fails(b"B 0 0 0 0\n" + form % wrong, 3, "hex digits", "of 1 of block 1") != []


@pytest.mark.parametrize(
    "separator", [b"\x0b", b"\x0c", b"\x1c", b"\x85", "\u2028".encode(), b"\r"]
)
def test_what_splitlines_takes_for_a_line_end_is_none(separator: bytes) -> None:
    fails(b"B 1 1 0 0" + separator + b"B 2 1 0 0\n", 1)
    fails(b"B 1 1 1 0\nS %b" % A + separator + b"B 2 1 0 0\n", 2)
    fails(b"# comment" + separator + b"\n" * (separator != b"\r"), 1)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 6, 7, 10, 11])  # not the blank and the comment
def test_a_trailing_space_or_lone_cr_is_refused_at_its_line(n: int) -> None:
    lines = SMALL.split(b"\n")
    for tail in (b" ", b"\t", b"\r\r", b"\x00"):
        bad = [*lines[:n], lines[n] + tail, *lines[n + 1 :]]
        fails(b"\n".join(bad), n + 1, "expected")


def test_a_line_of_spaces_is_not_blank() -> None:
    fails(b"B 1 1 0 0\n \n", 2, "a comment or a blank line", "found ' '")


@pytest.mark.parametrize("comment", [b"#\t", "# ä".encode(), b"#\x7f", b"# x\r", b" # x"])
def test_comments_are_printable_ascii(comment: bytes) -> None:
    fails(b"\n" + comment + b"\n" * (not comment.endswith(b"\r")), 2)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("B 4294967296 1 0 0", "a block index of at most 4294967295"),
        ("B 1 18446744073709551616 0 0", "a timestamp of at most 18446744073709551615"),
        ("B 1 1 4294967296 0", "a number of spends of at most 4294967295"),
        ("B 1 1 0 4294967296", "a number of confirms of at most 4294967295"),
    ],
)
def test_limits_of_a_header_exceeded_by_one(line: str, words: str) -> None:
    fails(line.encode(), 1, words, f"found '{line}'")


def test_limits_themselves() -> None:
    text = b"B 4294967295 18446744073709551615 0 1\nC %b %b 18446744073709551615\n" % (A, B)
    assert text_of(read_blocks(io.BytesIO(text))) == text
    over = text.replace(b"551615\n", b"551616\n")
    assert fails(over, 2, "an amount of at most 18446744073709551615") == []


@pytest.mark.parametrize("index", [0, 7, 8])
def test_indices_rise(index: int) -> None:
    text = b"B 3 1 0 0\nB 8 1 0 0\n# here\nB %d 1 0 0\nB 9 1 0 0\n" % index
    assert [block.index for block in fails(text, 4, "a block index above 8")] == [3, 8]


def test_index_0_twice() -> None:
    fails(b"B 0 1 0 0\nB 0 1 0 0\n", 2, "a block index above 0")


@pytest.mark.parametrize(
    ("header", "line", "words"),
    [
        (b"B 42 1 3 2", 4, "expected 'S ' and a name of 64 hex digits (spend 3 of 3 of block 42)"),
        (b"B 42 1 1 2", 3, "(confirm 1 of 2 of block 42)"),
        (b"B 42 1 2 3", 6, "(confirm 3 of 3 of block 42)"),
        (b"B 42 1 2 1", 5, "expected 'B index timestamp n-spends n-confirms'"),
        (b"B 42 1 2 0", 4, "expected 'B index timestamp n-spends n-confirms'"),
        (b"B 42 1 0 2", 2, "(confirm 1 of 2 of block 42)"),
    ],
)
def test_counts_that_do_not_match(header: bytes, line: int, words: str) -> None:
    lines = [header, b"S " + A, b"S " + B, b"C %b %b 1" % (A, B), b"C %b %b 2" % (A, B)]
    blocks = fails(b"\n".join([*lines, b"B 43 1 0 0", b""]), line, words)
    assert [block.index for block in blocks] == ([42] if header[-4:] in (b" 2 1", b" 2 0") else [])


@pytest.mark.parametrize("cut", [b"", b"\n"])
def test_an_end_within_a_block_says_how_far_it_came(cut: bytes) -> None:
    spends = b"\n".join([b"S " + A] * 3)
    text = b"B 1 1 0 0\nB 42 1 10 0\n" + spends + cut
    (block,) = fails(text, 5, "the replay ends after 3 of 10 spends of block 42")
    assert block.index == 1
    fails(b"B 42 1 0 2" + cut, 1, "the replay ends after 0 of 2 confirms of block 42")


def test_a_huge_count_costs_nothing() -> None:
    for counts in (b"4294967295 0", b"0 4294967295"):
        tracemalloc.start()
        try:
            fails(b"B 1 1 " + counts + b"\n", 1, "ends after 0 of 4294967295")
            assert tracemalloc.get_traced_memory()[1] < 1_000_000
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize(
    "binary", [b"\x89PNG\r\n\x1a\n\0\0", b"\xff\xfe\0\0", b"\0" * 70_000, b"B 1\x1b[31m 1 0 0"]
)
def test_binary_is_refused_at_its_first_line(binary: bytes) -> None:
    fails(binary, 1, "expected", "found bytes that are no text")


@pytest.mark.parametrize(
    ("magic", "tool"),
    [
        (b"\x1f\x8b\x08", "gzip"),
        (b"\xfd7zXZ\0", "xz"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"BZh91AY", "bzip2"),
    ],
)
def test_compressed_text_is_known(magic: bytes, tool: str) -> None:
    fails(magic + b"\n", 1, f"compressed by {tool}; give its text: {tool} -dc FILE")
    fails(b"B 1 1 0 0\n" + magic + b"\n", 2, "expected 'B index")


def test_an_excerpt_is_short_and_printable() -> None:
    _, error = read(b"X" + b"y" * 1000 + b"\n")
    assert error is not None
    assert str(error).isprintable()
    assert str(error).endswith("…")
    assert len(str(error)) < 200


class CountingStream(io.RawIOBase):
    """Endless text without a line end, and how much of it was read."""

    def __init__(self) -> None:
        self.read_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        view[:] = b"#" * len(view)
        self.read_bytes += len(view)
        return len(view)


def test_an_endless_line_is_given_up() -> None:
    stream = CountingStream()
    with pytest.raises(ReplayError, match=r"^line 1: expected a line of less than") as caught:
        list(read_blocks(io.BufferedReader(stream)))
    assert len(str(caught.value)) < 200
    assert stream.read_bytes <= 2 * MAX_LINE_BYTES


def test_overlong_lines_anywhere() -> None:
    fits = b"#" + b"x" * (MAX_LINE_BYTES - 3)
    assert read(fits + b"\nB 1 1 0 0\n")[1] is None
    assert read(b"B 1 1 0 0\n" + fits)[1] is None
    fails(fits + b"xx\nB 1 1 0 0\n", 1)
    fails(b"B 1 1 0 0\n" + fits + b"x" * 200_000, 2)
    fails(b"B 1 1 1 0\nS " + b"a" * 200_000 + b"\n", 2)
    fails(b"B 1 1 0 0" + b" " * 200_000 + b"\n", 1)


# Any damage


@pytest.mark.parametrize("text", [SMALL, text_of(sample_chain(4).blocks)], ids=["small", "chain"])
def test_truncated_at_every_byte(text: bytes) -> None:
    for length in range(len(text) + 1):
        check_like_the_specification(text[:length])


BAD_BYTES = b'\0\t\n\v\f\r "#+-019_aBCSgx\x7f\x80\xa0\xff'


@pytest.mark.parametrize("bad", BAD_BYTES)
def test_every_byte_replaced(bad: int) -> None:
    for place in range(len(SMALL)):
        check_like_the_specification(SMALL[:place] + bytes([bad]) + SMALL[place + 1 :])


def test_every_byte_left_out_or_doubled() -> None:
    for place in range(len(SMALL)):
        check_like_the_specification(SMALL[:place] + SMALL[place + 1 :])
        check_like_the_specification(SMALL[:place] + SMALL[place:][:1] + SMALL[place:])


@settings(CALM, max_examples=150)
@given(valid_chains(6), st.data())
def test_any_edit(chain: Chain, data: st.DataObject) -> None:
    text = text_of(chain.blocks)
    for _ in range(data.draw(st.integers(1, 3))):
        start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
        insert = data.draw(
            st.sampled_from([text[start:end], b"", b"\n", b" "]) | st.binary(max_size=4)
        )
        text = text[:start] + insert + text[end if data.draw(st.booleans()) else start :]
    check_like_the_specification(text)


@settings(CALM)
@given(st.binary(max_size=200))
def test_any_bytes(text: bytes) -> None:
    check_like_the_specification(text)


def test_blocks_come_before_the_error_does() -> None:
    blocks = read_blocks(io.BytesIO(b"B 1 1 0 0\nB 2 1 0 0\nX\n"))
    assert [block.index for block in islice(blocks, 2)] == [1, 2]
    with pytest.raises(ReplayError):
        next(blocks)


# max_blocks


@pytest.mark.parametrize(
    ("max_blocks", "indices"),
    [(0, []), (3, []), (4, [3]), (8, [3]), (9, [3, 8]), (2**32, [3, 8, 20]), (None, [3, 8, 20])],
)
def test_max_blocks_bounds_the_index(max_blocks: int | None, indices: list[int]) -> None:
    text = b"B 3 1 0 0\nB 8 1 0 0\nB 20 1 0 0\n"
    found = read_blocks(io.BytesIO(text), max_blocks=max_blocks)
    assert [block.index for block in found] == indices


def test_nothing_is_read_beyond_max_blocks() -> None:
    text = b"B 3 1 0 0\nB 8 1 7 0\nno replay any more\n"
    assert [block.index for block in read_blocks(io.BytesIO(text), max_blocks=8)] == [3]


# Memory


def many_blocks(n: int) -> Iterator[bytes]:
    for i in range(n):
        yield block_text(BlockSpendInfo(i, 0, [hash_of(i)], [reward(i)]))


def test_memory_holds_one_block_at_a_time() -> None:
    text = b"".join(many_blocks(4_000))
    tracemalloc.start()
    try:
        count = sum(1 for _ in read_blocks(io.BytesIO(text)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 4_000
    assert peak < 500_000  # with all blocks kept it is over 3 MB


def test_a_block_of_100_000_coins() -> None:
    n = 100_000
    lines = (b"C %064x %064x %d\n" % (i, i % 7, i) for i in range(n))
    text = b"B 1 1 0 %d\n" % n + b"".join(lines)
    (block,) = read_blocks(io.BytesIO(text))
    assert len(block.confirms) == n
    assert block_text(block) == text
    fails(text[:-1] + b"x\n", n + 1, f"confirm {n} of {n} of block 1")
