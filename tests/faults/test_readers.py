"""Readers that stay open show their own moment, whatever comes; a short dose of a long walk.

`cdb soak --trial readers --hours 1` takes longer ones.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from cdb.schemas import find_schema
from cdb.schemas.registry import OWN_SCHEMAS, layout_names, names_at_paths
from cdb.testing.faults import BrokenPromiseError
from cdb.testing.faults.readers import readers
from cdb.testing.plugin import FAULT_COVERAGE

STEPS, SEED = 100, 7
"""This walk finds what coin sets share with readers where a rewind leaves it to the writer, too."""
KEYED = ("cdb.testing.faults.keyed:COIN_LOG", "cdb.testing.faults.keyed:ROCKS_KV")
FOUND = [find_schema(name) for name in names_at_paths((*OWN_SCHEMAS, *layout_names()))]
SPECS = [found.small or found.name for found in FOUND]


@pytest.mark.parametrize(
    "spec", [*(spec for spec in SPECS if find_schema(spec).spec.keeps_contract), *KEYED]
)
def test_each_shows_its_own_moment(
    spec: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    if find_schema(spec).missing is not None:
        pytest.skip(str(find_schema(spec).missing))
    coverage = readers(spec, SEED, tmp_path, most=STEPS)
    assert coverage.found["held"] + coverage.found["held on little"] > STEPS // 10
    record_property(FAULT_COVERAGE, str(coverage))


@pytest.mark.parametrize(
    "name", ["ReadsLive", "BeginsLate", "ReadsUnspentLive", "KeepsVersionsOfRewound"]
)
def test_who_shows_another_is_caught(name: str, tmp_path: Path) -> None:
    with pytest.raises(BrokenPromiseError, match=r"of two moments|lacks what|another moment"):
        readers(f"tests.broken.history:{name}", SEED, tmp_path, most=4 * STEPS)
