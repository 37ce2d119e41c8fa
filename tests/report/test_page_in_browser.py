"""The page in a real Chromium, opened as a file: what its script does, and whom it serves."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, expect, sync_playwright

from cdb.report import units
from cdb.report.answers import answers
from cdb.report.build import build
from cdb.report.html import page as page_of
from cdb.report.model import LOAD, Group, Report
from tests.report import fixtures
from tests.report.pages import archived, harmless, sources

CHROMIUM = shutil.which("chromium")
BARS = "#answer article:visible table.bars"
DESKTOP, PHONE = (1440, 900), (390, 844)

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        CHROMIUM is None, reason="there is no chromium here: apt-get install chromium"
    ),
]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files that the page is of."""
    directory = tmp_path_factory.mktemp("results")
    return sources(fixtures.write(harmless(), directory), directory)


@pytest.fixture(scope="module")
def report() -> Report:
    """What is on the page."""
    return build(harmless())


@pytest.fixture(scope="module")
def address(report: Report, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where the page is."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page_of(report), "utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for all tests."""
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        yield browser
        browser.close()


class Opener:
    """Opens the page, and remembers what went wrong and what was asked of a network."""

    def __init__(self, browser: Browser, address: str) -> None:
        self._browser = browser
        self._address = address
        self.complaints: list[str] = []
        self.requests: list[str] = []

    def __call__(
        self,
        state: str = "",
        size: tuple[int, int] = DESKTOP,
        scheme: str = "light",
        *,
        js: bool = True,
    ) -> Page:
        context = self._browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if scheme == "dark" else "light",
            java_script_enabled=js,
            accept_downloads=True,
            permissions=["clipboard-read", "clipboard-write"],
        )
        page = context.new_page()
        page.on("console", lambda message: self._note(message.type, message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(self._address + state)
        return page

    def _note(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(text)


@pytest.fixture
def opened(browser: Browser, address: str) -> Iterator[Opener]:
    """After each test nothing was complained of, and nothing but the file was asked for."""
    opener = Opener(browser, address)
    yield opener
    for context in browser.contexts:
        context.close()
    assert opener.complaints == []
    assert all(url.startswith(("file:", "data:", "blob:")) for url in opener.requests)


def _headline(report: Report) -> Group:
    return next(group for group in report.groups if group.setting.profile == "FAST")


def _ratios(page: Page) -> list[str]:
    return page.locator(BARS).first.locator("tr:visible .x").all_inner_texts()


def _choose(page: Page, value: str) -> None:
    page.locator(f'.choices input[value="{value}"] + span').click()


def test_hidden_rows_leave_the_ratios(opened: Opener, report: Report) -> None:
    page = opened()
    before = _ratios(page)
    assert before[0] == "×1.0"
    _choose(page, "coin_log")
    medians = [
        spread.median
        for row in _headline(report).rows
        if row.competes
        and row.schema != "coin_log"
        and (spread := row.figure(LOAD, "wall_seconds"))
    ]
    assert _ratios(page) == [units.times(median / min(medians)) for median in medians]
    assert page.locator('tr[data-schema="coin_log"]:visible').count() == 0
    _choose(page, "coin_log")
    assert _ratios(page) == before


def test_the_script_shows_the_ratios_that_are_in_the_file(opened: Opener) -> None:
    marks = [
        opened(js=js).locator("section .x").evaluate_all("all => all.map((x) => x.textContent)")
        if js
        else opened(js=js).locator("section .x").all_text_contents()
        for js in (True, False)
    ]
    assert len(marks[0]) > 100
    assert marks[0] == marks[1]


def test_what_is_shown_is_in_the_address(opened: Opener) -> None:
    page = opened()
    shown = page.locator("#answer article:visible").count()
    _choose(page, "SLOW")
    _choose(page, "rocks")
    assert 0 < page.locator("#answer article:visible").count() < shown
    again = opened("#" + page.url.partition("#")[2])
    for each in (page, again):
        assert each.locator('#answer [data-profile="SLOW"]:visible').count() == 0
        assert each.locator('tr[data-schema="rocks"]:visible').count() == 0
    again.get_by_role("button", name="Reset").click()
    assert again.locator("#answer article:visible").count() == shown
    assert again.url.endswith("#")


def test_durabilities_never_share_a_table(opened: Opener) -> None:
    page = opened()
    assert page.locator('[data-durability="NONE"]:visible').count() == 0
    _choose(page, "NONE")
    assert page.locator('#answer [data-durability="NONE"]:visible').count() == 1
    for panel in page.locator("#cost article:visible").all():
        cells = panel.locator("td.quiet").all_text_contents()
        assert set(cells) == {panel.get_attribute("data-durability")}


def test_nothing_chosen_says_so(opened: Opener) -> None:
    page = opened("#profile=none-such")
    expect(page.locator("#nothing")).to_be_visible()


def test_sorting_by_keyboard(opened: Opener) -> None:
    page = opened()
    tables = page.locator('#cost [data-machine="old-box"] table.figures')
    table = tables.filter(has_text="CPU, user").first
    head = table.locator("th", has_text="CPU, user")
    head.get_by_role("button").focus()
    for order, reverse in (("ascending", False), ("descending", True)):
        page.keyboard.press("Enter")
        assert head.get_attribute("aria-sort") == order
        column = head.evaluate("head => head.cellIndex")
        values = table.locator("tbody tr").evaluate_all(
            "(rows, column) => rows.map((row) => row.cells[column].dataset.v ?? null)", column
        )
        told = [float(value) for value in values if value is not None]
        assert len(told) >= 3
        assert told == sorted(told, reverse=reverse)
        assert values[len(told) :] == [None] * (len(values) - len(told))
        assert None in values


def test_hovering_a_curve_tells_its_values(opened: Opener, report: Report) -> None:
    page = opened()
    figure = page.locator("#throughput figure.chart").first
    figure.scroll_into_view_if_needed()
    expect(figure.locator(".vega-embed")).to_be_visible()
    point = figure.locator("g.mark-symbol.role-mark path").last
    point.hover(force=True)
    hint = page.locator("#hint")
    expect(hint).to_be_visible()
    assert re.search(
        r"schema: blockchain_v2\ncoins loaded: 13,400,000\ncoins/s: [\d,]+$", hint.inner_text()
    )


def test_a_hidden_schema_leaves_the_curves_and_the_frontier(opened: Opener, report: Report) -> None:
    page = opened()
    plot = page.locator("#tradeoff figure.chart").first
    plot.scroll_into_view_if_needed()
    group = _headline(report)
    sizes = []
    for hidden in ("", "blockchain_v2"):
        if hidden:
            _choose(page, hidden)
            plot.scroll_into_view_if_needed()
        rest = replace(group, rows=tuple(row for row in group.rows if row.schema != hidden))
        names = plot.locator("g.mark-text.role-mark text")
        expect(names).to_have_count(sum(row.competes for row in rest.rows))
        rings = plot.locator("g.mark-symbol.role-mark").first.locator("path")
        sizes.append(len(rest.frontier(LOAD, "size_bytes")))
        expect(rings).to_have_count(sizes[-1])
    assert sizes == [2, 1]


def test_copying_a_command(opened: Opener, report: Report) -> None:
    page = opened()
    box = page.locator("#runs .command").first
    box.get_by_role("button", name="Copy").click()
    expect(box.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == report.matrices[0].command


@pytest.mark.parametrize("js", [True, False])
def test_the_download_is_the_files_of_results(
    opened: Opener, results: dict[str, bytes], tmp_path: Path, js: bool
) -> None:
    page = opened(js=js)
    with page.expect_download() as download:
        page.locator("#download").click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    assert path.name == "results.tar.xz"
    assert archived(path.read_bytes()) == results


def test_dark_follows_the_system_and_the_button(opened: Opener) -> None:
    def brightness(page: Page) -> int:
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, re.findall(r"\d+", colour)[:3]))

    page = opened(scheme="dark")
    assert brightness(page) < 200
    page.get_by_role("button", name="Light").click()
    assert brightness(page) > 600
    page = opened("#theme=dark")
    assert brightness(page) < 200
    page.get_by_role("button", name="Light").click()
    assert brightness(page) > 600


def test_printing_opens_what_is_closed(opened: Opener) -> None:
    page = opened(scheme="dark")
    assert page.locator("article details:not([open])").count() > 0
    assert page.pdf().startswith(b"%PDF")
    assert page.locator("article details:not([open])").count() == 0
    page.emulate_media(media="print")
    expect(page.locator("header nav")).to_be_hidden()
    expect(page.locator(".choices")).to_be_hidden()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"


def test_no_column_is_cut_off_on_a_desktop(opened: Opener) -> None:
    page = opened(size=DESKTOP)
    page.locator("details").evaluate_all("all => all.forEach((each) => (each.open = true))")
    cut = page.locator("article:visible .scroll").evaluate_all(
        # No workload has more than seven cases of a kind; those of the fixture have twelve.
        "all => all.filter((each) => each.querySelectorAll('thead th').length < 12)"
        ".filter((each) => each.scrollWidth > each.clientWidth + 1)"
        ".map((each) => each.getAttribute('aria-label'))"
    )
    assert cut == []


@pytest.mark.parametrize("width", [320, 390, 1440])
def test_the_page_never_scrolls_sideways(opened: Opener, width: int) -> None:
    page = opened(size=(width, 844))
    page.locator("details").evaluate_all("all => all.forEach((each) => (each.open = true))")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
@pytest.mark.parametrize("js", [True, False])
def test_the_first_screen_has_the_answer_and_bars(
    opened: Opener, report: Report, size: tuple[int, int], js: bool
) -> None:
    page = opened(size=size, js=js)
    expect(page.locator(".answer").first).to_have_text(answers(report)[0].text)
    bars = page.locator(BARS).first.locator("i.bar")
    boxes = [bar.bounding_box() for bar in bars.all()[:3]]
    for box in boxes:
        assert box
        assert box["width"] > 5
        assert box["y"] + box["height"] < size[1]


def test_bars_and_the_floor_lie_where_they_should(opened: Opener) -> None:
    page = opened()
    for state in ("", "#bars=linear"):
        page = opened(state)
        widths = (
            page.locator(BARS)
            .first.locator("tr[data-competes] .bar")
            .evaluate_all(
                "all => all.map((bar) => bar.offsetWidth / bar.parentElement.clientWidth)"
            )
        )
        assert widths == sorted(widths)
        assert widths[-1] > 0.9


def test_without_javascript_nothing_waits_for_it(opened: Opener) -> None:
    page = opened(js=False)
    expect(page.locator(".choices")).to_be_hidden()
    expect(page.locator("#theme")).to_be_hidden()
    charts = page.locator("figure.chart svg")
    assert charts.count() == page.locator("figure.chart").count() > 0
    for chart in charts.all():
        expect(chart).to_be_visible()
    assert page.locator("article:visible").count() == page.locator("article").count()


@pytest.mark.parametrize(("scheme", "size"), [("light", DESKTOP), ("dark", PHONE)])
def test_no_serious_barrier(opened: Opener, scheme: str, size: tuple[int, int]) -> None:
    page = opened(size=size, scheme=scheme)
    page.locator("details").evaluate_all("all => all.forEach((each) => (each.open = true))")
    found = Axe().run(page).response["violations"]
    barriers = [
        (each["id"], each["nodes"][0]["html"][:200])
        for each in found
        if each["impact"] in ("serious", "critical")
    ]
    assert barriers == []
