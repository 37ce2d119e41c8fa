"""What is no schema: a node's coin stores, a node's week, and layouts below the coin set.

What is read, refused and shown of all three alike; what each shows by itself has its own tests.
"""

import copy
import json
import re
from collections.abc import Callable, Mapping
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from cdb.bench.results import Document, ResultError, check, place_of, read_results, text_of
from cdb.report.build import build
from cdb.report.compare import CompareError, compare
from cdb.report.document import document as document_of
from cdb.report.html import page
from cdb.report.layouts import layout_tables
from cdb.report.model import Group, Report
from cdb.report.node import node_tables
from cdb.report.read import read
from cdb.report.readme import (
    NODE_BEGIN,
    NODE_END,
    WEEK_BEGIN,
    WEEK_END,
    ReadmeError,
    with_node_tables,
    with_week_tables,
)
from cdb.report.rules import LAYOUTS_WORDS, NODE_WORDS, WEEK_WORDS
from cdb.report.tables import busy_line, problem_lines
from cdb.report.text import markdown, terminal
from tests.conftest import ROOT
from tests.report.fixtures import HOSTILE, matrix, run, write
from tests.report.layout_fixtures import engines
from tests.report.node_fixtures import comparison, week
from tests.report.pages import Elements, embedded, sources

KINDS: Mapping[str, Callable[..., list[Document]]] = {
    "node": comparison,
    "week": week,
    "layouts": engines,
}
WORDS = {"node": NODE_WORDS, "week": WEEK_WORDS, "layouts": LAYOUTS_WORDS}
PLACES = {
    "node": "20261123T120000Z-node-chia-FAST-1000000-1.json",
    "week": "20261123T180000Z-week-chia-SPINNING-1GB-6700000-1.json",
    "layouts": "20261124T090000Z-layouts-mono_space-rocksdb-FAST-canopy-10k-1.json",
}
GONE = object()
BY_KIND = pytest.mark.parametrize("kind", KINDS)


def groups_of(report: Report) -> dict[str, tuple[Group, ...]]:
    """By kind."""
    return {"node": report.node, "week": report.weeks, "layouts": report.layouts}


def three(report: Report) -> tuple[str, str, str]:
    """The page's text, Markdown and a terminal's text."""
    told = document_of(report)
    return unescape(page(report)), markdown(told), terminal(told)


def test_all_kinds_are_read_and_told_apart_by_what_they_say(tmp_path: Path) -> None:
    documents = [run("coin_log"), *comparison(), *week(), *engines()]
    paths = write(documents, tmp_path)
    assert {path.name for path in paths} > {*PLACES.values()}
    for number, path in enumerate(paths):
        path.rename(path.with_name(f"{number:03}.json"))
    found = read([tmp_path])
    assert found == read_results([tmp_path])
    assert all(each in documents for each in found)
    assert len(found) == len(documents)
    report = build(found)
    assert {kind: len(groups) for kind, groups in groups_of(report).items()} == dict.fromkeys(
        KINDS, 1
    )
    assert [len(report.groups), len(report.raw)] == [1, len(documents)]
    assert [each.files for each in report.matrices] == [1]


@BY_KIND
def test_a_result_has_a_line_a_case_and_stays_in_its_folder(kind: str, tmp_path: Path) -> None:
    document, *_ = KINDS[kind]()
    text = text_of(document)
    (tmp_path / "x.json").write_text(text, "utf-8")
    assert read_results([tmp_path]) == [document]
    cases = [line for line in text.splitlines() if line.startswith('{"workload"')]
    assert len(cases) == len(document["cases"])
    document["machine"]["name"] = "../../x"
    document["profile"]["name"] = document["contestant"]["name"] = "/etc/passwd"
    document["data"] = {"source": "../y"}
    assert len(place_of(document).parts) == 2


def spoiled(document: Document, place: tuple[str | int, ...], value: object) -> Document:
    """With another value there, or without what is there."""
    changed = copy.deepcopy(document)
    *way, last = place
    within: Any = changed
    for each in way:
        within = within[each]
    if value is GONE:
        del within[last]
    else:
        within[last] = value(within) if callable(value) else value
    return changed


CASE = ("cases", 0)
SECONDS = (*CASE, "figures", "cpu_microseconds")


@pytest.mark.parametrize(
    ("kind", "place", "value", "problem"),
    [
        ("node", SECONDS, float("inf"), "$.cases[0].figures.cpu_microseconds: inf can't have been"),
        ("node", SECONDS, -1, "$.cases[0].figures.cpu_microseconds: -1 can't have been measured"),
        ("node", ("cases", 1), lambda cases: cases[0], "$.cases[1]: this case was there already"),
        ("node", ("contestant", "name"), "x", "$.contestant.name: 'x' is not one of ['chia', 'cdb"),
        ("node", (*CASE, "answers"), "cd" * 31, "$.cases[0].answers: "),
        (
            "node",
            ("kind",),
            "x",
            "$.kind: 'x' is not one of ['schemas', 'pairs', 'node', 'week', 'layouts",
        ),
        ("node", ("version",), 1, "a result of format 1, and this cdb reads format 2 only"),
        ("node", ("profile", "iops"), "many", "$.profile.iops: 'many' is not of type 'number'"),
        ("week", ("data", "blocks"), 0, "$.data.blocks: 0 is less than the minimum"),
        ("week", ("data", "blocks"), GONE, "$.data: 'blocks' is a required property"),
        ("week", ("data", "part_seconds"), "long", "$.data.part_seconds: 'long' is not"),
        ("week", ("data", "more"), 1, "$.data: Additional properties are not allowed ('more' was"),
        ("layouts", ("durability",), "none", "$.durability: 'power' was expected"),
        ("layouts", (*CASE, "outcome"), "good", "$.cases[0].outcome: 'good' is not one of"),
        ("layouts", ("data", "keys"), 0, "$.data.keys: 0 is less than the minimum of 1"),
    ],
)
def test_a_bad_result_is_named_with_what_is_wrong_and_where(
    kind: str, place: tuple[str | int, ...], value: object, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(spoiled(KINDS[kind]()[0], place, value)), "utf-8")
    with pytest.raises(ResultError) as error:
        read([path])
    assert str(error.value).startswith(str(path))
    assert problem in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", ["node", "week"])
def test_who_answers_otherwise_in_one_matrix_is_refused(kind: str, tmp_path: Path) -> None:
    theirs, ours, *_ = KINDS[kind]()
    ours["cases"][1]["answers"] = "cd" * 32
    write([theirs], tmp_path)
    (path,) = write([ours], tmp_path / "other")
    with pytest.raises(ResultError, match=f"{path}: .*: the answers of cdb in round 1 are others"):
        read([tmp_path / theirs["machine"]["name"], tmp_path / "other"])
    ours["matrix"]["id"] = "20261123T130000Z"
    path.write_text(text_of(ours), "utf-8")
    assert len(read([tmp_path])) == 2


@pytest.mark.parametrize(("kind", "first"), [("node", "load"), ("layouts", "write")])
def test_runs_that_left_no_result_are_missed(kind: str, first: str) -> None:
    *documents, last = KINDS[kind]()
    (group,) = groups_of(build(documents))[kind]
    line = f"{last['contestant']['name']}: {first}: missing in 1 of 2 runs: left no result"
    assert problem_lines(group) == [line]


@pytest.mark.parametrize("kind", ["node", "week"])
def test_a_store_that_answered_otherwise_or_has_no_run_is_told(kind: str) -> None:
    theirs, ours, *others = KINDS[kind]()
    wrong = {"outcome": "wrong", "reason": "the answers of cdb are others", "figures": {}}
    ours["cases"][1] |= wrong
    report = build([theirs, ours, *others])
    row = groups_of(report)[kind][0].row("cdb")
    assert row is not None
    assert row.figures == {}
    for text in three(report):
        assert "the answers of cdb are others" in text
    for text in three(build([theirs])):
        assert "There is no run of cdb yet" in text


@BY_KIND
def test_the_same_result_twice_is_refused(kind: str, tmp_path: Path) -> None:
    (path,) = write(KINDS[kind]()[:1], tmp_path)
    path.with_name("copied.json").write_bytes(path.read_bytes())
    with pytest.raises(ResultError, match=r"is the same run as .*; remove one of the two"):
        read([tmp_path])


@pytest.mark.parametrize("kind", ["node", "layouts"])
def test_a_busy_machine_is_told(kind: str) -> None:
    make = KINDS[kind]
    quiet, busy = groups_of(build([*make(), *make(machine="m2", others_cores=1.5)]))[kind]
    assert busy_line(quiet) is None
    line = busy_line(busy)
    assert line is not None
    assert "up to 1.5 cores in runs of " in line
    assert line.endswith("CPU times count.")
    for text in three(build(make(others_cores=1.5))):
        assert line in text.replace("\\", "")


@BY_KIND
def test_all_documents_tell_the_same(kind: str) -> None:
    report = build(KINDS[kind]())
    (group,) = groups_of(report)[kind]
    html, written, printed = three(report)
    for name, words in WORDS.items():
        for text in (html, written, printed):
            assert (words in text) == (name == kind)
    tables = layout_tables(group) if kind == "layouts" else node_tables(group)
    for cell in (cell for table in tables for line in table.rows for cell in line.cells):
        assert cell.text in html
        assert str(cell) in printed
        assert str(cell) in written.replace("\\", "").replace("&gt;", ">")


@BY_KIND
def test_the_page_shows_and_carries_them(kind: str, tmp_path: Path) -> None:
    others = KINDS[kind]()
    for each in others:
        each["machine"]["name"] = "m2"
    documents = [*matrix(("coin_log",), 1), *KINDS[kind](), *others]
    paths = write(documents, tmp_path)
    html = page(build(read([tmp_path])))
    assert embedded(html) == sources(paths, tmp_path)
    assert WORDS[kind] in Elements(html).text
    # Whoever chooses by machine or profile finds them, too.
    for value in ("epyc", "m2", others[0]["profile"]["name"]):
        assert f"<option>{value}</option>" in html


def test_without_them_that_is_said() -> None:
    report = build(matrix(("coin_log",), 1))
    for text in three(report):
        assert not any(words in text for words in WORDS.values())
        assert "A full node's own calls were not measured yet" in text


@BY_KIND
def test_they_alone_are_a_report(kind: str) -> None:
    report = build(KINDS[kind]())
    assert [card.name for card in report.machines] == ["epyc"]
    assert WORDS[kind] in terminal(document_of(report))
    with pytest.raises(CompareError, match="no FAST among the results"):
        list(compare(report.raw, "FAST", "SLOW"))


@BY_KIND
def test_nothing_in_them_is_markup_or_control(kind: str) -> None:
    documents = KINDS[kind]()
    for each in documents:
        each["matrix"]["command"] = each["data"]["source"] = HOSTILE
        each["profile"]["name"] = each["machine"]["name"] = HOSTILE
        each["software"] |= {"rocksdb_engine": HOSTILE, "chia_version": HOSTILE}
        if kind == "layouts":
            layout, _, engine = each["contestant"]["name"].partition("@")
            each["contestant"]["name"] = f"{layout}{HOSTILE}@{engine}"
        else:
            each["data"]["synchronous"] = HOSTILE
        for case in each["cases"]:
            case["parameters"][HOSTILE] = HOSTILE
            case["figures"] |= {HOSTILE: 1.0}
        each["cases"][0]["workload"] = HOSTILE
    report = build([*documents, run()])
    html, (_, written, printed) = page(report), three(report)
    assert "<script>alert" not in html
    assert Elements(html).text.count("<script>alert('a|b')</script>") > 5
    commands = re.compile(r"^```sh\n.*?^```$", re.MULTILINE | re.DOTALL)
    assert "<script>" not in commands.sub("", written)
    for text in (html, written, printed):
        assert "alert(" in text
        assert "\x1b" not in text


def test_numbers_of_any_size_are_numbers() -> None:
    first, *others = comparison()
    first["cases"][0]["parameters"]["names"] = 10**17
    check(first, "it")
    assert "100,000,000,000,000,000" in terminal(document_of(build([first, *others])))


def test_the_tables_of_the_documentation_are_those_of_the_committed_results() -> None:
    page_of_node, report = ROOT / "reports/node.md", build(read([ROOT / "results"]))
    text = page_of_node.read_text("utf-8")
    command = "run cdb report results --node reports/node.md, and the same with --week"
    assert with_node_tables(text, report, page_of_node) == text, command
    assert with_week_tables(text, report, page_of_node) == text, command


@pytest.mark.parametrize(
    ("kind", "draw", "lines", "command"),
    [
        ("node", with_node_tables, (NODE_BEGIN, NODE_END), "cdb bench node"),
        ("week", with_week_tables, (WEEK_BEGIN, WEEK_END), "cdb bench week"),
    ],
)
def test_a_page_has_a_place_for_each(
    kind: str, draw: Any, lines: tuple[str, str], command: str
) -> None:
    both = build([*comparison(), *week()])
    text = "one\n{}\nof before\n{}\ntwo\n".format(*lines)
    drawn = draw(text, both, Path("x.md"))
    assert drawn.startswith(f"one\n{lines[0]}\n{WORDS[kind][:40]}")
    assert drawn.endswith(f"\n{lines[1]}\ntwo\n")
    assert "of before" not in drawn
    assert ("new_block" in drawn) == (kind == "node")
    assert draw(drawn, both, Path("x.md")) == drawn
    with pytest.raises(ReadmeError, match=r"x\.md: there are no lines"):
        draw("", both, Path("x.md"))
    with pytest.raises(ReadmeError, match=f"no results of {command}"):
        draw(text, build(matrix(("coin_log",), 1)), Path("x.md"))
