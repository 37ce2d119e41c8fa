"""--compare: two names of results, figure by figure."""

from typing import Any

import pytest

from cdb.bench.results import Document
from cdb.report.compare import CompareError, compare, verdict
from cdb.report.model import Spread
from cdb.report.parts import Heading, Items, Table
from tests.report.fixtures import FIRST_MATRIX, NEXT_MATRIX, matrix, run, without


def lines_of(documents: list[Document], first: str, second: str) -> list[list[str]]:
    """The rows of all tables."""
    tables = [part for part in compare(documents, first, second) if isinstance(part, Table)]
    return [row for table in tables for row in table.texts()]


def line(rows: list[list[str]], *names: str) -> tuple[str, ...]:
    """What is said of a schema's figure of a case."""
    (found,) = [row for row in rows if row[:3] == [*names]]
    return tuple(found[3:])


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        ({"machine": "epyc"}, {"machine": "m2"}, ("epyc", "M2")),
        ({"profile": "FAST"}, {"profile": "SLOW"}, ("FAST", "SLOW")),
        ({"matrix": FIRST_MATRIX}, {"matrix": NEXT_MATRIX}, (FIRST_MATRIX, NEXT_MATRIX)),
        ({"commit": "1a2b3c4d"}, {"commit": "5d6e7f", "matrix": NEXT_MATRIX}, ("1a2b", "5D6E7F")),
    ],
)
def test_two_of_a_kind(first: Any, second: Any, names: tuple[str, str]) -> None:
    slowness = {"SLOW": 6}.get(second.get("profile"), 1)
    documents = [
        *matrix(("coin_log", "floor"), **first),
        *matrix(("coin_log", "floor"), speed=0.5 * slowness, **second),
    ]
    rows = lines_of(documents, *names)
    assert line(rows, "coin_log", "load", "wall") == ("0.280 s", "0.560 s", "×2", "worse")
    assert line(rows, "coin_log", "load", "coins/s") == ("3.57 M/s", "1.79 M/s", "×0.5", "worse")
    unchanged = ("76 MB", "76 MB", "×1", "no difference shown")
    assert line(rows, "coin_log", "load", "written") == unchanged
    assert line(rows, "floor", "load", "wall") == ("0.150 s", "0.300 s", "×2", "worse")
    rows = lines_of(documents, *reversed(names))
    assert line(rows, "coin_log", "load", "wall") == ("0.560 s", "0.280 s", "×0.5", "better")


@pytest.mark.parametrize(
    ("name", "other", "said"),
    [
        ("wall_seconds", Spread(2.9, 3, 4, 5), "no difference shown"),
        ("wall_seconds", Spread(3, 3, 3, 5), "no difference shown"),
        ("wall_seconds", Spread(3.1, 4, 5, 5), "worse"),
        ("wall_seconds", Spread(0.1, 0.2, 0.9, 5), "better"),
        ("coins_per_second", Spread(3.1, 4, 5, 5), "better"),
        ("coins_per_second", Spread(0.1, 0.2, 0.9, 5), "worse"),
        ("wall_seconds", Spread(9, 9, 9, 1), "one run, no range"),
    ],
)
def test_ranges_that_overlap_show_no_difference(name: str, other: Spread, said: str) -> None:
    assert verdict(name, Spread(1, 2, 3, 5), other) == said


def test_only_what_is_alike_is_compared() -> None:
    documents = [
        *matrix(("coin_log", "rocks")),
        *matrix(("coin_log",), profile="SLOW"),
        *matrix(("rocks",), profile="SLOW", durability="none"),
        *matrix(("rocks",), profile="SLOW", machine="m2"),
    ]
    parts = list(compare(documents, "FAST", "SLOW"))
    assert [part.text for part in parts if isinstance(part, Heading)] == [
        "FAST and SLOW",
        "epyc, FAST and SLOW, 1,000,000 coins, flushed to survive power loss each 50,000",
    ]
    assert {row[0] for row in lines_of(documents, "FAST", "SLOW")} == {"coin_log"}


def test_what_went_wrong_is_said() -> None:
    slow = [
        without(each, "rewind", "wrong", "no") for each in matrix(("coin_log",), profile="SLOW")
    ]
    parts = list(compare([*matrix(("coin_log",)), *slow], "FAST", "SLOW"))
    (items,) = [part for part in parts if isinstance(part, Items)]
    assert "SLOW: coin_log: rewind: wrong: no" in items.texts


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(CompareError) as error:
        compare([run("coin_log")], "FAST", "nobody")
    assert str(error.value) == (
        "no nobody among the results; machines: epyc; profiles: FAST; matrices: 20261121T190500Z; "
        "commits: 20e45594d26716ae20e45594d26716ae20e45594"
    )


def test_nothing_in_common_is_an_error() -> None:
    documents = [run("coin_log"), run("coin_log", profile="SLOW", coins=7)]
    with pytest.raises(CompareError, match="FAST and SLOW have no coins"):
        compare(documents, "FAST", "SLOW")
