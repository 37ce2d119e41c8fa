"""A branch that loses has the chain's transactions, as far as its own rewards allow."""

from cdb.chia.bench.branch import branch_that_loses
from cdb.contract.blocks import BlockSpendInfo, canonical
from cdb.contract.coins import bytes32
from cdb.testing.chains import child
from cdb.text.mainnet import farmer_coin, pool_coin


def test_what_spends_lost_rewards_is_lost_too_and_all_that_follows_on_it() -> None:
    farmer, older = bytes32(b"f" * 32), bytes32(b"o" * 32)
    rewards = [(pool_coin(n, farmer), farmer_coin(n, farmer)) for n in (1, 2, 3)]
    lost = child(rewards[0][0].name())
    kept, at_once = child(older), child(child(older).name())
    chain = [
        BlockSpendInfo(10, 100, [], [*rewards[0]]),
        BlockSpendInfo(
            11,
            200,
            [rewards[0][0].name(), older, kept.name()],
            [*rewards[1], lost, kept, at_once],
        ),
        BlockSpendInfo(12, 300, [lost.name(), at_once.name()], [*rewards[2], child(lost.name())]),
    ]
    first, second, third = branch_that_loses(map(canonical, chain))
    assert [block.index for block in (first, second, third)] == [10, 11, 12]
    assert {coin.parent_coin_name for coin in first.confirms} == {
        coin.parent_coin_name for coin in rewards[0]
    }
    assert not {*first.confirms} & {*rewards[0]}
    assert {*second.spends} == {older, kept.name()}
    assert {kept, at_once} < {*second.confirms}
    assert lost not in second.confirms
    assert third.spends == [at_once.name()]
    assert len(third.confirms) == 2
