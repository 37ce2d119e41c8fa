"""What breaks the contract has no figures: a wrong answer is found by the workload that gets it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from cdb.bench.answers import WrongAnswerError
from cdb.bench.comparison import FLOOR, compare
from cdb.bench.lookups import cold_lookups, warm_lookups
from cdb.bench.objects import accept_objects
from cdb.bench.opening import open_again
from cdb.bench.plan import Plan
from cdb.bench.rewind import rewind
from cdb.bench.tip import tip
from cdb.blocks import BlockSpendInfo
from cdb.durability import Durability
from cdb.schemas.memory import MemorySchema
from tests.bench.conftest import Replay
from tests.conftest import load_all

POWER = Durability.POWER.value


@pytest.mark.parametrize(
    ("schema", "workload", "problem"),
    [
        ("MissesACoin", "warm", "a wrong answer"),
        ("MissesACoin", "cold", "a wrong answer"),
        ("MissesACoin", "open", "a wrong answer"),
        ("KnowsTooMuch", "warm", "does not exist"),
        ("StaysWhereItIs", "rewind", "the newest block is"),
        ("RewindsTooFar", "rewind", "the newest block is"),
        ("KeepsCoins", "rewind", "left a coin"),
        ("KeepsSpends", "rewind", "left a spend"),
        ("LosesSpends", "rewind", "spend of an accepted block"),
        ("LosesSpends", "objects", "spend of an accepted block"),
        ("LosesSpends", "tip", "spend of an accepted block"),
        ("MissesACoin", "tip", "coin of an accepted block"),
    ],
)
def test_a_wrong_answer_is_found(
    schema: str,
    workload: str,
    problem: str,
    small: Replay,
    blocks: tuple[BlockSpendInfo, ...],
    tmp_path: Path,
) -> None:
    path, spec = str(tmp_path / "db"), f"tests.bench.broken:{schema}"
    with MemorySchema(path) as right:
        load_all(right, blocks)
    truth = small.truth
    database = (spec, path, POWER, small.directory)
    newest, base, back = truth.newest_index, truth.tail_base_index, truth.rewind_index
    run: dict[str, Callable[[], object]] = {
        "warm": partial(warm_lookups, *database),
        "cold": partial(cold_lookups, *database),
        "open": partial(open_again, *database, newest),
        "rewind": partial(rewind, *database, back, newest),
        "objects": partial(accept_objects, *database, base, newest),
        "tip": partial(tip, *database, base),
    }
    with pytest.raises(WrongAnswerError, match=problem):
        run[workload]()


def test_a_comparison_goes_on_without_those_that_fail(small: Replay, tmp_path: Path) -> None:
    directory = tmp_path / "bench"
    directory.mkdir()
    failing = [f"tests.bench.broken:{name}" for name in ("LosesSpends", "Buggy")]
    notes: list[str] = []
    result = compare(
        Plan(
            replay=Path(small.path),
            directory=directory,
            runs=2,
            flush_coins=1_000,
            durability=Durability.POWER,
            schemas=(failing[0], "memory", failing[1], "null", "tests.bench.broken:KeepsSpends"),
        ),
        notes.append,
    )
    loads, afterwards = result.loads, result.afterwards
    lost, buggy = (loads[name] for name in failing)
    assert lost.error is not None
    assert lost.error.startswith("its digest is ")
    assert lost.error.endswith(small.truth.digest)
    assert buggy.error == "KeyError: 'flush'"
    assert loads["memory"].complete
    assert loads["null"].complete
    assert loads[FLOOR].complete
    assert len(loads["memory"].runs) == 2
    assert list(afterwards) == ["memory", "tests.bench.broken:KeepsSpends"]
    assert all(samples.error is None for samples in afterwards["memory"].values())
    keeps = afterwards["tests.bench.broken:KeepsSpends"]
    assert keeps["warm"].complete
    assert keeps["rewind"].error == "a rewind left a spend"
    assert keeps["tip"].not_measured == "an earlier workload failed"
    left = {path.name for path in directory.iterdir()}
    assert left == {
        "truth",
        *(f"of-{name.replace(':', '-')}" for name in loads if "floor" not in name),
    }
    assert sum(note.startswith("load ") for note in notes) == 2 * 7
