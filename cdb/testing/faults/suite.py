"""The promises under faults as tests to inherit, beside those of SchemaConformance.

from cdb.testing.faults.suite import FaultTests

class TestMine(FaultTests):
    schema = MySchema          # in a module that another process can import
"""

from collections.abc import Callable, Mapping
from typing import ClassVar

import pytest

from cdb.contract.limits import Limit
from cdb.errors import UnsupportedError
from cdb.testing.base import SchemaTests
from cdb.testing.faults.catalogue import CATALOGUE
from cdb.testing.faults.coverage import Coverage
from cdb.testing.faults.oracle import BrokenPromiseError
from cdb.testing.faults.script import FIRST_LOAD
from cdb.testing.faults.subjects import shown, subject_of
from cdb.testing.faults.trial import new_directory, scratch
from cdb.testing.plugin import FAULT_COVERAGE

__all__ = ["FaultTests"]

UNDER_LOAD = {"power-strict": 2, "kill": 1, "eio": 1, "eio-sync": 1, "kill-reopen": 1}
"""How many faults of a kind are made of a load, too: packs of many blocks, and forks."""
SEEDS = 5
"""So many are tried where a script has nothing for a kind, as no file that was written again."""

Covered = Callable[[Coverage], None]


class FaultTests(SchemaTests):
    """Each test makes a choice of the faults; python -m cdb.testing.faults makes all."""

    seed: ClassVar[int] = 1
    most: ClassVar[Mapping[str, int | None]] = {}
    """How many faults of a kind are made, None for all, 0 for none, where it isn't the kind's own
    share."""
    most_under_load: ClassVar[Mapping[str, int]] = {}
    """The same of UNDER_LOAD; 0 leaves them out."""
    limits: ClassVar[tuple[Limit, ...] | None] = None
    """What is known to fail, if not what the schema's module says: it is tried, and reported as
    xfail when it does so."""

    @pytest.fixture
    def covered(self, record_property: Callable[[str, object], None]) -> Covered:
        """Takes in what a trial covered."""
        return lambda coverage: record_property(FAULT_COVERAGE, str(coverage))

    @pytest.mark.parametrize("trial", [name for name, kind in CATALOGUE.items() if kind.share])
    def test_no_fault_breaks_a_promise(self, trial: str, covered: Covered) -> None:
        self._try(trial, self.seed, self.most.get(trial, CATALOGUE[trial].share), covered)

    @pytest.mark.parametrize("trial", UNDER_LOAD)
    def test_no_fault_breaks_a_promise_under_load(self, trial: str, covered: Covered) -> None:
        most = self.most_under_load.get(trial, UNDER_LOAD[trial])
        self._try(trial, FIRST_LOAD, most, covered)

    def _try(self, trial: str, seed: int, most: int | None, covered: Covered) -> None:
        if most == 0:
            pytest.skip("left to longer runs")
        kind = CATALOGUE[trial]
        problem = kind.missing()
        if problem is not None:
            pytest.skip(problem)
        spec = self.spec()
        with scratch(on_disk=kind.needs_disk) as directory:
            try:
                for each in range(seed, seed + SEEDS):
                    place = new_directory(directory / str(each))
                    coverage = kind.make(spec, each, place, most=most, only=None)
                    if coverage.points:
                        break
                covered(coverage)
                if not coverage.points:  # as where no file is ever written again
                    pytest.skip(f"nothing was tried: {trial} found nothing to do")
            except UnsupportedError as error:
                pytest.skip(str(error))
            except BrokenPromiseError as error:
                limits = subject_of(spec).limits if self.limits is None else self.limits
                limit = shown(limits, trial, error.finding)
                if limit is None:
                    raise
                pytest.xfail(limit.reason)
