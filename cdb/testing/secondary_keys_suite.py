"""What ``pytest --cdb-schema`` also runs, for what makes databases with secondary keys."""

import pytest

from cdb.testing.plugin import indexed_schemas
from cdb.testing.secondary_keys import IndexedConformance


class TestIndexedSchema(IndexedConformance):
    """Inherited tests; the modules that the plugin's option names say of which schemas."""

    @pytest.fixture(autouse=True)
    def _use(self, cdb_indexed_schema: str) -> None:
        type(self).schema = cdb_indexed_schema


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize every test with these schemas."""
    metafunc.parametrize("cdb_indexed_schema", indexed_schemas(metafunc.config))
