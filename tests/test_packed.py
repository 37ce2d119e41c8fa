"""Packed blocks, and schemas that take them."""

from array import array
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cdb.contents.state import summarize
from cdb.contract.blocks import BlockSpendInfo, canonical
from cdb.contract.packed import PackedBlocks
from cdb.errors import BlockError
from cdb.schemas import AcceptsPacked, Schema, offer_of, open_schema
from cdb.testing.chains import Chain, sample_chain
from cdb.testing.side_by_side import model_of
from cdb.testing.strategies import invalid_chains, valid_chains

SPECS = ["blockchain_v2", "cdb.schemas.blockchain_v2:NODE", "sqlite_v3"]
PACKED_SETTINGS = settings(
    deadline=None,
    max_examples=20,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def test_no_blocks() -> None:
    packed = PackedBlocks.of([])
    assert len(packed) == packed.n_confirms == packed.n_spends == 0
    assert packed.spends == packed.confirms == packed.names == b""


@given(valid_chains(max_blocks=6))
@PACKED_SETTINGS
def test_packing_keeps_every_block(chain: Chain) -> None:
    packed = PackedBlocks.of(chain.blocks)
    assert len(packed) == len(chain.blocks)
    assert packed.n_confirms == sum(len(block.confirms) for block in chain.blocks)
    blocks = [packed.block(place) for place in range(len(packed))]
    assert blocks == [canonical(block) for block in chain.blocks]
    names = b"".join(coin.name() for block in blocks for coin in block.confirms)
    assert packed.names == names


@pytest.mark.parametrize("spec", SPECS)
@given(data=st.data())
@PACKED_SETTINGS
def test_packed_blocks_are_accepted_like_single_ones(
    spec: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    chain, broken, error = data.draw(invalid_chains())
    cut = data.draw(st.integers(0, len(chain.blocks)))
    model = model_of(chain.blocks)
    with open_schema(spec, tmp_path_factory.mktemp("packed") / "database") as schema:
        accept_packed = accepting(schema).accept_packed
        accept_packed(PackedBlocks.of(chain.blocks[:cut]))
        if fits_in_packed_form(broken):
            with pytest.raises(error) as caught:
                accept_packed(PackedBlocks.of([*chain.blocks[cut:], broken, broken]))
            with pytest.raises(error) as expected:
                model.accept_block(broken)
            assert caught.value.coin_name == expected.value.coin_name
        else:
            accept_packed(PackedBlocks.of(chain.blocks[cut:]))
        assert summarize(schema) == summarize(model)


@pytest.mark.parametrize("spec", SPECS)
def test_a_spend_before_its_confirm_in_the_same_pack_is_refused(spec: str, tmp_path: Path) -> None:
    chain = sample_chain(4)
    later = chain.blocks[3].confirms[0]
    early = BlockSpendInfo(chain.blocks[2].index, 0, [later.name()], [])
    with open_schema(spec, tmp_path / "database") as schema:
        with pytest.raises(BlockError) as caught:
            accepting(schema).accept_packed(
                PackedBlocks.of([*chain.blocks[:2], early, chain.blocks[3]])
            )
        assert caught.value.block_index == early.index
        assert caught.value.coin_name == later.name()
        assert schema.last_block_index == chain.blocks[1].index


def accepting(schema: Schema) -> AcceptsPacked:
    packed = offer_of(schema).accepts_packed
    assert packed is not None
    return packed


def fits_in_packed_form(block: BlockSpendInfo) -> bool:
    try:
        PackedBlocks.of([block])
    except OverflowError:
        return False
    return True


@pytest.mark.parametrize("field", ["spends", "confirms", "names"])
def test_who_takes_blocks_sees_no_later_change(field: str) -> None:
    packed = PackedBlocks.of(sample_chain(9).blocks)
    whole: bytes = bytes(getattr(packed, field))
    buffer = bytearray(whole)
    for each in (buffer, memoryview(buffer), memoryview(buffer).toreadonly()):
        changed: Any = {field: each}
        checked = replace(packed, **changed).checked()
        buffer[:] = bytes(len(buffer))
        assert bytes(getattr(checked, field)) == whole
        buffer[:] = whole


def test_bytes_are_not_copied() -> None:
    packed = PackedBlocks.of(sample_chain(9).blocks)
    part = packed.part(1, 5).checked()
    assert isinstance(part.names, memoryview)
    assert part.names.obj is packed.names


@pytest.mark.parametrize("field", ["spend_ends", "confirm_ends"])
def test_ends_that_fall_anywhere_are_a_value_error(field: str) -> None:
    packed = PackedBlocks.of(sample_chain(9).blocks)
    ends: array[int] = getattr(packed, field)
    places = [n for n in range(1, len(ends)) if ends[n - 1] > 0]
    assert len(places) > 4
    for place in places:
        fallen = ends[:]
        fallen[place] = ends[place - 1] - 1
        changed: Any = {field: fallen}
        with pytest.raises(ValueError, match="ends before the one before it"):
            replace(packed, **changed).checked()
