"""The promises under faults as tests to inherit, beside those of SchemaConformance.

from cdb.testing.faults.suite import FaultTests

class TestMine(FaultTests):
    schema = MySchema          # in a module that another process can import
"""

from collections.abc import Callable, Mapping
from typing import ClassVar

import pytest

from cdb.errors import UnsupportedError
from cdb.testing.base import SchemaTests
from cdb.testing.faults.catalogue import CATALOGUE
from cdb.testing.faults.coverage import Coverage
from cdb.testing.faults.oracle import BrokenPromiseError
from cdb.testing.faults.subjects import Limit, Subject
from cdb.testing.faults.trial import scratch
from cdb.testing.plugin import FAULT_COVERAGE

Covered = Callable[[Coverage], None]


class FaultTests(SchemaTests):
    """Each test makes a choice of the faults; python -m cdb.testing.faults makes all."""

    seed: ClassVar[int] = 1
    most: ClassVar[Mapping[str, int | None]] = {}
    """How many faults of a kind are made, None for all, where it isn't the kind's own share."""
    limits: ClassVar[tuple[Limit, ...]] = ()
    """What is known to fail: it is tried, and reported as xfail when it does so."""

    @pytest.fixture
    def covered(self, record_property: Callable[[str, object], None]) -> Covered:
        """Takes in what a trial covered."""
        return lambda coverage: record_property(FAULT_COVERAGE, str(coverage))

    @pytest.mark.parametrize("trial", [name for name, kind in CATALOGUE.items() if kind.share])
    def test_no_fault_breaks_a_promise(self, trial: str, covered: Covered) -> None:
        kind = CATALOGUE[trial]
        problem = kind.missing()
        if problem is not None:
            pytest.skip(problem)
        spec = self.spec()
        most = self.most.get(trial, kind.share)
        with scratch(on_disk=kind.needs_disk) as directory:
            try:
                covered(kind.trial(spec, self.seed, directory, most=most, only=None))
            except UnsupportedError as error:
                pytest.skip(str(error))
            except BrokenPromiseError as error:
                limit = Subject(spec, limits=self.limits).limit(trial, error.problem)
                if limit is None:
                    raise
                pytest.xfail(limit.reason)
