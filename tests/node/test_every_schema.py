"""Each schema holds what a node held, and goes back as chia's own rollback_to_block does."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cdb.schemas import Schema, SchemaInfo, find_schema
from cdb.text.replay import block_text
from tests.conftest import index_factory_of
from tests.node.conftest import NODE_DATABASES, SCHEMAS

if TYPE_CHECKING:
    from tests.node.conftest import NodeDatabase, Rollback, State

Loaded = Callable[[SchemaInfo, "NodeDatabase"], Path]


def open_fast(schema: SchemaInfo, path: Path) -> Schema:
    """With no fsync where the schema allows it."""
    return schema.open(path, durability=schema.spec.durabilities[-1])


@pytest.fixture(scope="session")
def loaded_master(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    """The directory in which a closed database holds all the blocks; loaded once."""
    made: dict[tuple[str, str], Path] = {}

    def load(schema: SchemaInfo, node: NodeDatabase) -> Path:
        key = schema.name, node.name
        if key not in made:
            made[key] = tmp_path_factory.mktemp("loaded")
            with open_fast(schema, made[key] / "database") as database:
                for block in node.state.blocks:
                    database.accept_block(block)
        return made[key]

    return load


@pytest.fixture
def loaded(loaded_master: Loaded, tmp_path: Path) -> Loaded:
    """A copy of the database that holds all the blocks."""

    def copy(schema: SchemaInfo, node: NodeDatabase) -> Path:
        directory = tmp_path / "copy"
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(loaded_master(schema, node), directory)
        return directory / "database"

    return copy


def assert_holds(database: Schema, node: NodeDatabase, state: State) -> None:
    """The answers are those of the state, and no coin is there that is not in it."""
    assert database.coin_infos_for_coin_names(node.names) == state.infos
    assert database.last_block_index == state.newest_index
    assert list(database.blocks()) == state.blocks


def assert_is_chias(rollback: Rollback, node: NodeDatabase, database: Schema) -> None:
    """Coins, blocks and counts are those that chia's rollback left."""
    infos = database.coin_infos_for_coin_names(node.names)
    assert len(infos) == rollback.n_coins
    assert sum(info.spent_index == 0 for info in infos) == rollback.n_unspent
    assert infos == rollback.state.infos
    assert database.last_block_index == rollback.state.newest_index
    assert list(database.blocks()) == rollback.state.blocks


def assert_seems_chias(
    rollback: Rollback, node: NodeDatabase, database: Schema, sample: int
) -> None:
    """The blocks, and one coin of five: with another sample, others."""
    names = node.names[sample % 5 :: 5]
    assert database.coin_infos_for_coin_names(names) == rollback.infos_of(names)
    assert list(database.blocks()) == rollback.state.blocks


def test_it_holds_what_the_node_held(
    schema: SchemaInfo, node: NodeDatabase, loaded: Loaded
) -> None:
    with schema.open(loaded(schema, node), read_only=True) as database:
        text = b"".join(map(block_text, database.blocks()))
        assert text == node.state.replay
        assert hashlib.sha256(text).hexdigest() == node.replay_sha256
        assert_holds(database, node, node.state)
        blocks = {block.index: block for block in node.state.blocks}
        for height in range(max(blocks) + 2):
            assert database.block_info_for_block_index(height) == blocks.get(height)


@pytest.fixture
def in_turn(schema: SchemaInfo, node: NodeDatabase) -> None:
    """Schemas that keep their coins in the same rows take turns: each goes back in one database."""
    turns = [
        name for name in SCHEMAS if index_factory_of(find_schema(name).spec.factory) is not None
    ]
    if schema.name in turns:
        place = turns.index(schema.name) % len(NODE_DATABASES)
        if node.name != NODE_DATABASES[place]:
            pytest.skip("left to the other schemas over the same rows")


def rollbacks_of(node: NodeDatabase, schema: SchemaInfo, *, each: int) -> list[Rollback]:
    """Each second, or third; others for other schemas, so that together they have all."""
    return node.rollbacks[SCHEMAS.index(schema.name) % each :: each]


@pytest.mark.usefixtures("in_turn")
def test_every_rollback(schema: SchemaInfo, node: NodeDatabase, loaded: Loaded) -> None:
    for rollback in rollbacks_of(node, schema, each=3):
        path = loaded(schema, node)
        with open_fast(schema, path) as database:
            database.rewind_to_block_index(rollback.height)
        with schema.open(path, read_only=True) as database:
            assert_is_chias(rollback, node, database)


@pytest.mark.long
@pytest.mark.usefixtures("in_turn")
def test_down_through_every_rollback_and_up_again(
    schema: SchemaInfo, node: NodeDatabase, loaded: Loaded
) -> None:
    rollbacks = sorted(rollbacks_of(node, schema, each=2), key=lambda each: each.height)
    with open_fast(schema, loaded(schema, node)) as database:
        for sample, rollback in enumerate(reversed(rollbacks)):
            database.rewind_to_block_index(rollback.height)
            assert_seems_chias(rollback, node, database, sample)
        for sample, rollback in enumerate(rollbacks):
            accept_to(database, node, rollback.height)
            assert_seems_chias(rollback, node, database, sample)
        accept_to(database, node, node.state.blocks[-1].index)
        assert_holds(database, node, node.state)


def accept_to(database: Schema, node: NodeDatabase, height: int) -> None:
    """Accept the blocks up to a height that are not there yet."""
    newest = -1 if database.last_block_index is None else database.last_block_index
    for block in node.state.blocks:
        if newest < block.index <= height:
            database.accept_block(block)


def test_a_rollback_lasts_with_the_default_durability(
    schema: SchemaInfo, small: NodeDatabase, loaded: Loaded
) -> None:
    path = loaded(schema, small)
    rollback = next(each for each in small.rollbacks if each.height == 318)
    with schema.open(path) as database:
        database.rewind_to_block_index(rollback.height)
    with schema.open(path) as database:
        assert_is_chias(rollback, small, database)


def test_the_truth_has_what_these_tests_need(small: NodeDatabase) -> None:
    """Ephemeral coins, coins marked with -1, amounts at both ends, spends that a rewind undoes."""
    coins = small.state.coins
    assert any(row.confirmed_index == row.spent_index for row in coins)
    assert any(row.raw_spent_index == -1 for row in coins)
    assert {0, 2**64 - 1} <= {row.amount for row in coins}
    undone = (set(rollback.state.infos) - set(small.state.infos) for rollback in small.rollbacks)
    assert sum(map(bool, undone)) >= 6
