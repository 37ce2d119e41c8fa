"""What a cluster lets happen between two statements, and what everybody sees of it: nothing."""

from collections.abc import Callable, Iterator
from functools import partial
from random import Random

import pytest

from cdb.contents.state import StateSummary, verify
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import bytes32
from cdb.contract.schema import Schema
from cdb.errors import (
    CorruptDatabaseError,
    DatabaseClosedError,
    DatabaseLockedError,
    InvariantError,
    StorageError,
)
from cdb.stores.cassandra.rows import HEADS, unpacked_index
from cdb.stores.cassandra.schema import Lock, opened
from cdb.stores.cassandra.state import State, view_of
from cdb.testing.base import accept_all, expected_state
from cdb.testing.chains import child, other_branch, reward, sample_chain
from tests.cassandra.fake import FakeTables, Keyspace, open_in

CHAIN = sample_chain(12)
KEPT = CHAIN.up_to(CHAIN.blocks[7].index)
BRANCH = other_branch(KEPT, 4)


@pytest.fixture
def keyspace() -> Keyspace:
    return Keyspace()


def shown(keyspace: Keyspace) -> StateSummary:
    """What one who opens it now sees."""
    with open_in(keyspace, "chain", read_only=True) as reader:
        return verify(reader)


def test_an_old_writer_that_goes_on_with_another_block_is_seen_by_nobody(
    keyspace: Keyspace,
) -> None:
    old = open_in(keyspace, "chain")
    accept_all(old, KEPT.blocks)
    new = open_in(keyspace, "chain", takeover=True)
    accept_all(new, BRANCH.above(KEPT.newest_index))
    # Its rows are written, at an index and a number that the new one has; and later ones, too.
    with pytest.raises(DatabaseLockedError, match="another writer has taken it over"):
        accept_all(old, CHAIN.above(KEPT.newest_index))
    assert shown(keyspace) == expected_state(BRANCH.blocks)
    assert verify(new) == expected_state(BRANCH.blocks)
    gone = [coin.name() for block in CHAIN.above(KEPT.newest_index) for coin in block.confirms]
    assert new.coin_infos_for_coin_names(gone) == []
    with pytest.raises(DatabaseClosedError):
        old.flush()
    new.close()


def test_of_two_that_open_at_once_one_is_the_writer(keyspace: Keyspace) -> None:
    """Both would take over from the same state: as the same writer, and each other's rows count."""
    with open_in(keyspace, "chain") as writer:
        accept_all(writer, KEPT.blocks)
    others: list[Schema] = []

    def open_meanwhile(call: str) -> None:
        if call == "change" and not others:
            keyspace.before = lambda call: None
            others.append(open_in(keyspace, "chain", takeover=True))

    keyspace.before = open_meanwhile
    with pytest.raises(DatabaseLockedError, match="another writer has taken it over"):
        open_in(keyspace, "chain", takeover=True)
    accept_all(others[0], BRANCH.above(KEPT.newest_index))
    assert shown(keyspace) == expected_state(BRANCH.blocks)
    others[0].close()


def test_who_took_over_is_not_taken_over_by_the_next_one_of_this_machine(
    keyspace: Keyspace,
) -> None:
    with open_in(keyspace, "chain", takeover=True) as writer:
        with pytest.raises(DatabaseLockedError, match="another process, or another object"):
            open_in(keyspace, "chain")
        accept_all(writer, KEPT.blocks)


def test_rows_written_after_a_backup_of_the_state_count_for_nothing_behind_it(
    keyspace: Keyspace,
) -> None:
    """A rewind comes between the snapshot of the state and those of the rows."""
    with open_in(keyspace, "chain") as writer:
        accept_all(writer, KEPT.blocks)
        snapshot = keyspace.states["chain"]
        writer.rewind_to_block_index(KEPT.blocks[5].index)
        accept_all(writer, CHAIN.above(KEPT.blocks[5].index))
    keyspace.states["chain"] = snapshot
    assert shown(keyspace) == expected_state(KEPT.blocks)
    with open_in(keyspace, "chain") as writer:
        accept_all(writer, BRANCH.above(KEPT.newest_index))
        assert verify(writer) == expected_state(BRANCH.blocks)
        gone = [coin.name() for block in CHAIN.above(KEPT.newest_index) for coin in block.confirms]
        assert writer.coin_infos_for_coin_names(gone) == []


def test_who_waits_for_the_writer_before_him_goes_on_from_where_that_ended(
    keyspace: Keyspace,
) -> None:
    old = open_in(keyspace, "chain")

    class WritesMeanwhile(Lock):
        def take(self, url: str, chain: bytes) -> None:
            accept_all(old, CHAIN.blocks)
            old.close()
            super().take(url, chain)

    with opened("chain", FakeTables(keyspace, "chain"), WritesMeanwhile()) as new:
        assert verify(new) == expected_state(CHAIN.blocks)


def test_an_old_writers_rows_that_come_before_the_new_ones_count_for_nothing(
    keyspace: Keyspace,
) -> None:
    old = open_in(keyspace, "chain")
    accept_all(old, KEPT.blocks)
    _fails_at(keyspace, "change", 1)
    with pytest.raises(StorageError):
        old.accept_block(CHAIN.above(KEPT.newest_index)[0])
    old.close()
    keyspace.before = lambda call: None
    assert shown(keyspace) == expected_state(KEPT.blocks)
    with open_in(keyspace, "chain") as new:
        assert verify(new) == expected_state(KEPT.blocks)
        accept_all(new, BRANCH.above(KEPT.newest_index))
        assert verify(new) == expected_state(BRANCH.blocks)
        new.rewind_to_block_index(KEPT.newest_index)
        accept_all(new, CHAIN.above(KEPT.newest_index))
        assert verify(new) == expected_state(CHAIN.blocks)


def test_a_reader_keeps_its_moment_through_a_rewind_and_a_new_advance(keyspace: Keyspace) -> None:
    with open_in(keyspace, "chain") as writer:
        accept_all(writer, CHAIN.blocks)
        reader = open_in(keyspace, "chain", read_only=True)
        went = False

        def rewind_and_advance(call: str) -> None:
            nonlocal went
            if call == "coins" and not went:
                went = True
                writer.rewind_to_block_index(KEPT.newest_index)
                accept_all(writer, BRANCH.above(KEPT.newest_index))

        keyspace.before = rewind_and_advance
        assert verify(reader) == expected_state(CHAIN.blocks)
        assert went
        assert verify(writer) == expected_state(BRANCH.blocks)
        assert verify(reader) == expected_state(CHAIN.blocks)
    assert shown(keyspace) == expected_state(BRANCH.blocks)


def test_a_coin_comes_again_after_a_rewind_at_another_index_and_unspent(keyspace: Keyspace) -> None:
    first, second = reward(1), reward(2)
    spends = BlockSpendInfo(3, 0, [first.name()], [child(first.name())])
    with open_in(keyspace, "chain") as writer:
        accept_all(writer, [BlockSpendInfo(1, 0, [], [first]), spends])
        writer.rewind_to_block_index(0)
        accept_all(writer, [BlockSpendInfo(2, 0, [], [second]), BlockSpendInfo(3, 0, [], [first])])
        (info,) = writer.coin_infos_for_coin_names([first.name()])
        assert (info.confirmed_index, info.spent_index) == (3, 0)
        writer.rewind_to_block_index(2)
        assert writer.coin_infos_for_coin_names([first.name(), child(first.name()).name()]) == []


def test_a_row_counts_if_its_run_was_the_last_to_write_that_block() -> None:
    random = Random(5)
    state, writer_of = State(b"a chain").taken_over(), dict[int, int]()
    runs = {state.run}
    for _ in range(300):
        newest = state.view.newest
        match random.choice(("grow", "grow", "grow", "take over", "rewind")):
            case "grow":
                state = state.grown([newest + random.randint(1, 3)], 1)
                writer_of[state.view.newest] = state.run
            case "take over":
                state = state.taken_over()
            case "rewind":
                newest = random.choice([-1, *writer_of][-4:])
                writer_of = {index: run for index, run in writer_of.items() if index <= newest}
                state = state.cut(len(writer_of), 0, newest)
        view = state.view
        runs.add(state.run)
        for index, writer in writer_of.items():
            assert [run for run in runs if view.has(index, run)] == [writer]
        assert not any(view.has(state.view.newest + 1, run) for run in runs)
        assert view_of(view.newest, view.packed_runs()) == view
        # It is written with each commit: runs that wrote nothing that counts leave nothing.
        assert len(view.runs) <= len({*writer_of.values()}) + 1


def test_what_is_known_of_blocks_goes_with_them(keyspace: Keyspace) -> None:
    """Heads that lie together are kept once all are there; a rewind may take some of them."""
    n_blocks, n_kept = HEADS + 20, HEADS // 2
    blocks = [BlockSpendInfo(n, 0, [], [reward(n)]) for n in range(1, n_blocks)]
    others = [BlockSpendInfo(n, 1, [], [reward(n_blocks + n)]) for n in range(n_kept + 1, n_blocks)]
    with open_in(keyspace, "chain") as writer:
        accept_all(writer, blocks)
        assert verify(writer) == expected_state(blocks)
        writer.rewind_to_block_index(n_kept)
        accept_all(writer, others)
        assert verify(writer) == expected_state([*blocks[:n_kept], *others])


@pytest.mark.parametrize("call", ["coins", "write", "change", "state", "heads"])
def test_who_dies_before_any_call_leaves_whole_blocks(keyspace: Keyspace, call: str) -> None:
    states = [expected_state(CHAIN.blocks[:n]) for n in range(len(CHAIN.blocks) + 1)]
    for nth in range(1, 2_000, 7 if call == "write" else 1):
        keyspace.__init__()  # type: ignore[misc]
        _fails_at(keyspace, call, nth)
        acknowledged = 0
        try:
            with open_in(keyspace, "chain") as writer:
                for block in CHAIN.blocks[:8]:
                    writer.accept_block(block)
                    acknowledged += 1
                writer.rewind_to_block_index(CHAIN.blocks[4].index)
                acknowledged = 5
                accept_all(writer, CHAIN.blocks[5:8])
                acknowledged = 8
        except StorageError:
            keyspace.before = lambda call: None
            if "chain" in keyspace.states:
                found = shown(keyspace)
                assert found in states
                assert states.index(found) >= min(acknowledged, 5)
                with open_in(keyspace, "chain") as writer:
                    assert verify(writer) == found
                    accept_all(writer, CHAIN.blocks[states.index(found) :])
                    assert verify(writer) == states[-1]
        else:
            assert nth > 1
            return
    raise AssertionError("it was never through")


def test_damage_is_found_and_not_served(keyspace: Keyspace) -> None:
    with open_in(keyspace, "chain") as writer:
        accept_all(writer, CHAIN.blocks)
    for damage in _damages(keyspace):
        with open_in(keyspace, "chain", read_only=True) as reader:
            with pytest.raises((CorruptDatabaseError, InvariantError)):
                verify(reader)
            damage()


@pytest.mark.parametrize(
    ("column", "cell", "told"),
    [
        ("born", lambda born: bytes([born[0] ^ 1]) + born[1:], "is another one"),
        ("born", lambda born: born[:32] + bytes([born[32] ^ 1]) + born[33:], "is another one"),
        ("born", lambda born: born[:71] + bytes([born[71] ^ 1]) + born[72:], "is another one"),
        ("born", lambda born: born[1:], "has 75 bytes, not 76"),
        ("born", lambda born: born[:-1], "has 75 bytes, not 76"),
        ("born", lambda born: b"", "has 0 bytes, not 76"),
        ("spent", lambda spent: b"", "has 0 bytes, not 4"),
        ("spent", lambda spent: b"\1" + spent, "has 5 bytes, not 4"),
        ("spent", lambda spent: spent + b"\xff", "has 5 bytes, not 4"),
        ("spent", lambda spent: bytes(len(spent)), "is spent before it is confirmed"),
        ("born", None, "is spent, and its confirmation is missing"),
    ],
)
def test_who_looks_up_a_damaged_coin_is_told(
    keyspace: Keyspace, column: str, cell: Callable[[bytes], bytes] | None, told: str
) -> None:
    with open_in(keyspace, "chain") as writer:
        accept_all(writer, CHAIN.blocks)
    chain = len(keyspace.states["chain"].chain)
    # One that its own run spends: it has all in one row.
    key, cells = next(
        (key, cells)
        for key, runs in keyspace.coins.items()
        for cells in runs.values()
        if {*cells} == {"born", "spent"} and unpacked_index(cells["born"]) > 0
    )
    if cell is None:
        del cells[column]
    else:
        cells[column] = cell(cells[column])
    with (
        open_in(keyspace, "chain", read_only=True) as reader,
        pytest.raises(CorruptDatabaseError, match=told),
    ):
        reader.coin_infos_for_coin_names([bytes32(key[chain:])])


@pytest.mark.parametrize("at", [3, 11, 19, 21, 27], ids=["index", "time", "coins", "n", "n"])
def test_a_head_that_was_altered_is_not_believed(keyspace: Keyspace, at: int) -> None:
    """Who asks for a block is told of none, and a rewind counts coins, by heads alone."""
    with open_in(keyspace, "chain") as writer:
        accept_all(writer, CHAIN.blocks)
    (heads,) = keyspace.heads.values()
    head = heads[sorted(heads)[5]]
    heads[sorted(heads)[5]] = head[:at] + bytes([head[at] ^ 1]) + head[at + 1 :]
    with open_in(keyspace, "chain") as writer:
        with pytest.raises(CorruptDatabaseError, match="head of block number 5: it is not what"):
            writer.block_info_for_block_index(CHAIN.blocks[5].index)
        with pytest.raises(CorruptDatabaseError, match="head of block number 5: it is not what"):
            writer.rewind_to_block_index(CHAIN.blocks[6].index)


def test_a_coins_row_that_lost_all_its_cells_is_no_unknown_coin(keyspace: Keyspace) -> None:
    coin = reward(1)
    with open_in(keyspace, "chain") as writer:
        writer.accept_block(BlockSpendInfo(1, 0, [], [coin]))
        (runs,) = (runs for key, runs in keyspace.coins.items() if key.endswith(coin.name()))
        (cells,) = runs.values()
        cells.clear()
        with pytest.raises(CorruptDatabaseError, match="has a row with nothing in it"):
            writer.coin_infos_for_coin_names([coin.name()])


def _damages(keyspace: Keyspace) -> Iterator[Callable[[], object]]:
    """Damages it, and gives what undoes that."""
    for key, runs in [*keyspace.coins.items()][::5]:
        for cells in runs.values():
            for column, cell in [*cells.items()]:
                cells[column] = bytes([cell[0] ^ 1]) + cell[1:]
                if column == "born":
                    yield partial(cells.__setitem__, column, cell)
                    del cells[column]
                    yield partial(cells.__setitem__, column, cell)
                cells[column] = cell
        assert key
    for heads in keyspace.heads.values():
        for place, head in [*heads.items()]:
            del heads[place]
            yield partial(heads.__setitem__, place, head)
            heads[place] = head[:-1]
            yield partial(heads.__setitem__, place, head)
            heads[place] = head[:-1] + bytes([head[-1] ^ 1])
            yield partial(heads.__setitem__, place, head)
    for parts in keyspace.parts.values():
        for part, data in [*parts.items()]:
            del parts[part]
            yield partial(parts.__setitem__, part, data)
            parts[part] = data[:-1] + bytes([data[-1] ^ 1])
            yield partial(parts.__setitem__, part, data)


def _fails_at(keyspace: Keyspace, call: str, nth: int) -> None:
    """Have the nth call fail, and all after it: who writes is gone."""
    left = nth

    def before(called: str) -> None:
        nonlocal left
        left -= called == call
        if left <= 0:
            raise StorageError("chain", "the writer is gone")

    keyspace.before = before
