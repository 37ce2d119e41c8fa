"""What a signal handler or a finalizer can do in the middle of a call of its own thread: nothing.

Python runs them between any two steps of a call. Here they come at each line of it.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import cdb
from cdb.contents.loader import acceptor
from cdb.contents.state import verify
from cdb.contract.blocks import canonical
from cdb.contract.packed import PackedBlocks
from cdb.disk import sharing
from cdb.disk.sharing import Guard
from cdb.errors import DatabaseClosedError, UnsupportedError
from cdb.extensions.native import NativeEngine
from cdb.schemas import Schema, open_schema
from cdb.schemas.registry import SchemaInfo
from cdb.testing.base import accept_all, expected_state
from cdb.testing.chains import sample_chain

PACKAGE = Path(cdb.__file__).parent
BLOCKS = sample_chain(14).blocks
CANONICAL = list(map(canonical, BLOCKS))
NAMES = [coin.name() for block in BLOCKS for coin in block.confirms]


@pytest.fixture
def schema(own_schema: SchemaInfo, tmp_path: Path) -> Iterator[Schema]:
    if own_schema.missing is not None:
        pytest.skip(own_schema.missing)
    with own_schema.open(tmp_path / "database") as schema:
        accept_all(schema, BLOCKS[:8])
        yield schema


def is_whole(frame: FrameType | None) -> bool:
    """Whether it is in the middle of a whole call."""
    while frame is not None:
        if frame.f_code.co_filename == sharing.__file__ and frame.f_code.co_name == "call":
            return True
        frame = frame.f_back
    return False


@contextmanager
def interrupted(handler: Callable[[], None]) -> Iterator[None]:
    """Call the handler at each line of whole calls, but for the lines that make them whole."""

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        is_guard = frame.f_code.co_qualname.startswith(Guard.__qualname__)
        if frame.f_code.co_filename == sharing.__file__ and not is_guard:
            return trace
        if event == "line" and is_whole(frame.f_back):
            handler()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def test_calls_in_the_middle_of_a_call_are_refused(schema: Schema) -> None:
    accept = acceptor(schema)

    def accept_the_rest() -> None:
        for block in BLOCKS[9:]:
            accept(PackedBlocks.of([block]))

    refused: list[Callable[[], object]] = [
        schema.close,
        schema.flush,
        schema.blocks,
        lambda: schema.rewind_to_block_index(3),
        lambda: schema.accept_block(BLOCKS[8]),
        lambda: schema.coin_infos_for_coin_names(NAMES[:2]),
        lambda: schema.block_info_for_block_index(BLOCKS[3].index),
    ]
    times = 0

    def handler() -> None:
        nonlocal times
        call = refused[times % len(refused)]
        times += 1
        with pytest.raises(UnsupportedError, match="in the middle of a call"):
            call()

    calls: list[Callable[[], object]] = [
        lambda: schema.accept_block(BLOCKS[8]),
        schema.flush,
        accept_the_rest,
        lambda: schema.coin_infos_for_coin_names(NAMES),
        lambda: schema.block_info_for_block_index(BLOCKS[3].index),
        schema.blocks,
        lambda: schema.rewind_to_block_index(BLOCKS[4].index),
        lambda: accept_all(schema, BLOCKS[5:]),
        schema.close,
    ]
    for call in calls:
        if call is schema.close:
            blocks = schema.blocks()
            with interrupted(handler):
                assert list(blocks) == BLOCKS
        before = times
        with interrupted(handler):
            call()
        assert times > before, call


SIGNALS = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH)


class StopError(BaseException):
    """What the handlers raise: no more an Exception than KeyboardInterrupt is, which would be taken
    for an error of what is imported."""


@pytest.fixture
def stopping() -> Iterator[None]:
    """Handlers that raise: one in the call, the others while that unwinds."""

    def stop(number: int, frame: object) -> None:
        raise StopError

    before = [signal.signal(each, stop) for each in SIGNALS]
    try:
        yield
    finally:
        for each, handler in zip(SIGNALS, before, strict=True):
            signal.signal(each, handler)


def at_line(line: int) -> Callable[[], None]:
    """Send the signals at this line of whole calls."""
    lines = 0

    def count() -> None:
        nonlocal lines
        lines += 1
        if lines == line:
            for each in SIGNALS:
                os.kill(os.getpid(), each)

    return count


@pytest.mark.usefixtures("stopping")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("step", ["accept", "rewind"])
def test_no_signals_leave_half_a_block(own_schema: SchemaInfo, tmp_path: Path, step: str) -> None:
    if own_schema.missing is not None:
        pytest.skip(own_schema.missing)
    path = tmp_path / "database"
    with own_schema.open(path) as schema:
        accept_all(schema, BLOCKS[:9])
    for line in range(1, 1000, 23):
        schema = own_schema.open(path)
        try:
            with schema, interrupted(at_line(line)):
                if step == "accept":
                    schema.accept_block(BLOCKS[9])
                else:
                    schema.rewind_to_block_index(BLOCKS[6].index)
            break
        except StopError:
            pass
        schema.close()
        with own_schema.open(path) as schema:
            kept = len(list(schema.blocks()))
            assert kept in ((9, 10) if step == "accept" else (7, 9))
            assert verify(schema) == expected_state(BLOCKS[:kept])
            schema.rewind_to_block_index(BLOCKS[6].index)
            accept_all(schema, BLOCKS[7:9])
    assert line > 1


def stopped_at(line: int) -> Callable[[FrameType, str, object], Any]:
    """A trace that raises StopError at this line of cdb's."""
    lines = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal lines
        if not frame.f_code.co_filename.startswith(str(PACKAGE)):
            return None
        if frame.f_code.co_filename == sharing.__file__:
            return trace  # no signal comes between its lines
        if event == "line":
            lines += 1
            if lines == line:
                sys.settrace(None)
                raise StopError
        return trace

    return trace


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("step", ["open", "close"])
@pytest.mark.parametrize("name", ["blockchain_v2", "sqlite_v3", "flat_file", "memory", "coin_log"])
def test_what_was_interrupted_keeps_no_lock(tmp_path: Path, name: str, step: str) -> None:
    """RocksDB's own lock is a matter of its handle, which another test holds. Of a close each line
    counts."""
    path = tmp_path / "database"
    with open_schema(name, path) as schema:
        accept_all(schema, BLOCKS[:9])
    stride = 1 if step == "close" else 7
    for line in range(1, 2000, stride):
        kept: Schema | None = None
        before = sys.gettrace()
        try:
            if step == "open":
                sys.settrace(stopped_at(line))
                kept = open_schema(name, path)
                sys.settrace(before)
                kept.close()
            else:
                kept = open_schema(name, path)
                kept.accept_block(BLOCKS[9])
                sys.settrace(stopped_at(line))
                kept.close()
                sys.settrace(before)
            break
        except StopError:
            sys.settrace(before)
        if kept is not None:
            kept.close()
        with open_schema(name, path) as schema:
            blocks = list(schema.blocks())
            assert blocks in (CANONICAL[:9], CANONICAL[:10])
            schema.rewind_to_block_index(BLOCKS[8].index)
    assert line > stride


def test_a_write_has_failed_until_it_is_done(tmp_path: Path) -> None:
    """Whatever would say so later may be cut short, too."""
    guard = Guard(tmp_path)
    with guard.write():
        assert guard.failed
        with pytest.raises(DatabaseClosedError, match="was interrupted"):
            guard.check()
    guard.check()
    assert not guard.failed


def test_an_iteration_that_was_interrupted_does_not_end_as_if_it_were_whole() -> None:
    def items() -> Iterator[int]:
        raise StopError
        yield 1

    iteration = sharing._Iteration(Path("there"), items())
    with pytest.raises(StopError):
        next(iteration)
    for _ in range(2):
        with pytest.raises(DatabaseClosedError, match=r"was interrupted .*; begin it again"):
            next(iteration)


def test_an_opening_that_is_interrupted_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_schema: SchemaInfo
) -> None:
    """RocksDB would keep the database locked for as long as the process lives."""
    info = own_schema
    if info.missing is not None:
        pytest.skip(info.missing)
    call = NativeEngine.call

    def interrupted_call(self: NativeEngine, path: Path, function: str, *arguments: Any) -> None:
        call(self, path, function, *arguments)
        if function == "open":
            raise StopError

    with monkeypatch.context() as patched:
        patched.setattr(NativeEngine, "call", interrupted_call)
        try:
            info.open(tmp_path / "database").close()
        except StopError:
            pass
        else:
            pytest.skip("nothing native is opened")
    with info.open(tmp_path / "database") as schema:
        accept_all(schema, BLOCKS)
