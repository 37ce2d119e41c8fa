"""coin_log when its log is not in memory: how often a query waits for the disk."""

import resource
from array import array
from pathlib import Path
from random import Random

import pytest

from cdb.bench.page_cache import drop, resident_bytes
from cdb.contract.coin_query import COIN_BYTES, CoinKey, CoinQuery
from cdb.contract.coins import NAME_BYTES
from cdb.contract.packed import CONFIRM_BYTES, PackedBlocks
from cdb.schemas.coin_log import indexed
from cdb.stores.coin_log.binding import Sizes, missing, names_of
from cdb.testing.chains import paid

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

BLOCKS, COINS = 40, 2_000
RECORD_PAGES = 20
MOST_WAITS = 4
"""For a coin: its own page, its parent's, the rest of their record, the head of the next one."""


def made_block(index: int, random: Random) -> PackedBlocks:
    """One whose coins are of one reward: opening reads none of them, as it does early children."""
    parent = paid(index).parent_coin_name
    size = CONFIRM_BYTES - NAME_BYTES
    confirms = b"".join(sorted(parent + random.randbytes(size) for _ in range(COINS)))
    numbers = array("Q", [index]), array("Q", [index]), array("Q", [0]), array("Q", [COINS])
    return PackedBlocks(*numbers, b"", confirms, names_of(confirms))


@pytest.mark.parametrize("key", [CoinKey.NAME, CoinKey.PUZZLE_HASH])
@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "one by one"])
def test_a_record_is_read_at_once(disk_path: Path, key: CoinKey, at_once: bool) -> None:
    path, random, values = disk_path / "database", Random(1), list[bytes]()
    with indexed(path, sizes=Sizes(memtable_coins=COINS * BLOCKS)) as schema:
        for index in range(BLOCKS):
            block = made_block(index, random)
            place = random.randrange(COINS)
            begin = place * CONFIRM_BYTES + NAME_BYTES
            by_name = block.names[place * NAME_BYTES :][:NAME_BYTES]
            by_puzzle_hash = block.confirms[begin:][:NAME_BYTES]
            values.append(bytes(by_name if key is CoinKey.NAME else by_puzzle_hash))
            schema.accept_packed(block)
    log = path / "log"
    assert log.stat().st_size > BLOCKS * RECORD_PAGES * resource.getpagesize()
    queries = [CoinQuery(key, b"".join(values))] if at_once else [CoinQuery(key, v) for v in values]
    with indexed(path, read_only=True) as schema:
        drop([log])
        left = resident_bytes([log])
        if left is None or left > log.stat().st_size // 10:
            pytest.skip("here pages can't be dropped, or nobody can tell")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
        found = [schema.coins_packed(query) for query in queries]
        waits = resource.getrusage(resource.RUSAGE_SELF).ru_majflt - before
    assert sum(map(len, found)) == BLOCKS * COIN_BYTES
    assert waits <= MOST_WAITS * BLOCKS
