"""The loader goes on where a database ends, refuses other chains, and flushes in time."""

import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from cdb.cmds.interrupt import DeferredInterrupt
from cdb.cmds.load import LoadOptions, LoadStoppedError, load_stream
from cdb.contents.loader import Loader, LoadProgress
from cdb.contract.blocks import BlockSpendInfo, canonical
from cdb.contract.packed import PackedBlocks
from cdb.errors import ChainMismatchError, ReplayError, StorageError, UnknownCoinError
from cdb.schemas import SchemaInfo, find_schema
from cdb.schemas.memory import MemorySchema
from cdb.testing.chains import block_at, hash_of, reward, sample_chain
from tests.conftest import load_all, text_of

BLOCKS = [canonical(block) for block in sample_chain(12).blocks]
NEWEST = BLOCKS[-1].index


class Recorder(MemorySchema):
    """Notes the newest index at each accept and flush."""

    def __init__(self, path: Path | None = None) -> None:
        super().__init__(path)
        self.accepted: list[int] = []
        self.flushed: list[int | None] = []

    def accept_block(self, block_spend_info: BlockSpendInfo) -> None:
        super().accept_block(block_spend_info)
        self.accepted.append(block_spend_info.index)

    def flush(self) -> None:
        super().flush()
        self.flushed.append(self.last_block_index)


def holding(blocks: Iterable[BlockSpendInfo]) -> Recorder:
    schema = Recorder()
    load_all(schema, blocks)
    schema.accepted.clear()
    schema.flushed.clear()
    return schema


def test_a_flush_of_a_part_of_a_pack_leaves_the_rest_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = []
    part = PackedBlocks.part

    def noted(packed: PackedBlocks, start: int, stop: int) -> PackedBlocks:
        cut.append((start, stop))
        return part(packed, start, stop)

    monkeypatch.setattr(PackedBlocks, "part", noted)
    schema = Recorder()
    blocks = [block_at(index) for index in range(50)]
    for _ in Loader(schema, flush_coins=1).load([PackedBlocks.of(blocks)]):
        pass
    assert schema.accepted == schema.flushed[: len(blocks)] == list(range(50))
    assert cut == [(n, n + 1) for n in range(50)]


def one_by_one(blocks: Iterable[BlockSpendInfo]) -> Iterator[PackedBlocks]:
    return (PackedBlocks.of([block]) for block in blocks)


# Into an empty database


def test_all_blocks_are_loaded_and_flushed() -> None:
    schema = Recorder()
    loader = Loader(schema)
    assert loader.progress == LoadProgress(0, 0, 0, None, None)
    steps = [progress.accepted_index for progress in loader.load(one_by_one(BLOCKS))]
    assert steps == [block.index for block in BLOCKS]
    assert list(schema.blocks()) == BLOCKS
    coins = sum(len(block.confirms) for block in BLOCKS)
    spends = sum(len(block.spends) for block in BLOCKS)
    assert loader.progress == LoadProgress(len(BLOCKS), coins, spends, NEWEST, NEWEST)
    assert schema.flushed == [NEWEST]


def test_loading_is_lazy() -> None:
    schema = Recorder()
    progress = Loader(schema).load(one_by_one(BLOCKS))
    assert schema.accepted == []
    next(progress)
    assert schema.accepted == [BLOCKS[0].index]


@pytest.mark.parametrize(
    ("flush_coins", "flushed"),
    [
        (1, [1, 2, 3, 5, 6, 6]),  # block 4 has no coins
        (3, [1, 3, 5, 6]),
        (4, [2, 5, 6]),
        (5, [2, 5, 6]),
        (6, [3, 6, 6]),
        (12, [6, 6]),
        (13, [6]),
    ],
)
def test_a_flush_comes_each_time_that_many_coins_have_come(
    flush_coins: int, flushed: list[int]
) -> None:
    coins = {1: 3, 2: 2, 3: 1, 4: 0, 5: 5, 6: 1}
    schema = Recorder()
    loader = Loader(schema, flush_coins=flush_coins)
    for progress in loader.load(one_by_one(block_at(index, coins=n) for index, n in coins.items())):
        reached = [index for index in schema.flushed if index is not None]
        assert progress.flushed_index == max(reached, default=None)
    assert schema.flushed == flushed
    assert loader.progress.flushed_index == 6


class Beside(Recorder):
    """Flushes in two steps, and notes both."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[str | int | None] = []

    def begin_flush(self) -> None:
        self.steps.append(self.last_block_index)

    def end_flush(self) -> None:
        self.steps.append("end")


def test_what_is_flushed_beside_counts_when_that_has_ended() -> None:
    schema = Beside()
    loader = Loader(schema, flush_coins=2)
    steps = [
        (progress.accepted_index, progress.flushed_index)
        for progress in loader.load(one_by_one(block_at(index, coins=1) for index in range(1, 8)))
    ]
    assert schema.steps == ["end", 2, "end", 4, "end", 6]
    assert steps == [(1, None), (2, None), (3, None), (4, 2), (5, 2), (6, 4), (7, 4)]
    assert loader.progress.flushed_index == 7
    assert schema.flushed == [7]


@pytest.mark.parametrize("cut", [1, 2, 4, 6])
def test_a_flush_comes_in_the_middle_of_a_pack_too(cut: int) -> None:
    blocks = [block_at(index, coins=n) for index, n in {1: 3, 2: 2, 3: 1, 4: 0, 5: 5, 6: 1}.items()]
    schema = Recorder()
    loader = Loader(schema, flush_coins=5)
    for progress in loader.load([PackedBlocks.of(blocks[:cut]), PackedBlocks.of(blocks[cut:])]):
        assert progress.accepted_index == schema.last_block_index
    assert schema.flushed == [2, 5, 6]
    assert loader.progress == LoadProgress(6, 12, 0, 6, 6)


def test_blocks_before_a_refused_one_in_its_pack_are_counted() -> None:
    bad = BlockSpendInfo(NEWEST + 1, 0, [hash_of("nobody")], [])
    loader = Loader(Recorder())
    with pytest.raises(UnknownCoinError):
        list(loader.load([PackedBlocks.of([*BLOCKS, bad])]))
    assert (loader.progress.blocks, loader.progress.accepted_index) == (len(BLOCKS), NEWEST)


def test_a_pack_is_cut_where_the_database_ends() -> None:
    schema = holding(BLOCKS[:3])
    list(Loader(schema).load([PackedBlocks.of(BLOCKS[:2]), PackedBlocks.of(BLOCKS[2:])]))
    assert schema.accepted == [block.index for block in BLOCKS[3:]]
    assert list(schema.blocks()) == BLOCKS


def test_a_refused_block_changes_nothing_and_flush_keeps_what_came_before() -> None:
    schema = Recorder()
    loader = Loader(schema)
    bad = BlockSpendInfo(NEWEST + 1, 0, [hash_of("nobody")], [reward(NEWEST + 1)])
    with pytest.raises(UnknownCoinError):
        list(loader.load(one_by_one([*BLOCKS, bad])))
    assert (loader.progress.accepted_index, loader.progress.flushed_index) == (NEWEST, None)
    assert loader.progress.blocks == len(BLOCKS)
    assert schema.flushed == []
    loader.flush()
    assert (loader.progress.flushed_index, schema.flushed) == (NEWEST, [NEWEST])


def test_an_error_of_the_source_comes_through() -> None:
    def source() -> Iterator[BlockSpendInfo]:
        yield from BLOCKS[:2]
        raise ReplayError(7, "bad")

    loader = Loader(Recorder())
    with pytest.raises(ReplayError):
        list(loader.load(one_by_one(source())))
    assert loader.progress.accepted_index == BLOCKS[1].index


def test_each_block_and_each_flush_is_uninterrupted() -> None:
    schema = Recorder()
    seen: list[tuple[int, int]] = []

    @contextmanager
    def uninterrupted() -> Iterator[None]:
        before = len(schema.accepted), len(schema.flushed)
        yield
        seen.append((len(schema.accepted) - before[0], len(schema.flushed) - before[1]))

    blocks = [block_at(1), block_at(2)]
    assert len(list(Loader(schema, uninterrupted=uninterrupted).load(one_by_one(blocks)))) == 2
    assert seen == [(1, 0), (1, 0), (0, 1)]


# Into a database that holds blocks


@pytest.mark.parametrize("held", range(len(BLOCKS) + 1))
def test_loading_goes_on_after_the_newest_block(held: int) -> None:
    schema = holding(BLOCKS[:held])
    loader = Loader(schema)
    newest = BLOCKS[held - 1].index if held else None
    assert loader.progress == LoadProgress(0, 0, 0, newest, newest)
    assert len(list(loader.load(one_by_one(BLOCKS)))) == len(BLOCKS) - held
    assert schema.accepted == [block.index for block in BLOCKS[held:]]
    assert list(schema.blocks()) == BLOCKS
    assert loader.progress.accepted_index == loader.progress.flushed_index == NEWEST


def test_the_known_block_may_come_in_any_order() -> None:
    schema = holding(BLOCKS[:6])
    turned = [
        replace(block, spends=block.spends[::-1], confirms=block.confirms[::-1]) for block in BLOCKS
    ]
    assert turned[5] != BLOCKS[5]
    load_all(schema, turned)
    assert list(schema.blocks()) == BLOCKS


@pytest.mark.parametrize("held", [2, 7, len(BLOCKS)])
@pytest.mark.parametrize("shown", range(5))
def test_a_shorter_replay_of_the_same_chain_changes_nothing(held: int, shown: int) -> None:
    schema = holding(BLOCKS[:held])
    load_all(schema, BLOCKS[: min(shown, held)])
    assert schema.accepted == []
    assert list(schema.blocks()) == BLOCKS[:held]


def _other_timestamp(block: BlockSpendInfo) -> BlockSpendInfo:
    return replace(block, timestamp=block.timestamp + 1)


def _other_coin(block: BlockSpendInfo) -> BlockSpendInfo:
    return replace(block, confirms=[*block.confirms, reward(block.index, 99)])


@pytest.mark.parametrize("change", [_other_timestamp, _other_coin])
@pytest.mark.parametrize("shown", [6, 7, len(BLOCKS)])
def test_another_chain_is_refused_before_anything_is_loaded(
    change: Callable[[BlockSpendInfo], BlockSpendInfo], shown: int
) -> None:
    schema = holding(BLOCKS[:6])
    replay = [*BLOCKS[:5], change(BLOCKS[5]), *BLOCKS[6:]][:shown]
    index = BLOCKS[5].index
    problem = rf"^block {index} of the replay is not block {index} of the database: "
    with pytest.raises(ChainMismatchError, match=problem):
        load_all(schema, replay)
    assert schema.accepted == []
    assert list(schema.blocks()) == BLOCKS[:6]


def test_a_shorter_replay_of_another_chain_is_refused() -> None:
    schema = holding(BLOCKS)
    index = BLOCKS[2].index
    with pytest.raises(ChainMismatchError, match=f"^block {index} of the replay"):
        load_all(schema, [*BLOCKS[:2], _other_timestamp(BLOCKS[2])])
    gap = replace(BLOCKS[2], index=BLOCKS[3].index - 1)
    assert schema.block_info_for_block_index(gap.index) is None
    with pytest.raises(ChainMismatchError, match=f"^block {gap.index} of the replay"):
        load_all(schema, [*BLOCKS[:2], gap])


@pytest.mark.parametrize(
    "replay",
    [
        [*BLOCKS[:5], *BLOCKS[6:]],  # a gap where the newest block is
        BLOCKS[6:],  # only what would follow
        BLOCKS[7:],
        [block_at(NEWEST + 100)],
    ],
)
def test_a_replay_without_the_newest_block_is_refused(replay: list[BlockSpendInfo]) -> None:
    schema = holding(BLOCKS[:6])
    problem = f"^the database's newest block, {BLOCKS[5].index}, is not in the replay: "
    with pytest.raises(ChainMismatchError, match=problem):
        load_all(schema, replay)
    assert schema.accepted == []


def test_an_empty_replay_changes_nothing() -> None:
    schema = holding(BLOCKS)
    load_all(schema, [])
    assert list(schema.blocks()) == BLOCKS


# Ctrl-C


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


@contextmanager
def no_interrupt() -> Iterator[None]:
    """Fails at a KeyboardInterrupt, which would end pytest itself."""
    try:
        yield
    except KeyboardInterrupt:
        pytest.fail("KeyboardInterrupt")


def test_an_interrupt_comes_at_once_outside_of_uninterrupted() -> None:
    with DeferredInterrupt():
        with pytest.raises(KeyboardInterrupt):
            interrupt()
        with pytest.raises(KeyboardInterrupt):
            interrupt()


def within(deferred: DeferredInterrupt, *steps: Callable[[], None]) -> None:
    """Take these steps uninterrupted."""
    with deferred.uninterrupted():
        for step in steps:
            step()


def test_an_interrupt_waits_for_the_end_of_the_block() -> None:
    reached: list[str] = []
    with DeferredInterrupt() as deferred:
        with pytest.raises(KeyboardInterrupt):
            within(deferred, interrupt, lambda: reached.append("end"))
        with no_interrupt():
            within(deferred)  # it was raised once and for all
        with pytest.raises(KeyboardInterrupt):
            interrupt()
    assert reached == ["end"]


def test_an_interrupt_waits_for_the_end_of_the_outermost_block() -> None:
    reached: list[str] = []
    with DeferredInterrupt() as deferred:

        def inner() -> None:
            within(deferred, interrupt, lambda: reached.append("inner"))

        with pytest.raises(KeyboardInterrupt):
            within(deferred, inner, lambda: reached.append("outer"))
    assert reached == ["inner", "outer"]


def test_after_an_error_interrupts_come_at_once_again() -> None:
    with DeferredInterrupt() as deferred:
        with pytest.raises(ReplayError), deferred.uninterrupted():
            raise ReplayError(1, "bad")
        with pytest.raises(KeyboardInterrupt):
            interrupt()


def test_a_second_interrupt_does_not_wait() -> None:
    reached: list[str] = []
    with DeferredInterrupt() as deferred, pytest.raises(KeyboardInterrupt):
        within(deferred, interrupt, interrupt, lambda: reached.append("end"))
    assert reached == []


def test_a_second_interrupt_is_raised_once() -> None:
    with DeferredInterrupt() as deferred:
        with pytest.raises(KeyboardInterrupt):
            within(deferred, interrupt, interrupt)
        with no_interrupt():
            within(deferred)


def test_the_handler_before_is_restored() -> None:
    before = signal.getsignal(signal.SIGINT)
    with DeferredInterrupt():
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before


# A whole load that is interrupted


class Interrupted(Recorder):
    """Is interrupted while it accepts the block at index 7, or flushes."""

    when = "accept"
    interrupts = 1

    def accept_block(self, block_spend_info: BlockSpendInfo) -> None:
        if self.when == "accept" and block_spend_info.index == BLOCKS[3].index:
            with self.guard.write():
                for _ in range(self.interrupts):
                    interrupt()
        super().accept_block(block_spend_info)

    def flush(self) -> None:
        if self.when == "flush" and not self.flushed:
            with self.guard.write():
                for _ in range(self.interrupts):
                    interrupt()
        super().flush()


def info_of(factory: Callable[..., MemorySchema]) -> SchemaInfo:
    found = find_schema("memory")
    return replace(found, spec=replace(found.spec, factory=factory))


def load(
    factory: Callable[..., MemorySchema], path: Path, blocks: Iterable[BlockSpendInfo]
) -> None:
    options = LoadOptions(flush_coins=5, digest=False)
    load_stream(info_of(factory), path, BytesIO(text_of(blocks)), options)


@pytest.mark.parametrize("when", ["accept", "flush"])
def test_an_interrupted_load_keeps_the_block_at_hand(
    when: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Interrupted, "when", when)
    with pytest.raises(KeyboardInterrupt):
        load(Interrupted, tmp_path / "db", BLOCKS)
    out, err = capsys.readouterr()
    with MemorySchema(tmp_path / "db") as schema:
        newest = schema.last_block_index
    assert newest == (BLOCKS[3].index if when == "accept" else BLOCKS[1].index)
    assert f"interrupted; blocks up to {newest} are loaded and flushed" in err
    assert out == ""


@pytest.mark.parametrize("when", ["accept", "flush"])
def test_two_interrupts_end_a_load_as_one_does(
    when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Interrupted, "when", when)
    monkeypatch.setattr(Interrupted, "interrupts", 2)
    with pytest.raises(KeyboardInterrupt):
        load(Interrupted, tmp_path / "db", BLOCKS)
    with MemorySchema(tmp_path / "db") as schema:
        kept = list(schema.blocks())
        assert kept == BLOCKS[: len(kept)]
        load_all(schema, BLOCKS)


def test_an_interrupt_at_a_refused_block_still_says_what_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Refuses(Recorder):
        def accept_block(self, block_spend_info: BlockSpendInfo) -> None:
            if block_spend_info.index == BLOCKS[3].index:
                interrupt()
                raise UnknownCoinError("a test", block_spend_info.index)
            super().accept_block(block_spend_info)

    with pytest.raises((KeyboardInterrupt, LoadStoppedError)) as caught:
        load(Refuses, tmp_path / "db", BLOCKS)
    said = capsys.readouterr().err + str(caught.value)
    assert f"blocks up to {BLOCKS[2].index} are loaded and flushed" in said


def test_a_disk_that_fails_within_a_load_says_what_is_kept(tmp_path: Path) -> None:
    class Failing(Recorder):
        def flush(self) -> None:
            if len(self.flushed) == 2:
                with self.guard.write():
                    raise StorageError("db", "disk full")
            super().flush()

    with pytest.raises(LoadStoppedError) as caught:
        load(Failing, tmp_path / "db", BLOCKS)
    with MemorySchema(tmp_path / "db") as schema:
        newest = schema.last_block_index
        assert newest is not None
        assert newest < NEWEST
        assert str(caught.value) == (f"db: disk full; blocks up to {newest} are loaded and flushed")
        load_all(schema, BLOCKS)
        assert list(schema.blocks()) == BLOCKS


def test_ctrl_c_during_the_digest_says_what_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("cdb.cmds.load._digest", interrupted)
    stream = BytesIO(text_of(BLOCKS))
    with pytest.raises(KeyboardInterrupt):
        load_stream(find_schema("memory"), tmp_path / "db", stream, LoadOptions())
    said = f"interrupted; blocks up to {NEWEST} are loaded and flushed; only the digest is missing"
    assert capsys.readouterr().err.startswith(said)
    with MemorySchema(tmp_path / "db") as schema:
        assert schema.last_block_index == NEWEST
