"""The suite that ``pytest --cdb-schema`` runs, once for each schema that was named."""

import pytest

from cdb.testing.conformance import SchemaConformance
from cdb.testing.faults.suite import FaultTests


class TestSchema(SchemaConformance, FaultTests):
    """Inherited tests; the plugin's option names the schemas."""

    @pytest.fixture(autouse=True)
    def _use(self, cdb_schema: str) -> None:
        type(self).schema = cdb_schema


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize every test with the schemas that were named."""
    metafunc.parametrize("cdb_schema", metafunc.config.getoption("cdb_schema"))
