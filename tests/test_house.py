"""Rooms are as docs/architecture.md says: each imports, or includes, only from rooms above it."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.conftest import ROOT

ROOMS = re.compile(r"^\| ((?:`[a-z_/.]+`(?:, )?)+) \|", re.MULTILINE)
MODEL = {"cdb.stores.memory"}
MAKERS = {
    *("cdb.text.mainnet_shape", "cdb.testing.chains", "cdb.testing.crafts"),
    "cdb.testing.strategies",
    *("cdb.bench.truth", "cdb.bench.history_truth", "cdb.bench.tail", "cdb.chia.bench.branch"),
}
"""Of blocks, and of what is true of them."""
SHARING = "cdb.disk.sharing"
"""Locks, closing, failed writes and forks."""
KEEP_THE_CONTRACT = {"cdb.front.store", *MODEL, "cdb.building"}
"""The front for all stores, the model, and what strangers may build on."""
BACKENDS = {
    "cdb.stores.cassandra.backend",
    "cdb.stores.coin_log.binding",
    "cdb.stores.coin_set.backend",
    "cdb.stores.node_table.file",
    "cdb.stores.rows.backend",
}
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


def names_imported(module: str) -> Iterator[str]:
    """What a module imports from others, by its whole name."""
    for node in ast.walk(ast.parse(FILES[module].read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{each.name}" for each in node.names)


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


def reached_from(modules: set[str]) -> set[str]:
    """What these modules import, and what those do, and so on."""
    reached, left = {*modules}, [*modules]
    while left:
        found = {*imports(left.pop())} - reached
        reached |= found
        left += found
    return reached - modules


@pytest.mark.parametrize("module", [*MODEL, *sorted(MAKERS)])
def test_what_stores_are_held_against_has_nothing_of_a_store_or_its_front(module: str) -> None:
    stores = ("cdb.front", "cdb.stores.", "cdb.building", "cdb.schemas", "cdb.contract.rules")
    assert [each for each in reached_from({module}) if each.startswith(stores)] == []


def test_one_front_keeps_the_contract_and_backends_know_nothing_of_it() -> None:
    assert {
        module for module in FILES if f"{SHARING}.Shared" in {*names_imported(module)}
    } == KEEP_THE_CONTRACT
    reached = reached_from(BACKENDS) | BACKENDS
    assert not any(module.startswith("cdb.front") for module in reached)
    assert not any(SHARING in imports(module) for module in BACKENDS)


def test_every_room_is_there() -> None:
    assert rooms().keys() <= FILES.keys()
    assert len(rooms()) > 15


def native_rooms() -> dict[str, int]:
    """The place of each room of native code in the table; "" is native/ itself."""
    table = ROOMS.findall((ROOT / "docs/architecture.md").read_text("utf-8"))
    return {
        name.strip("/"): place
        for place, row in enumerate(table)
        for name in re.findall(r"`native/([a-z_/]*)`", row)
    }


@cache
def native_sources() -> dict[str, Path]:
    """By what an #include calls it."""
    folder = ROOT / "native"
    files = (path for room in native_rooms() for path in (folder / room).iterdir())
    return {
        path.relative_to(folder).as_posix(): path for path in files if path.suffix in {".h", ".cpp"}
    }


def includes(source: str) -> Iterator[str]:
    """What a file includes of native/: said from its own room, or from native/."""
    sources = native_sources()
    room = source.rpartition("/")[0]
    for name in re.findall(r'#include "([^"]+)"', sources[source].read_text("utf-8")):
        beside = f"{room}/{name}".strip("/")
        included = beside if beside in sources else name
        assert included in sources, f"{source} includes {name}, which no room has"
        yield included


def test_each_native_room_includes_only_from_rooms_above_it() -> None:
    places = native_rooms()
    down = [
        f"{source} includes {included}"
        for source in native_sources()
        for included in includes(source)
        if places[included.rpartition("/")[0]] > places[source.rpartition("/")[0]]
    ]
    assert down == []


def test_every_folder_of_native_code_is_a_room() -> None:
    found = {
        path.parent.relative_to(ROOT / "native").as_posix()
        for path in (ROOT / "native").rglob("*.h")
    }
    assert {folder for folder in found if "CMakeFiles" not in folder} - {
        "."
    } <= native_rooms().keys()
