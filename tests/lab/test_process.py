"""A workload runs in a process of its own, and its end is told as it was."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cdb.lab.process import (
    KilledError,
    NotMeasuredError,
    WorkloadError,
    WrongAnswerError,
    fresh,
)
from tests.lab import workloads
from tests.lab.processes import is_running, soon


def test_each_run_has_a_process() -> None:
    first, second = (fresh(workloads.answer, "x") for _ in range(2))
    assert len({os.getpid(), first.pid, second.pid}) == 3
    assert first.text == second.text == "x"


def test_what_a_schema_prints_is_no_answer(capfd: pytest.CaptureFixture[str]) -> None:
    assert fresh(workloads.answer, "y", loud=True).text == "y"
    assert capfd.readouterr() == ("", "this is no answer\n")


@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [
        ("wrong", WrongAnswerError, "^a coin is missing$"),
        ("error", WorkloadError, "^block 7 is bad$"),
        ("bug", WorkloadError, "^KeyError: 'spends'$"),
        ("exit", WorkloadError, "exit code 3"),
        ("no answer", WorkloadError, "exit code 0"),
        ("kill", KilledError, "killed by signal 9"),
        ("not measured", NotMeasuredError, "^no such disk$"),
    ],
)
def test_failures(kind: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fresh(workloads.fail, kind)


def test_what_a_workload_has_started_ends_with_it(tmp_path: Path) -> None:
    told = tmp_path / "told"
    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(fresh, workloads.start_sleeper, str(told))
        assert soon(lambda: told.exists() and told.read_text("ascii").count(" ") == 1)
        sleeper, parent = map(int, told.read_text("ascii").split())
        os.kill(parent, signal.SIGKILL)
        with pytest.raises(KilledError):
            ended.result()
    assert soon(lambda: not is_running(sleeper))
