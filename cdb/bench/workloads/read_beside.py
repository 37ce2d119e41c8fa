"""Coins by name beside a load: calls of 100 names in one thread, while another loads at full speed.

Loaded are the replay's last 170,000 coins, packed and parsed beforehand, with the flushes of a
load; after a rewind, out of the time, and again until the time is up. Names are drawn evenly from
the coins before those, and warm. Each answer has to be that of one block, and is checked between
the calls. The coins a second are the load's.
"""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path
from typing import Any

from cdb.bench.answers import Lookups, fastest_lookups
from cdb.bench.asking import warm_up
from cdb.bench.case import Case
from cdb.bench.database import Database
from cdb.bench.figures import latency_figures
from cdb.bench.questions import Questions, infos_of
from cdb.bench.stopwatch import Stopwatch
from cdb.bench.tail import packs_of
from cdb.contract.coins import CoinInfo
from cdb.lab.latencies import nearest_rank
from cdb.lab.process import WrongAnswerError
from cdb.schemas import Schema

ORDER = 120

BATCH_NAMES = 100
SECONDS, QUICK_SECONDS = 3.0, 0.1


def measure(database: Database) -> list[Case]:
    """See the module."""
    truth, parameters = database.truth, {"batch": BATCH_NAMES}
    questions = _older(truth.questions("any", "warm"), truth.accepted_index)
    if not len(questions):
        reason = "the replay has no coin before its last ones"
        return [Case.not_measured("read_beside", parameters, reason)]
    with database.open() as schema:
        lookups = fastest_lookups(schema)
        warm_up(lookups, Path(database.path), truth.questions("any", "warm_up"), 1)
        reader = _Reader(lookups, questions, truth.accepted_index)
        coins_per_second = _load_and_read(database, schema, reader)
        database.check_coins(schema, truth.newest_index)
    figures = {
        **latency_figures("call", reader.watch.laps),
        "call_p999_microseconds": 1e6 * nearest_rank(sorted(reader.watch.laps), 99.9),
        "coins_per_second": coins_per_second,
    }
    return [Case("read_beside", parameters, figures=figures)]


def _load_and_read(database: Database, schema: Schema, reader: "_Reader") -> float:
    """Load again and again while the reader asks; the coins a second."""
    base = database.truth.accepted_index
    packs = list(packs_of(database.truth.tail, above=base - 1))  # a load begins at what is there
    loaded = sum(packed.n_confirms for packed in packs) - packs[0].confirm_ends[0]
    coins, watch = 0, Stopwatch()
    while watch.wall_seconds < (QUICK_SECONDS if database.quick else SECONDS):
        schema.rewind_to_block_index(base)
        with ThreadPoolExecutor(1) as thread:
            over = threading.Event()
            reading = thread.submit(reader.ask_until, over)
            try:
                watch.time(database.accept, schema, packs)
            finally:
                over.set()
            reading.result()
        coins += loaded
    return coins / watch.wall_seconds


class _Reader:
    """Asks for names, over and over. watch: of each call."""

    def __init__(self, lookups: Lookups, questions: Questions, as_of: int) -> None:
        parts = (
            questions.part(at, at + BATCH_NAMES) for at in range(0, len(questions), BATCH_NAMES)
        )
        asked = [(lookups.arguments(part), part.answers()) for part in parts]
        self._asked: Iterator[tuple[tuple[Any, ...], list[CoinInfo]]] = cycle(asked)
        self._ask, self._as_of = lookups.ask, as_of
        self.watch = Stopwatch()

    def ask_until(self, over: threading.Event) -> None:
        """Ask once at least."""
        while True:
            arguments, newest = next(self._asked)
            answer = self.watch.time(self._ask, *arguments)
            infos = infos_of(answer[0]) if isinstance(answer, tuple) else answer
            if not _is_of_one_block(infos, newest, self._as_of):
                raise WrongAnswerError("a lookup beside a load gave a wrong answer")
            if over.is_set():
                return


def _is_of_one_block(infos: list[CoinInfo], newest: list[CoinInfo], as_of: int) -> bool:
    """Whether the coins are as they were after one of the blocks from as_of to the newest."""
    last_seen, first_unseen = as_of, None
    if len(infos) != len(newest):
        return False
    for info, end in zip(infos, newest, strict=True):
        if (info.coin, info.confirmed_index) != (end.coin, end.confirmed_index):
            return False
        if info.spent_index == end.spent_index:
            last_seen = max(last_seen, info.spent_index)
        elif info.spent_index == 0:
            first_unseen = min(first_unseen or end.spent_index, end.spent_index)
        else:
            return False
    return first_unseen is None or last_seen < first_unseen


def _older(questions: Questions, newest_index: int) -> Questions:
    """Those for coins that a block up to this one confirmed."""
    indices = enumerate(questions.indices())
    return questions.ordered(place for place, (index, _) in indices if index <= newest_index)
