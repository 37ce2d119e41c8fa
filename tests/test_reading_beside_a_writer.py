"""Opening a database only for reading while another object of this process writes to it."""

from pathlib import Path

import pytest

from cdb.blocks import canonical
from cdb.errors import UnsupportedError
from cdb.schemas import find_schema, offer_of
from cdb.state import verify
from cdb.testing import small_memtable
from cdb.testing.chains import sample_chain

SMALL = [f"{small_memtable.__name__}:{name}" for name in small_memtable.__all__]


@pytest.mark.parametrize("spec", ["memory", "blockchain_v2", *SMALL])
def test_a_reader_sees_one_committed_state_and_changes_nothing(spec: str, tmp_path: Path) -> None:
    schema = find_schema(spec)
    if schema.missing is not None:
        pytest.skip(schema.missing)
    path = tmp_path / "database"
    chain = sample_chain(60)
    with schema.open(path) as writer:
        for count, block in enumerate(chain.blocks, 1):
            writer.accept_block(block)
            if count % 10:
                continue
            writer.flush()
            expected = [canonical(each) for each in chain.blocks[:count]]
            with schema.open(path, read_only=True) as reader:
                assert list(reader.blocks()) == expected
                assert verify(reader).newest_index == block.index
                with pytest.raises(UnsupportedError):
                    reader.accept_block(block)
                with pytest.raises(UnsupportedError):
                    reader.rewind_to_block_index(0)
                settles = offer_of(reader).settles
                if settles is not None:
                    with pytest.raises(UnsupportedError):
                        settles.settle()
        writer.rewind_to_block_index(chain.blocks[20].index)
        with schema.open(path, read_only=True) as reader:
            assert verify(reader).newest_index == chain.blocks[20].index
