"""Kills a load at a random moment, and checks what the contract promises of a crash.

As a program this is the process that gets killed: it loads a replay, flushes after every block, and
acknowledges each flush with a line on standard output.

    python -m cdb.testing.crash SCHEMA PATH REPLAY
"""

import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from cdb.blocks import BlockSpendInfo, canonical
from cdb.loader import Loader, packs_after
from cdb.packed import PackedBlocks
from cdb.replay import block_text
from cdb.scanner import scan_packed
from cdb.schemas import open_schema
from cdb.state import verify

BLOCKS_A_FLUSH = 3
LONGEST_WAIT_SECONDS = 0.2


def kill_during_load(
    spec: str, path: Path, blocks: Sequence[BlockSpendInfo], *, kills: int, seed: int
) -> int:
    """Load blocks in processes that are killed (SIGKILL) one after the other, then load the rest.

    After each kill the database must open, hold exactly the blocks up to one at or after the last
    acknowledged flush, keep every invariant, and go on. Returns how many kills hit a running load.
    """
    waits = random.Random(seed)  # noqa: S311 - reproducible, not secret
    replay = path.with_name(path.name + ".replay")
    replay.write_bytes(b"".join(map(block_text, blocks)))
    hits = 0
    for _ in range(kills):
        wait_seconds = waits.random() * LONGEST_WAIT_SECONDS
        acknowledged, was_running = _load_and_kill(spec, path, replay, wait_seconds)
        hits += was_running
        _check_prefix(spec, path, blocks, acknowledged)
    with open_schema(spec, path) as schema:
        for _progress in Loader(schema).load([PackedBlocks.of(blocks)]):
            pass
    _check_prefix(spec, path, blocks, blocks[-1].index)
    return hits


def _load_and_kill(spec: str, path: Path, replay: Path, wait_seconds: float) -> tuple[int, bool]:
    """The last acknowledged index (-1 without one), and whether the load was still running."""
    command = [sys.executable, "-m", __name__, spec, str(path), str(replay)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:  # noqa: S603
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(wait_seconds)
        was_running = process.poll() is None
        process.kill()
        lines = (first + process.stdout.read()).rpartition(b"\n")[0].splitlines()
    return (int(lines[-1]) if lines else -1), was_running


def _check_prefix(
    spec: str, path: Path, blocks: Sequence[BlockSpendInfo], acknowledged: int
) -> None:
    with open_schema(spec, path) as schema:
        newest = schema.last_block_index
        reached = -1 if newest is None else newest
        assert reached >= acknowledged, f"flushed up to {acknowledged}, but {reached} is left"
        expected = [canonical(block) for block in blocks if block.index <= reached]
        assert list(schema.blocks()) == expected
        verify(schema)


def _load_and_acknowledge(spec: str, path: Path, replay: Path) -> None:
    with open_schema(spec, path) as schema, replay.open("rb") as stream:
        for packed in packs_after(schema, scan_packed(stream)):
            for place, index in enumerate(packed.indices):
                schema.accept_block(packed.block(place))
                if place % BLOCKS_A_FLUSH == 0:
                    schema.flush()
                    sys.stdout.write(f"{index}\n")
                    sys.stdout.flush()


if __name__ == "__main__":
    _load_and_acknowledge(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
