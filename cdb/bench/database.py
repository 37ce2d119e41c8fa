"""The database of a schema, as the workloads of cdb.bench.workloads measure it.

Each of these leaves a database that holds the whole replay.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from cdb.bench.answers import check_newest, check_questions
from cdb.bench.tail import packs_of
from cdb.bench.truth import Truth
from cdb.contents.loader import Loader
from cdb.contract.durability import Durability
from cdb.contract.history import BY_CREATION
from cdb.contract.packed import PackedBlocks
from cdb.errors import UnsupportedError
from cdb.lab.process import NotMeasuredError
from cdb.schemas import HistorySchema, Schema, SchemaInfo, find_schema, history_of, offer_of

CHECKED_NAMES, QUICK_CHECKED_NAMES = 5_000, 500
SCANNED_COINS, QUICK_SCAN_SECONDS = 1_000_000, 0.05  # a second
NO_HISTORY = "keeps no history"


@dataclass(frozen=True, slots=True)
class Database:
    """One run's database, and what is true of it.

    threads: of a load; with two, one reads, parses and names while the other stores.
    quick: ask for less, where the figures don't matter.
    """

    WORKLOADS: ClassVar = "cdb.bench.workloads"

    schema: str
    path: str
    durability: str
    flush_coins: int
    replay: str
    truth: Truth
    threads: int = 2
    quick: bool = False

    @property
    def info(self) -> SchemaInfo:
        """Its schema."""
        return find_schema(self.schema)

    def open(self) -> Schema:
        """Open it; create it, where it is missing."""
        info, level = self.info, Durability(self.durability)
        # One that stores nothing may have no durability to compare.
        has_level = info.spec.keeps_contract or level in info.spec.durabilities
        return info.open(self.path, durability=level if has_level else None)

    def accept_tail(self, schema: Schema) -> None:
        """Accept what the replay has after the schema's newest block, one of the tail; check it."""
        self.accept(schema, packs_of(self.truth.tail))
        self.check_coins(schema, self.truth.newest_index)

    def accept(self, schema: Schema, packs: Iterable[PackedBlocks]) -> None:
        """Load blocks, the first of which may be there, with the flushes of a load."""
        for _ in Loader(schema, flush_coins=self.flush_coins).load(packs):
            pass

    def check_coins(self, schema: Schema, newest_index: int) -> None:
        """Hold coins of all ages, and recent ones, against what they are after this block."""
        check_newest(schema, newest_index)
        count = QUICK_CHECKED_NAMES if self.quick else CHECKED_NAMES
        for names in ("any", "recent"):
            check_questions(schema, self.truth.questions(names, "warm", count), newest_index)

    def settled_history(self, schema: Schema) -> HistorySchema:
        """The schema as one that keeps history, with nothing left to compact.

        Raises NotMeasuredError where it keeps none.
        """
        history = kept_history(schema)
        settles = offer_of(schema).settles
        if settles is not None:
            settles.settle()
        return history

    def order_of(self, schema: Schema) -> str | None:
        """That of its states, once it is settled; None where that is not known.

        By name what is in memory yet comes last, and stays there in a schema that can't settle.
        """
        order = self.info.spec.history
        return order if order == BY_CREATION or offer_of(schema).settles is not None else None

    @property
    def scan_seconds(self) -> float:
        """How long to scan: so that it is about as much of a database in every size."""
        return QUICK_SCAN_SECONDS if self.quick else max(self.truth.coins / SCANNED_COINS, 1.0)


def kept_history(schema: Schema) -> HistorySchema:
    """An open schema as one that keeps history. Raises NotMeasuredError where it keeps none."""
    try:
        return history_of(schema)
    except UnsupportedError as error:
        raise NotMeasuredError(NO_HISTORY) from error
