"""Every layout keeps its promises under faults, in every engine, with small memtables and runs."""

import pytest

from cdb.schemas.registry import layout_names
from cdb.testing.faults import CATALOGUE
from cdb.testing.faults.subjects import subject_of
from cdb.testing.faults.suite import UNDER_LOAD, FaultTests
from tests.engines import OTHER

HALF = {name: (kind.share + 1) // 2 for name, kind in CATALOGUE.items() if kind.share}
"""A soak makes the others."""
NO_LOADS = dict.fromkeys(UNDER_LOAD, 0)
"""The coin set that all share has loads of its own to stand."""
SPECS = [
    *(f"{name}:SMALL" for name in layout_names()),
    "mono_space@rocksdb:SMALL,payload=inline",
    f"mono_space@{OTHER}:SMALL,payload=inline",
    "interval@rocksdb:SMALL,payload=inline",
    f"interval@{OTHER}:SMALL,payload=inline",
]


def _is_tried(spec: str) -> None:
    subject = subject_of(spec)
    members = {
        "schema": subject.spec,
        "seed": subject.seed,
        "limits": subject.limits,
        "most": HALF,
        "most_under_load": NO_LOADS,
    }
    name = f"Test_{spec}".translate(str.maketrans("@:,=", "____"))
    globals()[name] = pytest.mark.long(type(name, (FaultTests,), members))


for _spec in SPECS:
    _is_tried(_spec)
