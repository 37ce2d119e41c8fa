"""The oracle of a cluster's trials finds what is lost and what is wrong."""

import os
import shutil
import subprocess
import sys
import time
from subprocess import PIPE

import pytest

from cdb.contract.packed import PackedBlocks
from cdb.testing.cluster.clock import clock
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


@pytest.mark.skipif(not shutil.which("cc"), reason="it needs a C compiler")
def test_a_clock_jumps_for_who_has_it_while_he_runs() -> None:
    told = "import time; print(time.time(), time.monotonic(), flush=True)"
    tell = f"for line in iter(input, 'end'): {told}"
    with clock() as shown:
        command = [sys.executable, "-c", tell]
        environment = {**os.environ, **shown.environment}
        with subprocess.Popen(
            command, stdin=PIPE, stdout=PIPE, text=True, env=environment
        ) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            for ahead in (0, 3_600, -3_600):
                shown.jump(ahead)
                child.stdin.write("\n")
                child.stdin.flush()
                now, monotonic = map(float, child.stdout.readline().split())
                assert abs(now - time.time() - ahead) < 60
                assert abs(monotonic - time.monotonic()) < 60
            child.stdin.write("end\n")
