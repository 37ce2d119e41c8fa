"""The contract as tests, for cdb's own schemas and for anybody's.

    from cdb.testing import SchemaConformance

    class TestMine(SchemaConformance):
        schema = MySchema          # a class or function, or the name of a registered schema

or, without a file: ``pytest --cdb-schema my_package.my_schema``. Needs pytest and hypothesis.
"""

from cdb.testing.conformance import SchemaConformance

__all__ = ["SchemaConformance"]
