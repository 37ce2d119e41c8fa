"""Public names and commands have their place in the reference, whose site opens from a file."""

import ast
import shutil
import subprocess
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from cdb.errors import CdbError
from scripts.docs_pages import MODULES, commands_page, documents, module_pages, navigation
from tests.cmds.test_main import all_commands
from tests.conftest import ROOT
from tests.test_house import FILES

CHROMIUM = shutil.which("chromium")
WITHIN = {"cdb.schemas.memory", "cdb.engines", "cdb.schemas.coin_log", "cdb.testing.faults"}
"""Modules that list names for others of cdb alone."""
NO_TOOLS = 3
"""What scripts/docs exits with where its tools can't be installed."""


def public_names() -> Iterator[tuple[str, str]]:
    """Each public module and name."""
    for module in MODULES:
        content = vars(import_module(module))
        errors = [
            name
            for name, value in content.items()
            if isinstance(value, type) and issubclass(value, CdbError)
        ]
        yield from ((module, name) for name in content.get("__all__", errors))


def bare(module: str, name: str) -> list[str]:
    """What has no docstring: the name of a module, or, of a class, one of its public methods.

    It is read, not imported: a dataclass without a docstring gets one then, and some need chia.
    """
    if f"{module}.{name}" in FILES:
        return [] if ast.get_docstring(parsed(f"{module}.{name}")) else [name]
    source = parsed(module)
    bodies = [each.body for each in ast.walk(source) if isinstance(each, ast.Module | ast.If)]
    for body in bodies:
        for node, following in zip(body, [*body[1:], None], strict=True):
            if name in names_of(node):
                return [*bare_in(node, following)]
            if isinstance(node, ast.ImportFrom) and node.module:
                for each in node.names:
                    if name == (each.asname or each.name):
                        return bare(node.module, each.name)
    return [f"{name}, which is not in {module}"]


def parsed(module: str) -> ast.Module:
    """The source of a module."""
    return ast.parse(FILES[module].read_text("utf-8"))


def names_of(node: ast.stmt) -> list[str]:
    """What a statement defines."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [each.id for each in targets if isinstance(each, ast.Name)]


def bare_in(node: ast.stmt, following: ast.stmt | None) -> Iterator[str]:
    """What a definition leaves without a docstring; a variable's is the statement after it."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        if not ast.get_docstring(node):
            yield node.name
        for inner in node.body if isinstance(node, ast.ClassDef) else []:
            is_test = node.name.endswith(("Conformance", "FaultTests"))
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef) and not is_test:
                yield from (
                    f"{node.name}.{name}"
                    for name in bare_in(inner, None)
                    if not name.startswith("_")
                )
    elif not (isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)):
        yield from names_of(node)


@pytest.mark.parametrize(("module", "name"), [*public_names()])
def test_public_names_have_docstrings(module: str, name: str) -> None:
    assert bare(module, name) == []


def test_what_lists_its_names_is_public_or_for_within() -> None:
    listing = {module for module in FILES if "\n__all__ = " in FILES[module].read_text("utf-8")}
    assert listing - WITHIN == {*MODULES} - {"cdb.errors"}


def test_all_documents_and_pages_are_in_the_navigation_once() -> None:
    texts = documents()
    pages = [*in_order(navigation(texts))]
    assert sorted(pages) == sorted([*texts, *module_pages(), "reference/commands.md"])
    assert pages[0] == "README.md"


def in_order(nav: object) -> Iterator[str]:
    """The pages of a navigation."""
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        yield from in_order([*nav.values()])
    elif isinstance(nav, list):
        for each in nav:
            yield from in_order(each)


def test_all_commands_are_on_their_page() -> None:
    headings = [line[4:] for line in commands_page().splitlines() if line.startswith("### ")]
    groups = {"cdb bench", "cdb cluster", "cdb node"}
    assert sorted(headings) == sorted([*all_commands(), *groups])


@pytest.fixture(scope="module")
def site() -> Path:
    """The site, built; a link that leads nowhere fails that."""
    done = subprocess.run([ROOT / "scripts" / "docs"], capture_output=True, text=True)
    if done.returncode == NO_TOOLS:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    return ROOT / "build" / "docs"


@pytest.mark.long
@pytest.mark.timeout(1200)  # its tools may have to be installed
def test_public_names_are_on_the_page_of_their_module(site: Path) -> None:
    pages = {module: (site / f"reference/{module}.html").read_text("utf-8") for module in MODULES}
    missing = [
        f"{module}.{name}"
        for module, name in public_names()
        if f'id="{module}.{name}"' not in pages[module] and f"{module}.{name}" not in MODULES
    ]
    assert missing == []


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_each_link_that_leads_nowhere_fails_the_build(site: Path, tmp_path: Path) -> None:
    for name in ("mkdocs.yml", "cdb"):
        (tmp_path / name).symlink_to(ROOT / name)
    build = tmp_path / "build"
    shutil.copytree(site.parent / "docs-pages", build / "docs-pages")
    shutil.copyfile(site.parent / "docs.yml", build / "docs.yml")
    links = ("nowhere.md", "history.md#nowhere", "nowhere", "../cdb/nowhere.py")
    with (build / "docs-pages/docs/faults.md").open("a") as page:
        page.writelines(f"\n[link]({link})\n" for link in links)
    mkdocs = site.parent / "docs-venv/bin/mkdocs"
    command: list[str | Path] = [mkdocs, "build", "--config-file", build / "docs.yml"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert f"Aborted with {len(links)} warnings" in done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here: apt-get install chromium")
def test_search_works_from_a_file_and_without_a_network(site: Path) -> None:
    asked: list[str] = []
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "index.html").as_uri())
        field = page.locator(".md-search__input")
        field.click()
        field.press_sequentially("rewind_to_block_index")
        method = "cdb.Schema.rewind_to_block_index"
        page.locator(f".md-search-result__link[href$='#{method}']").click(timeout=60_000)
        expect(page.locator(f"[id='{method}']")).to_be_in_viewport()
        browser.close()
    assert [url for url in asked if not url.startswith("file:")] == []
