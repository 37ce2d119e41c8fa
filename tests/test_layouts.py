"""Every layout keeps the contract and history in every engine, with small memtables and runs."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from cdb.blocks import BlockSpendInfo
from cdb.coin_set.layouts import LAYOUTS
from cdb.errors import UnknownSchemaError, WrongDatabaseError
from cdb.history import PAGE_ROWS
from cdb.info import schema_at
from cdb.native import NativeEngine
from cdb.schemas import find_schema, history_of
from cdb.schemas.registry import layout_names
from cdb.testing import HistoryConformance, IndexedConformance, SchemaConformance
from cdb.testing.chains import reward
from cdb.testing.history import PastMachine
from cdb.testing.machine import run_machine

ALWAYS = {"mono_space@rocksdb"}
"""The others are left to long tests, but for a short life of each."""
SHORT_EXAMPLES, SHORT_STEPS = 3, 20


def _is_held_to(suite: type, name: str, spec: str) -> None:
    tests = type(f"Test_{name.replace('@', '_')}", (suite,), {"schema": spec})
    problem = find_schema(spec).missing
    if problem is not None:
        tests = pytest.mark.skip(reason=problem)(tests)
    globals()[f"Test_{name.replace('@', '_')}"] = (
        tests if name in ALWAYS else pytest.mark.long(tests)
    )


def _with(layout: str, option: str) -> str:
    """The layout with the other value of an option."""
    value = {**LAYOUTS[layout].bytes_by, **LAYOUTS[layout].others}[option][-1]
    return f"{layout}@rocksdb:SMALL,{option}={value}"


for _name in layout_names():
    _is_held_to(SchemaConformance, _name, f"{_name}:SMALL")
    _is_held_to(HistoryConformance, f"{_name}_history", f"{_name}:SMALL")
    _is_held_to(IndexedConformance, f"{_name}_indexed", f"{_name}:INDEXED")
_with_options: list[str] = []
for _layout, _what in LAYOUTS.items():
    for _option in _what.options:
        _with_options.append(_with(_layout, _option))
        _is_held_to(SchemaConformance, f"{_layout}_{_option}", _with(_layout, _option))
        _is_held_to(HistoryConformance, f"{_layout}_{_option}_history", _with(_layout, _option))


@pytest.mark.parametrize(
    "spec", [*(f"{name}:SMALL" for name in layout_names() if name not in ALWAYS), *_with_options]
)
def test_a_short_life_and_its_past_are_the_models(spec: str, tmp_path: Path) -> None:
    found = find_schema(spec)
    if found.missing is not None:
        pytest.skip(found.missing)
    run_machine(PastMachine, found.open, tmp_path, examples=SHORT_EXAMPLES, steps=SHORT_STEPS)


@pytest.mark.parametrize("spec", [*layout_names(), *_with_options])
def test_spends_of_older_coins_that_only_the_block_log_has(
    spec: str, tmp_path: Path, blocks: tuple[BlockSpendInfo, ...]
) -> None:
    """What a crash has taken from memory is indexed with where the older coins are."""
    found = find_schema(spec)
    if found.missing is not None:
        pytest.skip(found.missing)
    names = [coin.name() for block in blocks for coin in block.confirms]
    half = len(blocks) // 2
    with found.open(tmp_path / "db") as schema:
        for i, block in enumerate(blocks):
            if i == half:
                schema.settle()
            schema.accept_block(block)
        schema.flush()
        shutil.copytree(tmp_path / "db", tmp_path / "crashed")
        infos = schema.coin_infos_for_coin_names(names)
    with found.open(tmp_path / "crashed") as schema:
        schema.settle()
        assert schema.coin_infos_for_coin_names(names) == infos


@pytest.mark.parametrize("spec", [*layout_names(), "interval@lmdb", *_with_options])
def test_a_page_of_few_rows_is_sought_in_short_calls(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody who writes waits for a scan of all that nobody wants to see."""
    found = find_schema(spec)
    if found.missing is not None:
        pytest.skip(found.missing)
    calls, call = [], NativeEngine.call

    def counting(self: NativeEngine, path: Path, function: str, *arguments: Any) -> None:
        calls.append(function)
        call(self, path, function, *arguments)

    monkeypatch.setattr(NativeEngine, "call", counting)
    confirms = [reward(7, n) for n in range(3 * PAGE_ROWS)]
    with found.open(tmp_path / "db") as schema:
        schema.accept_block(BlockSpendInfo(7, 0, [], confirms))
        schema.accept_block(BlockSpendInfo(9, 0, [coin.name() for coin in confirms[1:]], []))
    with found.open(tmp_path / "db", read_only=True) as schema:
        history = history_of(schema)
        for rows, n_rows in ((history.unspent(), 1), (history.state_at(6), 0)):
            calls.clear()
            assert sum(1 for _ in rows) == n_rows
            assert calls.count("coins_next") > 3


needs_lmdb = pytest.mark.skipif(
    find_schema("interval@lmdb").missing is not None, reason="LMDB is missing"
)
KEPT = (
    "interval@lmdb,spends=in_row",
    "mono_space@lmdb",
    "mono_space@lmdb,name32=yes",
    "dual_timeline@lmdb,name32=yes",
    "option_1@lmdb",
    "issue_196@lmdb",
)
"""What FORMAT says of a layout with its options."""


@needs_lmdb
@pytest.mark.parametrize("name", KEPT)
def test_format_keeps_the_layout(
    name: str, tmp_path: Path, blocks: tuple[BlockSpendInfo, ...]
) -> None:
    path = tmp_path / "db"
    with find_schema(name).open(path) as schema:
        schema.accept_block(blocks[0])
    assert (path / "FORMAT").read_text() == f"cdb {name} 3\n"
    assert schema_at(path).name == name
    for other in {*KEPT, "interval@lmdb"} - {name}:
        with pytest.raises(WrongDatabaseError, match=f"this is a {name} database; open it with"):
            find_schema(other).open(path)


@needs_lmdb
@pytest.mark.parametrize("name", KEPT)
def test_format_is_made_anew_with_its_options(
    name: str, tmp_path: Path, blocks: tuple[BlockSpendInfo, ...]
) -> None:
    found, path = find_schema(name), tmp_path / "db"
    assert found.check is not None
    assert found.repair is not None
    with found.open(path) as schema:
        schema.accept_block(blocks[0])
    assert [*found.check(path, lambda coins: None)] == []
    written = (path / "FORMAT").read_bytes()
    (path / "FORMAT").unlink()
    damages = [*found.check(path, lambda coins: None)]
    assert [damage.path for damage in damages] == [path / "FORMAT"]
    found.repair(path, damages, lambda coins: None)
    assert (path / "FORMAT").read_bytes() == written


@needs_lmdb
def test_what_no_bytes_depend_on_may_change(
    tmp_path: Path, blocks: tuple[BlockSpendInfo, ...]
) -> None:
    path = tmp_path / "db"
    for option in ("", ",prefix_filter=no", ",cache_mb=1", ",prefix_filter=yes"):
        name = f"mono_space@{'rocksdb' if find_schema('rocks_kv').missing is None else 'lmdb'}"
        if "cache_mb" in option and name.endswith("lmdb"):
            continue
        with find_schema(name + option).open(path) as schema:
            if schema.last_block_index is None:
                schema.accept_block(blocks[0])
            assert schema.last_block_index == blocks[0].index


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (
            "mono_space@rocksdb,name32=1",
            "option name32 of schema mono_space@rocksdb: '1' is",
        ),
        ("interval@rocksdb,spends=no", "option spends of schema interval@rocksdb: 'no' is not own"),
        ("option_1@rocksdb,name32=yes", "schema option_1@rocksdb has no option 'name32'"),
        ("mono_space@other", "no engine 'other' for mono_space; there is rocksdb, lmdb"),
    ],
)
def test_an_option_that_a_layout_has_not(spec: str, problem: str) -> None:
    with pytest.raises(UnknownSchemaError, match=problem):
        find_schema(spec)
