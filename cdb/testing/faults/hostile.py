"""Replay text with one byte cut off or changed, loaded: an error at its line, and whole blocks.

What must be loaded, and which error must come, say the careful reader and the reference model.
"""

from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from random import Random

from cdb.contents.loader import Loader
from cdb.contents.state import summarize, verify
from cdb.contract.packed import PackedBlocks
from cdb.contract.schema import Schema
from cdb.errors import BlockError, ReplayError
from cdb.schemas.memory import MemorySchema
from cdb.testing.chains import random_chain
from cdb.testing.faults.coverage import Coverage
from cdb.testing.faults.oracle import BrokenPromiseError, Case, error_text
from cdb.testing.faults.trial import DATABASE, usable
from cdb.text.replay import block_text, read_blocks
from cdb.text.scanner import scan_packed

TRIAL = "hostile"
BLOCKS = 6
EDITS = 1000
BAD_BYTES = b'\0\t\n\r "#+-09_BCSg\x7f\xff'


def hostile(
    spec: str, seed: int, directory: Path, *, most: int | None = None, only: str | None = None
) -> Coverage:
    """Load edited texts one after the other, with a rewind between. See Trial; most: EDITS if None.

    A point is PLACE, where the text ends, or PLACE:BYTE, which is put there.
    """
    info = usable(spec)
    random = Random(seed)  # noqa: S311 - reproducible, not secret
    text = b"".join(map(block_text, random_chain(random, BLOCKS).blocks))
    points = [str(place) for place in range(len(text))]
    points += [f"{place}:{byte}" for place in range(len(text)) for byte in BAD_BYTES]
    chosen = random.sample(points, min(most or EDITS, len(points)))
    if only is not None:
        chosen = [point for point in points if point == only]
    path = directory / DATABASE
    for point in chosen:
        edited = _edited(text, point)
        case = Case(TRIAL, spec, seed, point)
        try:
            with info.open(path) as schema:
                schema.rewind_to_block_index(-1)
                error = _load(schema, scan_packed(BytesIO(edited)))
            with info.open(path) as schema:
                digest = verify(schema).digest
        except Exception as unexpected:
            problem = error_text(unexpected)
            raise BrokenPromiseError(case, problem) from unexpected
        expected = MemorySchema()
        packs = (PackedBlocks.of([block]) for block in read_blocks(BytesIO(edited)))
        expected_error = _load(expected, packs)
        if error != expected_error:
            raise BrokenPromiseError(case, f"it says '{error}', and should '{expected_error}'")
        if digest != summarize(expected).digest:
            raise BrokenPromiseError(case, "it holds other blocks than those before the error")
    return Coverage(TRIAL, spec, seed, len(chosen), len(points), 2 * len(chosen))


def _load(schema: Schema, packs: Iterable[PackedBlocks]) -> str | None:
    """Load as the commands do. Returns the error that ended it."""
    loader = Loader(schema)
    try:
        for _ in loader.load(packs):
            pass
    except (ReplayError, BlockError) as error:
        loader.flush()
        return error_text(error)
    return None


def _edited(text: bytes, point: str) -> bytes:
    place, _, byte = point.partition(":")
    if not byte:
        return text[: int(place)]
    return text[: int(place)] + bytes([int(byte)]) + text[int(place) + 1 :]
