"""A node's week: which counts, and what documents show of it."""

import copy
from html import unescape
from pathlib import Path

import pytest

from cdb.bench.results import Document, ResultError, check, place_of, read_results
from cdb.report.build import build
from cdb.report.html import page
from cdb.report.markdown import markdown
from cdb.report.node import conditions, how, node_tables
from cdb.report.outline import outline
from cdb.report.read import read
from cdb.report.readme import WEEK_BEGIN, WEEK_END, ReadmeError, with_node_tables, with_week_tables
from cdb.report.rules import NODE_TITLE, WEEK_TITLE
from cdb.report.terminal import terminal
from tests.conftest import ROOT
from tests.report.fixtures import HOSTILE, matrix, run, write
from tests.report.node_fixtures import comparison, week
from tests.report.pages import Elements


def test_a_week_is_read_and_is_none_of_the_others(tmp_path: Path) -> None:
    documents = [run("coin_log"), comparison(), week()]
    write(documents, tmp_path)
    found = read([tmp_path])
    assert found == documents
    report = build(found)
    assert [len(report.groups), len(report.node), len(report.weeks)] == [1, 1, 1]
    assert read_results([tmp_path]) == documents[:1]
    assert place_of(week()).name == "20261123T180000Z-week-SPINNING-1GB-6700000.json"


@pytest.mark.parametrize("spoiled", [{"blocks": 0}, {"part_seconds": "long"}, {"more": 1}])
def test_a_week_that_asks_for_nonsense_is_refused(spoiled: dict[str, object]) -> None:
    document = week()
    document["week"] |= spoiled
    with pytest.raises(ResultError, match=r"\$\.week"):
        check(document, "it")


def test_stores_that_answer_otherwise_are_refused(tmp_path: Path) -> None:
    (path,) = write([week()], tmp_path)
    path.write_text(path.read_text("utf-8").replace("ab" * 32, "cd" * 32, 1), "utf-8")
    with pytest.raises(ResultError, match=r"sync .*: the answers of cdb in round 1 are others"):
        read([tmp_path])


def test_the_newest_of_as_long_a_week_counts() -> None:
    later = "2026-11-24T18:00:00Z"
    weeks = [week(), week(begun=later, speed=2), week(blocks=5_000), week(part_seconds=60)]
    report = build(weeks)
    told = [(each.setting.week, each.begun) for each in report.weeks]
    assert len(told) == 3
    assert [begun for asked, begun in told if asked == report.weeks[0].setting.week] == [later]


def test_tables_tell_parts_and_wallets_and_then_all() -> None:
    (found,) = build([week()]).weeks
    assert conditions(found) == "SPINNING-1GB, a week of 100,000 blocks"
    assert "100,000 blocks were to be synced; chia's store had 1 h 00 m for each" in how(found)
    parts, wallets, *rest = (table.as_texts() for table in node_tables(found))
    assert parts.header[1:4] == ("chia: wall", "chia: written", "chia: longest stall")
    assert parts.rows[0] == (
        "sync: blocks 4,000",
        *("26 m 40 s †", "6.4 GB †", "1.60 s †"),
        *("2 m 40 s †", "640 MB †", "0.160 s †"),
        *("×10",) * 3,
    )
    # chia's store had no time for the rest.
    assert parts.rows[4][:4] == ("sync of the rest: blocks 96,000", "–", "–", "–")
    assert [row[0] for row in wallets.rows] == [
        "get_coin_states_by_ids: names 100",
        "get_coin_record",
    ]
    assert wallets.rows[0][1:4] == ("20 ms †", "80 ms †", "90 ms †")
    told = {row[0]: row[1:] for table in rest for row in table.rows}
    assert told["size"] == ("800 MB †", "80 MB †", "×10")
    assert told["peak RSS"] == ("60 MB †", "60 MB †", "×1.0")


def test_all_documents_tell_the_same() -> None:
    report = build([week()])
    written, printed = markdown(outline(report)), terminal(outline(report))
    html = unescape(page(report))
    for text in (written, printed, html):
        assert WEEK_TITLE in text
        assert NODE_TITLE not in text
    assert '<a href="#week">Week</a>' in html
    assert 'href="#node"' not in html
    for table in node_tables(report.weeks[0]):
        for line in table.lines:
            for text in (written, printed, html):
                assert line.label in text.replace("\\", "")
            for name, spread in line.told:
                assert spread is None or spread.text(name) in printed
                assert spread is None or spread.median_text(name) in html


def test_without_a_week_there_is_no_section() -> None:
    report = build([comparison()])
    assert WEEK_TITLE not in terminal(outline(report))
    assert WEEK_TITLE not in Elements(page(report)).text


def test_nothing_in_a_week_is_markup() -> None:
    document: Document = copy.deepcopy(week())
    for each in document["rounds"]:
        for case in each["cases"]:
            case["parameters"][HOSTILE] = HOSTILE
            case["figures"] |= {HOSTILE: 1.0}
        each["cases"][0]["workload"] = HOSTILE
    report = build([document])
    assert "<script>alert" not in page(report)
    assert "<script>" not in markdown(outline(report))
    for text in (page(report), markdown(outline(report)), terminal(outline(report))):
        assert "alert(" in text
        assert "\x1b" not in text


def test_the_tables_of_the_guide_are_those_of_the_committed_results() -> None:
    guide, results = ROOT / "reports/node.md", ROOT / "results"
    text, report = guide.read_text("utf-8"), build(read([results]))
    assert WEEK_BEGIN in text
    if not report.weeks:
        pytest.skip("there are no results yet that the guide's week could come from")
    assert with_week_tables(text, report, guide) == text, "run cdb report --week reports/node.md"


def test_a_page_has_a_place_for_each() -> None:
    both = build([comparison(), week()])
    text = f"one\n{WEEK_BEGIN}\nof before\n{WEEK_END}\ntwo\n"
    drawn = with_week_tables(text, both, Path("x.md"))
    assert drawn.startswith(f"one\n{WEEK_BEGIN}\nchia's own coin store lived through it first")
    assert drawn.endswith(f"\n{WEEK_END}\ntwo\n")
    assert "of before" not in drawn
    assert "new_block" not in drawn
    with pytest.raises(ReadmeError, match=r"x\.md: there are no lines"):
        with_node_tables(text, both, Path("x.md"))
    with pytest.raises(ReadmeError, match="no results of cdb bench week"):
        with_week_tables(text, build(matrix(("coin_log",), 1)), Path("x.md"))
