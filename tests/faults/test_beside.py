"""A writer beside readers does all that it can do for as long as they read."""

from random import Random
from time import sleep

from cdb.schemas.memory import MemorySchema
from cdb.testing.chains import random_chain
from cdb.testing.faults.beside import BLOCKS, write_beside_readers


class Counting(MemorySchema):
    """Counts what it was asked for."""

    settled = 0
    rewound = 0

    def settle(self) -> None:
        """Of this a memory has no need."""
        self.settled += 1

    def rewind_to_block_index(self, block_index: int) -> None:
        """See Schema."""
        self.rewound += 1
        super().rewind_to_block_index(block_index)


def test_a_slow_reader_sees_compaction_and_rewinds_to_its_end() -> None:
    with Counting() as schema:

        def read() -> None:
            while schema.rewound < 100:
                sleep(0.001)

        write_beside_readers(schema, random_chain(Random(1), BLOCKS), [read], 1)
        assert schema.settled > 50
