"""Dictionaries in memory: the reference model that every other schema is held against.

With a path it is durable in the simplest way there is: each flush replaces one replay file as a
whole (cdb.text.replay_file), so a flush costs as much as all that was ever accepted.
"""

from cdb.contract.history import BY_CREATION
from cdb.contract.schema import TellsFacts
from cdb.contract.spec import SchemaSpec
from cdb.stores.memory import MemorySchema, format_of

__all__ = ["SCHEMA", "MemorySchema"]

SCHEMA = SchemaSpec(
    MemorySchema,
    offers=(TellsFacts,),
    indexed=MemorySchema,
    history=BY_CREATION,
    format_of=format_of,
    limits=("replaced file",),
    checksummed="db",
    many=10_000,
)
