"""Readers beside a writer that loads, flushes, settles and rewinds: each sees whole blocks.

Some read through the writer's own object in threads, others open the database only for reading, in
processes of their own.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import count, cycle
from pathlib import Path
from random import Random
from time import sleep

from cdb.contents.loader import accept
from cdb.contract.blocks import canonical
from cdb.contract.coins import CoinInfo, bytes32
from cdb.contract.packed import PackedBlocks
from cdb.contract.schema import Schema
from cdb.errors import DatabaseClosedError
from cdb.schemas.registry import takes
from cdb.testing.chains import Chain, hash_of, random_chain
from cdb.testing.faults.coverage import Coverage
from cdb.testing.faults.oracle import BrokenPromiseError, Case, error_text
from cdb.testing.faults.remote import RemoteSchema
from cdb.testing.faults.trial import DATABASE, usable
from cdb.testing.side_by_side import settle

TRIAL = "beside"
READS = 200
BLOCKS = 150
BATCH_BLOCKS = 10
REWOUND_BLOCKS = 25
BATCH_NAMES = 100
READ = "read-only openings"
REST_SECONDS = 0.05
"""What a reader in a process needs from end to end; a rewind within that sends some away."""

Read = Callable[[], None]
"""Reads once, and raises when what it has read is no state that there can be."""


def beside(
    spec: str, seed: int, directory: Path, *, most: int | None = None, only: str | None = None
) -> Coverage:
    """Read in three ways at once until each has read so often. See Trial; its points are the reads.

    Which moments the readers meet is chance: only is one of the ways, and repeats all its reads.
    """
    info = usable(spec)
    path = directory / DATABASE
    random = Random(seed)  # noqa: S311 - reproducible, not secret
    chain = random_chain(random, BLOCKS)
    reads = most or READS
    found: Counter[str] = Counter()
    with info.open(path) as schema:
        ways: dict[str, Read] = {
            "blocks": lambda: check_blocks(schema, chain),
            "lookups": partial(History(chain).check_lookup, schema, random),
        }
        if takes(info.spec.factory, "read_only"):
            ways["processes"] = lambda: found.update([_read_in_a_process(spec, path, chain)])
        ways = {way: read for way, read in ways.items() if only in (None, way)}
        readers = [partial(_told, Case(TRIAL, spec, seed, way), ways[way]) for way in ways]
        if readers:
            write_beside_readers(schema, chain, readers, reads)
        if "processes" in ways:
            # Nobody writes now: a reader that is sent away always has never seen anything.
            schema.flush()
            with _telling(Case(TRIAL, spec, seed, "processes")):
                assert _read_in_a_process(spec, path, chain) == READ, "sent away without a rewind"
    points = reads * len(readers)
    return Coverage(TRIAL, spec, seed, points, points, 1 + found.total(), dict(found))


def write_beside_readers(
    schema: Schema, chain: Chain, readers: Sequence[Read], least_reads: int
) -> None:
    """Accept the chain, while each reader reads again and again in a thread.

    It goes on, with rewinds, until each of them has read so often; every other time it rests before
    it rewinds. Blocks up to REWOUND_BLOCKS are there all the time. Raises what they raise.
    """
    _accept(schema, chain, 0, REWOUND_BLOCKS)
    schema.flush()
    done = threading.Event()
    steps = count(1)
    rests_seconds = cycle([0, REST_SECONDS])
    times_read = [0] * len(readers)

    def read_until_done(reader: int) -> None:
        while not done.is_set():
            readers[reader]()
            times_read[reader] += 1

    with ThreadPoolExecutor(len(readers)) as pool:
        reading = [pool.submit(read_until_done, reader) for reader in range(len(readers))]
        try:
            _write(schema, chain, REWOUND_BLOCKS, steps)
            while min(times_read) < least_reads and not any(each.done() for each in reading):
                sleep(next(rests_seconds))
                schema.rewind_to_block_index(chain.blocks[-REWOUND_BLOCKS - 1].index)
                _write(schema, chain, len(chain.blocks) - REWOUND_BLOCKS, steps)
        finally:
            done.set()
        for each in reading:
            each.result()
    assert min(times_read) >= least_reads


class History:
    """When each coin of a chain was confirmed and spent."""

    def __init__(self, chain: Chain) -> None:
        self._spent = {name: block.index for block in chain.blocks for name in block.spends}
        self._coins = {
            coin.name(): (coin, block.index) for block in chain.blocks for coin in block.confirms
        }
        self._always_there = chain.blocks[REWOUND_BLOCKS - 1].index
        self._names = [*chain.names, *(hash_of("nobody", n) for n in range(20))]

    def check_lookup(self, schema: Schema, random: Random) -> None:
        """Look up any names: the infos are those after one of the blocks."""
        names = random.choices(self._names, k=BATCH_NAMES)
        infos = schema.coin_infos_for_coin_names(names)
        newest = max([max(info.confirmed_index, info.spent_index) for info in infos], default=-1)
        newest = max(newest, self._always_there)
        assert infos == self.infos_after(newest, names), "a lookup mixes the states of two blocks"

    def infos_after(self, newest: int, names: Sequence[bytes32]) -> list[CoinInfo]:
        """What a lookup gives after the block with an index."""
        infos = []
        for name in names:
            coin, confirmed = self._coins.get(name, (None, newest + 1))
            if coin is not None and confirmed <= newest:
                spent = self._spent.get(name, newest + 1)
                infos.append(CoinInfo(coin, confirmed, spent if spent <= newest else 0))
        return infos


def check_blocks(schema: Schema, chain: Chain) -> None:
    """Iterate: the blocks are the chain's up to one of them, and lookups fit the newest."""
    seen = list(schema.blocks())
    assert seen == [canonical(block) for block in chain.blocks[: len(seen)]]
    assert len(seen) >= REWOUND_BLOCKS, "blocks are missing that were never rewound"
    for block in seen[-3:]:
        confirmed = [coin.name() for coin in block.confirms]
        infos = schema.coin_infos_for_coin_names([*confirmed, *block.spends])
        found = {info.coin.name(): info for info in infos}
        # A rewind may have taken the block since, but only as a whole.
        answers = {name in found for name in confirmed}
        answers |= {
            name in found and found[name].spent_index == block.index for name in block.spends
        }
        assert len(answers) <= 1, "half a block is seen"
        assert schema.block_info_for_block_index(block.index) in (block, None)


def _read_in_a_process(spec: str, path: Path, chain: Chain) -> str:
    """Open the database only for reading: all of it is the state after one block."""
    names = chain.names
    try:
        with RemoteSchema(spec, path, read_only=True) as schema:
            seen = schema.blocks()
            infos = schema.coin_infos_for_coin_names(names)
    except DatabaseClosedError:
        return "readers sent away by a rewind"
    assert seen == [canonical(block) for block in chain.blocks[: len(seen)]]
    assert len(seen) >= REWOUND_BLOCKS, "blocks are missing that were flushed and never rewound"
    assert infos == History(chain).infos_after(seen[-1].index, names)
    return READ


def _told(case: Case, read: Read) -> None:
    with _telling(case):
        read()


@contextmanager
def _telling(case: Case) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        problem = f"beside a writer: {error_text(error)}"
        raise BrokenPromiseError(case, problem) from error


def _write(schema: Schema, chain: Chain, n_written: int, steps: Iterator[int]) -> None:
    """Accept the rest of a chain in both forms; flush, settle and rewind at some of the steps."""
    for step in steps:
        n_before, n_written = n_written, min(n_written + BATCH_BLOCKS, len(chain.blocks))
        _accept(schema, chain, n_before, n_written, packed=step % 2 == 0)
        if n_written == len(chain.blocks):
            return
        if step % 3 == 0:
            schema.flush()
        if step % 4 == 0:
            settle(schema)
        if step % 5 == 0:
            n_written -= REWOUND_BLOCKS
            schema.rewind_to_block_index(chain.blocks[n_written - 1].index)


def _accept(schema: Schema, chain: Chain, start: int, stop: int, *, packed: bool = False) -> None:
    if packed:
        accept(schema, PackedBlocks.of(chain.blocks[start:stop]))
    else:
        for block in chain.blocks[start:stop]:
            schema.accept_block(block)
