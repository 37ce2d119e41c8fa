"""Every layout keeps the contract and history in every engine, with small memtables and runs."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cdb.contents.at_path import schema_at
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import bytes32
from cdb.contract.history import PAGE_ROWS
from cdb.contract.packed import CONFIRM_BYTES
from cdb.engines import ENGINES
from cdb.errors import CorruptDatabaseError, UnknownSchemaError, WrongDatabaseError
from cdb.extensions.native import NativeEngine
from cdb.schemas import Schema, find_schema, history_of
from cdb.schemas.registry import layout_names
from cdb.stores.coin_set.layouts import LAYOUTS
from cdb.testing import HistoryConformance, IndexedConformance, SchemaConformance
from cdb.testing.base import accept_all
from cdb.testing.chains import Chain, child, reward
from cdb.testing.history import PastMachine
from cdb.testing.machine import run_machine
from cdb.testing.past import NOBODY, check_history
from cdb.testing.side_by_side import model_of
from tests.coin_set.rocksdb_rows import Families
from tests.conftest import copy_at_rest
from tests.engines import OTHER, OTHER_SCHEMA

ALWAYS = {"mono_space@rocksdb"}
"""The others are left to long tests, but for a short life of each."""
SHORT_EXAMPLES, SHORT_STEPS, SHORT_HEIGHTS = 3, 20, 4
FURTHER = (f"mono_space@{OTHER},payload=inline",)
"""Beside each layout's options one by one, in RocksDB."""


def _small(name: str) -> str:
    """The small twin: ``a@b,c=d`` as ``a@b:SMALL,c=d``."""
    schema, comma, options = name.partition(",")
    return f"{schema}:SMALL{comma}{options}"


def _with_options() -> list[str]:
    """Each layout with the other value of each of its options."""
    return [
        f"{layout}@rocksdb,{option}={values[-1]}"
        for layout, what in LAYOUTS.items()
        for option, values in what.values.items()
    ]


def _is_held_to(suite: type, name: str, spec: str, which: str = "") -> None:
    class_name = f"Test_{name}{which}".translate(str.maketrans("@,=", "___"))
    tests = type(class_name, (suite,), {"schema": spec})
    problem = find_schema(spec).missing
    if problem is not None:
        tests = pytest.mark.skip(reason=problem)(tests)
    always = name in ALWAYS and not which
    globals()[class_name] = tests if always else pytest.mark.long(tests)


VARIANTS = [*_with_options(), *FURTHER]
for _name in (*layout_names(), *VARIANTS):
    _is_held_to(SchemaConformance, _name, _small(_name))
    _is_held_to(HistoryConformance, _name, _small(_name), "_history")
for _name in layout_names():
    _is_held_to(IndexedConformance, _name, f"{_name}:INDEXED", "_indexed")


def _skip_without(name: str) -> None:
    missing = find_schema(name).missing
    if missing is not None:
        pytest.skip(missing)


@pytest.mark.parametrize(
    "name", [*(name for name in layout_names() if name not in ALWAYS), *VARIANTS]
)
def test_a_short_life_and_its_past_are_the_models(name: str, tmp_path: Path) -> None:
    _skip_without(name)
    opened = find_schema(_small(name)).open
    run_machine(PastMachine, opened, tmp_path, examples=SHORT_EXAMPLES, steps=SHORT_STEPS)


def _killed() -> list[BlockSpendInfo]:
    """Blocks of which a small twin has indexed the first one when it is killed. The others spend
    its coins, and their own."""
    old = [reward(1, n, amount=n) for n in range(60)]
    new = [child(coin.name(), amount=n) for n, coin in enumerate(old[:18])]
    return [
        BlockSpendInfo(1, 0, [], old),
        BlockSpendInfo(3, 0, [coin.name() for coin in old[:10]], new[:10]),
        BlockSpendInfo(4, 0, [coin.name() for coin in [*old[10:18], *new[:5]]], new[10:]),
    ]


@pytest.mark.parametrize("name", [*layout_names(), *VARIANTS])
def test_what_a_kill_takes_from_memory_comes_back_whole(name: str, tmp_path: Path) -> None:
    """Spends of older coins that are committed, and not indexed yet: their rows come later."""
    _skip_without(name)
    found, path, blocks = find_schema(_small(name)), tmp_path / "db", _killed()
    with found.open(tmp_path / "alive") as schema:
        for block in blocks:
            schema.accept_block(block)
            schema.flush()
        copy_at_rest(tmp_path / "alive", path)  # what there is if it is killed now
    names = [*Chain.of(blocks).names, NOBODY]
    with model_of(blocks) as model:
        for _ in range(2):  # what the opening has made, and what it has indexed at its close
            with found.open(path) as schema:
                check_history(schema, model, names, Random(1), SHORT_HEIGHTS)
        with found.open(path) as schema:
            for each in (schema, model):
                each.rewind_to_block_index(3)
            check_history(schema, model, names, Random(1), SHORT_HEIGHTS)
            left = [coin.name() for coin in blocks[0].confirms[15:25]]
            accept_all(schema, [BlockSpendInfo(5, 0, left, [])])
            accept_all(model, [BlockSpendInfo(5, 0, left, [])])
        with found.open(path) as schema:
            check_history(schema, model, names, Random(1), SHORT_HEIGHTS)


ROWS_OF = {
    "interval@rocksdb": "rows",
    "interval@rocksdb,payload=inline": "rows_inline",
    "mono_space@rocksdb": "versions",
    "mono_space@rocksdb,payload=inline": "versions_inline",
}
"""The layout's only space that is used."""


def _reads_of(schema: Schema, coin_names: list[bytes32]) -> list[Callable[[], object]]:
    history = history_of(schema)
    return [
        lambda: schema.coin_infos_for_coin_names(coin_names),
        lambda: history.coin_infos_as_of(coin_names, 1),
        lambda: list(history.state_at(1)),
        lambda: list(history.unspent()),
    ]


@pytest.mark.parametrize("name", ROWS_OF)
def test_a_row_of_another_length_is_damage(name: str, tmp_path: Path) -> None:
    _skip_without(name)
    rows = ROWS_OF[name]
    path, block = tmp_path / "db", _killed()[0]
    coin_names = [coin.name() for coin in block.confirms]
    opened = find_schema(name).open
    with opened(path) as schema:
        accept_all(schema, [block])
    for change in (-1, 1, -CONFIRM_BYTES, CONFIRM_BYTES):
        with Families(path / "db", ("default", rows, "unused", "blocks")) as families:
            key, value = families.rows(rows)[7]
            families.put(rows, key, (value + bytes(CONFIRM_BYTES))[: max(len(value) + change, 0)])
        with opened(path) as schema:
            for ask in _reads_of(schema, coin_names):
                with pytest.raises(CorruptDatabaseError, match="a coin's version is cut"):
                    ask()
        with Families(path / "db", ("default", rows, "unused", "blocks")) as families:
            families.put(rows, key, value)


NEWEST_ROWS = {
    "interval@rocksdb": ("rows", "unused"),
    "interval@rocksdb,payload=inline": ("rows_inline", "unused"),
    "option_1@rocksdb": ("latest_by_name", "heights"),
    "dual_timeline@rocksdb": ("latest", "timeline"),
}
"""The spaces of layouts that put rows of older coins back when they rewind; the first has these."""


@pytest.mark.parametrize("spend", [0, 1_199, 1_200, 1_299])
@pytest.mark.parametrize("name", NEWEST_ROWS)
def test_a_rewind_that_meets_damage_has_not_begun(name: str, spend: int, tmp_path: Path) -> None:
    """Once it has begun, openings go on with it. The rows are read 1,024 or more at once."""
    _skip_without(name)
    path, opened = tmp_path / "db", find_schema(name).open
    old = [reward(1, n, amount=n) for n in range(1_300)]
    spends = sorted(coin.name() for coin in old)  # as blocks and batches have them
    blocks = [BlockSpendInfo(1, 0, [], old)]
    blocks += [BlockSpendInfo(n + 2, 0, spends[n * 400 :][:400], []) for n in range(4)]
    with opened(path) as schema:
        accept_all(schema, blocks)
    with Families(path / "db", ("default", *NEWEST_ROWS[name], "blocks")) as families:
        rows = NEWEST_ROWS[name][0]
        key, _ = families.rows(rows)[spend]
        families.put(rows, key, b"\0")
    with opened(path) as schema, pytest.raises(CorruptDatabaseError, match="version is cut"):
        schema.rewind_to_block_index(1)
    with opened(path) as schema:
        assert [block.index for block in schema.blocks()] == [block.index for block in blocks]


@pytest.mark.parametrize("name", ["interval@rocksdb", "mono_space@rocksdb"])
def test_a_rewind_that_meets_a_damaged_block_has_not_begun(name: str, tmp_path: Path) -> None:
    """Of any layout: blocks are read to know what to undo."""
    _skip_without(name)
    path, blocks, opened = tmp_path / "db", _killed(), find_schema(name).open
    with opened(path) as schema:
        accept_all(schema, blocks)
    spaces = ("default", ROWS_OF[name], "unused", "blocks")
    with Families(path / "db", spaces) as families:
        heads = [row for row in families.rows("blocks") if not any(row[0][4:])]
        key, value = heads[-1]
        families.put("blocks", key, value[:-1])
    with opened(path) as schema, pytest.raises(CorruptDatabaseError, match="spends are cut"):
        schema.rewind_to_block_index(blocks[0].index)
    with Families(path / "db", spaces) as families:
        families.put("blocks", key, value)
    with opened(path) as schema:
        assert [block.index for block in schema.blocks()] == [block.index for block in blocks]


@pytest.mark.parametrize("name", [*layout_names(), f"interval@{OTHER}", *VARIANTS])
def test_a_page_of_few_rows_is_sought_in_short_calls(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody who writes waits for a scan of all that nobody wants to see."""
    _skip_without(name)
    found = find_schema(name)
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


needs_other = pytest.mark.skipif(
    find_schema(OTHER_SCHEMA).missing is not None, reason=str(find_schema(OTHER_SCHEMA).missing)
)
KEPT = tuple(
    f"{layout}@{OTHER}{options}"
    for layout, options in (
        ("mono_space", ""),
        ("dual_timeline", ",payload=inline"),
        ("option_1", ""),
        ("issue_196", ""),
        ("interval", ",payload=inline"),
        ("mono_space", ",payload=inline"),
    )
)
"""What FORMAT says of a layout with its options."""


@needs_other
@pytest.mark.parametrize("name", KEPT)
def test_format_keeps_the_layout(
    name: str, tmp_path: Path, blocks: tuple[BlockSpendInfo, ...]
) -> None:
    path = tmp_path / "db"
    with find_schema(name).open(path) as schema:
        schema.accept_block(blocks[0])
    assert (path / "FORMAT").read_text() == f"cdb {name} 4\n"
    assert schema_at(path).name == name
    for other in {*KEPT, f"interval@{OTHER}"} - {name}:
        with pytest.raises(WrongDatabaseError, match=f"this is a database of {name}; open it with"):
            find_schema(other).open(path)


@needs_other
@pytest.mark.parametrize("name", KEPT)
def test_format_is_made_anew_with_its_options(
    name: str, tmp_path: Path, blocks: tuple[BlockSpendInfo, ...]
) -> None:
    found, path = find_schema(name), tmp_path / "db"
    assert found.spec.check is not None
    assert found.spec.repair is not None
    with found.open(path) as schema:
        schema.accept_block(blocks[0])
    assert [*found.spec.check(path, lambda coins: None)] == []
    written = (path / "FORMAT").read_bytes()
    (path / "FORMAT").unlink()
    damages = [*found.spec.check(path, lambda coins: None)]
    assert [damage.path for damage in damages] == [path / "FORMAT"]
    found.spec.repair(path, damages, lambda coins: None)
    assert (path / "FORMAT").read_bytes() == written


@needs_other
def test_what_no_bytes_depend_on_may_change(
    tmp_path: Path, blocks: tuple[BlockSpendInfo, ...]
) -> None:
    path = tmp_path / "db"
    name = f"mono_space@{'rocksdb' if find_schema('rocks_kv').missing is None else OTHER}"
    for option in ("", ",cache_mb=1"):
        with find_schema(name + option).open(path) as schema:
            if schema.last_block_index is None:
                schema.accept_block(blocks[0])
            assert schema.last_block_index == blocks[0].index


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (
            "mono_space@rocksdb,payload=1",
            "option payload of schema mono_space@rocksdb: '1' is",
        ),
        ("interval@rocksdb,spends=in_row", "schema interval@rocksdb has no option 'spends'"),
        ("option_1@rocksdb,payload=yes", "option payload of schema option_1@rocksdb: 'yes' is not"),
        ("mono_space@other", f"no engine 'other' for mono_space; there is {', '.join(ENGINES)}"),
    ],
)
def test_an_option_that_a_layout_has_not(spec: str, problem: str) -> None:
    with pytest.raises(UnknownSchemaError, match=problem):
        find_schema(spec)
