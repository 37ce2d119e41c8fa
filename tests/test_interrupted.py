"""What a signal handler or a finalizer can do in the middle of a call of its own thread: nothing.

Python runs them between any two steps of a call. Here they come at each line of it.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from cdb.engines import shared
from cdb.errors import UnsupportedError
from cdb.packed import PackedBlocks
from cdb.schemas import Schema
from cdb.schemas.registry import SchemaInfo
from cdb.testing.base import accept_all
from cdb.testing.chains import sample_chain

BLOCKS = sample_chain(14).blocks
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
        if frame.f_code.co_filename == shared.__file__ and frame.f_code.co_name == "call":
            return True
        frame = frame.f_back
    return False


@contextmanager
def interrupted(handler: Callable[[], None]) -> Iterator[None]:
    """Call the handler at each line of whole calls, but for the lines that make them whole."""

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename == shared.__file__:
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
    def accept_the_rest() -> None:
        accept = getattr(schema, "accept_packed", None)
        for block in BLOCKS[9:]:
            schema.accept_block(block) if accept is None else accept(PackedBlocks.of([block]))

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
            assert list(schema.blocks()) == BLOCKS
        before = times
        with interrupted(handler):
            call()
        assert times > before, call
