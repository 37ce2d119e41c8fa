"""The schemas: one contract (protocol), what each says of itself (spec), one way to find them
(registry), one file each."""

from cdb.contract.schema import (
    HISTORY_METHODS,
    AcceptsPacked,
    Check,
    FlushesBeside,
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
from cdb.contract.spec import SchemaSpec
from cdb.schemas.registry import (
    SchemaInfo,
    find_schema,
    history_of,
    known_schema,
    open_schema,
    schema_names,
)

__all__ = [
    "HISTORY_METHODS",
    "AcceptsPacked",
    "Check",
    "FlushesBeside",
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
