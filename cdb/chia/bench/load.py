"""A chain of so many coins, with its hints, added to a new store, each block in a transaction.

Hints are not timed. The size is that of closed files. A block is taken back in the end, as in a
round of calls: the first one finds the store as all others do.
"""

import asyncio
import pickle

from cdb.bench.case import Case
from cdb.bench.stopwatch import Stopwatch
from cdb.chia.bench.chain import SEED, SMALL_BLOCK_COINS, Chain, loaded
from cdb.chia.bench.stores import opened
from cdb.chia.bench.terms import Files
from cdb.process.meter import size_bytes

LOAD_BLOCK_COINS = 5_000


def measure(files: Files) -> list[Case]:
    """See the module."""
    return [asyncio.run(load(files))]


async def load(files: Files) -> Case:
    """The same in a loop that runs."""
    chain, watch = Chain(SEED), Stopwatch()
    files.directory.mkdir()
    async with opened(files.store, files.directory) as store:
        while len(chain.names) < files.n_coins:
            block = chain.block(LOAD_BLOCK_COINS)
            with watch.running():
                await store.add(block)
        with watch.running():
            await store.finish()
        await store.hint(chain.hints())
    files.chain.write_bytes(pickle.dumps(chain))
    figures = watch.means(len(chain.names), "_per_coin")
    figures["size_bytes_per_coin"] = size_bytes(files.directory) / len(chain.names)
    async with opened(files.store, files.directory) as store:
        await store.add(loaded(files).block(SMALL_BLOCK_COINS))
        await store.take_back(chain.height)
    return Case("load", figures=figures)
