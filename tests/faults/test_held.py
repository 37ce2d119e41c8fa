"""A rewind, and a reader that opens, held at their calls while others go on: a share of all."""

import sys

import pytest

from cdb.schemas import find_schema
from cdb.testing.faults.shim import missing
from tests.conftest import ROOT, Commands
from tests.engines import SCHEMAS

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@pytest.mark.parametrize("what", ["rewind", "opening"])
@pytest.mark.parametrize("spec", ["coin_log:SMALL", *(f"{name}:SMALL" for name in SCHEMAS)])
def test_readers_show_one_moment(run_command: Commands, what: str, spec: str) -> None:
    if find_schema(spec).missing is not None:
        pytest.skip(str(find_schema(spec).missing))
    line = [sys.executable, "-m", "tests.faults.held", what, spec, str(run_command.cwd)]
    process = run_command.popen(line, cwd=ROOT)
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors.decode()
    assert int(out.split()[0]) > 5
