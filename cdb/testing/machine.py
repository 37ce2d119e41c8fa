"""A Hypothesis state machine that drives a schema and the reference model side by side."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cdb.schemas.memory import MemorySchema
from cdb.schemas.protocol import Schema
from cdb.testing.base import settle
from cdb.testing.chains import Chain, hash_of, invalid_blocks, next_blocks


class ContractMachine(RuleBasedStateMachine):
    """Accepts, refuses, flushes, settles, reopens, rewinds, looks up; after it both must agree."""

    def __init__(self, open_schema: Callable[[Path], Schema], new_path: Callable[[], Path]) -> None:
        super().__init__()
        self._open = open_schema
        self._new_path = new_path
        self.chain = Chain()

    @initialize()
    def create(self) -> None:
        """Begin with an empty database."""
        self.path = self._new_path()
        self.model = MemorySchema()
        self.schema = self._open(self.path)

    @rule(data=st.data())
    def accept(self, data: st.DataObject) -> None:
        """A valid block is accepted."""
        block = data.draw(next_blocks(self.chain))
        self.schema.accept_block(block)
        self.model.accept_block(block)
        self.chain.append(block)

    @rule(data=st.data())
    def refuse(self, data: st.DataObject) -> None:
        """An invalid block is refused by both, with the same error."""
        block, error = data.draw(invalid_blocks(self.chain))
        with pytest.raises(error) as by_schema:
            self.schema.accept_block(block)
        with pytest.raises(error) as by_model:
            self.model.accept_block(block)
        assert by_schema.value.block_index == block.index
        assert by_schema.value.coin_name == by_model.value.coin_name

    @rule()
    def flush(self) -> None:
        """A flush changes nothing that can be read."""
        self.schema.flush()

    @rule()
    def settle(self) -> None:
        """Nor does the compaction that is owed."""
        settle(self.schema)

    @rule()
    def reopen(self) -> None:
        """Closing and opening changes nothing that can be read."""
        self.schema.close()
        self.schema = self._open(self.path)

    @precondition(lambda self: self.chain.blocks)
    @rule(data=st.data())
    def rewind(self, data: st.DataObject) -> None:
        """A rewind to anywhere, from below the first block to above the newest."""
        index = data.draw(st.integers(-2, self.chain.newest_index + 2))
        self.schema.rewind_to_block_index(index)
        self.model.rewind_to_block_index(index)
        self.chain = self.chain.up_to(index)

    @rule(data=st.data())
    def look_up(self, data: st.DataObject) -> None:
        """Any names, known or not, in any order, asked for twice or not at all."""
        names = [*self.chain.names, hash_of("nobody")]
        asked = data.draw(st.lists(st.sampled_from(names), max_size=20))
        expected = self.model.coin_infos_for_coin_names(asked)
        assert self.schema.coin_infos_for_coin_names(asked) == expected

    @invariant()
    def agree(self) -> None:
        """Both hold the same blocks and the same coins."""
        assert self.schema.last_block_index == self.model.last_block_index
        assert list(self.schema.blocks()) == list(self.model.blocks())
        names = self.chain.names
        expected = self.model.coin_infos_for_coin_names(names)
        assert self.schema.coin_infos_for_coin_names(names) == expected
        for index in range(-1, self.chain.newest_index + 2):
            expected_block = self.model.block_info_for_block_index(index)
            assert self.schema.block_info_for_block_index(index) == expected_block

    def teardown(self) -> None:
        """Release the database."""
        if hasattr(self, "schema"):
            self.schema.close()
