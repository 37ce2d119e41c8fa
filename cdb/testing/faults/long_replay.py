"""A long replay, loaded from its text and dumped again: every schema ends in the model's state."""

from io import BytesIO
from pathlib import Path
from random import Random

from cdb.contents.loader import Loader
from cdb.contents.state import summarize, verify
from cdb.contract.schema import Schema
from cdb.schemas.memory import MemorySchema
from cdb.testing.chains import random_chain
from cdb.testing.faults.coverage import Coverage
from cdb.testing.faults.oracle import BrokenPromiseError, Case, error_text
from cdb.testing.faults.trial import DATABASE, length, usable
from cdb.text.replay import block_text
from cdb.text.scanner import scan_packed

TRIAL = "replay"
BLOCKS = 5000
FLUSH_COINS = 1000


def long_replay(
    spec: str, seed: int, directory: Path, *, most: int | None = None, only: str | None = None
) -> Coverage:
    """Load and dump. See Trial; its points are the blocks, and only is the number of fewer ones."""
    info = usable(spec)
    n_blocks = length(most, only, BLOCKS)
    chain = random_chain(Random(seed), n_blocks)  # noqa: S311 - reproducible, not secret
    text = b"".join(map(block_text, chain.blocks))
    model = MemorySchema()
    _load(model, text)
    case = Case(TRIAL, spec, seed, str(n_blocks))
    try:
        with info.open(directory / DATABASE) as schema:
            _load(schema, text)
        with info.open(directory / DATABASE) as schema:
            digest = verify(schema).digest
            dumped = b"".join(map(block_text, schema.blocks()))
    except Exception as error:
        raise BrokenPromiseError(case, error_text(error)) from error
    if digest != summarize(model).digest:
        raise BrokenPromiseError(case, "its digest is not the reference model's")
    if dumped != text:
        raise BrokenPromiseError(case, "what it dumps is not what was loaded")
    return Coverage(TRIAL, spec, seed, n_blocks, max(n_blocks, BLOCKS), 2)


def _load(schema: Schema, text: bytes) -> None:
    for _ in Loader(schema, flush_coins=FLUSH_COINS).load(scan_packed(BytesIO(text))):
        pass
