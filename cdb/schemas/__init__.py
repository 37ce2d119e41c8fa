"""The schemas: one contract (protocol), one way to find them (registry), one file each."""

from cdb.schemas.protocol import (
    AcceptsPacked,
    Check,
    HistoryPacked,
    HistorySchema,
    IndexedSchema,
    Offer,
    QueriesPacked,
    ReadsPacked,
    Repair,
    Schema,
    SchemaFactory,
    Settles,
    TellsFacts,
    offer_of,
)
from cdb.schemas.registry import (
    SchemaInfo,
    find_schema,
    history_of,
    known_schema,
    open_schema,
    schema_names,
)

__all__ = [
    "AcceptsPacked",
    "Check",
    "HistoryPacked",
    "HistorySchema",
    "IndexedSchema",
    "Offer",
    "QueriesPacked",
    "ReadsPacked",
    "Repair",
    "Schema",
    "SchemaFactory",
    "SchemaInfo",
    "Settles",
    "TellsFacts",
    "find_schema",
    "history_of",
    "known_schema",
    "offer_of",
    "open_schema",
    "schema_names",
]
