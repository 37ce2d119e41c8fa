"""The page in a real Chromium, opened as a file: what its script does, and whom it serves."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, expect, sync_playwright

from cdb.report.build import build
from cdb.report.document import document
from cdb.report.html import page as page_of
from cdb.report.parts import Document
from tests.report import fixtures
from tests.report.pages import archived, harmless, sources

CHROMIUM = shutil.which("chromium")
BARS = "#answer details.view:visible table.bars"
DESKTOP, PHONE = (1440, 900), (420, 844)

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
def told() -> Document:
    """What is on the page."""
    return document(build(harmless()))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where the page is."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page_of(build(harmless())), "utf-8")
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


def _open_all(page: Page) -> None:
    page.locator("details.fold, #words, #how details").evaluate_all(
        "all => all.forEach((each) => (each.open = true))"
    )


def _view(page: Page) -> list[str]:
    """What is chosen, and how it is labelled in what is shown."""
    selects = page.locator(".choices select")
    chosen = [each.input_value() for each in selects.all()]
    shown = page.locator("details.view:visible > summary").evaluate_all(
        "all => all.map((each) => each.textContent)"
    )
    assert len({*shown}) >= 1
    label = " · ".join(filter(None, chosen))
    assert all(label in each.split(" / ") for each in shown)
    return chosen


def test_one_group_at_a_time_is_chosen_at_the_top_and_in_the_address(opened: Opener) -> None:
    page = opened()
    default = _view(page)
    page.locator("#choose-machine").select_option("epyc")
    page.locator("#choose-profile").select_option("SLOW")
    slow = _view(page)
    assert slow != default
    assert slow[:2] == ["epyc", "SLOW"]
    page.locator("#choose-durability").select_option("survives nothing")
    # It was measured only without the limits.
    assert _view(page)[1::2] == ["FAST", "survives nothing"]
    again = opened("#" + page.url.partition("#")[2])
    assert _view(again) == _view(page)
    expect(again.locator("details.view:visible").first).to_have_attribute("open", "")


def test_each_use_has_its_answer_and_the_address_keeps_it(opened: Opener, told: Document) -> None:
    for js in (True, False):
        page = opened(js=js)
        for id, title in told.uses:
            page.locator(f"label:has(#use-{id})").click()
            expect(page.locator(".use:visible")).to_have_count(1)
            expect(page.locator(".use:visible")).to_have_attribute("data-use", id)
            expect(page.get_by_role("radio", name=title, exact=True)).to_be_checked()
        if js:
            assert "use=small" in page.url
    expect(opened("#use=sql").locator(".use:visible")).to_have_attribute("data-use", "sql")


def test_six_schemas_at_first_and_all_by_one_click(opened: Opener) -> None:
    for js in (True, False):
        page = opened(js=js)
        schemas = page.locator(":is(tr, g).schema:visible")
        names = "all => [...new Set(all.map((each) => each.className.baseVal ?? each.className))]"
        few = schemas.evaluate_all(names)
        assert not any("more" in each.split() for each in few)
        page.locator("#all").check()
        assert any("more" in each.split() for each in schemas.evaluate_all(names))
        if js:
            assert page.url.endswith("#schemas=all")
            again = opened("#schemas=all")
            assert again.locator(":is(tr, g).more:visible").count() > 0


def test_a_link_goes_to_its_section_and_leaves_the_state(opened: Opener) -> None:
    page = opened("#use=sql")
    page.locator("nav a", has_text="slow down").click()
    expect(page.locator("#growth h2")).to_be_in_viewport()
    assert page.url.endswith("#use=sql&at=growth")
    page.locator("#all").check()
    assert page.url.endswith("#use=sql&schemas=all&at=growth")
    again = opened("#" + page.url.partition("#")[2])
    expect(again.locator("#growth h2")).to_be_in_viewport()
    expect(again.locator("#use-sql")).to_be_checked()
    alone = opened()
    alone.locator("nav a", has_text="slow down").click()
    assert alone.url.endswith("#growth")
    alone.locator("label:has(#use-sql)").click()
    assert alone.url.endswith("#use=sql&at=growth")


def test_going_back_takes_back_one_choice(opened: Opener) -> None:
    page = opened()
    default = _view(page)
    page.locator("#choose-profile").select_option("SLOW")
    page.locator("label:has(#use-sql)").click()
    page.locator("#all").check()
    page.go_back()
    expect(page.locator("#all")).not_to_be_checked()
    expect(page.locator("#use-sql")).to_be_checked()
    page.go_back()
    expect(page.locator("#use-tip")).to_be_checked()
    assert _view(page)[1] == "SLOW"
    page.go_back()
    assert _view(page) == default


@pytest.mark.parametrize("js", [True, False])
def test_words_in_the_index_opens_its_fold(opened: Opener, js: bool) -> None:
    page = opened(js=js)
    expect(page.locator("#terms")).to_be_hidden()
    page.locator("nav a", has_text="Words").click()
    expect(page.locator("#terms")).to_be_visible()


def test_the_slow_use_shows_the_slow_profile_and_the_next_what_was_before(opened: Opener) -> None:
    page = opened("#machine=epyc")
    for use, profile in (("tip", "FAST"), ("small", "SLOW"), ("sql", "FAST")):
        page.locator(f"label:has(#use-{use})").click()
        assert _view(page)[1] == profile
        table = page.locator(".use:visible figcaption")
        expect(table).to_contain_text(f"{profile}, 1,000,000 coins at a glance")
    page.locator("label:has(#use-small)").click()
    page.go_back()
    assert _view(page)[1] == "FAST"
    # What is said stays that of the slow disk, with its name.
    page = opened("#use=small&machine=epyc&profile=FAST")
    expect(page.locator(".use:visible figcaption")).to_contain_text("SLOW, 1,000,000 coins")


def test_a_box_says_what_else_a_choice_changes_and_what_it_changed(opened: Opener) -> None:
    page = opened("#machine=epyc&profile=SLOW")
    option = page.locator("#choose-durability option[value='survives nothing']")
    expect(option).to_have_text("survives nothing (with FAST)")
    elsewhere = opened("#machine=old-box").locator("#choose-profile option[value='SLOW']")
    expect(elsewhere).to_have_text("SLOW (with epyc)")
    expect(page.locator("#jump")).to_be_hidden()
    page.locator("#choose-durability").select_option("survives nothing")
    expect(page.locator("#jump")).to_be_visible()
    expect(page.locator("#jump")).to_have_text(
        "survives nothing: not measured on SLOW; shown: FAST."
    )
    page.locator("#choose-profile").select_option("FAST")
    page.locator("label:has(#use-sql)").click()
    expect(page.locator("#jump")).to_be_hidden()


def test_what_a_choice_has_nothing_of_is_not_there(opened: Opener) -> None:
    page = opened("#machine=epyc&profile=SPINNING-1GB")
    expect(page.locator("#choose-durability")).to_be_hidden()
    expect(page.locator("#choose-profile")).to_be_visible()
    shown = page.locator("main > section:visible").evaluate_all("all => all.map((each) => each.id)")
    assert shown == ["answer", "node", "how"]
    links = page.locator("nav a:visible")
    assert [each.get_attribute("href") for each in links.all()] == ["#node", "#how", "#terms"]
    page.locator("#choose-profile").select_option("FAST")
    expect(page.locator("#cost")).to_be_visible()
    expect(page.locator("#choose-durability")).to_be_visible()


def test_the_index_is_a_column_or_a_line_with_a_menu(opened: Opener) -> None:
    page = opened(size=(1100, 800))
    link = page.locator("nav a", has_text="slow down")
    expect(link).to_be_visible()
    page = opened(size=PHONE)
    link = page.locator("nav a", has_text="slow down")
    expect(link).to_be_hidden()
    box = page.locator("nav").bounding_box()
    assert box
    assert box["height"] < 50
    page.locator("nav label").click()
    expect(link).to_be_visible()
    link.click()
    expect(link).to_be_hidden()


def test_the_choice_of_a_node_machine_shows_its_stores(opened: Opener) -> None:
    page = opened("#machine=epyc&profile=SPINNING-1GB")
    expect(page.locator("#node details.view:visible .finding")).to_contain_text("For a sync of")
    expect(page.locator("#answer details.view:visible")).to_contain_text("no schemas")


def test_sorting_by_keyboard(opened: Opener) -> None:
    page = opened()
    page.locator("#choose-machine").select_option("old-box")
    page.locator("#cost details.view:visible summary", has_text="All costs").click()
    table = page.locator("#cost details.view:visible table").filter(has_text="user").last
    head = table.locator("th", has_text="user")
    head.get_by_role("button").focus()
    for order, reverse in (("ascending", False), ("descending", True)):
        page.keyboard.press("Enter")
        assert head.get_attribute("aria-sort") == order
        column = head.evaluate("head => head.cellIndex")
        values = table.locator("tbody tr").evaluate_all(
            "(rows, column) => rows.map((row) => valueOf(row.cells[column]) ?? null)", column
        )
        numbers = [float(value) for value in values if value is not None]
        assert len(numbers) >= 3
        assert numbers == sorted(numbers, reverse=reverse)
        assert values[len(numbers) :] == [None] * (len(values) - len(numbers))
        assert None in values


@pytest.mark.parametrize(
    ("text", "value"),
    [("1 m 38 s", 98.0), ("3.17 M/s", 3_170_000.0), ("202 µs", 202e-6), ("1,234", 1234.0)],
)
def test_a_text_is_sorted_by_its_value(opened: Opener, text: str, value: float) -> None:
    found = opened().evaluate("text => valueOf({firstChild: {textContent: text}})", text)
    assert found == pytest.approx(value)


def test_hovering_a_curve_tells_its_values(opened: Opener) -> None:
    page = opened()
    page.locator("#choose-machine").select_option("epyc")
    picture = page.locator("#growth details.view:visible svg")
    picture.scroll_into_view_if_needed()
    picture.locator("g.line:not(.more) circle").last.hover(force=True)
    hint = page.locator("#hint")
    expect(hint).to_be_visible()
    assert re.search(
        r"^[\w@]+: coins loaded [\d,]+, coins per second [\d.]+ [kM]/s$", hint.inner_text()
    )


def test_copying_a_command(opened: Opener) -> None:
    page = opened()
    _open_all(page)
    command = page.locator("#how .command:visible").first
    command.get_by_role("button", name="Copy").click()
    expect(command.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == command.locator("code").inner_text()


@pytest.mark.parametrize("js", [True, False])
def test_the_download_is_the_files_of_results(
    opened: Opener, results: dict[str, bytes], tmp_path: Path, js: bool
) -> None:
    page = opened(js=js)
    page.locator("#how > details > summary").click()
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
    assert page.locator("details.fold:visible:not([open])").count() > 0
    assert page.pdf().startswith(b"%PDF")
    assert page.locator("details.fold:visible:not([open])").count() == 0
    page.emulate_media(media="print")
    expect(page.locator("nav")).to_be_hidden()
    expect(page.locator(".choices")).to_be_hidden()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"


@pytest.mark.parametrize("width", [320, 420, 1100, 1440])
def test_the_page_never_scrolls_sideways(opened: Opener, width: int) -> None:
    page = opened("#schemas=all", size=(width, 844))
    _open_all(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_boxes_have_labels_and_names_are_whole(opened: Opener, size: tuple[int, int]) -> None:
    page = opened("#schemas=all", size=size)
    labels = page.locator(".choices label:visible span")
    assert labels.count() >= 2
    for each in labels.all():
        expect(each).to_be_visible()
    heads = page.locator(f"{BARS} tbody th:visible")
    heights = heads.evaluate_all(
        "all => all.map((head) => { const range = document.createRange();"
        " range.selectNodeContents(head.firstChild);"
        " return [head.firstChild.textContent, range.getClientRects().length]; })"
    )
    names = {name: lines for name, lines in heights if "_" in name or "@" in name}
    assert {*names.values()} == {1}


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
@pytest.mark.parametrize("js", [True, False])
def test_the_first_screen_has_the_answer_its_figures_and_prices(
    opened: Opener, size: tuple[int, int], js: bool
) -> None:
    page = opened(size=size, js=js)
    tiles = page.locator(".use:visible .tiles > div")
    labels = [each.locator("dt").inner_text() for each in tiles.all()]
    assert {"price in memory", "as it grows", "on a slow disk"} <= {*labels}
    for part in (page.locator(".use:visible .verdict"), *tiles.all()):
        box = part.bounding_box()
        assert box
        assert box["y"] + box["height"] < size[1]


def test_bars_are_as_long_as_their_share(opened: Opener) -> None:
    bars = opened().locator(f"{BARS} tr:visible td:nth-child(2) i")
    shares = bars.evaluate_all(
        "all => all.map((bar) => [bar.offsetWidth / bar.parentElement.clientWidth,"
        " Number(bar.style.getPropertyValue('--v'))])"
    )
    assert len(shares) >= 2
    assert max(share for _, share in shares) == 1
    widest = max(width for width, _ in shares)
    for width, share in shares:
        assert width / widest == pytest.approx(share, abs=0.03)


def test_without_javascript_nothing_waits_for_it(opened: Opener) -> None:
    page = opened(js=False)
    expect(page.locator(".choices")).to_be_hidden()
    expect(page.locator("#theme")).to_be_hidden()
    charts = page.locator("details.view[open] svg")
    assert charts.count() > 0
    for chart in charts.all():
        expect(chart).to_be_visible()
    closed = page.locator("#cost details.view:not([open])")
    closed.first.locator("> summary").click()
    expect(page.locator("#cost details.view[open] .finding").nth(1)).to_be_visible()


@pytest.mark.parametrize(("scheme", "size"), [("light", DESKTOP), ("dark", PHONE)])
def test_no_serious_barrier(opened: Opener, scheme: str, size: tuple[int, int]) -> None:
    page = opened("#schemas=all", size=size, scheme=scheme)
    _open_all(page)
    found = Axe().run(page).response["violations"]
    barriers = [
        (each["id"], each["nodes"][0]["html"][:200])
        for each in found
        if each["impact"] in ("serious", "critical")
    ]
    assert barriers == []
