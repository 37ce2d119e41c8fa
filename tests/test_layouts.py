"""Every layout keeps the contract in every engine, by small memtables and runs."""

import pytest

from cdb.coin_set.layouts import LAYOUTS
from cdb.schemas import find_schema
from cdb.schemas.registry import layout_names
from cdb.testing import SchemaConformance

ALWAYS = {"mono_space@rocksdb", "dual_timeline@lmdb"}
"""A seek and a look-up, each in one of the engines; the others are left to long tests."""


def _is_held_to(suite: type, name: str, spec: str) -> None:
    tests = type(f"Test_{name}", (suite,), {"schema": spec})
    for mark in _marks(name.partition(",")[0]):
        tests = mark(tests)
    globals()[f"Test_{name}"] = tests


def _marks(name: str) -> list[pytest.MarkDecorator]:
    problem = find_schema(name).missing
    marks = [] if problem is None else [pytest.mark.skip(reason=problem)]
    return marks if name in ALWAYS else [*marks, pytest.mark.long]


for _name in layout_names():
    _is_held_to(SchemaConformance, _name, f"{_name}:SMALL")
for _layout, _what in LAYOUTS.items():
    for _option in (*_what.bytes_by, *_what.others):
        _value = "no" if _what.others.get(_option) else "yes"
        _spec = f"{_layout}@rocksdb:SMALL,{_option}={_value}"
        tests = type(f"Test_{_layout}_{_option}", (SchemaConformance,), {"schema": _spec})
        globals()[f"Test_{_layout}_{_option}"] = pytest.mark.long(tests)
