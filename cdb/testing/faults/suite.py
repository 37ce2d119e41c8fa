"""The promises under faults as tests to inherit, beside those of SchemaConformance.

from cdb.testing.faults.suite import FaultTests

class TestMine(FaultTests):
    schema = MySchema          # in a module that another process can import
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from cdb.errors import UnsupportedError
from cdb.testing.base import SchemaTests
from cdb.testing.faults.calls import INTERFERENCES, interfere
from cdb.testing.faults.coverage import Coverage
from cdb.testing.faults.disk import FileSystem
from cdb.testing.faults.power import cut_power
from cdb.testing.faults.rivals import rivals
from cdb.testing.faults.trial import Trials, scratch
from cdb.testing.plugin import FAULT_COVERAGE

Covered = Callable[[Coverage], None]


class FaultTests(SchemaTests):
    """Each test makes a choice of the faults; python -m cdb.testing.faults makes all."""

    seed: ClassVar[int] = 1
    most_databases: ClassVar[int | None] = 100
    """How many databases that power cuts left are opened."""
    most_calls: ClassVar[int | None] = 10
    """How many system calls are interfered with, in each way."""
    file_systems: ClassVar[Sequence[FileSystem]] = tuple(FileSystem)
    known_failures: ClassVar[Mapping[str, str]] = {}
    """Trials that are known to fail, and why: they are run, and reported as xfail."""

    @pytest.fixture
    def trials(self) -> Iterator[Trials]:
        try:
            trials = Trials(self.spec())
        except UnsupportedError as error:
            pytest.skip(str(error))
        with trials:
            yield trials

    @pytest.fixture
    def directory(self) -> Iterator[Path]:
        """Where a trial puts everything."""
        with scratch() as directory:
            yield Path(directory)

    @pytest.fixture
    def covered(self, record_property: Callable[[str, object], None]) -> Covered:
        """Takes in what a trial covered."""
        return lambda coverage: record_property(FAULT_COVERAGE, str(coverage))

    def test_a_power_cut_loses_nothing_that_was_flushed(
        self, trials: Trials, directory: Path, covered: Covered, request: pytest.FixtureRequest
    ) -> None:
        self._may_fail("power", request)
        covered(
            cut_power(
                trials,
                self.seed,
                directory,
                file_systems=self.file_systems,
                most_databases=self.most_databases,
            )
        )

    @pytest.mark.parametrize("how", INTERFERENCES)
    def test_calls_that_kill_or_fail_or_fall_short_break_no_promise(
        self,
        how: str,
        trials: Trials,
        directory: Path,
        covered: Covered,
        request: pytest.FixtureRequest,
    ) -> None:
        self._may_fail(how, request)
        covered(interfere(trials, self.seed, directory, how, most_points=self.most_calls))

    def test_another_process_is_refused_until_the_writer_dies(
        self, directory: Path, covered: Covered
    ) -> None:
        covered(rivals(self.spec(), directory))

    def _may_fail(self, trial: str, request: pytest.FixtureRequest) -> None:
        if trial in self.known_failures:
            request.applymarker(pytest.mark.xfail(reason=self.known_failures[trial]))
