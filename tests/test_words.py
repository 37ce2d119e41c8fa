"""Documents and help are in plain words, and their links lead somewhere."""

import re
from pathlib import Path

import pytest

from tests.cmds.test_main import all_commands
from tests.conftest import ROOT

PAGES = [
    path
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "reports/**/*.md",
        "replays/*.md",
    )
    for path in sorted(ROOT.glob(pattern))
    if path.name != "CHANGELOG.md"
]
ODD = re.compile(r"\banew\b|for the time being|\b(?:bytes|B|ns|µs) a (?:coin|spend|name)\b(?! of)")
LINK = re.compile(r"\]\(([^)#\s]+)?(?:#([^)\s]+))?\)")


def anchors(page: Path) -> set[str]:
    """What can be linked to in a page, as GitHub names its headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


def test_the_readme_is_short_and_no_document_is_long() -> None:
    words = {page: len(page.read_text("utf-8").split()) for page in PAGES}
    assert words[ROOT / "README.md"] <= 560
    of_docs = {page: n for page, n in words.items() if page.is_relative_to(ROOT / "docs")}
    assert {page.name: n for page, n in of_docs.items() if n > 2_500} == {}
    assert sum(of_docs.values()) <= 30_000


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_are_in_plain_words(page: Path) -> None:
    text = re.sub(r"<!-- cdb report.*?end -->", "", page.read_text("utf-8"), flags=re.DOTALL)
    assert ODD.findall(text) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for file, anchor in LINK.findall(page.read_text("utf-8")):
        if file.startswith(("http:", "https:")):
            continue
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), file
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{file}#{anchor}"


@pytest.mark.parametrize("typed", [each for each in all_commands() if "bench" not in each])
def test_help_is_in_plain_words(typed: str) -> None:
    command = all_commands()[typed]
    texts = [command.help or "", *(getattr(each, "help", None) or "" for each in command.params)]
    assert [found for text in texts for found in ODD.findall(text)] == []
