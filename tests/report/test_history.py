"""The section on history: layouts side by side, and who keeps none is told with the reason."""

import re

import pytest

from cdb.bench.database import NO_HISTORY
from cdb.bench.results import Document
from cdb.report.build import build
from cdb.report.document import document
from cdb.report.group_tables import HISTORY, workload_tables
from cdb.report.html import page
from cdb.report.parts import Table
from cdb.report.text import markdown, terminal
from tests.engines import OTHER
from tests.report.fixtures import run, without
from tests.report.full import full

LAYOUTS = ("interval@rocksdb", "interval@rocksdb,payload=inline", f"mono_space@{OTHER}")
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
def tables(results: list[Document]) -> dict[str, Table]:
    """By their captions."""
    (group,) = build(results).groups
    return {table.caption: table for table in workload_tables(group, HISTORY)}


def test_all_that_is_measured_has_a_table(tables: dict[str, Table]) -> None:
    columns = {caption: [*table.header[1:]] for caption, table in tables.items()}
    as_of, scans, unspent, left = (
        "Look-ups and scans as of a height, per second",
        "Look-ups and scans as of a height, per second · files in memory",
        "All unspent coins: rows per second",
        "What blocks left of coins: rows per second",
    )
    exist = f"{as_of} · names that exist"
    settled = "files in memory · after compaction"
    assert columns[f"{exist} · {settled} · answers as packed bytes"] == [
        *(f"{batch}, at random heights" for batch in ("one by one", "in 100s", "in 1,000s")),
        *("in 1,000s, tip", "in 1,000s, tip - 1", "in 1,000s, tip - 10"),
        *("in 1,000s, around creation", "in 1,000s, around the spend"),
    ]
    assert columns[
        f"{exist} · files not in memory · after compaction · answers as packed bytes"
    ] == [
        *("one by one, at half", "in 1,000s, at half"),
    ]
    assert columns[f"{scans} · answers as objects · state_at"] == ["tip", "at a tenth"]
    assert columns[f"{unspent} · answers as packed bytes"] == ["each"]
    assert columns[f"{left} · answers as packed bytes"] == [
        *(
            f"{n}, {at}"
            for n in ("1 height", "100 heights", "10,000 heights")
            for at in ("start", "middle", "tip")
        ),
        "all, start",
    ]
    assert len(tables) == 13


def test_who_keeps_no_history_is_in_none(tables: dict[str, Table]) -> None:
    for table in tables.values():
        assert [row[0] for row in table.texts()] == [*LAYOUTS]


def test_a_ratio_to_a_plain_look_up_stands_below_each(tables: dict[str, Table]) -> None:
    for caption, table in tables.items():
        if "names" in caption and "not in memory" not in caption:
            for line in table.rows[:3]:
                assert all("plain ratio ×1.1" in cell.notes for cell in line.cells[1:])


def test_all_documents_have_it(results: list[Document]) -> None:
    report = build(results)
    section = page(report).partition("<section id=find")[2].partition("</section>")[0]
    assert section.count("plain ratio ×1.1") == len(LAYOUTS) * 12
    assert "interval@rocksdb<wbr>,payload=inline" in section
    assert NO_HISTORY in page(report)
    for text in (markdown(document(report)), terminal(document(report))):
        assert re.search(r"Look-ups and scans as of a height, per second · names that exist", text)
        assert re.search(rf"sqlite_v3: .*{NO_HISTORY}", text)


def test_results_of_before_have_no_such_table() -> None:
    (group,) = build([run("coin_log"), run("rocks")]).groups
    assert list(workload_tables(group, HISTORY)) == []
    assert "As of a height" not in page(build([run("coin_log")]))
