"""A page for tests, of results where much is compared and much goes wrong."""

import re
import tarfile
from base64 import b64decode
from collections.abc import Iterable
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path

from cdb.bench.results import Document
from tests.report.fixtures import HOSTILE, NEXT_MATRIX, every_failure, matrix
from tests.report.full import full
from tests.report.layout_fixtures import engines
from tests.report.node_fixtures import comparison, week

SCHEMAS = (
    *("floor", "null", "coin_log", "rocks", "blockchain_v2", "sqlite_v3", "flat_file"),
    "sqlite_row",
)


def documents() -> list[Document]:
    """Two machines, two profiles, two durabilities, every failure, and a node's coin stores.

    blockchain_v2 is slow but small, so that there is something to trade off.
    """
    results = [each for profile in ("FAST", "SLOW") for each in matrix(SCHEMAS, profile=profile)]
    unsafe = matrix(("floor", "coin_log", "rocks"), 1, durability="none", matrix=NEXT_MATRIX)
    for each in results:
        if each["contestant"]["name"] == "blockchain_v2":
            each["cases"][0]["figures"]["size_bytes"] /= 4
    failures = every_failure()
    for each in failures:
        each["machine"]["name"] = "old-box"
    failures[1]["others_cores"] = 1.75
    nodes = [*comparison(), *comparison(profile="SLOW", others_cores=1.5), *week()]
    return [*map(full, results), *unsafe, *failures, *nodes, *engines()]


def harmless() -> list[Document]:
    """The same, but for the schema whose name is hostile."""
    return [each for each in documents() if each["contestant"]["name"] != HOSTILE]


class Elements(HTMLParser):
    """The elements of a page with their attributes, and its text outside of style and script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self._texts: list[str] = []
        self._is_text = True
        self.feed(page)

    @property
    def text(self) -> str:
        """Words with one space between them."""
        return " ".join(" ".join(self._texts).split())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attributes}))
        self._is_text = tag not in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._is_text = True

    def handle_data(self, data: str) -> None:
        if self._is_text:
            self._texts.append(data)


def archived(packed: bytes) -> dict[str, bytes]:
    """The files of an archive."""
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        files = {member.name: archive.extractfile(member) for member in archive.getmembers()}
        return {name: file.read() for name, file in files.items() if file}


def embedded(page: str) -> dict[str, bytes]:
    """The files that a page carries."""
    found = re.search(r'href="data:application/x-xz;base64,([^"]+)"', page)
    assert found
    return archived(b64decode(found[1]))


def sources(paths: Iterable[Path], directory: Path) -> dict[str, bytes]:
    """Files by where an archive should have them."""
    return {f"results/{path.relative_to(directory)}": path.read_bytes() for path in paths}
