"""Every schema of cdb's own keeps the contract, and its small twin, where it has one.

There most names are in the index behind a tiny memtable, and runs are merged.
"""

from cdb.schemas import find_schema
from cdb.schemas.registry import OWN_SCHEMAS
from cdb.testing import SchemaConformance


class TestBlockchainV2WithTheNodesIndexes(SchemaConformance):
    schema = "blockchain_v2:NODE"


def _is_held_to_it(name: str, spec: str) -> None:
    globals()[f"Test_{name}"] = type(f"Test_{name}", (SchemaConformance,), {"schema": spec})


for _found in map(find_schema, OWN_SCHEMAS):
    if _found.keeps_contract:
        _is_held_to_it(_found.name, _found.name)
        if _found.small is not None:
            _is_held_to_it(f"{_found.name}_small", _found.small)
