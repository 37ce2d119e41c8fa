"""Every layout keeps the contract and history in every engine, with small memtables and runs."""

import pytest

from cdb.coin_set.layouts import LAYOUTS
from cdb.schemas import find_schema
from cdb.schemas.registry import layout_names
from cdb.testing import HistoryConformance, IndexedConformance, SchemaConformance

ALWAYS = {"mono_space@rocksdb"}
"""The others are left to long tests."""


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
for _layout, _what in LAYOUTS.items():
    for _option in _what.options:
        _is_held_to(SchemaConformance, f"{_layout}_{_option}", _with(_layout, _option))
        _is_held_to(HistoryConformance, f"{_layout}_{_option}_history", _with(_layout, _option))
