"""A schema and the reference model side by side: told the same, they must answer the same."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import ClassVar

from cdb.contents.loader import accept
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import MAX_U32, bytes32
from cdb.contract.packed import PackedBlocks
from cdb.contract.schema import Schema, offer_of
from cdb.errors import BlockError
from cdb.schemas.memory import MemorySchema
from cdb.testing.chains import Chain, hash_of

Refusal = tuple[type[BlockError], int, bytes | None]
"""The error, the block's index, and the coin that is named."""

NEWEST_INDICES = 100
CLOSE = "close"


def model_of(blocks: Iterable[BlockSpendInfo]) -> MemorySchema:
    """The reference model, with these blocks."""
    model = MemorySchema()
    for block in blocks:
        model.accept_block(block)
    return model


def settle(schema: Schema) -> None:
    """Settle a schema that can be; flush any other one."""
    settles = offer_of(schema).settles
    schema.flush() if settles is None else settles.settle()


CALLS: Mapping[str, Callable[[Schema], object]] = {
    "flush": lambda schema: schema.flush(),
    "settle": settle,
    "look-up": lambda schema: schema.coin_infos_for_coin_names([hash_of("nobody")]),
    "block": lambda schema: schema.block_info_for_block_index(0),
    "blocks": lambda schema: next(iter(schema.blocks()), None),
    "rewind": lambda schema: schema.rewind_to_block_index(MAX_U32),
    CLOSE: lambda schema: schema.close(),
}
"""Calls that change nothing that can be read, and must raise what a pack has deferred."""


class SideBySide:
    """Does each thing to both, and compares. open_schema: opens the schema's database.

    chain: the blocks that both hold. kept_index: the newest one that was promised to be durable.
    Raises AssertionError where the two differ, and whatever the schema raises.
    """

    calls: ClassVar[Mapping[str, Callable[[Schema], object]]] = CALLS

    def __init__(self, open_schema: Callable[[], Schema]) -> None:
        self._open = open_schema
        self.schema = open_schema()
        self.model = MemorySchema()
        self.chain = Chain()
        self.kept_index = -1
        self._rewound: dict[bytes32, None] = {}

    @property
    def abandoned(self) -> list[bytes32]:
        """The names of coins that a rewind or a kill took away, and that are not there again."""
        there = {*self.chain.unspent, *self.chain.spent}
        return [name for name in self._rewound if name not in there]

    def accept(self, blocks: Sequence[BlockSpendInfo], *, packed: bool = False) -> None:
        """Both accept these blocks."""
        assert self.offer(blocks, packed=packed) is None

    def offer(
        self, blocks: Sequence[BlockSpendInfo], *, packed: bool, then: str = "look-up"
    ) -> type[BlockError] | None:
        """Offer blocks one by one, or packed: both accept, or refuse the same one alike.

        then: one of the calls, which comes after a refused pack, and to which its refusal may be
        deferred. Returns the error of a refusal; the blocks before the one that was refused are
        accepted.
        """
        refusal = refusal_of(lambda: _give(self.schema, blocks, packed=packed))
        expected = self._offer_to_model(blocks)
        if packed and expected is not None:
            refusal = self._after_refusal(refusal, then)
        assert refusal == expected, f"it says {refusal}, and the model {expected}"
        return None if refusal is None else refusal[0]

    def offer_and_kill(self, blocks: Sequence[BlockSpendInfo], kill: Callable[[], None]) -> None:
        """Offer a pack that must be refused, kill the process before it need say so, and open."""
        refusal = refusal_of(lambda: _give(self.schema, blocks, packed=True))
        expected = self._offer_to_model(blocks)
        assert expected is not None
        assert refusal in (None, expected), f"it says {refusal}, and the model {expected}"
        kill()
        self.open_after_kill()

    def _after_refusal(self, refusal: Refusal | None, then: str) -> Refusal | None:
        """What a pack is refused with, now or by `then`, after which all goes on."""
        deferred = refusal_of(lambda: self.calls[then](self.schema))
        assert refusal is None or deferred is None, f"it is refused twice: {refusal}, {deferred}"
        if then == CLOSE:
            self.schema = self._open()
        elif deferred is not None:
            self.calls[then](self.schema)
        return refusal or deferred

    def _offer_to_model(self, blocks: Sequence[BlockSpendInfo]) -> Refusal | None:
        """Blocks up to the first that the model refuses are the chain's."""
        for block in blocks:
            expected = refusal_of(partial(self.model.accept_block, block))
            if expected is not None:
                return expected
            self.chain.append(block)
        return None

    def flush(self) -> None:
        """Flush."""
        self.schema.flush()
        self.kept_index = self.chain.newest_index

    def settle(self) -> None:
        """Do the compaction that is owed."""
        settle(self.schema)
        self.kept_index = self.chain.newest_index

    def rewind(self, index: int) -> None:
        """Rewind."""
        self.schema.rewind_to_block_index(index)
        self._keep_up_to(index)
        self.kept_index = self.chain.newest_index

    def reopen(self) -> None:
        """Close, and open again."""
        self.schema.close()
        self.kept_index = self.chain.newest_index
        self.schema = self._open()

    def open_after_kill(self) -> None:
        """Open what a kill has left: the blocks up to one at or after the last promised one."""
        self.schema = self._open()
        newest = self.schema.last_block_index
        left = -1 if newest is None else newest
        possible = [block.index for block in self.chain.blocks if block.index >= self.kept_index]
        if self.kept_index == -1:
            possible.append(-1)
        assert left in possible, f"promised up to block {self.kept_index}, it ends at {left}"
        self._keep_up_to(left)
        self.kept_index = left
        self.agree()

    def look_up(self, names: list[bytes32]) -> None:
        """Look up any names, also unknown ones."""
        infos = self.schema.coin_infos_for_coin_names(names)
        assert infos == self.model.coin_infos_for_coin_names(names)

    def agree(self) -> None:
        """Compare all that can be asked; of blocks by their index the newest ones."""
        assert self.schema.last_block_index == self.model.last_block_index
        assert list(self.schema.blocks()) == list(self.model.blocks())
        self.look_up(self.chain.names)
        newest = self.chain.newest_index
        for index in range(max(-1, newest - NEWEST_INDICES), newest + 2):
            block = self.schema.block_info_for_block_index(index)
            assert block == self.model.block_info_for_block_index(index), f"block {index} differs"

    def _keep_up_to(self, index: int) -> None:
        self.model.rewind_to_block_index(index)
        before, self.chain = self.chain, self.chain.up_to(index)
        self._rewound.update(dict.fromkeys(before.names))


def _give(schema: Schema, blocks: Sequence[BlockSpendInfo], *, packed: bool) -> None:
    if packed:
        accept(schema, PackedBlocks.of(blocks))
    else:
        for block in blocks:
            schema.accept_block(block)


def refusal_of(give: Callable[[], object]) -> Refusal | None:
    """What a call is refused with; None when it isn't."""
    try:
        give()
    except BlockError as error:
        return refusal_in(error)
    return None


def refusal_in(error: BlockError) -> Refusal:
    """What counts of an error: schemas may word it as they like."""
    return type(error), error.block_index, error.coin_name
