"""Does the steps of a script to a schema, and holds its refusals against those that must come."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from cdb.contents.loader import accept
from cdb.contract.packed import PackedBlocks
from cdb.contract.schema import Schema, offer_of
from cdb.errors import BlockError, CdbError
from cdb.testing.faults.steps import Accept, Close, Flush, Rewind, Script, Settle, Step
from cdb.testing.side_by_side import Refusal, refusal_in, settle


@dataclass(frozen=True)
class _Owed:
    """A refusal that must come. resume: how many steps are done once it has."""

    refusal: Refusal
    resume: int


def run(
    script: Script,
    first: int,
    open_schema: Callable[[], Schema],
    tell: Callable[[str, int], None] = lambda word, step: None,
) -> None:
    """Do the steps behind the first ones, which are done already.

    A pack's refusal may come with a later call, whose own work, and that of the calls between, is
    then done again.

    tell: is told ("begun", n) before step n, and ("kept", n) when all up to it must survive.
    """
    schema: Schema | None = None
    owed: _Owed | None = None
    done = first
    try:
        while done < len(script.steps):
            call = script.call_behind(done)
            end = done + len(call)
            tell("begun", end)
            schema = schema or open_schema()
            owed = owed or _owed_by(call, end)
            try:
                _do(schema, call)
            except BlockError as error:
                came = refusal_in(error)
                if owed is None or came != owed.refusal:
                    raise AssertionError(f"it refuses with {came}, and owes {owed}") from error
                done, owed = owed.resume, None
                schema = None if isinstance(call[0], Close) else schema
                continue
            if isinstance(call[0], Close):
                schema = None
            may_defer = isinstance(call[0], Accept) and call[0].pack is not None
            assert owed is None or may_defer, f"{owed.refusal} was not raised"
            if not isinstance(call[0], Accept):
                tell("kept", end)
            done = end
    except BaseException:
        # The first error counts, whatever closing makes of it.
        if schema is not None:
            with suppress(CdbError):
                schema.close()
        raise


def _owed_by(call: Sequence[Step], end: int) -> _Owed | None:
    """The refusal that a call must come to, at once or later."""
    for step in call:
        if isinstance(step, Accept) and step.refusal is not None:
            return _Owed(step.refusal, end)
    return None


def _do(schema: Schema, call: Sequence[Step]) -> None:
    match call[0]:
        case Accept(block, pack=None):
            schema.accept_block(block)
        case Accept():
            blocks = [step.block for step in call if isinstance(step, Accept)]
            accept(schema, PackedBlocks.of(blocks))
        case Flush(in_steps):
            beside = offer_of(schema).flushes_beside if in_steps else None
            if beside is None:
                schema.flush()
            else:
                beside.begin_flush()
                beside.end_flush()
        case Settle():
            settle(schema)
        case Rewind(index):
            schema.rewind_to_block_index(index)
        case Close():
            schema.close()
