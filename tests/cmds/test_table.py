"""Tables as commands print them."""

from cdb.cmds.table import table


def test_columns_are_aligned() -> None:
    rows = [["name", "n", "note"], ["a", "1,000", "x"], ["longer", "7", ""]]
    assert table(rows).splitlines() == [
        "name        n  note",
        "a       1,000     x",
        "longer      7",
    ]
    assert table(rows, left=frozenset({0, 2})).splitlines()[1] == "a       1,000  x"
    assert table(rows, least=(2, 7, 0)).splitlines()[1] == "a         1,000     x"
