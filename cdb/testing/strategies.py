"""Hypothesis strategies over chains."""

from hypothesis import strategies as st

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import MAX_U64, Coin, bytes32
from cdb.errors import BlockError
from cdb.testing.adversary import CRAFTS
from cdb.testing.chains import EDGE_AMOUNTS, MAX_SPENDS, Chain, breaches, child, reward

MAX_COINS = 6
_CRAFTED = [coin for make in CRAFTS.values() for coin in make(MAX_COINS)]


@st.composite
def next_blocks(draw: st.DrawFn, chain: Chain) -> BlockSpendInfo:
    """Any valid block that can follow: with gaps, ephemeral coins, edge amounts, or empty."""
    index = chain.newest_index + draw(st.integers(1, 3))
    timestamp = draw(st.sampled_from([0, 1_600_000_000, 2**63, MAX_U64]))
    spendable = list(chain.unspent) if index else []
    spends: list[bytes32] = []
    if spendable:
        spends = draw(st.lists(st.sampled_from(spendable), unique=True, max_size=MAX_SPENDS))
    confirms: dict[bytes32, Coin] = {}
    for n in range(draw(st.integers(0, MAX_COINS))):
        coin = draw(_coins(chain, [*spends, *confirms] if index else [], index, n))
        if coin.name() in chain.unspent or coin.name() in chain.spent:
            continue
        confirms[coin.name()] = coin
        parent = coin.parent_coin_name
        if parent in confirms and parent not in spends and draw(st.booleans()):
            spends.append(parent)
    return BlockSpendInfo(index, timestamp, draw(st.permutations(spends)), [*confirms.values()])


@st.composite
def _coins(draw: st.DrawFn, chain: Chain, parents: list[bytes32], index: int, n: int) -> Coin:
    """A reward, a child of one of the parents, or of any coin, be it early or late, or crafted."""
    amount = draw(st.sampled_from(EDGE_AMOUNTS))
    match draw(st.sampled_from(["reward", "child", "any child", "crafted"])):
        case "child" if parents:
            return child(draw(st.sampled_from(parents)), n, amount)
        case "any child" if chain.names:
            return child(draw(st.sampled_from(chain.names)), n, amount)
        case "crafted":
            return draw(st.sampled_from(_CRAFTED))
    return reward(index, n, amount)


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
