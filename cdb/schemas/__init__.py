"""The schemas: one contract (protocol), what each says of itself (spec), one way to find them
(registry), one file each."""

from cdb.schemas.protocol import (
    HISTORY_METHODS,
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
from cdb.schemas.spec import SchemaSpec

__all__ = [
    "HISTORY_METHODS",
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
    "SchemaSpec",
    "Settles",
    "TellsFacts",
    "find_schema",
    "history_of",
    "known_schema",
    "offer_of",
    "open_schema",
    "schema_names",
]
