"""Each fault can be put in; and what the tool says of them is what it found."""

from collections import Counter
from pathlib import Path

import pytest

from cdb.schemas.registry import BY_ENGINE, OWN_SCHEMAS, layout_names
from tests.mutants.catalogue import BLIND, MUTANTS
from tests.mutants.judge import Verdict
from tests.mutants.mutant import Mutant
from tests.mutants.parts import parts_of, soaked
from tests.mutants.results import Results

ROOT = Path(__file__).parents[2]
MUTANT = MUTANTS[0]


def test_each_line_is_there_once() -> None:
    wrong = []
    for mutant in MUTANTS:
        text = (ROOT / mutant.file).read_text("utf-8")
        try:
            mutated = mutant.mutated(text)
            assert mutated != text
            if mutant.file.endswith(".py"):
                compile(mutated, mutant.file, "exec")
        except (SyntaxError, ValueError) as error:
            wrong.append(f"{mutant.name}: {error}")
    assert not wrong, "mend tests/mutants:\n" + "\n".join(wrong)


def test_the_catalogue_is_sound() -> None:
    assert [name for name, n in Counter(each.name for each in MUTANTS).items() if n > 1] == []
    assert len(MUTANTS) >= 60
    assert len(BLIND) >= len(MUTANTS) / 3
    assert all(each.blind == (each in BLIND) for each in MUTANTS)
    known = {*OWN_SCHEMAS, *BY_ENGINE, *layout_names()}
    for each in MUTANTS:
        assert each.schemas
        assert {schema.partition(",")[0] for schema in each.schemas} <= known
    assert all(0 <= each.rule <= 16 and each.promise for each in MUTANTS)


def test_all_that_a_mutant_is_held_against_is_there() -> None:
    for mutant in MUTANTS:
        assert soaked(mutant)
        for part in parts_of(mutant):
            paths = (each for each in part.arguments if each.startswith("tests/"))
            assert all((ROOT / path.partition("::")[0]).exists() for path in paths)


@pytest.mark.parametrize("text", ["", "a\n", "the line\n\tthe line\n"])
def test_a_line_that_is_not_there_once_is_an_error(text: str) -> None:
    mutant = Mutant("name", "file", "the line", "a fault", 1, "promise", ("memory",))
    assert mutant.mutated("a\n  the line\n") == "a\n  a fault\n"
    with pytest.raises(ValueError, match="'the line'"):
        mutant.mutated(text)


def test_the_first_result_is_kept_and_what_survived_is_tried_again_after_a_change(
    tmp_path: Path,
) -> None:
    results = Results.of(tmp_path, "before")
    assert results.is_due(MUTANT)
    results.add(MUTANT, Verdict("survived", "", "", 600.0))
    assert not Results.of(tmp_path, "before").is_due(MUTANT)
    results = Results.of(tmp_path, "after")
    assert results.is_due(MUTANT)
    results.add(MUTANT, Verdict("killed", "tests", "a|b", 2.0))
    assert not Results.of(tmp_path, "later still").is_due(MUTANT)
    results.write_report(MUTANTS)
    report = (tmp_path / "report.md").read_text()
    assert f"| `{MUTANT.name}` |" in report
    assert r"| survived | killed | tests: a\|b | 2 |" in report
