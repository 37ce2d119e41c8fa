"""Options beside their defaults: factors of one round, and when they say nothing."""

from collections.abc import Sequence

import pytest

from cdb.bench.pairs import OPTION, PAIRS, Pair, Verdict, contestants, pairs_in
from cdb.bench.results import Document
from cdb.errors import UnknownSchemaError
from cdb.report.build import judged_of
from cdb.report.options import Judged, options_block
from cdb.report.parts import Fold, Items, Table
from cdb.schemas import find_schema

PAIR = PAIRS[0]


def run(name: str, number: int, load_seconds: float, warm: float) -> Document:
    asked = {"form": "packed", "names": "existing", "batch": 1, "threads": 1, "cache": "warm"}
    cases = [
        {
            "workload": "load",
            "parameters": {},
            "figures": {"wall_seconds": load_seconds, "size_bytes": 100},
            "reason": None,
        },
        {
            "workload": "read_random",
            "parameters": asked,
            "figures": {"names_per_second": warm},
            "reason": None,
        },
    ]
    return {"run": number, "contestant": {"name": name}, "cases": cases}


def judged(
    load: Sequence[tuple[float, float]], warm: Sequence[tuple[float, float]]
) -> list[Verdict]:
    """load, warm: of each round the base's figure and the other one's."""
    runs = [
        run(name, number, load[number][which], warm[number][which])
        for number in range(len(load))
        for which, name in enumerate((PAIR.base, PAIR.other))
    ]
    ((pair, found),) = pairs_in(runs)
    assert pair is PAIR
    return found


def told(verdicts: Sequence[Verdict]) -> dict[str, str]:
    return {each.measure.label: each.text for each in verdicts}


def test_a_factor_is_of_one_round_and_more_is_better() -> None:
    loads = [(1, 2), (10, 40), (100, 300), (1, 3), (1, 3)]
    found = told(judged(loads, [(10, 10 * n) for n in (2, 3, 3, 3, 4)]))
    assert found["load"] == "0.33 (0.25–0.50)"
    assert found["look-ups, warm, one by one"] == "3.00 (2.00–4.00)"
    assert found["size"] == "no difference (1.00–1.00)"
    assert found["look-ups, cold, one by one"] == "the contestant was not measured"


def test_there_is_no_difference_where_rounds_disagree() -> None:
    found = told(judged([(1, 2)] * 4 + [(2, 1)], [(10, 20)] * 5))
    assert found["load"] == "no difference (0.50–2.00)"
    assert found["look-ups, warm, one by one"] == "2.00 (2.00–2.00)"


def test_of_few_rounds_nothing_is_judged() -> None:
    found = judged([(1, 2)] * 4, [(10, 20)] * 4)
    assert told(found)["load"] == "0.50 (0.50–0.50), of 4 rounds alone"
    few = Judged(PAIR, found, "here", "1 coin")
    assert few.verdict == "not measured"
    assert options_block([few]).finding.startswith("Of 0 options")


def verdict(load: tuple[float, float], warm: tuple[float, float]) -> str:
    return Judged(PAIR, judged([load] * 5, [warm] * 5), "here", "1 coin").verdict


def test_what_pays_and_what_it_costs_is_said() -> None:
    assert verdict((1, 1), (10, 10)) == "no difference"
    assert verdict((1, 1), (10, 20)).startswith("pays: look-ups, warm, one by one")
    assert verdict((1, 2), (10, 10)).startswith("does not pay: costs load")
    assert "costs load" in verdict((1, 2), (10, 20))
    assert verdict((100, 101), (100, 101)) == "no difference"  # a percent decides nothing


def test_a_gain_that_is_small_in_one_round_decides_nothing() -> None:
    found = judged([(1, 1)] * 5, [(100, 200)] * 4 + [(100, 101)])
    assert told(found)["look-ups, warm, one by one"] == "2.00 (1.01–2.00)"
    assert Judged(PAIR, found, "here", "1 coin").verdict == "no difference"


def test_the_section_counts_them() -> None:
    paying = Judged(PAIR, judged([(1, 1)] * 5, [(10, 20)] * 5), "here", "1 coin")
    block = options_block([paying])
    assert "Of 1 options" in block.finding
    assert "1 only gain" in block.finding
    (table, paper, fold) = block.parts
    assert isinstance(table, Table)
    assert table.texts() == [[PAIR.other, paying.verdict, PAIR.became]]
    assert isinstance(paper, Items)
    assert isinstance(fold, Fold)
    assert str(fold.parts[0]).startswith("Text(text='here, 1 coin. ")
    assert "one figure in 16, and 3 were judged" in str(fold.parts[0])


def of(name: str, number: int, load_seconds: float, **facts: str) -> Document:
    """A run as a file has it."""
    document = run(name, number, load_seconds, 1)
    return {
        **document,
        "kind": "pairs",
        "matrix": {"id": facts["begun"], "runs": 5},
        "machine": {"name": facts.get("machine", "ours")},
        "data": {"source": "a replay"},
        "begun": facts["begun"],
    }


def matrix(rounds: int, factor: float, **facts: str) -> list[Document]:
    return [
        of(name, number, seconds, **facts)
        for number in range(rounds)
        for name, seconds in ((PAIR.base, factor), (PAIR.other, 1.0))
    ]


def test_a_whole_matrix_comes_before_ours_and_ours_before_a_newer_one() -> None:
    def chosen(*matrices: list[Document]) -> str:
        (found,) = judged_of([run for each in matrices for run in each], ["ours"])
        return told(found.verdicts)["load"]

    whole = matrix(5, 2, begun="1", machine="theirs")
    assert chosen(whole, matrix(1, 3, begun="2")) == "2.00 (2.00–2.00)"
    ours = matrix(5, 4, begun="1")
    assert chosen(ours, matrix(5, 2, begun="2", machine="theirs")) == "4.00 (4.00–4.00)"
    assert chosen(ours, matrix(5, 8, begun="2")) == "8.00 (8.00–8.00)"
    assert chosen(whole, matrix(5, 4, begun="1")) == "4.00 (4.00–4.00)"  # of two machines


def test_what_is_still_an_option_is_one_of_a_schema() -> None:
    kept = [each for each in PAIRS if each.became == OPTION]
    for name in contestants(kept):
        assert find_schema(name).name
    for each in set(PAIRS) - set(kept):
        assert find_schema(each.base).name
        with pytest.raises(UnknownSchemaError, match=f"has no option '{each.name}'"):
            find_schema(each.other)


def test_a_base_of_several_options_runs_once_a_round() -> None:
    pairs = [Pair("interval@rocksdb", f"cache_mb={n}") for n in (1, 2)]
    assert list(contestants(pairs)) == [
        "interval@rocksdb",
        "interval@rocksdb,cache_mb=1",
        "interval@rocksdb,cache_mb=2",
    ]
