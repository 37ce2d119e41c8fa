"""What a replay's text says of coins as of heights, held against the reference model."""

import struct
from collections.abc import Callable, Iterator

import pytest

from cdb.bench.history_truth import ALL, EARLY, HEIGHTS, PLACES, TIP, UNSPENT, HistoryTruth
from cdb.bench.questions import Questions
from cdb.bench.scans import (
    OBJECTS,
    PACKED,
    Check,
    StateCheck,
    VersionsCheck,
    Way,
    scan,
    ways_of,
)
from cdb.bench.truth import Truth
from cdb.bench.workloads.historical import _rounds_there, random_heights
from cdb.contents.history_digest import (
    digest_of_state,
    digest_of_versions,
    state_rows,
    unspent_rows,
    version_rows,
)
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import MAX_U32
from cdb.contract.history import BY_CREATION, BY_NAME
from cdb.contract.packed import INFO_FORMAT
from cdb.lab.process import WrongAnswerError
from cdb.schemas.memory import MemorySchema

Blocks = tuple[BlockSpendInfo, ...]
Rows = list[bytes]
Wrong = Callable[[Rows], Rows]


@pytest.fixture(autouse=True)
def few_rows_a_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cdb.bench.history_truth.MARK_ROWS", 300)


@pytest.fixture
def truth(small: Truth) -> HistoryTruth:
    """As workloads read it."""
    return small.history()


def test_states(truth: HistoryTruth, model: MemorySchema) -> None:
    newest = model.last_block_index or 0
    assert truth.early_height == newest // 10
    assert truth.states[TIP].whole == digest_of_state(state_rows(model, newest))
    assert truth.states[EARLY].whole == digest_of_state(state_rows(model, truth.early_height))
    assert truth.states[UNSPENT].whole == digest_of_state(unspent_rows(model))
    assert 0 < truth.states[EARLY].whole.rows < truth.states[UNSPENT].whole.rows


def test_windows(truth: HistoryTruth, model: MemorySchema) -> None:
    newest = model.last_block_index or 0
    there = [heights for heights in HEIGHTS if heights <= newest]
    asked = [(heights, place) for heights in there for place in PLACES] + [(ALL, PLACES[0])]
    assert [(each.heights, each.place) for each in truth.windows] == asked
    assert len(truth.windows[-1].marks) > 3
    for window in truth.windows:
        if window.heights != ALL:
            assert window.last - window.first + 1 == window.heights
        rows = [*version_rows(model, window.first, window.last)]
        assert rows
        for count, digest in window.marks:
            assert digest_of_versions(rows[:count]) == (count, digest)
        assert count == len(rows)


def in_order(rows: Rows, order: str | None) -> Rows:
    """The model's rows, which are by creation."""
    return sorted(rows) if order == BY_NAME else rows


ORDERS = (BY_CREATION, BY_NAME, None)


@pytest.mark.parametrize("order", ORDERS)
def test_a_right_state(truth: HistoryTruth, model: MemorySchema, order: str | None) -> None:
    rows = in_order([*state_rows(model, truth.early_height)], order)
    check = StateCheck(truth, EARLY, order)
    checked = []
    for row in rows:
        check.take([row])
        checked.append(check.checked)
    check.end()
    assert check.checked == len(rows)
    assert (checked[-1] > 0) == (order is not None)  # nothing is known before the end otherwise


def without_one(rows: Rows) -> Rows:
    return rows[1:]


def without_the_last(rows: Rows) -> Rows:
    return rows[:-1]


def with_one_twice(rows: Rows) -> Rows:
    return [rows[0], *rows]


def with_one_spent(rows: Rows) -> Rows:
    return [*rows[:-1], rows[-1][:-1] + bytes([rows[-1][-1] ^ 1])]


def with_another_one(rows: Rows) -> Rows:
    return [*rows, b"\xff" * 32 + rows[-1][32:]]


WRONGS = (without_one, without_the_last, with_one_twice, with_one_spent, with_another_one)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("wrong", WRONGS)
def test_a_wrong_state(
    truth: HistoryTruth, model: MemorySchema, order: str | None, wrong: Wrong
) -> None:
    rows = wrong(in_order([*unspent_rows(model)], order))
    check = StateCheck(truth, UNSPENT, order)
    with pytest.raises(WrongAnswerError, match=r"^a scan of unspent coins "):
        take_all(check, rows)


def test_a_state_out_of_its_order(truth: HistoryTruth, model: MemorySchema) -> None:
    rows = [*unspent_rows(model)]
    with pytest.raises(WrongAnswerError):
        take_all(StateCheck(truth, UNSPENT, BY_NAME), rows)


def take_all(check: Check, rows: Rows) -> None:
    check.take(rows)
    check.end()


@pytest.mark.parametrize("page_rows", [1, 7, 299, 100_000])
def test_right_versions(truth: HistoryTruth, model: MemorySchema, page_rows: int) -> None:
    for window in truth.windows:
        rows = [*version_rows(model, window.first, window.last)]
        check = VersionsCheck(window)
        for start in range(0, len(rows), page_rows):
            check.take(rows[start : start + page_rows])
        check.end()
        assert check.checked == len(rows)


def with_two_exchanged(rows: Rows) -> Rows:
    return [rows[1], rows[0], *rows[2:]]


@pytest.mark.parametrize("wrong", [*WRONGS, with_two_exchanged])
def test_wrong_versions(truth: HistoryTruth, model: MemorySchema, wrong: Wrong) -> None:
    window = truth.windows[-1]
    rows = wrong([*version_rows(model, window.first, window.last)])
    with pytest.raises(WrongAnswerError, match=r"^versions\(\d+, \d+\) gave wrong rows$"):
        take_all(VersionsCheck(window), rows)


def test_a_scan_that_ends_early_is_checked_as_far_as_it_counts(
    truth: HistoryTruth, model: MemorySchema
) -> None:
    window = truth.windows[-1]
    rows = [*version_rows(model, window.first, window.last)]
    first_mark = window.marks[0][0]

    def scanned(wrong_at: int) -> int:
        read: list[int] = []

        def pages(*heights: int) -> Iterator[Rows]:
            for place in range(len(rows)):
                read.append(place)
                yield [rows[place ^ 1 if place in (wrong_at, wrong_at ^ 1) else place]]

        way = Way(PACKED, pages, lambda page: page)
        done = scan(way, (window.first, window.last), VersionsCheck(window), 0)
        assert (done.rows, done.is_whole) == (1, False)
        return len(read)

    assert scanned(len(rows) + 2) == first_mark
    assert scanned(first_mark + 1) == first_mark
    with pytest.raises(WrongAnswerError):
        scanned(0)


def test_ways(model: MemorySchema) -> None:
    (way,) = ways_of(model, "state_at")
    newest = model.last_block_index or 0
    assert way.form == OBJECTS
    found = [row for page in way.start(newest) for row in way.rows_of(page)]
    assert found == [*state_rows(model, newest)]


def test_heights_are_not_drawn_for_ever() -> None:
    """Nearly all coins of a replay may come in its last block, far above the others."""
    infos = b"".join(struct.pack(INFO_FORMAT, bytes(32), bytes(32), 1, MAX_U32, 0) for _ in "abc")
    asked = Questions.existing(bytes(32 * 3), infos)
    [(as_of, plain)] = _rounds_there(asked, 2, random_heights(MAX_U32))
    assert (as_of.height, len(plain)) == (MAX_U32, 3)
