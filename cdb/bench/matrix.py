"""The matrix: which runs there are to make, which were made, and how long the others may take."""

import hashlib
import json
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from cdb.bench.results import Document


@dataclass(frozen=True, slots=True)
class Cell:
    """One run: of whom, over what data, under which profile. source: the data in words; run: 1 for
    the first."""

    source: str
    profile: str
    contestant: str
    run: int


@dataclass(slots=True)
class Matrix:
    """The runs of one command. id: when it was begun, in UTC. made: what was, in its order."""

    id: str
    command: str
    runs: int
    settings: str
    made: dict[Cell, Document] = field(default_factory=dict)

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

    def head(self) -> Document:
        """What each of its runs says of it."""
        return {
            "id": self.id,
            "command": self.command,
            "runs": self.runs,
            "settings": self.settings,
        }

    def note(self, document: Document) -> None:
        """Count a run as made."""
        self.made[cell_of(document)] = document

    def before(self, cell: Cell) -> list[Document]:
        """The runs that were made over the same data under the same profile."""
        return [made for other, made in self.made.items() if _place(other) == _place(cell)]

    def seconds_left(self, cells: Iterable[Cell]) -> float | None:
        """How long those that are not made will take, by those that are; None before the first.

        A contestant's next run takes as long as its runs so far on that profile and data. One that
        has none yet takes as long as the others there, or anywhere.
        """
        if not self.made:
            return None
        return sum(self._expected(cell) for cell in cells if cell not in self.made)

    def _expected(self, cell: Cell) -> float:
        there = {each: made for each, made in self.made.items() if _place(each) == _place(cell)}
        own = [made for each, made in there.items() if each.contestant == cell.contestant]
        known = own or list(there.values()) or list(self.made.values())
        return statistics.fmean(made["seconds"] for made in known)


def _place(cell: Cell) -> tuple[str, str]:
    return cell.source, cell.profile


def cells(source: str, profile: str, contestants: Sequence[str], runs: int) -> Iterator[Cell]:
    """The runs on one profile over one set of data. Each round begins with the next contestant, so
    that none has always the same neighbour."""
    for number in range(runs):
        start = number % len(contestants)
        for contestant in (*contestants[start:], *contestants[:start]):
            yield Cell(source, profile, contestant, number + 1)


def cell_of(document: Document) -> Cell:
    """The run that a result is of."""
    return Cell(
        document["data"]["source"],
        document["profile"]["name"],
        document["contestant"]["name"],
        document["run"],
    )


def timestamp() -> str:
    """Now, in UTC, to the second: ``2026-11-21T19:05:00Z``."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
