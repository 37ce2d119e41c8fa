"""The schema that `cdb new_schema` begins with keeps the whole contract, and needs little."""

from pathlib import Path

import pytest

from cdb.building import starter
from cdb.testing import SchemaConformance
from cdb.testing.faults.suite import FaultTests

SPEC = "cdb.building.starter"
MOST_LINES = 60


class TestStarter(SchemaConformance):
    schema = SPEC
    many_names = 10_000


@pytest.mark.long
class TestStarterUnderFaults(FaultTests):
    schema = SPEC
    seed = 2


def test_it_is_short_and_takes_nothing_of_cdb_but_what_is_public() -> None:
    source = Path(starter.__file__).read_text("utf-8")
    assert len([line for line in source.splitlines() if line.strip()]) <= MOST_LINES
    assert [line for line in source.splitlines() if "cdb" in line and "import" in line] == [
        "from cdb import building"
    ]
