"""The page as it is in its file: complete, offline, escaped, small, and with its sources inside."""

import os
import re
from pathlib import Path

import pytest

from cdb.bench import results
from cdb.contract.printable import printable
from cdb.report.build import build
from cdb.report.document import document
from cdb.report.html import page
from cdb.report.model import LOAD, Report
from cdb.report.parts import Answer, Block, Document, Plot, Text
from cdb.report.read import read
from cdb.report.rules import LIMITS, RULES, WORDS
from cdb.report.text import markdown
from tests.conftest import ROOT
from tests.report import fixtures
from tests.report.fixtures import HOSTILE, NEXT_MATRIX, matrix, run, sixty_runs
from tests.report.full import full
from tests.report.node_fixtures import week
from tests.report.pages import Elements, documents, embedded, sources

MEGABYTE = 1_000_000
COMMITTED = ROOT / "reports/benchmarks.html"


@pytest.fixture(scope="module")
def report() -> Report:
    """What is on the page."""
    return build(documents())


@pytest.fixture(scope="module")
def told(report: Report) -> Document:
    """Its parts."""
    return document(report)


@pytest.fixture(scope="module")
def html(report: Report) -> str:
    """The page."""
    return page(report)


@pytest.fixture(scope="module")
def elements(html: str) -> Elements:
    """The page, parsed."""
    return Elements(html)


def test_loads_too_short_for_a_sample_have_no_curve_and_make_a_page() -> None:
    documents = [run("coin_log", coins=20_000), run("rocks", coins=20_000)]
    assert documents[0]["cases"][0]["samples"] == []
    report = build(documents)
    assert [row.curves for row in report.groups[0].rows] == [(), ()]
    assert "20,000 coins" in page(report)


def test_the_answers_come_first(told: Document, elements: Elements) -> None:
    answers = [part for part in told.answers[0].parts if isinstance(part, Answer)]
    assert [each.use for each in answers] == [title for _, title in told.uses]
    for each in answers:
        place = elements.text.index(" ".join(printable(each.sentence).split()))
        words = elements.text.index(WORDS[0][1])
        assert place < words < elements.text.index(told.sections[0].question, words)
    for _, meaning in WORDS:
        assert meaning in elements.text


def test_all_is_said_without_javascript(report: Report, elements: Elements) -> None:
    for group in report.groups:
        for row in group.rows:
            assert " ".join(row.description.split()) in elements.text
            for name in ("wall_seconds", "peak_rss_bytes", "syncs", "write_amplification"):
                spread = row.figure(LOAD, name)
                assert spread is None or spread.median_text(name) in elements.text
    for text in (*RULES, *LIMITS, *(each.command for each in report.matrices)):
        assert " ".join(text.split()) in elements.text
    for facts in (facts for card in report.machines for facts in card.facts):
        assert " ".join(facts) in elements.text


def test_every_view_is_there_and_the_first_is_open(told: Document, elements: Elements) -> None:
    blocks = [
        attributes
        for tag, attributes in elements.found
        if tag == "details" and "data-views" in attributes
    ]
    for section in (told.answers, *(each.blocks for each in told.sections)):
        assert len(section) == len(told.views) > 3
    for attributes in blocks:
        assert ("open" in attributes) == ("0" in attributes["data-views"].split())


def test_what_only_works_with_javascript_is_all_that_is_hidden(elements: Elements) -> None:
    hidden = [(tag, attributes) for tag, attributes in elements.found if "hidden" in attributes]
    assert hidden
    for tag, attributes in hidden:
        # What other views are in a few words; and a choice of one.
        assert (
            "data-script" in attributes
            or attributes.get("id") in ("hint", "jump")
            or (tag == "small" and "data-views" in attributes)
            or tag == "label"
        )


def test_every_plot_is_a_picture_and_a_table(told: Document, html: str) -> None:
    plots = {
        repr(part)
        for section in told.sections
        for block in section.blocks
        for part in block.parts
        if isinstance(part, Plot)
    }
    assert len(plots) > 5
    assert html.count("<svg ") >= len(plots)
    assert html.count("<summary>Values</summary>") == html.count("<svg ")


def test_a_schema_has_one_colour_and_no_other_has_it(told: Document, html: str) -> None:
    colours = {schema: n for n, schema in enumerate(told.schemas)}
    html = html.replace("<wbr>", "")
    rows = re.findall(r'<tr class="schema s(\d+)[^"]*"><th scope=row>([\w@]+)', html)
    lines = re.findall(r'<g class="schema s(\d+)[^"]*"><path [^>]*><title>([\w@]+)<', html)
    assert min(len(rows), len(lines)) > 5
    assert all(colours[schema] == int(place) for place, schema in rows + lines)
    style = html[html.index("<style>") : html.index("</style>")]
    defined = re.findall(r"--s\d+: ?light-dark\((.*)\)", style)
    assert len({*defined}) == len(defined) >= len(colours)


def test_at_first_no_chart_has_more_than_six_lines(html: str) -> None:
    for drawn in re.findall(r"<svg .*?</svg>", html, re.DOTALL):
        names = re.findall(r'<g class="(schema [^"]*) line"', drawn)
        assert 1 <= len([each for each in names if "more" not in each.split()]) <= 6


def test_two_points_are_no_growth() -> None:
    two = run()
    two["cases"][0]["samples"] = [[500_000, 0.1], [1_000_000, 0.3]]
    growth = next(each for each in document(build([two])).sections if each.id == "growth")
    assert not any(isinstance(part, Plot) for part in growth.blocks[0].parts)


@pytest.mark.parametrize(
    ("speed", "said"), [(1 / 1.04, "does not slow down"), (1 / 1.06, "slows down")]
)
def test_how_it_grows_is_drawn_in_the_size_that_the_sentence_names(speed: float, said: str) -> None:
    other = [run(schema, coins=4_000_000) for schema in ("rocks", "sqlite_v3")]
    for each in other:  # another replay of that size
        each["data"]["digest"] = "1" * 64
    sizes = [run(), run(coins=4_000_000, speed=speed), run("rocks", coins=5_000_000)]
    block, plot = growth_of_coin_log([*sizes, *other])
    assert f"coin_log {said}: a coin of a load of 4,000,000 coins takes " in block.finding
    assert plot.title.startswith("Coins per second while 4,000,000 coins are loaded")
    assert [schema for schema, _ in plot.points] == ["coin_log"]


def test_a_load_of_one_size_is_of_the_size_that_it_was() -> None:
    block, plot = growth_of_coin_log([run(), run("rocks"), run("rocks", coins=4_000_000)])
    assert block.finding == "coin_log was loaded in one size only: 1,000,000 coins."
    assert plot.title.startswith("Coins per second while 1,000,000 coins are loaded")


def growth_of_coin_log(documents: list[results.Document]) -> tuple[Block, Plot]:
    """What is said of how it grows, and drawn."""
    growth = next(each for each in document(build(documents)).sections if each.id == "growth")
    block = next(each for each in growth.blocks if each.finding.startswith("coin_log "))
    (plot,) = [part for part in block.parts if isinstance(part, Plot)]
    return block, plot


def test_a_view_speaks_of_schemas_that_it_has() -> None:
    told = document(build([run("floor"), run("rocks", coins=4_000_000), run(profile="SLOW")]))
    findings = {
        (view.profile, view.size): [each.blocks[at].finding for each in told.sections]
        for at, view in enumerate(told.views)
    }
    assert len(findings) == 3
    for (profile, size), said in findings.items():
        about = " ".join(said[:2])
        assert ("coin_log" in about) == (profile == "SLOW"), (profile, size, about)


def test_with_all_schemas_only_those_of_before_have_names_beside_points(html: str) -> None:
    scatters = [each for each in re.findall(r"<svg .*?</svg>", html, re.DOTALL) if "r=6" in each]
    assert scatters
    for drawn in scatters:
        assert not re.search(r'class="(few|more) name"', drawn)
        few = re.findall(r'<g class="schema s\d+ line"', drawn)
        assert 1 <= len(re.findall(r"class=name", drawn)) == len(few)


def test_how_many_schemas_are_shown_is_how_many_there_are() -> None:
    names = ("floor", "coin_log", "rocks", "blockchain_v2", "sqlite_v3", "flat_file", "sqlite_row")
    text = page(build(matrix((*names, "interval@rocksdb"), 1)))
    start = text.index("<table class=bars>")
    glance = text[start : text.index("</table>", start)]
    rows = re.findall(r'<tr class="(schema [^"]*)"', glance)
    few = [each for each in rows if "more" not in each.split()]
    # The floor is no schema.
    counts = f"{len(few) - 1} of {len(rows) - 1} schemas"
    figure = text[text.rindex("<figcaption>", 0, start) : start]
    assert len(rows) == 8
    assert "<th scope=row>interval<wbr>@rocksdb<" in glance
    assert f"<span class=few>{counts}</span>" in figure
    assert f"<span class=more>All {len(rows) - 1} schemas</span>" in figure
    assert "all schemas in pictures" in text


def test_what_differs_between_views_of_one_size_is_told_in_words() -> None:
    (again,) = matrix(("coin_log",), 1, matrix=NEXT_MATRIX)
    again["data"]["source"] = "/mnt/disk/blocks.txt"
    (other,) = matrix(("coin_log",), 1)
    other["data"]["digest"] = "abcdef01" + "0" * 56
    often = matrix(("coin_log",), 1, flush_coins=1_000)
    views = document(build([*matrix(runs=1), again, other, *often])).views
    assert {re.sub(r" \d\)", ")", view.size) for view in views} == {
        "1,000,000 coins",
        "1,000,000 coins (coin_log measured again, 2026-11-22)",
        "1,000,000 coins (other blocks, abcdef01)",
        "1,000,000 coins (flushed each 1,000)",
    }
    assert len({*views}) == 4


def test_questions_without_an_answer_are_one_line() -> None:
    told = document(build([*matrix(runs=1), *week()]))
    *_, opening = told.answers
    empty = [each.question for each in told.sections if each.blocks[-1].is_empty]
    assert len(empty) == 6
    (line,) = [part.text for part in opening.parts if isinstance(part, Text)]
    assert line == f"Not measured with this choice: {' '.join(empty)}"
    for text in (page(build([*matrix(runs=1), *week()])), markdown(told)):
        assert text.count("Not measured with this choice") == 1


def test_nothing_comes_from_a_network(html: str, elements: Elements) -> None:
    addresses = [
        value
        for _, attributes in elements.found
        for name, value in attributes.items()
        if name in ("src", "href", "xlink:href", "srcset", "action", "poster", "data")
    ]
    assert addresses
    assert all(address.startswith(("#", "data:")) for address in addresses)
    style = html[html.index("<style>") : html.index("</style>")]
    assert "@import" not in style
    assert "url(" not in style
    assert "default-src 'none'" in html


def test_links_lead_to_places_of_the_page(elements: Elements) -> None:
    ids = [attributes["id"] for _, attributes in elements.found if "id" in attributes]
    assert len({*ids}) == len(ids)
    links = {attributes.get("href", "") for _, attributes in elements.found}
    assert {link[1:] for link in links if link.startswith("#")} <= {*ids}


def test_texts_are_texts(html: str, elements: Elements) -> None:
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(" in html
    assert "\x1b" not in html
    assert HOSTILE[:30] in elements.text
    kinds = [attributes.get("type", "") for tag, attributes in elements.found if tag == "script"]
    assert kinds == ["application/json", ""]


def test_failures_are_told_with_their_reason(elements: Elements) -> None:
    for reason in (
        "flat_file: load: wrong: <script>alert('a|b')</script>",
        "load: failed: its process was killed by signal 9",
        "load: not measured: librocksdb is not on this machine",
        "load: 700 k of 1 M in 19 m 48 s: ended at the limit of 20 minutes",
        "its process was killed by signal 9",
    ):
        assert reason in elements.text


def test_a_wrong_schema_has_no_figure(html: str) -> None:
    rows = re.findall(r"<th scope=row>flat_file<small[^>]*>✗</small>(.*?)<t[rbh]", html, re.DOTALL)
    assert rows
    assert {*re.findall(r">([^<]+)", "".join(rows))} == {"✗ wrong"}


def test_few_runs_and_busy_machines_are_marked(html: str, elements: Elements) -> None:
    assert re.search(r"<td>0\.\d+ s †", html)
    assert "⚠ Other processes wanted up to 1.8 cores in runs of" in elements.text


def test_the_sources_are_inside(tmp_path: Path) -> None:
    results = [full(run()), run(machine="nuc", schema="rocks"), run(schema=HOSTILE[:60])]
    paths = fixtures.write(results, tmp_path)
    assert embedded(page(build(results))) == sources(paths, tmp_path)


def test_many_sources_are_where_the_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    report = build([full(run())])
    assert embedded(page(report, ["results"]))
    monkeypatch.setattr("cdb.report.html.MOST_CARRIED_BYTES", 100)
    html = page(report, ["../my results", "/a/b"])
    assert '<a href="../my%20results">../my results</a>, <a href="/a/b">/a/b</a>' in html
    assert "base64" not in html
    no_text = page(report, [os.fsdecode(b"r\xe9sults")])
    assert '<a href="r%E9sults">r�sults</a>' in no_text


@pytest.mark.parametrize("name", ["the fixture's", "the published"])
def test_the_page_is_read_at_a_glance(name: str, html: str) -> None:
    """Headings, sections, schemas and lines at opening, and the script that a reader loads."""
    text = html if name == "the fixture's" else COMMITTED.read_text("utf-8")
    assert 1 < len(re.findall(r"<h[1-6][ >]", text)) <= 12
    assert text.count("<section ") <= 9
    first = re.findall(r"<details [^>]*data-views=(?:\"0 [^\"]*\"|0) [^>]*>", text)
    assert len(first) >= 7
    script = text[text.rindex("<script>") : text.rindex("</script>")]
    assert script.count("\n") <= 300


def test_the_published_page_is_small_and_of_the_committed_results() -> None:
    text = COMMITTED.read_text("utf-8")
    assert len(text.encode()) <= 1.2 * MEGABYTE
    results = ROOT / "results"
    report = build(read([results]))
    assert len(document(report).shown[0]) <= 6
    command = "run cdb report results --out reports/benchmarks.html"
    assert page(report, ["../results"]) == text, command
    # It carries none of its sources, and says where they are: all that it was made from.
    (link,) = re.findall(r"<p id=raw>[^<]*<a href=\"([^\"]+)\">", text)
    told = (COMMITTED.parent / link).resolve()
    assert {*told.rglob("*.json")} == {*results.rglob("*.json")}


def test_what_the_slow_disk_decides_is_there_once() -> None:
    text = page(build([*matrix(runs=1), *matrix(runs=1, profile="SLOW")]))
    assert text.count(" data-use=small") == 1
    assert text.count(" data-use=tip") == 2


@pytest.mark.long
def test_sixty_runs_are_a_megabyte_at_most() -> None:
    results = [full(each) for each in sixty_runs()]
    assert len(results) == 60
    assert len(page(build(results)).encode()) <= MEGABYTE


def test_a_page_without_results() -> None:
    assert "Which store for your coins?" in page(build([]))
