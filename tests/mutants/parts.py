"""What a mutant is held against: parts of the tests, the likeliest and cheapest first, then a soak.

A part is one run of pytest.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cdb.schemas.registry import OWN_SCHEMAS, find_schema
from cdb.testing.faults import all_subjects
from tests.mutants import history as of_history
from tests.mutants.mutant import Mutant

_TESTS = Path(__file__).parents[1]
_UNITS = (
    (
        ("native/coin_log/", "cdb/stores/coin_log/binding", "cdb/schemas/coin_log"),
        "disk/test_own.py",
    ),
    (
        ("native/coin_log/", "cdb/stores/coin_log/", "cdb/schemas/coin_log", "cdb/disk/home"),
        "schemas/test_coin_log_keys.py test_conformance.py::TestCoinLogIndexedSmall",
    ),
    (("cdb/disk/rename",), "disk/test_rename.py"),
    (("native/name_index", "native/rocksdb", "native/engines/rocksdb"), "rows/test_rocks_index.py"),
    (("cdb/stores/coin_set/promise",), "coin_set/test_promise.py"),
    (("native/layouts/",), "coin_set/test_layout_model.py"),
    (
        ("native/coin_set/pending", "native/coin_set/database", "native/layouts/latest"),
        "test_layouts.py::test_what_a_kill_takes_from_memory_comes_back_whole",
    ),
    (("native/coin_set/block_log",), "coin_set/test_block_log.py"),
    (
        ("cdb/contents/history_digest",),
        "schemas/test_history.py::test_a_digest_of_a_state_sees_a_row_that_comes_twice",
    ),
    (
        ("native/coin_set/ordered_kv", "native/engines/lmdb", "native/lmdb"),
        "schemas/test_lmdb_kv.py faults/test_power_cuts.py",
    ),
    (
        (
            "native/coin_set/",
            "native/common/chains",
            "cdb/stores/coin_set/",
            "cdb/schemas/rocks_kv",
        ),
        "coin_set/test_keys.py test_conformance.py::TestRocksKvIndexedSmall",
    ),
    (("native/coin_log/", "native/coin_set", "native/common"), "schemas/test_crafted_names.py"),
    (
        ("cdb/schemas/memory", "cdb/text/replay_file"),
        "fuzz/test_own_files.py faults/test_mended.py",
    ),
    (
        (
            *("cdb/stores/rows/batch", "cdb/stores/rows/coin_table", "cdb/stores/rows/names"),
            *("cdb/stores/rows/coin_rows", "cdb/stores/rows/check"),
        ),
        "rows/test_coin_rows.py rows/test_parents.py test_packed.py faults/test_damage.py",
    ),
    (("cdb/stores/rows/sqlite.py", "cdb/stores/rows/coin_rows"), "rows/test_sqlite.py"),
    (("cdb/stores/rows/sqlite.py", "cdb/stores/rows/coin_rows"), "rows/test_emptied.py"),
    (("cdb/stores/rows/snapshot",), "node"),
    (
        (
            *(
                "cdb/stores/rows/lsm/tree",
                "cdb/stores/rows/lsm/manifest",
                "cdb/stores/rows/lsm/search",
            ),
            *("cdb/stores/rows/lsm/flat_run", "cdb/stores/rows/lsm/sqlite_run", "cdb/disk/files"),
        ),
        "rows/lsm",
    ),
    (
        ("cdb/disk/paths", "cdb/disk/home", "cdb/disk/sharing"),
        "disk/test_own.py test_forks.py test_interrupted.py",
    ),
    (("cdb/front/store",), "test_store.py schemas/test_starter.py test_interrupted.py"),
    (("cdb/contents/loader",), "test_loader.py"),
    (("cdb/contract/packed.py",), "test_packed.py"),
    (
        ("cdb/contents/state", "cdb/packed_", "native/scan/state"),
        "test_state.py test_packed_state.py",
    ),
    (("cdb/text/scanner", "native/scan"), "test_scanner.py"),
    (("cdb/text/replay.py",), "test_replay.py test_scanner.py"),
)
"""The unit tests of sources, in tests/: by how the sources' paths begin."""

_LATER = "faults/test_mended.py faults/test_loads.py test_large_loads.py"
"""Of no schema by name."""
_APART = {"bench", "mutants", "report", "test_adding_an_engine.py"}
"""Of other things than schemas, or in copies of their own."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some tests. name: to people. arguments: to pytest."""

    name: str
    arguments: tuple[str, ...]


def parts_of(mutant: Mutant) -> Iterator[Part]:
    """What of the tests a mutant is held against, in this order."""
    units = [
        Part(f"tests of {tests}", _paths(tests))
        for sources, tests in _UNITS
        if mutant.file.startswith(sources)
    ]
    with_history = [name for name in mutant.schemas if find_schema(name).spec.history is not None]
    history = [Part(f"history of {name}", _classes(name, "_history")) for name in with_history]
    contract = [Part(f"contract of {name}", _contract(name)) for name in mutant.schemas]
    if mutant in (*of_history.BLIND, *of_history.SEEN):
        yield from (*history, *units, *contract)
    else:
        yield from (*units, *contract, *history)
    for schema in mutant.schemas:
        yield Part(f"faults of {schema}", _faults(schema))
    for schema in mutant.schemas:
        if schema in OWN_SCHEMAS:
            yield Part(f"other tests of {schema}", (*_paths(" ".join(_others())), *_only(schema)))
    yield Part("tests of faults that were found before, and of large loads", _paths(_LATER))


def _only(schema: str) -> tuple[str, str]:
    """What chooses its tests among those of all schemas."""
    return "-k", f"{schema} and not rocks_kv" if schema == "rocks" else schema


def _contract(schema: str) -> tuple[str, ...]:
    own = _own_tests(schema)
    of_its_own = _paths(own) if (_TESTS / own).exists() else ()
    return (*_classes(schema), *of_its_own)


def _classes(schema: str, which: str = "") -> tuple[str, ...]:
    """The contract's tests of its small twin, if it has one. which: how the classes' names end."""
    if schema not in OWN_SCHEMAS:
        return _paths(f"test_layouts.py::{_class_of(schema)}{which}")
    twin = schema if find_schema(schema).small is None else f"{schema}_small"
    return _paths(f"test_conformance.py::Test_{twin}{which}")


def _faults(schema: str) -> tuple[str, ...]:
    if schema not in OWN_SCHEMAS:
        return _paths(f"faults/test_layouts.py::{_class_of(_small(schema))}")
    return (*_paths("faults/test_schemas.py"), *_only(schema))


def _small(layout: str) -> str:
    """The spec of a layout's small twin; it may have options."""
    name, comma, options = layout.partition(",")
    return f"{name}:SMALL{comma}{options}"


def _class_of(layout: str) -> str:
    """The class of its tests."""
    return f"Test_{layout}".translate(str.maketrans("@:,=", "____"))


def _own_tests(schema: str) -> str:
    return f"schemas/test_{schema}.py"


@cache
def _others() -> list[str]:
    """Files of tests that are made for each schema, and have its name in theirs."""
    done = ["test_conformance.py", "faults/test_schemas.py", *_LATER.split()]
    known = {*done, *map(_own_tests, OWN_SCHEMAS), "test_layouts.py", "faults/test_layouts.py"}
    found = (path.relative_to(_TESTS) for path in _TESTS.rglob("test_*.py"))
    return sorted(
        path.as_posix()
        for path in found
        if path.parts[0] not in _APART and path.as_posix() not in known
    )


def soaked(mutant: Mutant) -> list[str]:
    """The subjects of a soak: the harmed schemas, at all sizes and durabilities."""
    layouts = [_small(name) for name in mutant.schemas if name not in OWN_SCHEMAS]
    return [name for name in all_subjects() if name.partition("-")[0] in mutant.schemas] + layouts


def _paths(tests: str) -> tuple[str, ...]:
    return tuple(f"tests/{path}" for path in tests.split())
