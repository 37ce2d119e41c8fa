"""What tests take of the table of engines: none but an engine's own files names it.

RocksDB stands for engines where one is enough; OTHER is one that differs from it in what it keeps,
syncs and maps.
"""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from cdb.engines import ENGINES, Engine
from cdb.stores.coin_set.schema import Kind
from cdb.testing import IndexedConformance
from cdb.testing.faults.suite import FaultTests

SCHEMAS = tuple(engine.schema for engine in ENGINES.values())
"""Of each engine the module that is the layout interval in it."""
OTHERS = tuple(name for name in ENGINES if name != "rocksdb")
OTHER = next(name for name in OTHERS if ENGINES[name].writes_maps)
OTHER_SCHEMA = ENGINES[OTHER].schema
IN_C = tuple(ENGINES[name].schema for name in OTHERS if not ENGINES[name].language)
"""Those beside RocksDB's whose engines have a source of their own in native/engines."""
_sources = Path(__file__).parents[1] / "native/engines"
SYNCED_AT_PROCESS = tuple(
    engine.schema
    for engine in ENGINES.values()
    if not engine.language
    and '#include "cow_btree.h"' in (_sources / f"{engine.name}.cpp").read_text("utf-8")
)
"""Those that sync pages at PROCESS, too, and only not what leads to the newest of them: else a
power cut would leave no database."""
WITH_LARGE_JOURNALS = ("fjall_kv",)
"""Those whose journals are large from the beginning: a model of the disk, which looks at each state
of them, takes too long. Real cuts are made of them."""
READERS_WRITE = ("interval@mdbx",)
"""Those whose readers have to write to a file that says who reads."""
ASKED_FOR = tuple(engine for engine in ENGINES.values() if engine.is_asked_for)
HOLD_SPARE = tuple(f"interval@{name}" for name in ("sqlite", "pebble", "badger", "fjall"))
"""Those that have files, or parts of them, that others make up for. Where these are lost they
answer right, and have nothing to tell."""
_STANDING = tuple({engine.language: engine for engine in reversed(ASKED_FOR)}.values())
"""Of those of each language the first one, which stands for the others where the same code of ours
is tested."""
ABOVE_ENGINES = (
    *("cmds", "node", "test_rules.py", "test_registry.py", "test_replays.py"),
    *(f"schemas/test_{name}.py" for name in ("paths", "formats", "exchanged")),
    "test_packed_state.py",
)
"""Tests, in tests/, of what lies above the engines' face: commands, paths, rules, replays."""


@cache
def _naming(engines: tuple[Engine, ...]) -> Callable[[str], object]:
    return re.compile(
        "|".join(
            rf"(?<![a-z0-9_])(test_)?{e.schema}(?![a-z0-9_])|interval@{e.name}\b" for e in engines
        )
    ).search


def is_where_asked(item: pytest.Item) -> bool:
    """Whether make test-engines, or its long part, runs a test: of an engine that is built where
    asked, and the layout interval, all that make test has, and the keys and faults.

    Once it is built, make test and make test-long have its other layouts, too.
    """
    return _is_of(item, ASKED_FOR) and (
        item.get_closest_marker("long") is None
        or _is_of_keys_or_faults(item)
        or repeats_another(item)
    )


def _is_of_keys_or_faults(item: pytest.Item) -> bool:
    suite = item.cls if isinstance(item, pytest.Function) else None
    return (
        suite is not None
        and issubclass(suite, IndexedConformance | FaultTests)
        and str(suite.schema).partition(":")[0] in [engine.schema for engine in ASKED_FOR]
    )


def repeats_another(item: pytest.Item) -> bool:
    """Whether another engine's test of the same code stands for it: it is left to long tests."""
    place = item.path.relative_to(Path(__file__).parent).as_posix()
    if not place.startswith(ABOVE_ENGINES):
        return False
    return _is_of(item, ASKED_FOR) and not _is_of(item, _STANDING)


def _is_of(item: pytest.Item, engines: tuple[Engine, ...]) -> bool:
    """The name of its module, its class's schema or its parameters say so."""
    said = [item.path.stem]
    if isinstance(item, pytest.Function):
        said.append(str(getattr(item.cls, "schema", "")))
        if hasattr(item, "callspec"):
            said.append(item.callspec.id)
            if item.callspec.params.get("engine") in [engine.name for engine in engines]:
                return True
    return any(map(_naming(engines), said))


def check_a_commit_fits(
    kind: Kind, memory: int, entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default a commit has so many entries where a process may have so many bytes."""
    monkeypatch.setattr("cdb.stores.coin_set.schema.memory_bytes", lambda: memory)
    assert kind.commit_entries() == entries
