"""The contract as tests, for cdb's own schemas and for anybody's.

    from cdb.testing import SchemaConformance

    class TestMine(SchemaConformance):
        schema = MySchema          # a class or function, or the name of a registered schema

IndexedConformance does the same for what a schema with secondary keys promises (IndexedSchema), and
HistoryConformance for one that keeps history (HistorySchema).

or, without a file: ``pytest --cdb-schema my_package.my_schema``. Needs pytest and hypothesis.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cdb.testing.conformance import SchemaConformance
    from cdb.testing.history import HistoryConformance
    from cdb.testing.secondary_keys import IndexedConformance

__all__ = ["HistoryConformance", "IndexedConformance", "SchemaConformance"]


def __getattr__(name: str) -> Any:
    # Faults (cdb.testing.faults) need neither, and each of their processes would wait for both.
    if name == "SchemaConformance":
        from cdb.testing.conformance import SchemaConformance

        return SchemaConformance
    if name == "HistoryConformance":
        from cdb.testing.history import HistoryConformance

        return HistoryConformance
    if name == "IndexedConformance":
        from cdb.testing.secondary_keys import IndexedConformance

        return IndexedConformance
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
