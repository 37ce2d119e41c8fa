"""The oracle of a cluster's trials finds what is lost and what is wrong."""

from cdb.contract.packed import PackedBlocks
from cdb.testing.cluster.oracle import held
from cdb.testing.cluster.script import Script
from cdb.testing.cluster.writer import do, step_of
from tests.cassandra.fake import Keyspace, open_in

SCRIPT = Script(seed=3, n_blocks=60)


def test_a_script_has_rewinds_and_is_the_same_each_time() -> None:
    assert Script(3, 60).steps == SCRIPT.steps != Script(4, 60).steps
    assert sum(not step.blocks for step in SCRIPT.steps) >= 3
    assert SCRIPT.states[-1].spends > 100


def test_the_oracle_tells_what_is_lost_and_what_is_wrong() -> None:
    last = len(SCRIPT.steps)
    with open_in(Keyspace(), "chain") as schema:
        assert step_of(schema, SCRIPT, 0) == 0
        for step in SCRIPT.steps:
            do(schema, step)
        assert step_of(schema, SCRIPT, last) == last
        assert held(schema, SCRIPT, last).done == last
        assert held(schema, SCRIPT, last - 1).wrong is None
        newest = schema.last_block_index
        assert newest is not None
        schema.rewind_to_block_index(newest - 1)
        finding = held(schema, SCRIPT, last)
        assert finding.lost_coins > 0 or finding.wrong is not None
        others = PackedBlocks.of(SCRIPT.steps[0].blocks)
        schema.rewind_to_block_index(-1)
        assert held(schema, SCRIPT, last).lost_coins == SCRIPT.states[-1].coins
        schema.accept_packed(others.part(0, 1))
