"""Lookups by name: of coins and of names that are none, warm and cold. Every answer is checked."""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdb.bench import page_cache
from cdb.bench.answers import BATCH_NAMES, Lookups, ObjectLookups, fastest_lookups
from cdb.bench.process import NotMeasuredError
from cdb.bench.truth import SEED, Questions, asked
from cdb.coins import NAME_BYTES
from cdb.durability import Durability
from cdb.meter import Meter, database_files
from cdb.schemas import find_schema

SINGLE_NAMES = 50_000
PAGE_BYTES = 4_096


@dataclass(frozen=True, slots=True)
class WarmFigures:
    """Rates with everything in memory; is_packed: without objects, all but the last."""

    is_packed: bool
    batched_names_per_second: float
    single_names_per_second: float
    absent_names_per_second: float
    object_infos_per_second: float


@dataclass(frozen=True, slots=True)
class ColdFigures:
    """With nothing in memory but what opening the database takes."""

    is_packed: bool
    names_per_second: float
    pages_per_name: float


def warm_lookups(schema: str, path: str, durability: str, truth: str) -> WarmFigures:
    """Ask for other names first, then for one set of names in several ways."""
    questions = asked(truth)
    rand = random.Random(SEED)  # noqa: S311 - reproducible, not secret
    absent = rand.randbytes(NAME_BYTES * len(questions.warm))
    with find_schema(schema).open(path, durability=Durability(durability)) as database:
        lookups = fastest_lookups(database)
        _rate(lookups, questions.warm_up, BATCH_NAMES)
        return WarmFigures(
            is_packed=lookups.is_packed,
            batched_names_per_second=_rate(lookups, questions.warm, BATCH_NAMES),
            single_names_per_second=_rate(lookups, questions.warm.part(0, SINGLE_NAMES), 1),
            absent_names_per_second=_absent_rate(lookups, absent),
            object_infos_per_second=_rate(ObjectLookups(database), questions.warm, BATCH_NAMES),
        )


def cold_lookups(schema: str, path: str, durability: str, truth: str) -> ColdFigures:
    """Ask once for each name, after the database's pages were dropped."""
    questions = asked(truth).cold
    page_cache.drop(database_files(Path(path)))
    with find_schema(schema).open(path, durability=Durability(durability)) as database:
        lookups = fastest_lookups(database)
        page_cache.drop(database_files(Path(path)))
        meter = Meter()
        rate = _rate(lookups, questions, BATCH_NAMES)
        fetched = meter.bytes_fetched()
    if fetched is None:
        raise NotMeasuredError("this system doesn't count what a process reads from the disk")
    if not fetched:
        raise NotMeasuredError("nothing was read from the disk: the system kept it in memory")
    pages = fetched / PAGE_BYTES / len(questions)
    return ColdFigures(lookups.is_packed, rate, pages)


def _rate(lookups: Lookups, questions: Questions, batch_names: int) -> float:
    """Coins a second."""
    seconds = 0.0
    for group in _groups(len(questions)):
        batches = [
            questions.part(at, min(at + batch_names, group.stop))
            for at in range(group.start, group.stop, batch_names)
        ]
        asked_for = [lookups.question(batch.names) for batch in batches]
        taken, answers = _timed(lookups, asked_for)
        seconds += taken
        for batch, answer in zip(batches, answers, strict=True):
            lookups.check(batch, answer)
    return len(questions) / seconds


def _absent_rate(lookups: Lookups, names: bytes) -> float:
    """Names a second, none of which is a coin's."""
    count = len(names) // NAME_BYTES
    seconds = 0.0
    for group in _groups(count):
        batch = names[NAME_BYTES * group.start : NAME_BYTES * group.stop]
        taken, answers = _timed(lookups, [lookups.question(batch)])
        seconds += taken
        lookups.check_absent(batch, answers[0])
    return count / seconds


def _groups(count: int) -> list[range]:
    """What is timed in one go: so little that its answers can be kept to be checked afterwards."""
    return [range(at, min(at + BATCH_NAMES, count)) for at in range(0, count, BATCH_NAMES)]


def _timed(lookups: Lookups, asked_for: Sequence[Any]) -> tuple[float, list[Any]]:
    start = time.perf_counter()
    answers = [lookups.ask(question) for question in asked_for]
    return time.perf_counter() - start, answers
