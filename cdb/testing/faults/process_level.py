"""cdb's schemas at the level PROCESS, each as the attribute of its name: a power cut may take what
is new. They have the sizes at which they are tried at POWER."""

from cdb.contract.durability import Durability
from cdb.schemas import SchemaSpec, find_schema
from cdb.testing.faults.subjects import all_subjects


def __getattr__(name: str) -> SchemaSpec:
    if f"{name}-process" not in all_subjects():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = find_schema(all_subjects()[name].spec)
    own_calls = found.spec.makes_own_calls
    return SchemaSpec(
        found.spec.factory, durabilities=(Durability.PROCESS,), makes_own_calls=own_calls
    )
