"""bench pairs runs an option beside its default, and says what came of it."""

import pytest

from cdb.bench.pairs import COMMON, MEASURED_AT, SCAN
from cdb.schemas import find_schema
from tests.conftest import Commands

missing = find_schema("interval@rocksdb").missing


def test_an_unknown_option_is_refused(run_command: Commands) -> None:
    problem = run_command("bench_pairs", "no_such").usage_error()
    assert "no option 'no_such'; there is " in problem
    assert "payload" in problem
    problem = run_command("bench_pairs", "compression").usage_error()
    assert f"is no longer there; commit {MEASURED_AT} has it" in problem


@pytest.mark.long  # of the lab, not of what it looks at
@pytest.mark.skipif(missing is not None, reason=str(missing))
def test_a_table_for_each_pair(run_command: Commands) -> None:
    line = ["payload", "--coins", 300, "--runs", 1, "--dir", ".", "--results", "results"]
    told = run_command("bench_pairs", *line).fine().out.decode().splitlines()
    assert told[0] == "interval@rocksdb with payload=inline, rounds: 1"
    assert told[1].split() == ["figure", "times", "as", "good"]
    assert [each.rsplit("  ", 1)[0].strip() for each in told[2:]] == [
        measure.label for measure in (*COMMON, SCAN)
    ]
