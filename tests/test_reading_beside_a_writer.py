"""Opening a database only for reading while another object of this process writes to it."""

import re
from pathlib import Path

import pytest

from cdb.contents.state import verify
from cdb.contract.blocks import canonical
from cdb.errors import UnsupportedError
from cdb.schemas import SchemaInfo, find_schema, offer_of
from cdb.testing.chains import sample_chain


def test_a_reader_sees_one_committed_state_and_changes_nothing(
    own_schema: SchemaInfo, tmp_path: Path
) -> None:
    if own_schema.missing is not None:
        pytest.skip(own_schema.missing)
    schema = find_schema(own_schema.small or own_schema.name)
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
                with pytest.raises(UnsupportedError, match=f"^{re.escape(str(path))}"):
                    reader.accept_block(block)
                with pytest.raises(UnsupportedError, match=f"^{re.escape(str(path))}"):
                    reader.rewind_to_block_index(0)
                settles = offer_of(reader).settles
                if settles is not None:
                    with pytest.raises(UnsupportedError, match=f"^{re.escape(str(path))}"):
                        settles.settle()
        writer.rewind_to_block_index(chain.blocks[20].index)
        with schema.open(path, read_only=True) as reader:
            assert verify(reader).newest_index == chain.blocks[20].index
