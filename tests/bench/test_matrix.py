"""The matrix: its order, what counts as made, and what is left."""

import pytest

from cdb.bench.matrix import Cell, Matrix, cell_of, cells
from cdb.contract.progress import rough_time
from tests.bench.results import document

SETTINGS = {"runs": 5, "schemas": ["memory"]}


def test_each_round_begins_one_schema_further_on() -> None:
    order = [
        (cell.run, cell.contestant) for cell in cells("1,000 coins", "FAST", ["a", "b", "c"], 3)
    ]
    assert order == [
        *[(1, "a"), (1, "b"), (1, "c")],
        *[(2, "b"), (2, "c"), (2, "a")],
        *[(3, "c"), (3, "a"), (3, "b")],
    ]


def test_a_matrix_goes_on_with_the_newest_of_the_same_settings() -> None:
    fresh = Matrix.new("cdb bench run", 5, SETTINGS)
    same = fresh.head() | {"id": "20261121T190500Z"}
    newer = same | {"id": "20261121T200000Z"}
    other = Matrix.new("cdb bench run", 5, SETTINGS | {"runs": 4}).head()
    documents = [
        document(matrix=same, run=1),
        document(matrix=newer, run=2),
        document(matrix=other | {"id": "20261121T230000Z"}, run=3),
    ]
    resumed = fresh.resumed(documents)
    assert resumed.id == "20261121T200000Z"
    assert cell_of(documents[1]) in resumed.made
    assert cell_of(documents[0]) not in resumed.made
    assert fresh.resumed(documents[2:]) is fresh


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0, "1 s"), (0.2, "1 s"), (29.6, "30 s"), (599, "599 s"), (600, "10 min"), (3600, "60 min")],
)
def test_a_rough_time_is_never_nothing(seconds: float, told: str) -> None:
    assert rough_time(seconds) == told


def test_the_time_that_is_left_follows_from_the_runs_that_were_made() -> None:
    matrix = Matrix.new("cdb bench run", 2, SETTINGS)
    all_cells = list(cells("1,000 coins", "FAST", ["memory", "rocks"], 2))
    assert matrix.seconds_left(all_cells) is None
    matrix.note(document(seconds=10))
    assert matrix.seconds_left(all_cells) == 30
    rocks = document()["contestant"] | {"name": "rocks"}
    matrix.note(document(seconds=40, contestant=rocks))
    assert matrix.seconds_left(all_cells) == 50
    slow = Cell("1,000 coins", "SLOW", "rocks", 1)
    assert matrix.seconds_left([slow]) == 25
