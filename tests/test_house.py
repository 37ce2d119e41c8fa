"""The house is as docs/architecture.md draws it: each room imports only from rooms above it."""

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter

from tests.conftest import ROOT

ROOMS = re.compile(r"^\| ((?:`[a-z_/.]+`(?:, )?)+) \|", re.MULTILINE)
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (ROOT / "cdb").rglob("*.py")
}


def rooms() -> dict[str, int]:
    """The place of each room, or module alone, in the table: the smaller, the further up."""
    table = ROOMS.findall((ROOT / "docs/architecture.md").read_text("utf-8"))
    places = {}
    for place, row in enumerate(table):
        for name in re.findall(r"`(cdb/[a-z_/]+|[a-z_]+(?=\.py))", row):
            places[f"cdb.{name.removeprefix('cdb/').strip('/').replace('/', '.')}"] = place
    return places


def imports(module: str) -> Iterator[str]:
    """What of cdb a module imports: where it is imported itself, for types, and in calls."""
    for node in ast.walk(ast.parse(FILES[module].read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in FILES)
        elif isinstance(node, ast.ImportFrom):
            for each in node.names:
                inner = f"{node.module}.{each.name}"
                if inner in FILES:
                    yield inner
                elif node.module in FILES:
                    yield node.module


def test_each_room_imports_only_from_rooms_above_it() -> None:
    places = rooms()

    def place(module: str) -> int:
        while module not in places:
            module = module.rpartition(".")[0]
        return places[module]

    # What `import cdb` gives is of every room.
    modules = [module for module in FILES if module != "cdb"]
    down = [
        f"{module} imports {other}"
        for module in modules
        for other in imports(module)
        if other != "cdb" and place(other) > place(module)
    ]
    assert down == []


def test_no_imports_are_circular() -> None:
    graph = {module: set(imports(module)) - {module} for module in FILES}
    assert [*TopologicalSorter(graph).static_order()]


def test_every_room_is_there() -> None:
    assert rooms().keys() <= FILES.keys()
    assert len(rooms()) > 25
