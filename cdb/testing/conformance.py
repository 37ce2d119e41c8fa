"""What every schema promises, as tests to inherit. Each test's name is the promise."""

from pathlib import Path

from cdb.testing.accepting import AcceptingTests
from cdb.testing.attacked import AttackTests
from cdb.testing.machine import ContractMachine, run_machine
from cdb.testing.packs import PackTests
from cdb.testing.read_only import ReadOnlyTests
from cdb.testing.reading import ReadingTests
from cdb.testing.surviving import SurvivingTests

MACHINE_EXAMPLES = 25
MACHINE_STEPS = 25


class SchemaConformance(
    AcceptingTests, AttackTests, PackTests, ReadOnlyTests, ReadingTests, SurvivingTests
):
    """The whole contract. Inherit this, and set ``schema``."""

    def test_it_answers_like_the_reference_model(self, tmp_path: Path) -> None:
        run_machine(
            ContractMachine, self.open, tmp_path, examples=MACHINE_EXAMPLES, steps=MACHINE_STEPS
        )
