"""Items that are made ahead come in order, with their errors, and nobody is left waiting."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import count
from weakref import WeakSet

import pytest

from cdb.process.read_ahead import made_beside, read_ahead

TIMEOUT_SECONDS = 60


def test_all_items_come_in_order() -> None:
    assert list(read_ahead(range(1000))) == list(range(1000))
    assert list(read_ahead([])) == []


def test_they_are_made_in_another_thread() -> None:
    makers = set(read_ahead(threading.get_ident() for _ in range(3)))
    assert len(makers) == 1
    assert makers != {threading.get_ident()}


def test_items_are_made_before_they_are_wanted_but_not_without_bound() -> None:
    made = []
    fourth = threading.Event()

    def items() -> Iterator[int]:
        for n in count():
            made.append(n)
            if n == 3:
                fourth.set()
            yield n

    consumer = read_ahead(items(), depth=2)
    assert next(consumer) == 0
    assert fourth.wait(TIMEOUT_SECONDS)  # one that was taken, two in the queue, one at hand
    consumer.close()
    assert len(made) <= 5


def test_an_error_comes_after_the_items_before_it() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise OSError("the disk is gone")

    consumer = read_ahead(items())
    assert next(consumer) == 1
    with pytest.raises(OSError, match="the disk is gone"):
        next(consumer)


def test_the_thread_ends_when_the_consumer_stops() -> None:
    before = set(threading.enumerate())
    consumer = read_ahead(count())
    next(consumer)
    (thread,) = set(threading.enumerate()) - before
    consumer.close()
    thread.join(TIMEOUT_SECONDS)
    assert not thread.is_alive()


def test_a_program_can_end_while_items_are_awaited_that_never_come() -> None:
    program = """
import os, sys, threading
from cdb.process.read_ahead import read_ahead

reads = threading.Event()
stream = open(os.pipe()[0], "rb", buffering=0)

def items():
    yield 0
    reads.set()
    yield stream.read(1)

consumer = read_ahead(items())
next(consumer)
reads.wait()
sys.exit("done")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, timeout=TIMEOUT_SECONDS, check=False
    )
    assert (done.returncode, done.stderr) == (1, b"done\n")


# made_beside


def test_what_is_made_beside_comes_in_the_order_of_its_items() -> None:
    makers, hold = set(), threading.Event()

    def make(n: int) -> int:
        makers.add(threading.get_ident())
        if n == 0:
            assert hold.wait(TIMEOUT_SECONDS)  # until the next one is made
        if n == 1:
            hold.set()
        return -n

    assert list(made_beside(make, range(100))) == [-n for n in range(100)]
    assert len(makers) == 2
    assert threading.get_ident() not in makers


@pytest.mark.parametrize("fails", ["item", "make"])
def test_what_fails_beside_comes_in_its_place(fails: str) -> None:
    def items() -> Iterator[int]:
        yield from range(3)
        if fails == "item":
            raise OSError("3 is gone")
        yield from range(3, 100)

    def make(n: int) -> int:
        if n == 3:
            raise OSError("3 is gone")
        return n

    made = made_beside(make, items())
    assert [next(made) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(OSError, match="3 is gone"):
        next(made)


def test_no_thread_is_left_of_who_stops_early() -> None:
    before = set(threading.enumerate())
    made = made_beside(str, count())
    assert next(made) == "0"
    assert set(threading.enumerate()) > before
    made.close()
    assert set(threading.enumerate()) == before


def test_without_a_thread_the_caller_makes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    class Item:
        pass

    monkeypatch.setattr(threading.Thread, "start", start)
    items = (Item() for _ in range(50))
    kept: WeakSet[Item] = WeakSet()
    for item, maker in made_beside(lambda item: (item, threading.get_ident()), items):
        kept.add(item)
        del item
        assert maker == threading.get_ident()
        assert len(kept) < 10
