"""A node's coin stores: what is read, which comparison counts, and what documents show of it."""

import copy
import json
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from cdb.bench.results import Document, ResultError, place_of, read_results, text_of
from cdb.report.build import build
from cdb.report.compare import CompareError, compare
from cdb.report.html import page
from cdb.report.markdown import markdown
from cdb.report.node import busy_line, node_tables
from cdb.report.outline import outline
from cdb.report.read import read
from cdb.report.readme import NODE_BEGIN, NODE_END, ReadmeError, with_node_tables
from cdb.report.rules import NODE_TITLE
from cdb.report.terminal import terminal
from tests.conftest import ROOT
from tests.report.fixtures import HOSTILE, matrix, run, write
from tests.report.node_fixtures import comparison
from tests.report.pages import Elements, embedded, sources


def test_both_kinds_are_read_and_told_apart_by_what_they_say(tmp_path: Path) -> None:
    documents = [run("coin_log"), comparison()]
    write(documents, tmp_path)
    for number, path in enumerate(sorted(tmp_path.rglob("*.json"))):
        path.rename(path.with_name(f"{number}.json"))
    found = read([tmp_path])
    assert found == documents
    report = build(found)
    assert [len(report.groups), len(report.node), len(report.raw)] == [1, 1, 2]
    assert [matrix.files for matrix in report.matrices] == [1]
    assert read_results([tmp_path]) == documents[:1]


def test_a_comparison_has_a_name_of_its_own_and_a_line_a_case(tmp_path: Path) -> None:
    document = comparison(profile="SLOW")
    assert place_of(document) == Path("epyc", "20261123T120000Z-node-SLOW-1000000.json")
    text = text_of(document)
    assert json.loads(text) == document
    cases = [line for line in text.splitlines() if line.startswith('{"workload"')]
    assert len(cases) == 6 * 4 + 2
    hostile = copy.deepcopy(document)
    hostile["machine"]["name"] = "../../x"
    hostile["profile"]["name"] = "/etc/passwd"
    assert len(place_of(hostile).parts) == 2


def _an_infinity(document: Document) -> None:
    document["rounds"][1]["cases"][0]["figures"]["cpu_microseconds"] = float("inf")


def _less_than_nothing(document: Document) -> None:
    document["rounds"][1]["cases"][0]["figures"]["cpu_microseconds"] = -1


def _a_case_twice(document: Document) -> None:
    document["rounds"][2]["cases"].append(document["rounds"][2]["cases"][0])


def _a_round_twice(document: Document) -> None:
    document["rounds"][2] = document["rounds"][0]


def _a_round_too_few(document: Document) -> None:
    del document["rounds"][3]


def _no_end_of_runs(document: Document) -> None:
    document["runs"] = 10**18


def _another_store(document: Document) -> None:
    document["rounds"][0]["store"] = "another"


def _other_answers(document: Document) -> None:
    document["rounds"][3]["cases"][0]["answers"] = "cd" * 32


def _another_kind(document: Document) -> None:
    document["kind"] = "another"


def _a_limit_in_words(document: Document) -> None:
    document["profile"]["iops"] = "many"


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (_an_infinity, "$.rounds[1].cases[0].figures.cpu_microseconds: inf can't have been"),
        (_less_than_nothing, "$.rounds[1].cases[0].figures.cpu_microseconds: -1 can't have been"),
        (_a_case_twice, "$.rounds[2].cases[4]: this case was there already"),
        (_a_round_twice, "$.rounds: not 3 of each store, numbered from 1"),
        (_a_round_too_few, "$.rounds: not 3 of each store, numbered from 1"),
        (_no_end_of_runs, "$.rounds: not 1000000000000000000 of each store"),
        (_another_store, "$.rounds[0].store: 'another' is not one of ['chia', 'cdb']"),
        (_other_answers, "the answers of cdb in round 2 are others than those of a round before"),
        (_another_kind, "$.kind: 'another' is no kind of result that this cdb knows"),
        (_a_limit_in_words, "$.profile.iops: 'many' is not of type 'number', 'null'"),
    ],
)
def test_a_bad_comparison_is_named_with_what_is_wrong_and_where(
    spoil: Callable[[Document], None], problem: str, tmp_path: Path
) -> None:
    document = copy.deepcopy(comparison())
    spoil(document)
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(document), "utf-8")
    with pytest.raises(ResultError) as error:
        read([path])
    assert str(error.value).startswith(str(path))
    assert problem in str(error.value)
    assert "\n" not in str(error.value)


def test_the_same_comparison_twice_is_refused(tmp_path: Path) -> None:
    (path,) = write([comparison()], tmp_path)
    path.with_name("copied.json").write_bytes(path.read_bytes())
    with pytest.raises(ResultError, match=r"is the same comparison as .*; remove one of the two"):
        read([tmp_path])


def test_the_newest_of_a_setting_counts() -> None:
    older, newer = comparison(), comparison(begun="2026-11-24T12:00:00Z", speed=2)
    report = build([newer, older, comparison(profile="SLOW"), comparison(coins=50_000)])
    settings = [(each.setting.profile, each.setting.coins, each.begun) for each in report.node]
    assert settings == [
        ("FAST", 1_000_000, "2026-11-24T12:00:00Z"),
        ("FAST", 50_000, "2026-11-23T12:00:00Z"),
        ("SLOW", 1_000_000, "2026-11-23T12:00:00Z"),
    ]
    assert len(report.raw) == 4


def test_tables_tell_both_and_how_they_compare() -> None:
    (found,) = build([comparison()]).node
    warm, cold, others = (table.as_texts() for table in node_tables(found))
    header = ("call", "chia: CPU", "chia: wall", "cdb: CPU", "cdb: wall")
    assert warm.header == cold.header == (*header, "CPU: chia / cdb", "wall: chia / cdb")
    # Of three rounds, each two hundredths faster than the one before.
    assert warm.rows[0] == (
        "get_coin_records: names 100",
        *("1.51 / 1.54 / 1.57 ms †",) * 2,
        *("151 / 154 / 157 µs †",) * 2,
        *("×10",) * 2,
    )
    assert [row[0] for row in cold.rows] == ["get_coin_records: names 100"]
    told = {row[0]: row[1:] for row in others.rows}
    assert told["load, size a coin"] == ("380 B †", "380 B †", "×1.0")
    assert told["event loop: blocks of 2,000 coins, late max"][2] == "×10"


def test_what_one_store_alone_has_is_shown_without_a_ratio() -> None:
    document = comparison()
    for each in document["rounds"]:
        if each["store"] == "chia":
            each["cases"] = [case for case in each["cases"] if case["workload"] != "new_block"]
        for case in each["cases"]:
            if each["store"] == "cdb" and case["parameters"].get("cache") == "cold":
                case["figures"]["cpu_microseconds"] = 0
                case["figures"]["wall_microseconds"] = None
    (found,) = build([document]).node
    warm, cold, _ = (table.as_texts() for table in node_tables(found))
    assert next(row for row in warm.rows if row[0].startswith("new_block"))[1:3] == ("–", "–")
    assert cold.rows[0][3:] == ("0.00 / 0.00 / 0.00 s †", "–", "–", "–")


def test_a_busy_machine_is_told_and_what_counts_there() -> None:
    quiet, busy = comparison(), comparison(machine="m2", load_average=5.5)
    first, second = build([quiet, busy]).node
    assert busy_line(first) is None
    line = busy_line(second)
    assert line is not None
    assert "up to 5.5: CPU times are what counts" in line
    for text in (terminal(outline(build([busy]))), Elements(page(build([busy]))).text):
        assert line in text


def hostile() -> Document:
    """One whose every text is hostile."""
    document: Document = copy.deepcopy(comparison())
    document["command"] = document["chain"]["source"] = HOSTILE
    document["chain"]["synchronous"] = document["software"]["chia_version"] = HOSTILE
    document["profile"]["name"] = document["machine"]["name"] = HOSTILE
    for each in document["rounds"]:
        for case in each["cases"]:
            case["parameters"][HOSTILE] = HOSTILE
            case["figures"] |= {HOSTILE: 1.0}
    document["rounds"][0]["cases"][0]["workload"] = HOSTILE
    return document


def test_nothing_in_a_comparison_is_markup_or_control() -> None:
    report = build([hostile(), run()])
    html, written, printed = page(report), markdown(outline(report)), terminal(outline(report))
    assert "<script>alert" not in html
    assert Elements(html).text.count("<script>alert('a|b')</script>") > 20
    commands = re.compile(r"^```sh\n.*?^```$", re.MULTILINE | re.DOTALL)
    assert "<script>" not in commands.sub("", written)
    assert "alert(" in written
    assert "alert(" in printed
    for text in (html, written, printed):
        assert "\x1b" not in text


def test_the_page_shows_and_carries_them(tmp_path: Path) -> None:
    documents = [*matrix(("coin_log",), 1), comparison(), comparison(machine="m2", profile="SLOW")]
    paths = write(documents, tmp_path)
    html = page(build(read([tmp_path])))
    elements = Elements(html)
    assert embedded(html) == sources(paths, tmp_path)
    assert '<a href="#node">Node</a>' in html
    for text in (NODE_TITLE, "1.54 ms †", "380 B †", "CPU: chia / cdb"):
        assert text in elements.text
    # Whoever chooses by profile or machine finds them, too.
    for value in ("FAST", "SLOW", "epyc", "m2"):
        assert any(each.get("value") == value for _, each in elements.found)


def test_all_documents_tell_the_same() -> None:
    report = build([comparison()])
    written, printed = markdown(outline(report)), terminal(outline(report))
    html = unescape(page(report))
    for table in node_tables(report.node[0]):
        for line in table.lines:
            for text in (written, printed, html):
                assert line.label in text.replace("\\", "")
            for name, spread in line.told:
                assert spread is not None
                assert spread.text(name) in printed
                assert spread.median_text(name) in html


def test_without_comparisons_there_is_no_section() -> None:
    report = build(matrix(("coin_log",), 1))
    assert NODE_TITLE not in terminal(outline(report))
    html = page(report)
    assert NODE_TITLE not in Elements(html).text
    assert 'href="#node"' not in html


def test_comparisons_alone_are_a_report() -> None:
    report = build([comparison()])
    assert [card.name for card in report.machines] == ["epyc"]
    assert NODE_TITLE in terminal(outline(report))
    with pytest.raises(CompareError, match="no FAST among the results"):
        list(compare(report.raw, "FAST", "SLOW"))


def test_the_tables_of_the_documentation_are_those_of_the_committed_results() -> None:
    guide, results = ROOT / "reports/node.md", ROOT / "results"
    report = build(read([results]))
    if not report.node:
        pytest.skip("there are no results yet that the guide's tables could come from")
    text = guide.read_text("utf-8")
    assert with_node_tables(text, report, guide) == text, "run cdb report --node reports/node.md"


def test_a_page_without_a_place_or_results_without_comparisons() -> None:
    report = build([comparison()])
    text = f"one\n{NODE_BEGIN}\nof before\n{NODE_END}\ntwo\n"
    drawn = with_node_tables(text, report, Path("x.md"))
    assert drawn.startswith(f"one\n{NODE_BEGIN}\nchia is chia-blockchain's own")
    assert drawn.endswith(f"\n{NODE_END}\ntwo\n")
    assert "of before" not in drawn
    assert with_node_tables(drawn, report, Path("x.md")) == drawn
    with pytest.raises(ReadmeError, match=r"x\.md: there are no lines"):
        with_node_tables("", report, Path("x.md"))
    with pytest.raises(ReadmeError, match="no results of cdb bench node"):
        with_node_tables(text, build(matrix(("coin_log",), 1)), Path("x.md"))


def test_numbers_of_any_type_are_numbers() -> None:
    document: dict[str, Any] = comparison()
    document["rounds"][0]["cases"][0]["parameters"]["names"] = 10**17
    assert "100,000,000,000,000,000" in terminal(outline(build([document])))
