"""Shared by the tests of faults."""

from collections.abc import Callable

import pytest

from cdb.testing.faults.suite import Covered
from cdb.testing.plugin import FAULT_COVERAGE


@pytest.fixture
def covered(record_property: Callable[[str, object], None]) -> Covered:
    """Takes in what a trial covered."""
    return lambda coverage: record_property(FAULT_COVERAGE, str(coverage))
