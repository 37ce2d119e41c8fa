"""What databases tell of themselves without being read."""

from pathlib import Path

import pytest

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.facts import Facts
from cdb.schemas import SchemaInfo, find_schema, offer_of
from tests.conftest import load_all

Blocks = tuple[BlockSpendInfo, ...]


def facts_of(schema: SchemaInfo, path: Path) -> Facts | None:
    with schema.open(path, read_only=True) as database:
        tells = offer_of(database).tells_facts
        return None if tells is None else tells.facts()


def test_coins_are_those_that_are_there(
    own_schema: SchemaInfo, tmp_path: Path, blocks: Blocks
) -> None:
    path = tmp_path / "db"
    with own_schema.open(path) as database:
        load_all(database, blocks)
        tells = offer_of(database).tells_facts
        if tells is None:
            pytest.skip("it does not tell")
        assert tells.facts().coins == sum(len(block.confirms) for block in blocks)
        database.rewind_to_block_index(blocks[20].index)
        kept = sum(len(block.confirms) for block in blocks[:21])
        assert tells.facts().coins == kept
    found = facts_of(own_schema, path)
    assert found is not None
    assert found.coins == kept


@pytest.mark.parametrize("name", ["flat_file", "sqlite_v3"])
def test_rows_are_settled_once_their_names_are_in_the_index(
    name: str, tmp_path: Path, blocks: Blocks
) -> None:
    schema, path = find_schema(name), tmp_path / "db"
    with schema.open(path) as database:
        load_all(database, blocks)
        offer = offer_of(database)
        assert offer.tells_facts is not None
        assert offer.settles is not None
        assert offer.tells_facts.facts().is_settled is False
        offer.settles.settle()
        assert offer.tells_facts.facts().is_settled is True
    found = facts_of(schema, path)
    assert found is not None
    assert found.is_settled is True
