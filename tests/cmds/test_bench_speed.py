"""bench speed prints each figure, or why there is none."""

import pytest

from cdb.bench.speed import FIGURES, FLOOR, LOG, SELDOM, lines
from cdb.cmds.bench_speed import HEADER
from tests.conftest import Commands

pytestmark = pytest.mark.long  # of the lab, not of what it looks at


def test_the_table(run_command: Commands) -> None:
    line = ["--coins", 300, "--runs", 1, "--quick", "--dir", "."]
    result = run_command("bench_speed", *line).fine()
    title, header, *told = result.out.decode().splitlines()
    assert title == "300 coins, rounds: 1"
    assert header.split() == HEADER
    assert [line.split("  ")[0] for line in told] == list(FIGURES)
    missing = [line for line in told if "not measured" in line]
    assert all("in memory for" in line or "@" in line for line in missing)
    assert "too few for Python alone" in result.err


def test_a_ratio_is_of_one_round() -> None:
    def run(name: str, number: int, seconds: float) -> dict[str, object]:
        figures = {"wall_seconds": seconds}
        case = {"workload": "load", "parameters": {}, "figures": figures, "reason": None}
        data = {"coins": 1_000}
        return {"run": number, "contestant": {"name": name}, "data": data, "cases": [case]}

    seconds = {FLOOR: (1, 10, 100), LOG: (3, 20, 150)}
    runs = [run(name, n, each) for name, all_of in seconds.items() for n, each in enumerate(all_of)]
    told = {line.label: line for line in lines(runs)}
    line = told["load / floor, flush each 50,000"]
    assert line.texts() == ["load / floor, flush each 50,000", "2", "1.5", "3"]
    none = told[f"load / floor{SELDOM}"]
    assert none.reason == "the contestant was not measured"
    assert none.texts()[1:] == ["not measured", "", ""]
