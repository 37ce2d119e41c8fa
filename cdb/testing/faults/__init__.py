"""Faults for any schema: power cuts, kills, failing calls, damage, and a second writer.

A trial runs a script of a seed's choice (script.py) and makes one fault after the other. What is
left then must be a state that the reference model went through, at or after the last one that was
promised (oracle.py).
Linux only: processes are watched by a preloaded library (native/preload/fault_shim.c).

    python -m cdb.testing.faults power-ext4 my_package.my_schema --seeds 20

The schema must be one that another process can import. Needs no pytest.
"""

from cdb.contract.limits import Finding, Limit
from cdb.testing.faults.catalogue import CATALOGUE, Kind
from cdb.testing.faults.coverage import Coverage
from cdb.testing.faults.oracle import BrokenPromiseError
from cdb.testing.faults.shim import missing
from cdb.testing.faults.subjects import Subject, all_subjects
from cdb.testing.faults.trial import scratch

__all__ = [
    "CATALOGUE",
    "BrokenPromiseError",
    "Coverage",
    "Finding",
    "Kind",
    "Limit",
    "Subject",
    "all_subjects",
    "missing",
    "scratch",
]
