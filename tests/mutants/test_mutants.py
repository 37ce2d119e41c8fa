"""The sample is the seed's, goes on where it was ended, and its share is told with its interval."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import cast

import pytest

from tests.conftest import ROOT
from tests.mutants.draw import Mutant, drawn, sources
from tests.mutants.judge import NEAREST, ControlError, judge, judge_together, nearest, what_failed
from tests.mutants.results import Results, Verdict, wilson
from tests.mutants.working_copy import WorkingCopy, fingerprint

SAMPLE: dict[str, str | int] = {"sources": "abc", "seed": 1, "of": "all sources"}


def operators(name: str, text: str) -> dict[int, list[str]]:
    """Of each line that adds: one that takes away, one that is no Python, one that is the same."""
    return {
        number: [line.replace("+", "-"), line.replace("+", "+ +)"), line.replace("+", " + ")]
        for number, line in enumerate(text.splitlines(keepends=True), 1)
        if "+" in line
    }


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    names = ("cdb/a.py", "cdb/b/c.py", "native/x.cpp", "native/fuzz/y.cpp", "tests/z.py")
    for name in (*names, "cdb/cluster/d.py", "cdb/cmds/cluster_wipe.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"a{n} = {n} + 1\n\n" for n in range(20)))
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    (tmp_path / "cdb/untracked.py").write_text("a = 1 + 1\n")
    return tmp_path


def test_what_is_drawn_from(checkout: Path) -> None:
    assert sources(checkout) == ["cdb/a.py", "cdb/b/c.py", "native/x.cpp"]
    assert sources(checkout, "cdb/b") == ["cdb/b/c.py"]
    assert sources(checkout, "cdb/a.py") == ["cdb/a.py"]
    assert sources(checkout, "tests") == []


def test_a_seed_makes_a_sample(checkout: Path) -> None:
    files = sources(checkout)
    first, again, other = (
        list(islice(drawn(checkout, files, seed, operators), 10)) for seed in (1, 1, 2)
    )
    assert first == again != other
    assert len({*first}) == 10


def test_all_that_can_be_drawn_is_drawn_once_and_nothing_that_is_no_mutant(checkout: Path) -> None:
    found = list(drawn(checkout, ["cdb/a.py"], 1, operators))
    wanted = {Mutant("cdb/a.py", 2 * n + 1, f"a{n} = {n} - 1\n") for n in range(20)}
    assert len(found) == 20
    assert {*found} == wanted


def test_a_verdict_is_of_sources_and_tests_whatever_was_measured(checkout: Path) -> None:
    before = fingerprint(checkout)
    for name in ("results/a.json", "reports/mutants-1.json", "docs/a.md"):
        (checkout / name).parent.mkdir(exist_ok=True)
        (checkout / name).touch()
        assert fingerprint(checkout) == before
    for name in ("cdb/a.py", "native/x.cpp", "tests/z.py"):
        (checkout / name).write_text("another\n")
        assert fingerprint(checkout) != before
        before = fingerprint(checkout)
    (checkout / "tests/z.py").rename(checkout / "tests/y.py")
    assert fingerprint(checkout) != before


def test_a_mutant_is_one_line(checkout: Path) -> None:
    mutant = Mutant("cdb/a.py", 3, "another\n")
    before = (checkout / "cdb/a.py").read_text()
    assert mutant.mutated(before) == before.replace("a1 = 1 + 1\n", "another\n")


def test_results_go_on_with_the_same_sample_alone(tmp_path: Path) -> None:
    path = tmp_path / "build/results.json"
    mutants = [Mutant("cdb/a.py", n, "x\n") for n in range(3)]
    results = Results(path, SAMPLE)
    for mutant, outcome in zip(mutants, ("noticed", "survived", "none"), strict=True):
        assert mutant not in results
        results.add(mutant, Verdict(outcome, "", 1.0))
    again = Results(path, SAMPLE)
    assert all(mutant in again for mutant in mutants)
    assert again.n_tried == 2
    assert again.report() == results.report()
    assert "all: 1 of 2 noticed, 50.0% (95 %: 9.5% to 90.5%)" in again.summary()
    assert "native: none judged" in again.summary()
    assert "- `cdb/a.py:1: x`" in again.report()
    assert Results(path, SAMPLE | {"sources": "changed"}).n_tried == 0


def test_who_is_ended_while_it_writes_keeps_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = Results(tmp_path / "results.json", SAMPLE)
    results.add(Mutant("cdb/a.py", 1, "x\n"), Verdict("noticed", "", 1.0))

    def ended(path: Path, text: str) -> None:
        path.write_bytes(text.encode()[:20])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_text", ended)
    with pytest.raises(KeyboardInterrupt):
        results.add(Mutant("cdb/a.py", 2, "x\n"), Verdict("noticed", "", 1.0))
    assert Results(tmp_path / "results.json", SAMPLE).n_tried == 1


def test_the_interval_is_wilsons() -> None:
    # Newcombe 1998, Table I.
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert wilson(20, 20)[1] == 1.0


def test_the_nearest_tests_are_there() -> None:
    for tests in NEAREST.values():
        for test in tests.split():
            assert (ROOT / "tests" / test.partition("::")[0]).exists(), test
    assert str(ROOT / "tests/test_packed.py") in nearest("cdb/contract/packed.py")
    assert any("test_coin_log.py" in test for test in nearest("native/coin_log/index/run.cpp"))
    assert nearest("cdb/bench/of_no_test.py") == [str(ROOT / "tests/bench")]
    assert nearest("cdb/of_no_test.py") == []


@pytest.mark.parametrize(
    ("line", "test"),
    [
        (
            "FAILED tests/a.py::test_b[UPDATE c SET d = ?] - assert 1 == 2",
            "tests/a.py::test_b[UPDATE c SET d = ?]",
        ),
        ("ERROR tests/a.py::B::test_c", "tests/a.py::B::test_c"),
        (
            "[gw0] worker 'gw0' crashed while running 'tests/a.py::test_b[1]'",
            "tests/a.py::test_b[1]",
        ),
        ("3 passed", ""),
    ],
)
def test_what_failed_is_told_by_its_whole_name(line: str, test: str) -> None:
    assert what_failed(["..F", line, "!!! stopping"]) == test


class Suite:
    """A working copy whose tests fail as it is said: of a test, by which mutants it fails."""

    def __init__(self, failing: dict[str, Sequence[Mutant | None]]) -> None:
        self._failing, self.runs = failing, 0
        self._in: list[Mutant | None] = [None]
        self._places: set[str] = set()

    @contextmanager
    def with_faults(self, mutants: Sequence[Mutant]) -> Iterator[None]:
        self._in = [None, *mutants]
        yield
        self._in = [None]

    def build(self) -> None:
        pass

    def run_python(self, *arguments: str, limit_seconds: float = 0.0) -> tuple[int, list[str]]:
        if arguments[0] == "-c":
            return 0, []
        if arguments[1] == "mypy":
            return self.typed()
        self.runs += 1
        (place,) = [each for each in arguments if each.startswith("--basetemp=")]
        assert place not in self._places, "what a run has left would stay"
        self._places.add(place)
        return self.tested([each for each in arguments if each.startswith("tests/")])

    def typed(self) -> tuple[int, list[str]]:
        return 0, []

    def tested(self, tests: list[str]) -> tuple[int, list[str]]:
        failed = [each for each in tests or self._failing if {*self._failing[each]} & {*self._in}]
        lines = [f"FAILED {each} - why" for each in failed]
        return (1, lines) if failed else (0, ["3 passed"])


MUTANTS = [Mutant("cdb/a.py", line, "x\n") for line in range(1, 6)]


def judged(suite: Suite) -> dict[int, str]:
    found = judge_together(MUTANTS, cast(WorkingCopy, suite))
    return {mutant.line: f"{verdict.outcome} {verdict.by}" for mutant, verdict in found}


def test_mutants_together_have_the_verdicts_that_each_has_alone() -> None:
    suite = Suite({"tests/a.py::a": MUTANTS[1:2], "tests/b.py::b": MUTANTS[1:4:2]})
    noticed = {2: "noticed tests/a.py::a", 4: "noticed tests/b.py::b"}
    assert judged(suite) == dict.fromkeys((1, 3, 5), "survived ") | noticed


def test_one_run_tells_that_all_of_them_survive() -> None:
    suite = Suite({"tests/a.py::a": []})
    assert {*judged(suite).values()} == {"survived "}
    assert suite.runs == 1


def test_a_test_that_fails_without_a_mutant_notices_none() -> None:
    suite = Suite({"tests/a.py::a": [None], "tests/b.py::b": MUTANTS[:1]})
    assert judged(suite)[1] == "noticed tests/b.py::b"
    assert [*judged(Suite({"tests/a.py::a": [None]})).values()] == ["survived "] * 5


def test_what_only_fails_together_notices_none() -> None:
    class Together(Suite):
        def tested(self, tests: list[str]) -> tuple[int, list[str]]:
            failed = len(self._in) > 2
            return (1, ["FAILED tests/a.py::a"]) if failed else (0, [])

    assert {*judged(Together({})).values()} == {"survived "}


def alone(suite: Suite) -> tuple[str, str]:
    """The outcome of a mutant with the tests of its room, and by what."""
    verdict = judge(Mutant("cdb/bench/of_no_test.py", 1, "x\n"), cast(WorkingCopy, suite))
    return verdict.outcome, verdict.by


def test_a_module_of_long_tests_alone_can_fail_to_be_collected() -> None:
    class Uncollected(Suite):
        def tested(self, tests: list[str]) -> tuple[int, list[str]]:
            failed = len(self._in) > 1
            return (1, ["ERROR tests/bench/test_a.py"]) if failed else (5, ["2 deselected"])

    assert alone(Uncollected({})) == ("noticed", "tests/bench/test_a.py")


def test_what_fails_without_a_mutant_ends_it() -> None:
    class Broken(Suite):
        def tested(self, tests: list[str]) -> tuple[int, list[str]]:
            return 1, ["FAILED tests/bench/test_a.py::a"]

    with pytest.raises(ControlError, match=r"without a fault this fails: .*test_a.py::a"):
        alone(Broken({}))


def test_types_notice_a_mutant_before_tests() -> None:
    class Typed(Suite):
        def typed(self) -> tuple[int, list[str]]:
            return (1, ["cdb/a.py:1: error: no", "Found 1"]) if len(self._in) > 1 else (0, [])

    suite = Typed({})
    assert alone(suite) == ("noticed", "types: cdb/a.py:1: error: no")
    assert suite.runs == 0


@pytest.mark.parametrize("said", ["No module named mypy", "cdb/b.py:1: error: no"])
def test_types_that_are_wrong_without_a_mutant_tell_nothing(said: str) -> None:
    class Untyped(Suite):
        def typed(self) -> tuple[int, list[str]]:
            return 1, [said]

    with pytest.raises(ControlError, match=said):
        alone(Untyped({}))


def test_what_no_test_can_begin_with_is_noticed() -> None:
    class Unimportable(Suite):
        def tested(self, tests: list[str]) -> tuple[int, list[str]]:
            assert not any("ImportError" in each for each in tests)
            failed = len(self._in) > 1
            lines = ["tests/engines.py:15: in <module>", "E   ImportError: no name"]
            return (4, lines) if failed else (0, [])

    outcome, by = alone(Unimportable({}))
    assert (outcome, by.splitlines()[-1]) == ("noticed", "E   ImportError: no name")


def test_of_a_line_one_mutant_at_a_time_is_in_doubt(tmp_path: Path) -> None:
    results = Results(tmp_path / "results.json", SAMPLE)
    for text in ("x\n", "y\n"):
        results.add(Mutant("cdb/a.py", 1, text), Verdict("in doubt", "", 1.0))
    assert results.in_doubt() == [Mutant("cdb/a.py", 1, "x\n")]
    results.add(Mutant("cdb/a.py", 1, "x\n"), Verdict("survived", "", 1.0))
    assert results.in_doubt() == [Mutant("cdb/a.py", 1, "y\n")]
