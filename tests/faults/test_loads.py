"""Scripts in the shape of loads: what is in them, and how refusals are held to the model's."""

from itertools import pairwise
from pathlib import Path

import pytest

from cdb.contents.state import summarize
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.packed import PackedBlocks
from cdb.errors import BlockError
from cdb.schemas.memory import MemorySchema
from cdb.testing.faults.script import FIRST_LOAD, SEEDS_PER_LOAD, is_load, script_of
from cdb.testing.faults.script_run import run
from cdb.testing.faults.steps import Accept, Close, Flush, Rewind, Script, Step

SEEDS = range(FIRST_LOAD, FIRST_LOAD + 4 * SEEDS_PER_LOAD, SEEDS_PER_LOAD)
LARGE_BYTES = 1 << 16
LEAST_COIN_BYTES = 68


def calls_of(script: Script) -> list[list[Step]]:
    calls: list[list[Step]] = []
    done = 0
    while done < len(script.steps):
        calls.append(list(script.call_behind(done)))
        done += len(calls[-1])
    return calls


def is_large(call: list[Step]) -> bool:
    coins = sum(len(step.block.confirms) for step in call if isinstance(step, Accept))
    return len(call) > 1 and coins * LEAST_COIN_BYTES > LARGE_BYTES


@pytest.mark.parametrize("seed", SEEDS)
def test_a_load_has_what_small_scripts_lack(seed: int) -> None:
    script = script_of(seed)
    after_large = [then[0] for call, then in pairwise(calls_of(script)) if is_large(call)]
    assert any(isinstance(step, Close) for step in after_large)
    assert any(isinstance(step, Flush) for step in after_large)
    assert any(isinstance(step, Rewind) for step in script.steps)
    refused = [step for step in script.steps if isinstance(step, Accept) and step.refusal]
    assert {step.pack is None for step in refused} == {False, True}


def test_one_seed_in_four_gives_a_load_and_each_always_the_same() -> None:
    assert [seed for seed in range(12) if is_load(seed)] == [3, 7, 11]
    script_of.cache_clear()
    before = script_of(FIRST_LOAD).steps
    script_of.cache_clear()
    assert script_of(FIRST_LOAD).steps == before


class Deferring(MemorySchema):
    """Tells a pack's refusal with the next call. silent: never."""

    silent = False

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._owed: BlockError | None = None

    def accept_packed(self, packed: PackedBlocks) -> None:
        """Take blocks up to a bad one; when one was met before, none."""
        try:
            for place in range(0 if self._owed else len(packed)):
                super().accept_block(packed.block(place))
        except BlockError as error:
            self._owed = error

    def accept_block(self, block_spend_info: BlockSpendInfo) -> None:
        """See Schema."""
        self._tell()
        super().accept_block(block_spend_info)

    def flush(self) -> None:
        """See Schema."""
        self._tell()
        super().flush()

    def rewind_to_block_index(self, block_index: int) -> None:
        """See Schema."""
        self._tell()
        super().rewind_to_block_index(block_index)

    def close(self) -> None:
        """See Schema."""
        try:
            self._tell()
        finally:
            super().close()

    def _tell(self) -> None:
        owed, self._owed = self._owed, None
        if owed is not None and not self.silent:
            raise owed


class Silent(Deferring):
    """Drops what it refuses."""

    silent = True


class Careless(Deferring):
    """Names another coin."""

    def _tell(self) -> None:
        if self._owed is not None:
            self._owed = type(self._owed)("wrong", self._owed.block_index)
        super()._tell()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_refusal_may_come_with_a_later_call(tmp_path: Path, seed: int) -> None:
    script = script_of(seed)
    kept: list[int] = []

    def tell(word: str, step: int) -> None:
        if word == "kept":
            kept.append(step)

    run(script, 0, lambda: Deferring(tmp_path / "db"), tell)
    assert kept == [n for n, step in enumerate(script.steps, 1) if not isinstance(step, Accept)]
    with MemorySchema(tmp_path / "db") as schema:
        assert summarize(schema).digest == script.states[-1]


@pytest.mark.parametrize(
    ("broken", "problem"), [(Silent, "was not raised"), (Careless, "and owes")]
)
def test_a_refusal_that_does_not_come_or_names_another_coin_is_found(
    tmp_path: Path, broken: type[Deferring], problem: str
) -> None:
    with pytest.raises(AssertionError, match=problem):
        run(script_of(FIRST_LOAD), 0, lambda: broken(tmp_path / "db"))
