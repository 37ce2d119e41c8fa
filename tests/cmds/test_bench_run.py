"""bench run as users type it: what it leaves at its end, after Ctrl-C and kill -9, and goes on."""

import json
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cdb.bench.matrix import cell_of
from cdb.bench.results import Document, read_results
from cdb.cmds.bench_run import INLINE
from cdb.schemas import find_schema
from cdb.schemas.registry import BY_ENGINE, layout_names
from tests.conftest import Commands, contents
from tests.engines import OTHER
from tests.lab.processes import is_running, soon

WAIT_SECONDS = 60
MANY_RUNS_SECONDS = 400  # some fifty runs, where all engines are built
pytestmark = pytest.mark.long  # of the lab, not of what it looks at

OPTIONS = ["--coins", 300, "--quick", "--dir", "here"]
SLEEPY = """
import os, pathlib, time
from cdb.schemas import SchemaSpec
from cdb.schemas.null import NullSchema

class Sleepy(NullSchema):
    '''Sleeps, unless it is awake.'''

    def flush(self):
        if not pathlib.Path("awake").exists():
            pathlib.Path("sleeping").write_text(str(os.getpid()))
            time.sleep(600)

class Later(Sleepy):
    '''Sleeps in its second flush.'''
    flushes = 0

    def flush(self):
        self.flushes += 1
        if self.flushes > 2:
            super().flush()

SCHEMA = SchemaSpec(Sleepy, keeps_contract=False)
SleepsLater = SchemaSpec(Later, keeps_contract=False)
"""
WRONG = """
import os, pathlib, time
from cdb.schemas.memory import MemorySchema

class Wrong(MemorySchema):
    def accept_block(self, block):
        block.spends.pop() if block.spends else None
        super().accept_block(block)

class Stays(MemorySchema):
    def rewind_to_block_index(self, block_index):
        pass

class SleepsWhenLoadedAgain(MemorySchema):
    def flush(self):
        if str(self._path).count("cdb-place-") > 1:
            pathlib.Path("sleeping").write_text(str(os.getpid()))
            time.sleep(600)
        super().flush()

class NeverRewinds(MemorySchema):
    def rewind_to_block_index(self, block_index):
        time.sleep(600)

SCHEMA = Wrong
"""


@pytest.fixture
def bench(run_command: Commands) -> Commands:
    """Commands beside two modules; what they measure goes below `here`."""
    run_command.cwd.joinpath("sleepy.py").write_text(SLEEPY)
    run_command.cwd.joinpath("wrong.py").write_text(WRONG)
    run_command.cwd.joinpath("here").mkdir()
    return run_command


def results(bench: Commands) -> list[Document]:
    """What was written; each file is valid, and there is nothing besides."""
    folder = bench.cwd / "bench-results"
    documents = read_results([folder])
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) == len(documents)
    return documents


def until_it_sleeps(bench: Commands, start: Callable[[], subprocess.Popen[bytes]]) -> Any:
    """A process once its schema sleeps, and the number of the process that does."""
    process = start()
    mark = bench.cwd / "sleeping"
    assert soon(lambda: mark.exists() and mark.read_text() != "")
    return process, int(mark.read_text())


def test_a_run_is_a_file(bench: Commands) -> None:
    result = bench("main", "bench", "run", "memory", *OPTIONS).fine()
    assert result.out == b""
    assert re.search(r"^run 2 of 2, [1-9]\d* s left: ", result.err, re.M)
    floor, memory = results(bench)
    assert floor["contestant"]["name"] == "floor"
    assert {case["workload"] for case in floor["cases"]} == {"load"}
    assert memory["contestant"]["keeps_contract"]
    workloads = {case["workload"] for case in memory["cases"]}
    assert workloads >= {"load", "settle", "read_random", "rewind", "append", "open"}
    outcomes = {case["outcome"] for case in memory["cases"]}
    assert outcomes == {"measured", "not_measured"}
    assert memory["data"]["coins"] == 300
    assert memory["matrix"]["command"] == "cdb bench run memory --coins 300 --quick"
    assert memory["matrix"]["runs"] == memory["run"] == 1
    assert str(bench.cwd) not in json.dumps(memory)
    assert contents(bench.cwd / "here") == {}


def test_some_workloads_alone(bench: Commands) -> None:
    chosen = ["--workload", "rewind", "--workload", "settle"]
    bench("bench_run", "memory", *OPTIONS, *chosen).fine()
    workloads = [case["workload"] for case in results(bench)[-1]["cases"]]
    unsettled = ("read_random", "historical")
    assert list(dict.fromkeys(each for each in workloads if each not in unsettled)) == [
        "load",
        "settle",
        "rewind",
    ]


def test_loads_only(bench: Commands, replay: bytes) -> None:
    bench.cwd.joinpath("replay.txt").write_bytes(replay)
    line = ["memory", "--loads-only", "--input", "replay.txt", "--runs", 2, "--dir", "here"]
    bench("bench_run", *line).fine()
    told = {(each["run"], each["contestant"]["name"]) for each in results(bench)}
    names = ("floor", "memory", "floor, 1 thread")
    assert told == {(number, name) for number in (1, 2) for name in names}
    assert {case["workload"] for each in results(bench) for case in each["cases"]} <= {
        "load",
        *("read_random", "historical"),  # the unsettled ones are of the load
    }
    printed = bench("report", "--format", "terminal").fine().out.decode()
    assert " coins at a glance, 2 runs each. " in printed
    assert re.search(r"^load +wall floor ratio +×1 +×[\d.,]+ +×[\d.,]+$", printed, re.MULTILINE)


def test_the_floor_alone_in_several_sizes(bench: Commands) -> None:
    sizes = ["--coins", 900, "--coins", 300, "--runs", 1, "--dir", "here"]
    bench("main", "bench", "run", "floor", "--loads-only", *sizes).fine()
    names = {each["contestant"]["name"] for each in results(bench)}
    assert names == {"floor", "floor, 1 thread"}
    for each in results(bench):
        figures = each["cases"][0]["figures"]
        assert figures["written_bytes"] == 80 * each["data"]["coins"]
    printed = bench("report", "--format", "terminal").fine().out.decode()
    for coins in ("300", "900"):
        assert re.search(rf"^.+ · FAST · {coins} coins · survives power loss$", printed, re.M)
    assert len(re.findall(r"^load +size a coin +80 B +80 B$", printed, re.MULTILINE)) == 2


@pytest.mark.parametrize("name", ["load", "floor"])
def test_what_a_command_of_before_is_called_now(run_command: Commands, name: str) -> None:
    problem = run_command("main", "bench", name, "memory").usage_error()
    assert f"'{name}' is a part of 'run' now: cdb bench run " in problem


def test_rounds_on_several_profiles(bench: Commands) -> None:
    profiles = ["--profile", "fast", "--profile", "mine:memory=2GB", "--machine", "slow-box"]
    bench("bench_run", "null", *OPTIONS, "--runs", 2, *profiles).fine()
    order = [cell_of(document) for document in results(bench)]
    assert sorted({(cell.profile, cell.run, cell.contestant) for cell in order}) == sorted(
        (profile, run, schema)
        for profile in ("FAST", "mine")
        for run in (1, 2)
        for schema in ("floor", "null")
    )
    assert {each["machine"]["name"] for each in results(bench)} == {"slow-box"}
    assert len({each["matrix"]["id"] for each in results(bench)}) == 1
    assert contents(bench.cwd / "here") == {}


def test_a_finished_matrix_starts_again(bench: Commands) -> None:
    bench("bench_run", "null", *OPTIONS).fine()
    time.sleep(1)  # a matrix is called by the second
    assert "going on" not in bench("bench_run", "null", *OPTIONS).fine().err
    assert len(results(bench)) == 4


def test_after_kill_9_it_goes_on(bench: Commands) -> None:
    line = ["null", "sleepy", *OPTIONS, "--machine", "my box"]
    process, worker = until_it_sleeps(bench, lambda: bench.start("bench_run", *line))
    process.kill()
    process.wait()
    assert soon(lambda: not is_running(worker))
    assert soon(lambda: not any((bench.cwd / "here").iterdir()))
    before = contents(bench.cwd / "bench-results")
    assert [each["contestant"]["name"] for each in results(bench)] == ["floor", "null"]

    bench.cwd.joinpath("awake").touch()
    again = bench("bench_run", *line).fine()
    assert re.match(r"going on with what was begun at \w+: 2 of 3 runs are made\n", again.err)
    assert [each["contestant"]["name"] for each in results(bench)] == ["floor", "null", "sleepy"]
    assert len({each["matrix"]["id"] for each in results(bench)}) == 1
    after = contents(bench.cwd / "bench-results")
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize("other", ["replay", "directory"])
def test_what_was_begun_with_another_replay_or_on_another_disk_does_not_go_on(
    bench: Commands, other: str
) -> None:
    replay = bench.cwd / "replay.txt"
    bench("make_replay", "--coins", 300, "--output", "replay.txt").fine()
    line = ["sleepy", "--loads-only", "--input", "replay.txt", "--dir"]
    process, _ = until_it_sleeps(bench, lambda: bench.start("bench_run", *line, "here"))
    process.kill()
    process.wait()
    bench.cwd.joinpath("awake").touch()
    there = "here"
    if other == "replay":
        replay.unlink()
        bench("make_replay", "--coins", 301, "--output", "replay.txt").fine()
    else:
        there = "there"
        bench.cwd.joinpath(there).mkdir()
    assert "going on" not in bench("bench_run", *line, there).fine().err
    assert len({each["matrix"]["id"] for each in results(bench)}) == 2


def test_a_restart_does_not_go_on(bench: Commands) -> None:
    line = ["sleepy", *OPTIONS]
    process, _ = until_it_sleeps(bench, lambda: bench.start("bench_run", *line))
    process.kill()
    process.wait()
    bench.cwd.joinpath("awake").touch()
    assert "going on" not in bench("bench_run", *line, "--restart").fine().err
    assert len({each["matrix"]["id"] for each in results(bench)}) == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_what_was_made(bench: Commands, number: signal.Signals) -> None:
    process, worker = until_it_sleeps(bench, lambda: bench.start("bench_run", "sleepy", *OPTIONS))
    process.send_signal(number)
    _, err = process.communicate(timeout=WAIT_SECONDS)
    assert process.returncode == 128 + number
    assert b"Traceback" not in err
    assert b"interrupted; 1 of 2 runs are in bench-results/" in err
    assert not is_running(worker)
    assert contents(bench.cwd / "here") == {}
    assert len(results(bench)) == 1


def test_a_load_that_ends_at_the_limit_says_how_far_it_came(bench: Commands) -> None:
    options = ["--coins", 120_000, "--quick", "--dir", "here", "--flush-every", 40_000]
    result = bench("bench_run", "sleepy:SleepsLater", *options, "--time-limit", 0.2).fine()
    assert "\nsleepy: load: ended at the limit of 0.2 minutes\n" in result.err
    _, sleepy = results(bench)
    (case,) = sleepy["cases"]
    assert (case["outcome"], case["reason"]) == ("ended", "ended at the limit of 0.2 minutes")
    coins, seconds = case["samples"][-1]
    assert 50_000 <= coins < 120_000
    assert 0 < seconds < 12


def test_the_limit_is_of_all_workloads_together(bench: Commands) -> None:
    line = ["wrong:NeverRewinds", *OPTIONS, "--time-limit", 0.2]
    bench("bench_run", *line, "--workload", "rewind", "--workload", "append").fine()
    cases = {case["workload"]: case for case in results(bench)[-1]["cases"]}
    outcomes = {workload: case["outcome"] for workload, case in cases.items()}
    assert outcomes["load"] == "measured"
    assert (outcomes["rewind"], outcomes["append"]) == ("ended", "not_measured")
    assert cases["append"]["reason"] == "ended at the limit of 0.2 minutes"


def test_a_wrong_state_is_a_row_without_figures(bench: Commands) -> None:
    result = bench("bench_run", "wrong", *OPTIONS, "--coins", 2_000)
    assert result.code == 1
    assert re.search(
        "^error: 300 coins, wrong: load: (its digest is|a lookup gave)", result.err, re.M
    )
    document = results(bench)[-1]
    assert document["cases"][0]["outcome"] == "wrong"
    assert not any(case["figures"] for case in document["cases"])


def test_a_profile_that_this_machine_cannot_have_is_left_out(bench: Commands) -> None:
    huge = ["--profile", "huge:memory=900TB"]
    result = bench("bench_run", "null", *OPTIONS, *huge)
    assert result.code == 1
    assert "profile huge is left out: this machine's memory is " in result.err
    assert result.err.endswith("error: nothing could be measured\n")
    both = bench("bench_run", "null", *OPTIONS, "--profile", "FAST", *huge).fine()
    assert "profile huge is left out" in both.err
    assert {each["profile"]["name"] for each in results(bench)} == {"FAST"}


def test_an_interrupt_within_a_workload_leaves_nothing(bench: Commands) -> None:
    line = ["wrong:SleepsWhenLoadedAgain", *OPTIONS]
    process, worker = until_it_sleeps(bench, lambda: bench.start("bench_run", *line))
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=WAIT_SECONDS)
    assert process.returncode == 128 + signal.SIGINT
    assert b"Traceback" not in err
    assert soon(lambda: not is_running(worker))
    assert contents(bench.cwd / "here") == {}


def test_a_wrong_answer_is_an_error(bench: Commands) -> None:
    result = bench("bench_run", "wrong:Stays", *OPTIONS, "--workload", "rewind")
    assert result.code == 1
    assert "error: wrong: rewind: the newest block is " in result.err
    outcomes = {case["workload"]: case["outcome"] for case in results(bench)[-1]["cases"]}
    of_the_load = dict.fromkeys(("load", "read_random", "historical"), "measured")
    assert outcomes == {**of_the_load, "rewind": "wrong"}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--profile", "QUICK"], "there is no profile 'QUICK': FAST, SLOW, SPINNING"),
        (["--profile", "FAST:iops=1"], "'FAST' can't name own numbers"),
        (["--time-limit", "0"], "--time-limit"),
        (["--time-limit", "nan"], "nan is no number"),
        (["--time-limit", "inf"], "--time-limit"),
        (["--coins", "1"], "--coins"),
        (["--heights", "1"], "--heights"),
        (["--runs", "0"], "--runs"),
        (["--flush-every", "0"], "--flush-every"),
        (["--durability", "strong"], "--durability"),
        (["--dir", "nowhere"], "does not exist"),
        (["--input", "nowhere"], "does not exist"),
        (["--input", "/dev/null"], "/dev/null is no regular file"),
        (["--loads-only", "--workload", "rewind"], "--loads-only goes with no --workload"),
    ],
)
def test_usage_errors(bench: Commands, options: list[str], problem: str) -> None:
    assert problem in bench("bench_run", *options).usage_error()


def test_errors(bench: Commands) -> None:
    assert "did you mean sqlite_v3" in bench("bench_run", "sqlite_v4").error()
    two = bench("bench_run", "wrong", "wrong:Wrong").error()
    assert two == "wrong and wrong:Wrong would both be wrong in the results"
    Path(bench.cwd / "bench-results" / "box").mkdir(parents=True)
    Path(bench.cwd / "bench-results" / "box" / "half.json").write_text("{")
    damaged = bench("bench_run", "null", *OPTIONS, "--machine", "box").error()
    assert damaged.startswith("bench-results/box/half.json is no JSON")
    huge = bench("bench_run", "memory", "--coins", 10**15)
    assert huge.code == 1
    assert "free some, or take another --dir" in huge.err
    no_replay = bench("bench_run", "memory", "--input", "wrong.py", "--dir", "here")
    assert no_replay.code == 1
    assert "line 2: expected" in no_replay.err
    assert "Traceback" not in huge.err + no_replay.err
    assert contents(bench.cwd / "here") == {}


def test_layouts_are_all_that_are_there(bench: Commands) -> None:
    named = f"interval@{OTHER},payload=inline"
    line = ["layouts", named, "--loads-only", "--runs", 1]
    line += ["--coins", 300, "--dir", "here"]
    bench("bench_run", *line, timeout_seconds=MANY_RUNS_SECONDS).fine()
    names = {each["contestant"]["name"] for each in results(bench)} - {"floor", "floor, 1 thread"}
    assert names == {named, *ready_layouts()}
    files = {path.name for path in (bench.cwd / "bench-results").rglob("*.json")}
    assert all(re.fullmatch(r"[\w.-]+", name) for name in files)


def ready_layouts() -> set[str]:
    """All layouts on the engines of this machine, and some with coins in their rows."""
    names = (*BY_ENGINE, *layout_names(), *INLINE)
    return {name for name in names if find_schema(name).missing is None}
