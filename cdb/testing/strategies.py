"""Hypothesis strategies over chains."""

from random import Random

from hypothesis import strategies as st

from cdb.contract.blocks import BlockSpendInfo
from cdb.errors import BlockError
from cdb.testing.chains import Chain, breaches, random_block
from cdb.testing.crafts import crafted_block


def next_blocks(chain: Chain) -> st.SearchStrategy[BlockSpendInfo]:
    """Any valid block that can follow, with crafted coins and children of any coin, or without."""

    def made(random: Random) -> BlockSpendInfo:
        if random.random() < 0.5:
            return random_block(chain, random)
        return crafted_block(chain, random, kin=True)

    return st.randoms(use_true_random=False).map(made)


@st.composite
def invalid_blocks(draw: st.DrawFn, chain: Chain) -> tuple[BlockSpendInfo, type[BlockError]]:
    """A block that breaks exactly one rule, and the error that must follow."""
    return draw(st.sampled_from(breaches(chain, draw(next_blocks(chain)))))


@st.composite
def valid_chains(draw: st.DrawFn, max_blocks: int = 12) -> Chain:
    """Chains of up to max_blocks blocks."""
    chain = Chain()
    for _ in range(draw(st.integers(0, max_blocks))):
        chain.append(draw(next_blocks(chain)))
    return chain


@st.composite
def invalid_chains(
    draw: st.DrawFn, max_blocks: int = 12
) -> tuple[Chain, BlockSpendInfo, type[BlockError]]:
    """A valid chain, a block that can't follow it, and the error that must follow."""
    chain = draw(valid_chains(max_blocks))
    block, error = draw(invalid_blocks(chain))
    return chain, block, error
