"""The native half of the table of engines agrees with cdb.engines."""

import re

from cdb.engines import ENGINES
from tests.conftest import ROOT
from tests.engines import ASKED_FOR


def test_the_same_are_built_where_asked() -> None:
    lines = (ROOT / "native/CMakeLists.txt").read_text("utf-8")
    found = re.findall(r"^cdb_add_engine\((\w+)(.*)\)$", lines, re.MULTILINE)
    assert [name for name, _ in found] == [*ENGINES]
    asked = [name for name, options in found if re.search(r"\b(IN|ASKED)\b", options)]
    assert asked == [engine.name for engine in ASKED_FOR]
