"""What the bench commands share: what they write down of themselves, and what they refuse early."""

from pathlib import Path

import pytest

from cdb.cmds.bench_options import command_line
from tests.conftest import Commands


@pytest.mark.parametrize(
    ("arguments", "repeated"),
    [
        ("/bin/cdb bench run memory --quick", "memory --quick"),
        ("cdb --no-color Bench RUN run --runs 2", "run --runs 2"),
        ("/x/bench_run.py memory --dir=/home/me --restart", "memory"),
        ("bench_run --dir /home/me --results /home/me/r memory --results=here", "memory"),
        ("bench_run --dir --dir --quick", "--quick"),
    ],
)
def test_a_result_says_what_measures_it_again_and_no_directory(
    arguments: str, repeated: str
) -> None:
    assert command_line(arguments.split(), "run") == f"cdb bench run {repeated}"


@pytest.mark.parametrize("command", ["run", "engines"])
def test_a_place_that_takes_no_results_is_told_before_anything_is_measured(
    command: str, run_command: Commands
) -> None:
    Path(run_command.cwd / "file").write_text("")
    for place in ("file/results", "/proc/results"):
        result = run_command("bench", command, "--quick", "--results", place)
        assert result.code == 1
        assert result.err.startswith(f"error: {place}: "), result.err
        assert result.err.count("\n") == 1
