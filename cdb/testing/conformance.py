"""What every schema promises, as tests to inherit. Each test's name is the promise."""

from itertools import count
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from cdb.testing.accepting import AcceptingTests
from cdb.testing.attacked import AttackTests
from cdb.testing.machine import ContractMachine
from cdb.testing.packs import PackTests
from cdb.testing.reading import ReadingTests
from cdb.testing.surviving import SurvivingTests

MACHINE_EXAMPLES = 25
MACHINE_STEPS = 25


class SchemaConformance(AcceptingTests, AttackTests, PackTests, ReadingTests, SurvivingTests):
    """The whole contract. Inherit this, and set ``schema``."""

    def test_it_answers_like_the_reference_model(self, tmp_path: Path) -> None:
        paths = count()

        class Machine(ContractMachine):
            def __init__(machine) -> None:  # noqa: N805 - self is the test
                super().__init__(self.open, lambda: tmp_path / f"database-{next(paths)}")

        run_state_machine_as_test(
            Machine,
            settings=settings(
                max_examples=MACHINE_EXAMPLES,
                stateful_step_count=MACHINE_STEPS,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
