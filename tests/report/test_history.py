"""The section on history: layouts side by side, n/a for who keeps none, nothing of old runs."""

import re

import pytest

from cdb.bench.results import Document
from cdb.bench.workload import NO_HISTORY
from cdb.report.build import build
from cdb.report.group_tables import SECTIONS
from cdb.report.html import page
from cdb.report.markdown import markdown
from cdb.report.outline import outline
from cdb.report.tables import FigureTable
from cdb.report.terminal import terminal
from tests.engines import OTHER
from tests.report.fixtures import run, without
from tests.report.full import full

LAYOUTS = ("interval@rocksdb", "interval@rocksdb,spends=in_row", f"mono_space@{OTHER}")
WORKLOADS = ("latest", "historical", "archival")


@pytest.fixture(scope="module")
def results() -> list[Document]:
    """Layouts with all cases, and a schema that keeps no history."""
    ours = [full(run(schema)) for schema in LAYOUTS]
    theirs = full(run("sqlite_v3"))
    for workload in WORKLOADS:
        theirs = without(theirs, workload, "not_measured", NO_HISTORY)
    return [*ours, theirs]


@pytest.fixture(scope="module")
def tables(results: list[Document]) -> dict[str, FigureTable]:
    """By their captions."""
    (group,) = build(results).groups
    return {table.caption: table for table in SECTIONS["history"](group)}


def test_all_that_is_measured_has_a_table(tables: dict[str, FigureTable]) -> None:
    columns = {caption: [each.label for each in table.columns] for caption, table in tables.items()}
    assert columns == {
        "Names as of a random height · packed": [
            *("one by one", "× plain", "in 100s", "× plain", "in 1,000s", "× plain"),
            *("absent, in 1,000s", "× plain"),
        ],
        "Names in 1,000s, by height · packed": [
            *("tip", "tip - 1", "tip - 10", "around creation", "around the spend"),
        ],
        "Names as of a height, unsettled and cold · packed": [
            *("unsettled, in 1,000s", "× plain", "unsettled, absent", "× plain"),
            *("cold, one by one", "cold, in 1,000s"),
        ],
        "Names as of a random height · objects": ["in 1,000s", "× plain"],
        "All coins: unspent(), and state_at() the tip and a tenth of its height: rows/s": [
            *("unspent(), packed", "unspent(), objects", "at the tip, packed"),
            *("at the tip, objects", "at a tenth, packed", "at a tenth, objects"),
            "at the tip, cold, packed",
        ],
        "versions() of 1 and 100 heights: rows/s · packed": [
            *("1, start", "1, middle", "1, tip", "100, start", "100, middle", "100, tip"),
        ],
        "versions() of 10,000 and all heights: rows/s · packed": [
            *("10,000, start", "10,000, middle", "10,000, tip", "all"),
        ],
        "versions() of 10,000 and all heights: rows/s · objects": ["10,000, tip"],
        "Memory of a scan, above the open database": [
            *("unspent(), packed", "state_at(), packed", "versions(), packed"),
            *("unspent(), objects", "state_at(), objects"),
        ],
    }


def test_who_keeps_no_history_has_none(tables: dict[str, FigureTable]) -> None:
    for table in tables.values():
        rows = {row.schema: {*map(str, cells)} for row, cells in table.rows}
        assert {*rows} == {*LAYOUTS, "sqlite_v3"}
        assert rows.pop("sqlite_v3") == {"n/a"}
        assert "n/a" not in set().union(*rows.values())


def test_the_ratio_to_a_plain_look_up_is_no_contest(tables: dict[str, FigureTable]) -> None:
    table = tables["Names as of a random height · packed"]
    ratios = [cell for _, cells in table.rows[:3] for cell in cells if cell.figure == "plain_ratio"]
    assert {str(cell) for cell in ratios} == {"×1.1 †"}
    assert {cell.ratio for cell in ratios} == {None}


def test_all_documents_have_it(results: list[Document]) -> None:
    report = build(results)
    html = page(report)
    section = html.partition('<section id="history"')[2].partition("</section>")[0]
    assert section.count("×1.1 †") == len(LAYOUTS) * 7
    assert "interval@rocksdb,<wbr>spends=in_row" in section
    assert "n/a" in section
    for text in (markdown(outline(report)), terminal(outline(report))):
        assert re.search(r"Names as of a random height · packed .*× plain", text)
        assert re.search(r"sqlite_v3 .*n/a", text)


def test_results_of_before_have_no_such_table() -> None:
    (group,) = build([run("coin_log"), run("rocks")]).groups
    assert list(SECTIONS["history"](group)) == []
    section = page(build([run("coin_log")])).partition('<section id="history"')[2]
    assert "Not measured." in section.partition("</section>")[0]
