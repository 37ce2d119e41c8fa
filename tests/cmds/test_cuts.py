"""Power cuts while a node's database is moved, backed up and restored: a share of each operation.

The whole is a command: `python -m tests.cmds.cuts all --cuts 5000`, where chia is installed, which
following and reorgs need; a share of those is in tests/chia/test_twin.py.
"""

import sys

import pytest

from cdb.stores.coin_log.binding import missing
from cdb.testing.faults.shim import missing as no_faults
from tests.conftest import ROOT, Commands

_REASON = missing() or no_faults()
pytestmark = pytest.mark.skipif(_REASON is not None, reason=str(_REASON))


@pytest.mark.parametrize(
    "operation",
    [
        "migrate --seed 2",
        "activate --seed 1",
        "drop --seed 1",
        "revert --seed 1",
        "revert --seed 3",
        "backup --seed 1",
        "restore --seed 16",
    ],
)
def test_a_power_cut_costs_no_coin(run_command: Commands, operation: str) -> None:
    line = [sys.executable, "-m", "tests.cmds.cuts", *operation.split(), "--places", "3"]
    process = run_command.popen(line, cwd=ROOT)
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors.decode()
    assert b" cuts: all is well" in out
