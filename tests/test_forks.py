"""What a child made by fork() can do with its parent's objects: nothing, at once."""

import gc
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from threading import Event, Thread
from weakref import ref

import pytest

from cdb.contract.blocks import canonical
from cdb.disk.damage import Damage
from cdb.errors import CdbError, DatabaseClosedError, UnsupportedError
from cdb.extensions.native import threads_are_used
from cdb.process.children import exit_code_of, fork
from cdb.schemas import Schema, coin_log, history_of, offer_of, open_schema
from cdb.schemas.registry import SchemaInfo, find_schema
from cdb.stores.coin_log.binding import Sizes
from cdb.testing.base import accept_all
from cdb.testing.chains import sample_chain
from tests.conftest import contents
from tests.in_fork import exit_code

BLOCKS = sample_chain(12).blocks
FORKS = 25
ELSEWHERE = "the process that this one was forked from has it open"


@pytest.fixture
def schema(own_schema: SchemaInfo, tmp_path: Path) -> Iterator[Schema]:
    if own_schema.missing is not None:
        pytest.skip(own_schema.missing)
    with own_schema.open(tmp_path / "database") as schema:
        accept_all(schema, BLOCKS)
        schema.flush()
        yield schema


def in_a_child(schema: Schema, body: Callable[[], None]) -> int:
    """Run it in a child, while a thread of ours that the child has not is in the middle of a call.

    Returns the child's exit code: 0 if nothing was raised.
    """
    begun, end = Event(), Event()

    def call() -> None:
        with schema.mutex:  # type: ignore[attr-defined]
            begun.set()
            end.wait()

    thread = Thread(target=call)
    thread.start()
    begun.wait()

    def timed() -> None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(60)
        body()

    code = exit_code(timed)
    end.set()
    thread.join()
    return code


def test_a_child_goes_on_with_no_iteration(schema: Schema) -> None:
    packed = offer_of(schema).reads_packed
    iterations: list[Iterator[object]] = [
        iter(schema.blocks()),
        iter(schema.blocks()),
        iter(schema.blocks() if packed is None else packed.blocks_packed()),
    ]
    first = next(iterations[0])

    def go_on() -> None:
        for iteration in iterations:
            with pytest.raises(DatabaseClosedError, match=ELSEWHERE):
                next(iteration)
        with pytest.raises(DatabaseClosedError, match=ELSEWHERE):
            schema.blocks()
        with pytest.raises(DatabaseClosedError, match=ELSEWHERE):
            schema.coin_infos_for_coin_names([])

    assert in_a_child(schema, go_on) == 0
    assert [first, *iterations[0]] == list(iterations[1]) == list(schema.blocks())


def test_a_child_goes_on_with_no_iteration_of_the_past(schema: Schema) -> None:
    history = history_of(schema)
    calls: list[Callable[[], Iterator[object]]] = [
        partial(history.state_at, 20),
        history.unspent,
        partial(history.versions, 0, 99),
    ]
    iterations = [call() for call in calls]
    first = [next(iteration) for iteration in iterations]

    def go_on() -> None:
        for iteration, call in zip(iterations, calls, strict=True):
            with pytest.raises(DatabaseClosedError, match=ELSEWHERE):
                next(iteration)
            with pytest.raises(DatabaseClosedError, match=ELSEWHERE):
                call()
        with pytest.raises(DatabaseClosedError, match=ELSEWHERE):
            history.coin_infos_as_of([], 1)

    assert in_a_child(schema, go_on) == 0
    rest = [[info, *iteration] for info, iteration in zip(first, iterations, strict=True)]
    assert rest == [list(call()) for call in calls]


def test_what_a_child_drops_is_as_it_was_in_its_parent(schema: Schema) -> None:
    iterations = [iter(schema.blocks()), iter(schema.blocks())]
    first = next(iterations[0])
    alive = [ref(iteration) for iteration in iterations]

    def drop() -> None:
        iterations.clear()
        gc.collect()
        assert all(each() for each in alive), "freed, and what they read from with them"

    assert in_a_child(schema, drop) == 0
    assert [first, *iterations[0]] == list(iterations[1]) == list(schema.blocks())


def test_what_is_dropped_waits_for_nobody(schema: Schema) -> None:
    """The garbage collector drops things in the middle of anything, whoever holds whatever."""
    iteration = iter(schema.blocks())
    next(iteration)
    dropped = Event()

    def drop() -> None:
        nonlocal iteration
        del iteration
        gc.collect()
        dropped.set()

    with schema.mutex:  # type: ignore[attr-defined]
        Thread(target=drop, daemon=True).start()
        assert dropped.wait(60)
    assert len(list(schema.blocks())) == len(BLOCKS)


@pytest.mark.parametrize("name", ["blockchain_v2", "sqlite_v3", "sqlite_row", "flat_file"])
def test_a_child_does_not_open_an_sqlite_file_that_its_parent_had_open(
    name: str, tmp_path: Path
) -> None:
    """It believes its parent's locks to be its own, also when they are gone."""
    path = tmp_path / "database"
    schema = open_schema(name, path)
    accept_all(schema, BLOCKS)
    is_closed, closed = os.pipe()

    def open_it() -> None:
        os.read(is_closed, 1)
        for read_only in (True, False):
            with pytest.raises(UnsupportedError, match="start a new process"):
                open_schema(name, path, read_only=read_only)

    child = fork(open_it)
    schema.close()
    os.write(closed, b"x")
    assert exit_code_of(child) == 0
    assert in_a_child(schema, lambda: open_schema(name, path).close()) == 0


def test_a_child_opens_a_database_of_its_own_or_is_refused_at_once(
    schema: Schema, own_schema: SchemaInfo, tmp_path: Path
) -> None:
    """RocksDB keeps threads for all databases of a process, which a child has not got."""
    path = tmp_path / "the child's own"

    def open_one() -> None:
        with own_schema.open(path) as own:
            accept_all(own, BLOCKS)
        with own_schema.open(path) as own:
            assert list(own.blocks()) == list(map(canonical, BLOCKS))

    def be_refused() -> None:
        with pytest.raises(UnsupportedError, match="start a new process"):
            open_one()
        with pytest.raises(UnsupportedError, match="start a new process"):
            own_schema.spec.factory(path)
        assert "start a new process" in str(find_schema(own_schema.name).missing)
        assert not path.exists()
        files = contents(tmp_path)
        assert own_schema.spec.check is not None
        assert own_schema.spec.repair is not None
        with suppress(CdbError):
            assert not list(own_schema.spec.check(tmp_path / "database", lambda _: None))
        damage = Damage(tmp_path / "database" / "index", "made up", "coins.sqlite")
        with suppress(CdbError):
            own_schema.spec.repair(tmp_path / "database", [damage], lambda _: None)
        assert contents(tmp_path) == files

    def open_one_or_be_refused() -> None:
        is_refused = find_schema(own_schema.name).missing is not None
        assert threads_are_used() or not is_refused
        be_refused() if is_refused else open_one()

    assert in_a_child(schema, open_one_or_be_refused) == 0


@pytest.mark.long
@pytest.mark.skipif(coin_log.missing() is not None, reason=str(coin_log.missing()))
def test_a_child_maps_files_whatever_its_parents_threads_were_doing(tmp_path: Path) -> None:
    """Where those may hold the lock of what is mapped, one of twelve children waits for ever."""
    sizes = Sizes(memtable_coins=1, merge_runs=999)
    mapped, own = tmp_path / "mapped", tmp_path / "own"
    for path, blocks in ((mapped, sample_chain(70).blocks), (own, BLOCKS[:2])):
        with coin_log.indexed(path, sizes=sizes) as schema:
            accept_all(schema, blocks)
    is_over = Event()

    def map_and_unmap() -> None:
        while not is_over.is_set():
            coin_log.coin_log(mapped, read_only=True).close()

    with ExitStack() as stack:
        # Many: so that to find one among them takes time.
        for _ in range(100):
            stack.enter_context(coin_log.coin_log(mapped, read_only=True))
        threads = [Thread(target=map_and_unmap) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            codes = [child_that_opens(own) for _ in range(FORKS)]
        finally:
            is_over.set()
            for thread in threads:
                thread.join()
    assert codes == [0] * FORKS


def child_that_opens(path: Path) -> int:
    def open_it() -> None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(10)
        coin_log.coin_log(path, read_only=True).close()

    return exit_code(open_it)
