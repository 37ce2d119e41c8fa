"""The matrix: which runs there are to make, which were made, and how long the others may take."""

import hashlib
import json
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from cdb.bench.results import Document
from cdb.bench.rounds import rotated


@dataclass(frozen=True, slots=True)
class Cell:
    """One run. source: what the replay is, in words; run: 1 for the first."""

    source: str
    profile: str
    schema: str
    run: int


@dataclass(slots=True)
class Matrix:
    """The runs of one command. id: when it was begun, in UTC."""

    id: str
    command: str
    runs: int
    settings: str
    _seconds: dict[Cell, float] = field(default_factory=dict)

    @classmethod
    def new(cls, command: str, runs: int, settings: object) -> "Matrix":
        """One that begins now. settings: all that its runs share, as JSON."""
        text = json.dumps(settings, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()
        return cls(timestamp().translate(str.maketrans("", "", "-:")), command, runs, digest)

    def resumed(self, documents: Iterable[Document]) -> "Matrix":
        """The newest one of the same settings, with the runs that it has; this one without any."""
        same = [each for each in documents if each["matrix"]["settings"] == self.settings]
        if not same:
            return self
        newest = max(each["matrix"]["id"] for each in same)
        matrix = Matrix(newest, self.command, self.runs, self.settings)
        for document in same:
            if document["matrix"]["id"] == newest:
                matrix.note(document)
        return matrix

    def head(self) -> dict[str, Any]:
        """What each of its runs says of it."""
        return {
            "id": self.id,
            "command": self.command,
            "runs": self.runs,
            "settings": self.settings,
        }

    def note(self, document: Document) -> None:
        """Count a run as made."""
        self._seconds[cell_of(document)] = document["seconds"]

    def is_made(self, cell: Cell) -> bool:
        """Whether this run has a result."""
        return cell in self._seconds

    def seconds_left(self, cells: Iterable[Cell]) -> float | None:
        """How long those that are not made will take, by those that are; None before the first.

        A schema's next run takes as long as its runs so far on that profile and replay. One that
        has none yet takes as long as the others there, or anywhere.
        """
        if not self._seconds:
            return None
        return sum(self._expected(cell) for cell in cells if not self.is_made(cell))

    def _expected(self, cell: Cell) -> float:
        there = {
            each: seconds
            for each, seconds in self._seconds.items()
            if (each.source, each.profile) == (cell.source, cell.profile)
        }
        own = [seconds for each, seconds in there.items() if each.schema == cell.schema]
        known = own or list(there.values()) or list(self._seconds.values())
        return statistics.fmean(known)


def cells(source: str, profile: str, schemas: Sequence[str], runs: int) -> Iterator[Cell]:
    """The runs on one profile with one replay. Each round begins one schema further on."""
    for number in range(runs):
        for schema in rotated(schemas, number):
            yield Cell(source, profile, schema, number + 1)


def cell_of(document: Document) -> Cell:
    """The run that a result is of."""
    return Cell(
        document["replay"]["source"],
        document["profile"]["name"],
        document["schema"]["name"],
        document["run"],
    )


def timestamp() -> str:
    """Now, in UTC, to the second: ``2026-11-21T19:05:00Z``."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
