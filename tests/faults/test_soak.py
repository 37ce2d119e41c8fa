"""A soak finds what is broken and says how to see it again, whatever its trials do."""

import json
import re
import signal
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from cdb.cmds.soak import soak
from cdb.cmds.soak_report import (
    COUNTS,
    SoakReport,
    markdown,
    read_markdown,
)
from cdb.errors import CdbError
from cdb.testing.faults import CATALOGUE, Coverage, Finding, Limit, Subject
from cdb.testing.faults.attempt import Attempt, BrokenPromise, Failure, Untried, Verdict
from cdb.testing.faults.soak import Result, Rotation, take_turns
from tests.conftest import Commands
from tests.lab.processes import is_running, soon

pytestmark = pytest.mark.long  # of the lab, not of what it looks at

SOAKS = Path(__file__).parents[2] / "reports" / "soaks" / "README.md"
WORDS = tuple(COUNTS.values())
GOOD = "tests.broken.files:Good"
BROKEN = "tests.broken.files:NoLock"
TWINS = """
import os, pathlib, shutil, signal, sys, time
from cdb.errors import UnsupportedError
from cdb.schemas.memory import MemorySchema

class Hanging(MemorySchema):
    def __init__(self, path):
        pathlib.Path("there").write_text(str(path))
        pathlib.Path("asleep").write_text(str(os.getpid()))
        try:
            time.sleep(600)
        finally:
            sys.stderr.write("more than a pipe holds" * 50_000)

class Dying(MemorySchema):
    def __init__(self, path):
        shutil.rmtree(pathlib.Path(path).parent)  # nobody else would
        os.kill(os.getpid(), signal.SIGSEGV)

class Unable(MemorySchema):
    def __init__(self, path):
        raise UnsupportedError("not on a Saturday")
"""
SETTINGS = {"seed": 1, "schemas": {"a": "a", "b": "b"}}


@pytest.fixture
def twins(run_command: Commands) -> Commands:
    """Commands beside a module of stores that can't be tried well."""
    run_command.cwd.joinpath("twins.py").write_text(TWINS)
    return run_command


def test_a_broken_promise_is_told_with_the_command_that_shows_it_again(
    run_command: Commands,
) -> None:
    line = ("soak", GOOD, BROKEN, "--trial", "rivals", "--count", 2, "--report", "soak.json")
    result = run_command(*line)
    assert result.code == 1, result.err
    report = json.loads(run_command.cwd.joinpath("soak.json").read_bytes())
    assert report["state"] == "ended"
    assert report["totals"]["trials"] == 2
    good, broken = report["tallies"]
    assert good["schema"] == GOOD
    assert good["points"] > 0
    assert (good["failed"], broken["failed"]) == (0, 1)
    [failure] = report["failures"]
    assert "opened" in failure["problem"]
    assert failure["command"].startswith(f"python -m cdb.testing.faults rivals {BROKEN} --seed 1 ")
    assert (failure["trial"], failure["schema"], failure["seed"]) == ("rivals", BROKEN, 1)
    assert failure["limit"] is None
    assert f"{BROKEN}, rivals, seed 1: {failure['problem']}" in result.err
    assert f"again: {failure['command']}" in result.err
    assert "1 unexplained failures" in result.out.decode()
    assert run_command("soak", "--show", "soak.json").fine().out == result.out


def test_what_dies_or_cannot_be_tried_is_told(twins: Commands) -> None:
    options = ("--count", 2, "--report")
    result = twins("soak", "twins:Dying", "--trial", "replay", *options, "dying.json")
    assert result.code == 1, result.err
    dying, _ = json.loads(twins.cwd.joinpath("dying.json").read_bytes())["failures"]
    assert dying["problem"] == "its process was killed by signal 11"
    assert dying["command"].startswith("python -m cdb.testing.faults replay twins:Dying --seed 1")
    result = twins("soak", "twins:Unable", "memory", "--trial", "flip", *options, "unable.json")
    assert result.code == 0, result.err
    [unable] = json.loads(twins.cwd.joinpath("unable.json").read_bytes())["left_out"]
    assert unable == {"trial": "flip", "schema": "twins:Unable", "reason": "not on a Saturday"}
    assert "left out: twins:Unable, flip: not on a Saturday" in result.err


def test_what_hangs_is_told(twins: Commands) -> None:
    line = ("soak", "twins:Hanging", "--trial", "flip", "--count", 1, "--time-limit", 3)
    result = twins(*line)
    assert result.code == 1, result.err
    assert "twins:Hanging, flip, seed 1: it takes longer than 3 s" in result.err
    assert "again: python -m cdb.testing.faults flip twins:Hanging --seed 1" in result.err


def test_what_is_interrupted_ends_its_trials_and_leaves_its_report(twins: Commands) -> None:
    process = twins.start("soak", "twins:Hanging", "--trial", "flip", "--report", "soak.json")
    asleep, report = twins.cwd / "asleep", twins.cwd / "soak.json"
    assert soon(lambda: asleep.exists() and asleep.read_text() != "")
    assert json.loads(report.read_bytes())["state"] == "running"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert err.decode().endswith("error: nothing was tried: it ended before the first fault\n")
    document = json.loads(report.read_bytes())
    assert document["state"] == "interrupted"
    assert document["totals"]["trials"] == 0
    assert out.decode() == markdown(document) + "\n"
    assert soon(lambda: not is_running(int(asleep.read_text())))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_trial_that_is_ended_leaves_nothing_behind(
    twins: Commands, number: signal.Signals
) -> None:
    line = [sys.executable, "-m", "cdb.testing.faults", "replay", "twins:Hanging"]
    process = twins.popen(line)
    asleep, there = twins.cwd / "asleep", twins.cwd / "there"
    assert soon(lambda: asleep.exists() and asleep.read_text() != "")
    scratch = Path(there.read_text()).parent
    assert scratch.is_dir()
    process.send_signal(number)
    process.communicate(timeout=60)
    assert not scratch.exists()
    assert soon(lambda: not is_running(int(asleep.read_text())))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("nonsense", "nonsense"),
        ("null", "keeps nothing"),
        ("memory --report there.json", "there.json is there already"),
        ("memory --report nowhere/soak.json", "nowhere"),
        ("--show there.json", "there.json is no report of cdb soak"),
    ],
)
def test_errors_are_one_line(
    line: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there.json").write_text("[1]")
    with pytest.raises(CdbError, match=problem) as caught:
        soak.main(line.split(), standalone_mode=False)
    assert "\n" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["there.json"]


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"seconds": 1e400}', f'{{"seconds": 1{400 * "0"}}}']
)
def test_a_file_of_any_contents_is_a_report_or_an_error(tmp_path: Path, text: str) -> None:
    whole = SoakReport(SETTINGS).document("ended")
    document = whole | json.loads(text) if text.startswith("{") else None
    path = tmp_path / "report.json"
    path.write_text(text if document is None else json.dumps(document))
    with pytest.raises(CdbError, match="is no report of cdb soak"):
        read_markdown(path)


@dataclass(frozen=True)
class Made:
    """Stands for Making, without a process."""

    attempt: Attempt
    since: float


class Turns:
    """Turns of which each ends as answer() says, after as many seconds as its kind costs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds: Mapping[str, float] = {}
        self.answer: Callable[[Attempt], Verdict] = covering
        self._now = 0.0

        monkeypatch.setattr("cdb.testing.faults.soak.Making", self._made)
        monkeypatch.setattr("cdb.testing.faults.soak.ended", self._ended)
        monkeypatch.setattr("cdb.testing.faults.soak.break_off", lambda makings: None)
        monkeypatch.setattr("cdb.testing.faults.soak.monotonic", lambda: self._now)

    def _made(self, attempt: Attempt, time_limit_seconds: float) -> Made:
        return Made(attempt, self._now)

    def _ended(self, makings: dict[Made, object], seconds: float) -> list[tuple[Made, Verdict]]:
        [making] = makings
        self._now += self.seconds.get(making.attempt.trial, 1.0)
        return [(making, self.answer(making.attempt))]

    def take(self, count: int, trials: Sequence[str], subjects: Sequence[Subject]) -> list[Result]:
        rotation = Rotation(trials, {subject.spec: subject for subject in subjects})
        results = take_turns(rotation, jobs=1, time_limit_seconds=1, first_seed=7, count=count)
        return [result for result in results if result is not None]


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> Turns:
    """No trial is made."""
    return Turns(monkeypatch)


def covering(attempt: Attempt) -> Verdict:
    """All is well."""
    return Coverage(attempt.trial, attempt.spec, attempt.seed, 3, 3, 2, {"detected": 1})


A, B, C = Subject("a"), Subject("b"), Subject("c")


def test_first_each_pair_is_tried_and_the_first_of_them_show_all_kinds_and_schemas(
    turns: Turns,
) -> None:
    trials = ["kill", "eio", "memory"]
    attempts = [result.attempt for result in turns.take(9, trials, [A, B, C])]
    assert len({(each.trial, each.spec) for each in attempts}) == 9
    assert {each.trial for each in attempts[:3]} == set(trials)
    assert {each.spec for each in attempts[:3]} == {"a", "b", "c"}
    assert all(each.most == (CATALOGUE[each.trial].share or None) for each in attempts)


def test_then_each_kind_has_as_much_time_and_there_each_schema(turns: Turns) -> None:
    turns.seconds = {"kill": 1, "eio": 10}
    results = turns.take(400, ["kill", "eio"], [A, B])
    seconds: Counter[tuple[str, str]] = Counter()
    for result in results:
        seconds[result.attempt.trial, result.attempt.spec] += round(result.seconds)
    assert max(seconds.values()) - min(seconds.values()) <= 15
    kills = [each.attempt for each in results if each.attempt.trial == "kill"]
    seeds = [attempt.seed for attempt in kills if attempt.spec == "a"]
    assert seeds == list(range(7, 7 + len(seeds)))
    assert all(attempt.most is None for attempt in kills[2:])


def test_a_known_limit_is_explained_and_tried_with_few_faults(turns: Turns) -> None:
    limited = Subject("a", limits=(Limit("eio*", ("fails",), "the engine can't"),))
    turns.answer = lambda attempt: BrokenPromise(
        "opened, it fails: no", attempt.command, finding=Finding("fails")
    )
    results = turns.take(3, ["eio"], [limited])
    assert [result.attempt.most for result in results] == [CATALOGUE["eio"].share] * 3
    report = SoakReport(SETTINGS)
    assert [report.take(result) for result in results] == [None] * 3
    assert (report.totals["limited"], report.totals["failed"]) == (3, 0)
    document = report.document("ended")
    assert {failure["limit"] for failure in document["failures"]} == {"the engine can't"}
    assert "- a, eio: the engine can't (3 times)" in markdown(document)
    [other] = turns.take(1, ["kill"], [limited])
    assert "opened, it fails" in (report.take(other) or "")
    turns.answer = lambda attempt: Failure("its process died: it fails", attempt.command)
    [death] = turns.take(1, ["eio"], [limited])
    assert "its process died" in (report.take(death) or "")
    assert report.totals["failed"] == 2


def test_what_can_be_tried_no_more_is_a_failure(turns: Turns) -> None:
    turns.answer = lambda attempt: Untried("no") if attempt.seed > 7 else covering(attempt)
    first, second = turns.take(2, ["kill"], [A])
    assert isinstance(first.verdict, Coverage)
    assert isinstance(second.verdict, Failure)
    assert second.verdict.problem == "it could be tried before, and now: no"


def test_what_cannot_be_tried_is_left_out_and_a_soak_of_nothing_else_ends(turns: Turns) -> None:
    turns.answer = lambda attempt: Untried("no") if attempt.spec == "a" else covering(attempt)
    assert len(turns.take(9, ["kill"], [A])) == 1
    results = turns.take(9, ["kill"], [A, B])
    assert Counter(result.schema for result in results) == {"a": 1, "b": 8}


def test_the_report_adds_up(turns: Turns) -> None:
    report = SoakReport(SETTINGS)
    for result in turns.take(8, ["power-ext4", "kill", "eio", "flip"], [A, B]):
        assert report.take(result) is None
    document = json.loads(json.dumps(report.document("ended")))
    groups = {"replayed_cuts": 6, "real_cuts": 0, "kills": 6, "failed_calls": 6}
    assert document["totals"] == groups | {"trials": 8, "points": 24, "limited": 0, "failed": 0}
    [flips] = [
        each for each in document["tallies"] if (each["trial"], each["schema"]) == ("flip", "b")
    ]
    assert (flips["points"], flips["databases"], flips["found"]) == (3, 2, {"detected": 1})
    lines = markdown(document).splitlines()
    assert lines[0].split() == ["|", "points", "|", "a", "|", "b", "|"]
    assert lines[2].split() == ["|", "power-ext4", "|", "3", "|", "3", "|"]


def committed() -> list[Counter[str]]:
    """What each soak on the page met, by the last cell of its row."""
    counts = re.compile(rf"([\d,]+) ({'|'.join(WORDS)})")
    rows = [line for line in SOAKS.read_text("utf-8").splitlines() if "`cdb soak " in line]
    return [
        Counter({name: int(n.replace(",", "")) for n, name in counts.findall(row)})
        for row in rows
        if row.startswith("| ")
    ]


def test_each_soak_of_the_page_says_what_it_met() -> None:
    assert len(committed()) == 5
    assert all({*counts} == {*WORDS} for counts in committed())
    assert [counts["unexplained failures"] for counts in committed()] == [0] * 5


def test_the_guide_has_the_sums_of_the_page() -> None:
    guide = (SOAKS.parents[2] / "docs" / "durability.md").read_text("utf-8")
    said = {name: sum(counts[name] for counts in committed()) for name in WORDS}
    texts = {"trials": "trials", "points": "points", "real cuts": "real power cuts"}
    for name, text in {**texts, "kills": "kills"}.items():
        assert f"{said[name]:,} {text}" in guide


def test_what_came_of_damage_is_told_for_each_schema_with_a_legend(turns: Turns) -> None:
    names = ("memory", "blockchain_v2", "coin_log")
    turns.answer = lambda attempt: Coverage(
        attempt.trial, attempt.spec, attempt.seed, 1, 1, 1, {"served": 1}
    )
    report = SoakReport({"seed": 1, "schemas": dict.fromkeys(names, "")})
    for result in turns.take(3, ["flip"], [Subject(name) for name in names]):
        assert report.take(result) is None
    text = markdown(report.document("ended"))
    assert "- served: an answer is wrong, and verify finds the damage" in text
    [row] = [line for line in text.splitlines() if re.match(r"\|\s+memory .* [1-9]", line)][-1:]
    assert row.split()[1::2][0] == "memory"
    assert "- blockchain_v2: SQLite takes damage in a -wal" in text
    assert "- coin_log: " not in text.partition("Why answers may be wrong")[2].partition("\n\n")[0]


def test_the_first_soak_of_the_page_is_long() -> None:
    [hours, *_] = re.findall(r"`cdb soak --hours ([\d.]+)", SOAKS.read_text("utf-8"))
    assert float(hours) >= 2
    said = committed()[0]
    assert said["cuts by replay"] >= 10_000
    assert said["real cuts"] >= 500
