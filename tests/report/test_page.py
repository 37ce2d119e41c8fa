"""The page as it is in its file: complete, offline, escaped, and with its sources inside."""

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from cdb.report.answers import answers
from cdb.report.build import build
from cdb.report.charts import speeds
from cdb.report.html import page
from cdb.report.model import LOAD, Report
from cdb.report.rules import LIMITS, RULES
from tests.report import fixtures
from tests.report.fixtures import HOSTILE, run, sixty_runs
from tests.report.full import full
from tests.report.pages import Elements, documents, embedded, sources

MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def report() -> Report:
    """What is on the page."""
    return build(documents())


@pytest.fixture(scope="module")
def html(report: Report) -> str:
    """The page."""
    return page(report)


@pytest.fixture(scope="module")
def elements(html: str) -> Elements:
    """The page, parsed."""
    return Elements(html)


def test_the_answers_come_first(report: Report, elements: Elements) -> None:
    places = [elements.text.index(answer.text) for answer in answers(report)]
    assert len(places) == 3
    assert max(places) < elements.text.index("Does it slow down as it grows?")


def test_all_is_said_without_javascript(report: Report, elements: Elements) -> None:
    for group in report.groups:
        for row in group.rows:
            assert " ".join(row.description.split()) in elements.text
            for name in ("wall_seconds", "peak_rss_bytes", "syncs", "write_amplification"):
                spread = row.figure(LOAD, name)
                assert spread is None or spread.median_text(name) in elements.text
    for text in (*RULES, *LIMITS, *(matrix.command for matrix in report.matrices)):
        assert " ".join(text.split()) in elements.text
    for facts in (facts for card in report.machines for facts in card.facts):
        assert " ".join(facts) in elements.text


def test_what_only_works_with_javascript_is_all_that_is_hidden(elements: Elements) -> None:
    hidden = [attributes for _, attributes in elements.found if "hidden" in attributes]
    assert hidden
    assert all(
        "data-script" in attributes
        or attributes.get("id") in ("nothing", "hint")
        or "data-dimension" in attributes
        for attributes in hidden
    )


def test_curves_are_pictures_too(report: Report, html: str) -> None:
    figures = re.findall(r'<figure class="chart">(.*?)</figure>', html, re.DOTALL)
    assert len(figures) >= 2 * len(report.groups)
    assert all("<svg" in figure and "<path" in figure for figure in figures)


def test_a_schema_has_one_colour_in_bars_and_curves(html: str) -> None:
    bars = dict(re.findall(r'<tr data-schema="(\w+)" data-competes style="--c:([^;]+);', html))
    curves: dict[str, str] = {}
    for text in re.findall(r'<script type="application/json">(.*?)</script>', html, re.DOTALL):
        for scale in _colours(json.loads(text)):
            curves |= zip(scale["domain"], scale["range"], strict=True)
    assert len(set(bars.values())) > 3
    assert {name: curves[name] for name in bars} == bars


def _colours(part: Any) -> Iterator[dict[str, list[str]]]:
    """The scales of colours in a specification."""
    if isinstance(part, dict):
        if str(part.get("range", [""])[:1]).startswith("['var(--s"):
            yield part
        part = list(part.values())
    for each in part if isinstance(part, list) else ():
        yield from _colours(each)


def test_each_row_says_how_many_runs_are_behind_it(report: Report, html: str) -> None:
    counts = {row.runs for group in report.groups for row in group.rows}
    assert len(counts) > 1
    for count in counts:
        assert f'<small class="runs">{count} run{"" if count == 1 else "s"}</small>' in html


def test_every_bar_has_its_ratio_in_words(report: Report, html: str) -> None:
    for group in report.groups:
        for row in group.rows:
            if group.ratio(row, LOAD, "wall_seconds") == 1:
                assert f'data-schema="{row.schema}" data-competes' in html
    assert html.count(">×1.0</i>") >= len(report.groups)


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


def test_texts_are_texts(html: str, elements: Elements) -> None:
    assert "<script>alert" not in html
    assert "<b>&lt;script&gt;alert(" in html
    assert "\x1b" not in html
    assert HOSTILE[:30] in elements.text
    kinds = {attributes.get("type", "") for tag, attributes in elements.found if tag == "script"}
    assert kinds == {"", "application/json"}
    assert sum(tag == "script" for tag, _ in elements.found) == 2 + html.count("<figure")


def test_failures_are_rows_with_their_reason(elements: Elements) -> None:
    for reason in (
        "✗ load: wrong: <script>alert('a|b')</script>",
        "load: failed: time limit of 1,800 s",
        "load: not measured: librocksdb is not on this machine",
        "its process was killed by signal 9",
    ):
        assert reason in elements.text


def test_a_wrong_schema_has_no_time(html: str) -> None:
    rows = re.findall(r'<tr data-schema="flat_file".*?</tr>', html, re.DOTALL)
    assert rows
    assert not any("data-v" in row and "load_average" not in row for row in _figures(rows))


def _figures(rows: list[str]) -> Iterator[str]:
    """But for the table of runs, whose figures are of the machine."""
    return (row for row in rows if "coins</td>" not in row)


def test_few_runs_and_busy_machines_are_marked(html: str, elements: Elements) -> None:
    assert " s †</b>" in html
    assert (
        "⚠ Busy machine. The load average was above the number of cores, up to 7.5" in elements.text
    )


def test_phases_sum_to_the_time(report: Report) -> None:
    rows = [row for group in report.groups for row in group.rows if row.phases and row.runs % 2]
    assert rows
    for row in rows:
        wall = row.figure(LOAD, "wall_seconds")
        assert wall
        assert sum(seconds for _, seconds in row.phases) == pytest.approx(wall.median)


def test_the_sources_are_inside(tmp_path: Path) -> None:
    results = [full(run()), run(machine="nuc", schema="rocks"), run(schema=HOSTILE[:60])]
    paths = fixtures.write(results, tmp_path)
    assert embedded(page(build(results))) == sources(paths, tmp_path)


@pytest.mark.long
def test_sixty_runs_are_two_megabytes_at_most() -> None:
    results = [full(each) for each in sixty_runs()]
    assert len(results) == 60
    assert len(page(build(results)).encode()) <= 2 * MEGABYTE


def test_a_page_without_results() -> None:
    assert "Which schema" in page(build([]))


def test_a_curve_is_as_long_as_its_load() -> None:
    curve = tuple((n * 1000, n**1.5) for n in range(1, 500))
    points = speeds(curve)
    assert points[0] == (1000, 1000.0)
    assert points[-1][0] == 499_000
    assert len(points) < 50
    ends = [(0, 0.0), *((coins, dict(curve)[coins]) for coins, _ in points)]
    coins = [
        speed * (end[1] - begin[1])
        for (begin, end), (_, speed) in zip(pairwise(ends), points, strict=True)
    ]
    assert sum(coins) == pytest.approx(499_000)


def test_a_curve_of_one_sample() -> None:
    assert speeds(((1000, 2.0),)) == [(1000, 500.0)]
