"""What ``pytest --cdb-schema`` also runs, for schemas that keep history."""

import pytest

from cdb.testing.history import HistoryConformance
from cdb.testing.plugin import schemas_with_history


class TestHistory(HistoryConformance):
    """Inherited tests; the plugin's option names the schemas."""

    @pytest.fixture(autouse=True)
    def _use(self, cdb_schema_with_history: str) -> None:
        type(self).schema = cdb_schema_with_history


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize every test with these schemas."""
    metafunc.parametrize("cdb_schema_with_history", schemas_with_history(metafunc.config))
