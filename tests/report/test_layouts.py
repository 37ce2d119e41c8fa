"""Layouts below the coin set: what counts, and what documents show of it."""

from html import unescape

import pytest

from cdb.bench.layouts import SHAPES
from cdb.report.build import build
from cdb.report.document import document as document_of
from cdb.report.html import page
from cdb.report.layouts import conditions, flaw_lines, layout_tables, published_table
from cdb.report.model import Group
from cdb.report.parts import Table
from cdb.report.published_layouts import PUBLISHED
from cdb.report.tables import problem_lines
from cdb.report.text import markdown, terminal
from tests.engines import OTHER
from tests.report.fixtures import case
from tests.report.layout_fixtures import engines


def published(found: Group) -> Table:
    table = published_table(found)
    assert table is not None
    return table


def test_published_figures_stand_beside_ours() -> None:
    (found,) = build(engines()).layouts
    table = published(found)
    assert table.header == (
        *("what", "layout", "published"),
        *("rocksdb: clock", "CPU", "published / rocksdb"),
        *(f"{OTHER}: clock", "CPU", f"published / {OTHER}"),
        "what was wrong with theirs",
    )
    assert len(table.rows) == 4 * 6
    rows = {(row[0], row[1]): row[2:] for row in table.texts()}
    # Medians of three: 1.02 and 2.04 hundredths of a second; in the other half of that, and of CPU.
    ours = ["10.2 ms", "5.1 ms", "×0.25", "5.1 ms", "2.55 ms", "×0.51"]
    assert rows["latest, features off", "mono_space"] == ["1.3 ms", *ours, "seeks the wrong side"]
    ours = ["20.4 ms", "10.2 ms", "×3.3", "10.2 ms", "5.1 ms", "×6.6"]
    assert rows["latest, features off", "dual_timeline"] == ["33.9 ms", *ours, "–"]
    assert rows["latest, features off", "Badger"] == ["13.2 ms", *("–",) * 7]
    # By the clock.
    assert rows["write, features on", "dual_timeline"][3] == "×0.43"
    assert rows["write, features on", "dual_timeline"][-1] == "not synced"
    assert len(flaw_lines(found)) == 3


def test_what_option_1_published_is_held_against_the_same_work() -> None:
    (found,) = build(engines("option-1")).layouts
    rows = {(row[0], row[1]): row[2:] for row in published(found).texts()}
    assert rows["latest, a scan", "option_1"][:2] == ["25.2 ms", "30.6 ms"]
    # Its delta was taken for a state; Issue-196 seeks each key.
    assert rows["historical, a scan", "option_1"][:2] == ["23.3 ms", "0.153 s"]
    assert rows["latest, a seek a key", "issue_196"][:2] == ["0.392 s", "81.6 ms"]
    assert any("12.3 times" in line for line in flaw_lines(found))


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_shapes_are_those_that_are_measured(name: str) -> None:
    published, shape = PUBLISHED[name], SHAPES[name]
    assert (published.keys, published.versions) == (shape.keys, shape.versions)


def test_a_shape_of_another_size_is_not_held_against_published_figures() -> None:
    documents = engines()
    for each in documents:
        each["data"]["keys"] = 1_000
    (found,) = build(documents).layouts
    assert published_table(found) is None
    assert flaw_lines(found) == ()
    assert conditions(found).startswith("canopy-10k: 1,000 keys, 50 versions, 5 % of the keys")


def test_the_newest_of_each_layout_and_engine_counts() -> None:
    newer = engines(layouts=("option_1",), begun="2026-11-25T09:00:00Z", runs=1, seconds=0.001)
    (found,) = build([*newer, *engines()]).layouts
    assert len(found.rows) == 8
    assert found.begun == ("2026-11-24T09:00:00Z", "2026-11-25T09:00:00Z")
    assert len(found.commands) == 2
    spread = {row.schema: row.figures for row in found.rows}["option_1@rocksdb"]
    assert {each.runs for figures in spread.values() for each in figures.values()} == {1}


def test_a_wrong_answer_voids_the_row_and_what_is_not_measured_has_a_reason() -> None:
    wrong, failed, *others = documents = engines()
    void = case("historical", {"after": "close"}, outcome="wrong", reason="7 of 9 are wrong")
    wrong["cases"][3] = void
    failed["cases"] = [case("write", outcome="failed", reason="the disk is full")]
    for each in others:
        if each["contestant"]["name"].startswith("issue_196"):
            reason = "no place for it"
            each["cases"] = [case("write", outcome="not_measured", reason=reason)]
    (found,) = build(documents).layouts
    rows = {row.schema: row for row in found.rows}
    assert rows["mono_space@rocksdb"].figures == {}
    of_all = [{row[0]: row[1:] for row in table.texts()} for table in layout_tables(found)]
    for rows_of_table in of_all:
        assert {*rows_of_table["mono_space@rocksdb ✗"]} == {"✗ wrong"}
        assert {*rows_of_table[f"issue_196@{OTHER} not measured"]} == {"not measured"}
    assert of_all[0]["dual_timeline@rocksdb failed"][0] == "failed"
    assert problem_lines(found) == [
        "dual_timeline@rocksdb: write: failed in 1 of 3 runs: the disk is full",
        f"issue_196@rocksdb, issue_196@{OTHER}: write: not measured: no place for it",
        "mono_space@rocksdb: historical: close: wrong in 1 of 3 runs: 7 of 9 are wrong",
    ]


def test_all_documents_have_what_was_published_and_what_was_wrong() -> None:
    report = build([*engines(), *engines("option-1")])
    told = document_of(report)
    html = " ".join(unescape(page(report)).split())
    for found in report.layouts:
        lines = [*flaw_lines(found), *problem_lines(found), conditions(found), *found.commands]
        for text in (*lines, *(cell for row in published(found).texts() for cell in row)):
            assert text in terminal(told)
            assert text in html
            assert text in markdown(told).replace("\\", "").replace("&gt;", ">")
