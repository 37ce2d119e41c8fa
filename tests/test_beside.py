"""coin_log and coin sets in any engine are read by many threads beside the one that writes."""

import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from struct import iter_unpack

import pytest

from cdb.contract.blocks import BlockSpendInfo, canonical
from cdb.contract.coins import Coin, bytes32
from cdb.contract.packed import INFO_FORMAT, PackedBlocks
from cdb.errors import DatabaseClosedError, UnknownCoinError
from cdb.schemas import find_schema, open_schema
from cdb.schemas.coin_log import CoinLogSchema
from cdb.stores.coin_log.binding import Sizes
from cdb.stores.coin_set.schema import CoinSetSchema
from cdb.testing.chains import block_at, child, hash_of, paid, reward
from tests.engines import SCHEMAS

Subject = CoinLogSchema | CoinSetSchema
COINS = 40  # of each block, which spends those of the one before
BLOCKS = 120


def chain() -> list[BlockSpendInfo]:
    """Blocks of which each spends all coins of the one before."""
    blocks: list[BlockSpendInfo] = []
    coins = [reward(0, number) for number in range(COINS)]
    spends: list[bytes32] = []
    for index in range(BLOCKS):
        blocks.append(canonical(BlockSpendInfo(index, index, spends, coins)))
        spends = [coin.name() for coin in coins]
        coins = [child(coin.name(), index + 1) for coin in coins]
    return blocks


CHAIN = chain()
NAMES = [coin.name() for block in CHAIN for coin in block.confirms]


@pytest.fixture(
    params=["coin_log", "coin_log:SMALL", "rocks_kv", *(f"{name}:SMALL" for name in SCHEMAS)]
)
def schema(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    name: str = request.param
    info = find_schema(name if ":" not in name else f"cdb.schemas.{name}")
    if info.missing is not None:
        pytest.skip(info.missing)
    with info.open(tmp_path / "database") as opened:
        assert isinstance(opened, CoinLogSchema | CoinSetSchema)
        yield opened


def newest_seen(schema: Subject) -> int:
    """Of the one state that a look-up shows; it fails where it shows parts of two."""
    infos = schema.coin_infos_for_coin_names(NAMES)
    blocks, rest = divmod(len(infos), COINS)
    assert rest == 0
    for number, info in enumerate(infos):
        block = number // COINS
        assert info.confirmed_index == block
        assert info.spent_index == (block + 1 if block + 1 < blocks else 0)
    return blocks - 1


def refused(after: int) -> BlockSpendInfo:
    """A block that spends all that it may before it spends what it must not."""
    spends = [coin.name() for coin in CHAIN[after].confirms]
    coins: list[Coin] = [child(coin.name(), 99) for coin in CHAIN[after].confirms]
    return canonical(BlockSpendInfo(after + 1, 0, [*spends, hash_of("nobody")], coins))


def write(schema: Subject) -> None:
    """Accept the chain, by packs and by blocks, with refusals, flushes and rewinds."""
    newest = -1
    rewinds = 0
    while newest + 1 < BLOCKS:
        if newest % 3 == 0:
            pack = CHAIN[newest + 1 : newest + 6]
            schema.accept_packed(PackedBlocks.of(pack))
        else:
            pack = CHAIN[newest + 1 : newest + 2]
            schema.accept_block(pack[0])
        newest += len(pack)
        if newest % 4 == 0 and newest + 1 < BLOCKS:
            with pytest.raises(UnknownCoinError):
                schema.accept_block(refused(newest))
        if newest % 5 == 0:
            schema.flush()
        if newest // 20 > rewinds:
            rewinds += 1
            newest -= 9
            schema.rewind_to_block_index(newest)


def test_readers_see_whole_blocks(schema: Subject) -> None:
    schema.accept_block(CHAIN[0])
    schema.rewind_to_block_index(-1)
    begun = threading.Barrier(3)  # on a busy machine the writer would be done before they begin
    with ThreadPoolExecutor(3) as threads:

        def begin_and_write() -> None:
            begun.wait()
            write(schema)

        writing = threads.submit(begin_and_write)

        def look_up() -> int:
            looks = 0
            begun.wait()
            while not writing.done():
                newest_seen(schema)
                looks += 1
            return looks

        def read() -> int:
            looks = 0
            begun.wait()
            while not writing.done():
                blocks = list(schema.blocks())
                assert blocks == CHAIN[: len(blocks)]
                if blocks:
                    last = schema.block_info_for_block_index(len(blocks) - 1)
                    assert last in (None, blocks[-1])
                looks += 1
            return looks

        looking, reading = threads.submit(look_up), threads.submit(read)
        writing.result()
        assert looking.result() > 0
        assert reading.result() > 0
    assert newest_seen(schema) == BLOCKS - 1
    assert list(schema.blocks()) == CHAIN


def test_readers_see_all_spends_of_a_block_or_none(schema: Subject) -> None:
    """While the spends of a large block are entered one by one. All in packs: what Python does for
    each coin would take a hundred times as long as that."""
    coins = [reward(1, number) for number in range(20_000)]
    schema.accept_block(BlockSpendInfo(1, 0, [], coins))
    schema.flush()
    names = sorted(coin.name() for coin in coins)
    large = PackedBlocks.of([BlockSpendInfo(2, 0, names, [])])
    some = b"".join(names[::40])
    # Of rocks_kv a turn takes ten times as long, and is as much longer in what is looked for.
    turns = 40 if isinstance(schema, CoinLogSchema) else 10
    with ThreadPoolExecutor(1) as threads:

        def write() -> None:
            for _ in range(turns):
                schema.accept_packed(large)
                schema.rewind_to_block_index(1)

        writing = threads.submit(write)
        while not writing.done():
            infos, _ = schema.coin_infos_packed(some)
            spent = {spent_index for *_, spent_index in iter_unpack(INFO_FORMAT, infos)}
            assert spent in ({0}, {2})
        writing.result()


KINDS = 8  # of rewards; coin_log numbers no more
TURNS, MOST_TURNS = 60, 6_000  # more of them where readers come to nothing on a busy machine


def introducing(kinds: Sequence[int]) -> list[BlockSpendInfo]:
    """Blocks that each introduce a kind of rewards, with one of each kind before it."""
    return [
        canonical(BlockSpendInfo(index, 0, [], [paid(index, kind) for kind in kinds[: index + 1]]))
        for index in range(len(kinds))
    ]


def test_readers_at_the_moment_that_a_kind_of_rewards_comes_or_goes(schema: Subject) -> None:
    """Rewinds give the numbers of kinds to others, while readers make parents out of them."""
    chains = [introducing(range(KINDS)), introducing(range(KINDS - 1, -1, -1))]
    names = sorted({coin.name() for chain in chains for block in chain for coin in block.confirms})
    states = [
        {coin.name(): block.index for block in chain[:n] for coin in block.confirms}
        for chain in chains
        for n in range(1, KINDS + 1)
    ]

    sights = {"look-ups": 0, "blocks": 0}

    def write() -> None:
        for turn in range(MOST_TURNS):
            if turn >= TURNS and all(sights.values()):
                return
            chain = chains[turn % 2]
            if turn % 3 == 0:
                schema.accept_packed(PackedBlocks.of(chain))
            else:
                for block in chain:
                    schema.accept_block(block)
            schema.rewind_to_block_index(-1)

    with ThreadPoolExecutor(3) as threads:
        writing = threads.submit(write)

        def look_up() -> None:
            while not writing.done():
                infos = schema.coin_infos_for_coin_names(names)
                found = {info.coin.name(): info.confirmed_index for info in infos}
                assert not found or found in states
                sights["look-ups"] += bool(found)

        def read() -> None:
            while not writing.done():
                blocks = list(schema.blocks())
                assert any(blocks == chain[: len(blocks)] for chain in chains)
                sights["blocks"] += bool(blocks)

        looking, reading = threads.submit(look_up), threads.submit(read)
        for each in (looking, reading, writing):
            each.result()
    assert all(sights.values())


def test_what_was_accepted_is_seen_by_all_threads(schema: Subject) -> None:
    """Also what is verified late: who reads has it verified."""
    with ThreadPoolExecutor(1) as thread:
        for index in range(0, BLOCKS, 10):
            schema.accept_packed(PackedBlocks.of(CHAIN[index : index + 10]))
            assert thread.submit(newest_seen, schema).result() == index + 9


@pytest.fixture
def put_off(tmp_path: Path) -> Iterator[CoinLogSchema]:
    """A coin log that has accepted, in a thread that has ended, a block that it is going to refuse.

    That spends a coin that a rewind took away.
    """
    with CoinLogSchema(tmp_path / "database", sizes=Sizes(recent_bits=2)) as schema:
        gone = [reward(1, number) for number in range(COINS)]
        schema.accept_block(BlockSpendInfo(1, 0, [], [reward(0)]))
        schema.accept_block(BlockSpendInfo(2, 0, [], gone))
        schema.rewind_to_block_index(1)
        schema.accept_block(block_at(2, coins=COINS))
        bad = PackedBlocks.of([BlockSpendInfo(3, 0, [gone[0].name()], [reward(3)])])
        writer = threading.Thread(target=schema.accept_packed, args=(bad,))
        writer.start()
        writer.join()
        yield schema


def test_a_refusal_is_told_to_the_writer_alone(put_off: CoinLogSchema) -> None:
    """Also where a reading thread has the number that the writer's had."""
    found: list[int] = []

    def read() -> None:
        found.append(len(put_off.coin_infos_for_coin_names([reward(3).name()])))

    for _ in range(30):
        reader = threading.Thread(target=read)
        reader.start()
        reader.join()
    assert found == [0] * 30
    with pytest.raises(UnknownCoinError):
        put_off.flush()
    put_off.flush()


def test_open_iterations_share_what_a_rewind_takes(tmp_path: Path) -> None:
    """One copy of the log, and one descriptor, for all of them."""
    with CoinLogSchema(tmp_path / "database") as schema:
        schema.accept_packed(PackedBlocks.of(CHAIN))
        iterations = [schema.blocks() for _ in range(100)]
        before = len(list(Path("/proc/self/fd").iterdir()))
        schema.rewind_to_block_index(10)
        assert len(list(Path("/proc/self/fd").iterdir())) <= before + 2
        for iteration in iterations[::9]:
            assert list(iteration) == CHAIN


def test_readers_wait_for_no_write_that_goes_on(schema: Subject) -> None:
    """Whoever writes has the lock all the time, in a sync, too."""
    for block in CHAIN[:20]:
        schema.accept_block(block)
    iteration = schema.blocks()
    with schema.mutex, ThreadPoolExecutor(1) as thread:

        def read() -> None:
            assert newest_seen(schema) == 19
            assert schema.block_info_for_block_index(7) == CHAIN[7]
            assert list(schema.blocks()) == list(iteration) == CHAIN[:20]

        thread.submit(read).result(timeout=60)


def test_a_rewind_to_nothing_hides_what_it_erases(schema: Subject) -> None:
    """From its first moment on, while what it took is erased bit by bit."""
    schema.accept_packed(PackedBlocks.of(CHAIN))
    first = CHAIN[0].confirms[0].name()
    with ThreadPoolExecutor(1) as thread:
        writing = thread.submit(schema.rewind_to_block_index, -1)
        while not writing.done():
            is_there = bool(schema.coin_infos_for_coin_names([first]))
            blocks = list(schema.blocks())
            assert is_there or not blocks
            assert blocks in ([], CHAIN)
        writing.result()


class AlarmError(Exception):
    """What the handler raises."""


@pytest.fixture
def alarm() -> Iterator[None]:
    def ring(number: int, frame: object) -> None:
        raise AlarmError

    before = signal.signal(signal.SIGALRM, ring)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("alarm")
def test_a_read_that_a_signal_ends_leaves_nothing_behind(schema: Subject) -> None:
    """Neither its thread in the middle of a call, nor a lock; wherever the signal comes."""
    schema.accept_packed(PackedBlocks.of(CHAIN[:10]))
    names = b"".join(NAMES[:COINS])
    schema.coin_infos_packed(names)  # the first one verifies, which is a write

    def read_until_the_alarm(seconds: float) -> None:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        while True:
            schema.coin_infos_packed(names)

    for attempt in range(200):
        with pytest.raises(AlarmError):
            read_until_the_alarm(1e-4 + attempt % 40 * 5e-6)
        assert newest_seen(schema) == 9
    with ThreadPoolExecutor(1) as thread:
        thread.submit(schema.accept_block, CHAIN[10]).result(timeout=60)


def test_closing_ends_what_other_threads_read(schema: Subject) -> None:
    for block in CHAIN[:40]:
        schema.accept_block(block)
    began = threading.Barrier(4)

    def read(kind: int) -> None:
        iteration = schema.blocks()
        began.wait()
        while True:
            if kind == 0:
                newest_seen(schema)
            elif kind == 1:
                list(schema.blocks())
            else:
                next(iteration, None)
                schema.block_info_for_block_index(3)

    with ThreadPoolExecutor(3) as threads:
        reading: list[Future[None]] = [threads.submit(read, kind) for kind in range(3)]
        began.wait()
        schema.close()
        for each in reading:
            with pytest.raises(DatabaseClosedError):
                each.result(timeout=60)


def test_an_iteration_goes_on_with_what_was_not_committed(tmp_path: Path) -> None:
    """Of rocks_kv: what is in memory when it begins is read from there, whatever comes of it."""
    info = find_schema("rocks_kv")
    if info.missing is not None:
        pytest.skip(info.missing)
    with open_schema("rocks_kv", tmp_path / "database") as schema:
        for block in CHAIN[:10]:
            schema.accept_block(block)
        begun, unbegun = iter(schema.blocks()), schema.blocks()
        first = next(begun)
        schema.flush()
        for block in CHAIN[10:20]:
            schema.accept_block(block)
        schema.rewind_to_block_index(4)
        assert [first, *begun] == list(unbegun) == CHAIN[:10]
        assert list(schema.blocks()) == CHAIN[:5]
