"""What every schema promises, as tests to inherit. Each test's name is the promise."""

from pathlib import Path

import pytest

from cdb.schemas import (
    AcceptsPacked,
    FlushesBeside,
    HistoryPacked,
    ReadsPacked,
    Settles,
    TellsFacts,
    find_schema,
    offer_of,
)
from cdb.testing.accepting import AcceptingTests
from cdb.testing.attacked import AttackTests
from cdb.testing.machine import ContractMachine, run_machine
from cdb.testing.packs import PackTests
from cdb.testing.read_only import ReadOnlyTests
from cdb.testing.reading import ReadingTests
from cdb.testing.surviving import SurvivingTests

MACHINE_EXAMPLES = 25
MACHINE_STEPS = 25
DECLARED = (AcceptsPacked, FlushesBeside, HistoryPacked, ReadsPacked, Settles, TellsFacts)


class SchemaConformance(
    AcceptingTests, AttackTests, PackTests, ReadOnlyTests, ReadingTests, SurvivingTests
):
    """The whole contract. Inherit this, and set ``schema``."""

    def test_it_answers_like_the_reference_model(self, tmp_path: Path) -> None:
        run_machine(
            ContractMachine, self.open, tmp_path, examples=MACHINE_EXAMPLES, steps=MACHINE_STEPS
        )

    def test_it_offers_what_its_module_declares(self, path: Path) -> None:
        schema = type(self).schema
        said = find_schema(schema).spec if isinstance(schema, str) else None
        if said is None or said.offers is None:
            pytest.skip("`offers` is empty")
        with self.open(path) as database:
            found = {each for each in DECLARED if isinstance(database, each)}
            assert found == {*said.offers}
            assert (offer_of(database).history is not None) == (said.history is not None)
            assert offer_of(database).indexed is None or said.indexed is not None
