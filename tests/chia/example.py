"""chia's Blockchain class on cdb's coin store, killed again and again, and none the worse for it.

    build/chia/venv/bin/python -m tests.chia.example

It makes plots and a chain of blocks with transactions (some minutes, once), has a process add them
to a node's database, kills that with SIGKILL every few blocks, and starts the next one, which goes
on. In the end each coin must be as in a database that nobody killed, with chia's own store.
"""

import asyncio
import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).parents[2]
HOME = Path(os.environ.get("CHIA_TEST_HOME", ROOT / "build/chia/home"))
"""Where `make chia-tests` has plots, too."""
PLACE = ROOT / "build/chia/example"
CHAIN = PLACE / "chain"
N_BLOCKS = 60
MOST_BLOCKS_A_LIFE = 9


def main() -> int:
    """Grow the chain in both ways; 0 if they end with the same coins."""
    os.environ.pop("CI", None)
    os.environ |= {"HOME": str(HOME), "CHIA_ROOT": str(HOME / "mainnet")}
    for directory in (HOME, PLACE):
        directory.mkdir(parents=True, exist_ok=True)
    if not CHAIN.exists():
        asyncio.run(_make_chain())
    for store in ("cdb", "chia"):
        shutil.rmtree(PLACE / store, ignore_errors=True)
        (PLACE / store).mkdir()
    random = Random(1)
    while (ours := _grow("cdb", random.randint(1, MOST_BLOCKS_A_LIFE))) is None:
        _say("killed")
    theirs = _grow("chia")
    _say("the same coins" if ours == theirs else f"other coins: {ours}; chia's own has {theirs}")
    return int(ours != theirs)


def _grow(store: str, kill_after: int | None = None) -> str | None:
    """Start a node that adds blocks, and kill it after so many; what it ends with, if it does."""
    line = [sys.executable, "-m", "tests.chia.example", store]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        n_blocks = 0
        for said in process.stdout:
            _say(f"{store}: {said.strip()}")
            if said.startswith("ends with"):
                return said
            n_blocks += said.startswith("block")
            if n_blocks == kill_after:
                process.kill()
        if kill_after is None or n_blocks < kill_after:
            raise SystemExit(f"the node with {store}'s store failed")
    return None


async def _make_chain() -> None:
    from chia.simulator.block_tools import create_block_tools_async, test_constants
    from chia.simulator.keyring import TempKeyring

    with TempKeyring() as keychain:
        async with create_block_tools_async(test_constants, keychain=keychain) as tools:
            blocks = tools.get_consecutive_blocks(N_BLOCKS, include_transactions=True)
    made = CHAIN.with_suffix(".new")
    made.write_text("\n".join(bytes(block).hex() for block in blocks))
    made.replace(CHAIN)


async def _node(store: str) -> None:
    """Open a node's database and have chia's Blockchain add what it lacks of the chain."""
    from chia._tests.blockchain.blockchain_test_utils import _validate_and_add_block
    from chia.consensus.block_height_map import BlockHeightMap
    from chia.consensus.blockchain import Blockchain
    from chia.full_node.block_store import BlockStore
    from chia.full_node.coin_store import CoinStore as TheirStore
    from chia.simulator.block_tools import test_constants
    from chia.util.db_wrapper import DBWrapper2
    from chia.util.inline_executor import InlineExecutor
    from chia_rs import FullBlock

    from cdb.chia import CoinStore

    place = PLACE / store
    async with DBWrapper2.managed(place / "node.sqlite", db_version=2) as wrapper:
        coins = await (CoinStore if store == "cdb" else TheirStore).create(wrapper)
        blocks = await BlockStore.create(wrapper)
        heights = await BlockHeightMap.create(place, wrapper)
        chain = await Blockchain.create(coins, blocks, heights, test_constants, InlineExecutor())
        peak = chain.get_peak()
        _say(f"goes on from block {'none' if peak is None else peak.height}")
        for line in CHAIN.read_text().splitlines():
            block = FullBlock.from_bytes(bytes.fromhex(line))
            if peak is None or block.height > peak.height:
                await _validate_and_add_block(chain, block)
                _say(f"block {block.height}")
        _say(f"ends with {await _digest(coins, N_BLOCKS)}")


async def _digest(coins: Any, n_blocks: int) -> str:
    """All coins of a chain."""
    by_height = [await coins.get_coins_added_at_height(height) for height in range(n_blocks)]
    records = sorted(bytes(record) for records in by_height for record in records)
    return f"{len(records)} coins, {sha256(b''.join(records)).hexdigest()}"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(_node(sys.argv[1]))
    else:
        sys.exit(main())
