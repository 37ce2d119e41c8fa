"""What schemas offer beyond the contract is found by what they have, and has the declared shape."""

import inspect
from pathlib import Path

import pytest

from cdb.contract.packed import PackedBlocks
from cdb.schemas import (
    AcceptsPacked,
    FlushesBeside,
    IndexedSchema,
    Offer,
    QueriesPacked,
    ReadsPacked,
    SchemaInfo,
    Settles,
    TellsFacts,
    offer_of,
)
from cdb.schemas.memory import MemorySchema

PROTOCOLS = {
    "accepts_packed": AcceptsPacked,
    "reads_packed": ReadsPacked,
    "flushes_beside": FlushesBeside,
    "settles": Settles,
    "indexed": IndexedSchema,
    "queries_packed": QueriesPacked,
    "tells_facts": TellsFacts,
}


class Some(MemorySchema):
    """Takes packs, and has half of what reads them."""

    def accept_packed(self, packed_blocks: PackedBlocks) -> None:
        """See AcceptsPacked."""

    def blocks_packed(self) -> list[PackedBlocks]:
        """See ReadsPacked."""
        return []


def test_what_is_not_there_is_not_offered() -> None:
    memory, some = MemorySchema(), Some()
    assert offer_of(memory) == Offer(None, None, None, None, memory, memory, memory, memory)
    assert offer_of(some) == Offer(some, None, None, None, some, some, some, some)


def test_a_schema_takes_what_the_protocols_give_it(own_schema: SchemaInfo, tmp_path: Path) -> None:
    if own_schema.missing is not None:
        pytest.skip(own_schema.missing)
    with own_schema.open(tmp_path / "database") as schema:
        offer = offer_of(schema)
        for field, protocol in PROTOCOLS.items():
            if getattr(offer, field) is None:
                continue
            for name, declared in inspect.getmembers(protocol, inspect.isfunction):
                if not name.startswith("_"):
                    _, *parameters = inspect.signature(declared).parameters.values()
                    by_name = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
                    arguments = ["something"] * (len(parameters) - len(by_name))
                    named = dict.fromkeys(by_name, "something")
                    inspect.signature(getattr(schema, name)).bind(*arguments, **named)
