"""The schemas: one contract (protocol), one way to find them (registry), one file each."""

from cdb.schemas.protocol import Schema, SchemaFactory
from cdb.schemas.registry import SchemaInfo, find_schema, open_schema, schema_names

__all__ = [
    "Schema",
    "SchemaFactory",
    "SchemaInfo",
    "find_schema",
    "open_schema",
    "schema_names",
]
