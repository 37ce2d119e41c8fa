"""Options beside their defaults: factors of one round, and when they say nothing."""

from cdb.bench.pairs import PAIRS, Pair, Verdict, contestants, pairs_in
from cdb.bench.results import Document
from cdb.report.options import Judged, options_block
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


def judged(load: list[tuple[float, float]], warm: list[tuple[float, float]]) -> list[Verdict]:
    """load, warm: of each round the base's figure and the other one's."""
    runs = [
        run(name, number, load[number][which], warm[number][which])
        for number in range(len(load))
        for which, name in enumerate((PAIR.base, PAIR.other))
    ]
    ((pair, found),) = pairs_in(runs)
    assert pair is PAIR
    return found


def told(verdicts: list[Verdict]) -> dict[str, str]:
    return {each.measure.label: each.text for each in verdicts}


def test_a_factor_is_of_one_round_and_more_is_better() -> None:
    found = told(judged([(1, 2), (10, 40), (100, 300)], [(10, 20), (10, 30), (10, 40)]))
    assert found["load"] == "0.33 (0.25–0.50)"
    assert found["look-ups, warm, one by one"] == "3.00 (2.00–4.00)"
    assert found["size"] == "no difference"
    assert found["look-ups, cold, one by one"] == "not measured"


def test_there_is_no_difference_where_rounds_disagree() -> None:
    found = told(judged([(1, 2)] * 4 + [(2, 1)], [(10, 20)] * 5))
    assert found["load"] == "no difference"
    assert found["look-ups, warm, one by one"] == "2.00 (2.00–2.00)"


def test_what_pays_and_what_it_costs_is_said() -> None:
    def verdict(load: tuple[float, float], warm: tuple[float, float]) -> str:
        return Judged(PAIR, judged([load] * 5, [warm] * 5), "here", "1 coin", 5).verdict

    assert verdict((1, 1), (10, 10)) == "no difference"
    assert verdict((1, 1), (10, 20)).startswith("pays: look-ups, warm, one by one")
    assert verdict((1, 2), (10, 10)).startswith("does not pay: costs load")
    assert "costs load" in verdict((1, 2), (10, 20))
    assert verdict((100, 101), (100, 101)) == "no difference"  # a percent decides nothing


def test_the_section_counts_them() -> None:
    paying = Judged(PAIR, judged([(1, 1)] * 5, [(10, 20)] * 5), "here", "1 coin", 5)
    block = options_block([paying])
    assert "Of 1 options" in block.finding
    assert "1 only gain" in block.finding
    assert "cdb bench pairs" in options_block([]).finding


def test_every_pair_is_of_schemas_that_there_are() -> None:
    for name in contestants(PAIRS):
        assert find_schema(name).name


def test_a_base_of_several_options_runs_once_a_round() -> None:
    pairs = [Pair("interval@rocksdb", f"cache_mb={n}") for n in (1, 2)]
    assert list(contestants(pairs)) == [
        "interval@rocksdb",
        "interval@rocksdb,cache_mb=1",
        "interval@rocksdb,cache_mb=2",
    ]
