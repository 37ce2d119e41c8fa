"""A campaign: all runs of a matrix, one after the other. Each is a file as soon as it is made."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Protocol

from cdb.bench.document import Clock, Surroundings
from cdb.bench.machine import load_average
from cdb.bench.matrix import Cell, Matrix, cells, timestamp
from cdb.bench.results import Document, write_result
from cdb.bench.rounds import Note
from cdb.bench.run import run, truth_of
from cdb.bench.truth import Truth
from cdb.bench.workload import Database
from cdb.contract.progress import rough_time
from cdb.lab.places import Place, place
from cdb.lab.process import NotMeasuredError
from cdb.lab.profile import FAST, Profile

# Of the largest schema, dual_timeline in a B-tree; four at once: a workload's second one, and what
# a compaction needs.
DATABASE_BYTES_PER_COIN = 4 * 310
MORE_BYTES = 512 << 20


class Replay(Protocol):
    """A replay; str() says in words what it is."""

    def text(self, directory: Path) -> Path:
        """Where its text is; made in the directory, unless it is there."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """spec: what finds the schema. threads: of its loads, see Database."""

    spec: str
    threads: int = 2


@dataclass(frozen=True, slots=True)
class Campaign:
    """What to run, and where.

    contestants: by the names that results have for them. workloads: those after the load. results:
    the directory of all machines' results. machine: what to call this one instead of its own name.
    """

    matrix: Matrix
    contestants: dict[str, Contestant]
    replays: Sequence[Replay]
    profiles: Sequence[Profile]
    workloads: Sequence[str]
    flush_coins: int
    durability: str
    quick: bool
    time_limit_seconds: float
    parent: Path
    results: Path
    machine: str | None
    note: Note

    def cells(self) -> list[Cell]:
        """All runs, in their order."""
        return [
            cell
            for replay in self.replays
            for profile in self.profiles
            for cell in cells(str(replay), profile.name, list(self.contestants), self.matrix.runs)
        ]

    def run(self) -> Iterator[Document]:
        """Make the runs that are not made yet, and give each once it is written.

        A profile that this machine can't have is left out, and the note says why.
        """
        for replay in self.replays:
            cells = [cell for cell in self._left() if cell.source == str(replay)]
            if cells:
                with self._text(replay) as (path, truth):
                    for profile in self.profiles:
                        here = [cell for cell in cells if cell.profile == profile.name]
                        if here:
                            yield from self._run_in(profile, here, path, truth)

    def _left(self) -> list[Cell]:
        return [cell for cell in self.cells() if not self.matrix.is_made(cell)]

    @contextmanager
    def _text(self, replay: Replay) -> Iterator[tuple[Path, Truth]]:
        """A replay's text and what it says. A place is gone at the end even after kill -9."""
        with place(FAST, self.parent, 0) as there:
            self.note(f"replay: {replay}")
            path = replay.text(there.directory)
            yield path, truth_of(path, there.directory, self.note)

    def _run_in(
        self, profile: Profile, cells: Sequence[Cell], path: Path, truth: Truth
    ) -> Iterator[Document]:
        size_bytes = DATABASE_BYTES_PER_COIN * truth.coins + MORE_BYTES
        try:
            with place(profile, self.parent, size_bytes) as there:
                surroundings = Surroundings(self.matrix, profile, there, self.machine)
                for cell in cells:
                    document = self._run(cell, surroundings, there, path, truth)
                    write_result(self.results, document)
                    self.matrix.note(document)
                    yield document
        except NotMeasuredError as error:
            self.note(f"profile {profile.name} is left out: {error}")

    def _run(
        self, cell: Cell, surroundings: Surroundings, there: Place, path: Path, truth: Truth
    ) -> Document:
        """One run, in a fresh directory."""
        contestant = self.contestants[cell.schema]
        with TemporaryDirectory(dir=there.directory) as directory:
            database = Database(
                schema=contestant.spec,
                path=str(Path(directory, "db")),
                durability=self.durability,
                flush_coins=self.flush_coins,
                replay=str(path),
                truth=truth,
                threads=contestant.threads,
                quick=self.quick,
                groups=tuple(map(str, there.join)),
                time_limit_seconds=self.time_limit_seconds,
            )
            begun, before, start = timestamp(), load_average(), perf_counter()
            cases = run(database, self.workloads, self._noting(cell))
            clock = Clock(begun, perf_counter() - start, before, load_average())
        return surroundings.document(cell, database, clock, cases)

    def _noting(self, cell: Cell) -> Note:
        """Puts before a line which run it is about."""
        all_cells = self.cells()
        number = sum(map(self.matrix.is_made, all_cells)) + 1
        left = self.matrix.seconds_left(all_cells)
        until_end = "" if left is None else f", {rough_time(left)} left"
        head = f"run {number} of {len(all_cells)}{until_end}: {cell.profile}, {cell.source}"
        return lambda line: self.note(f"{head}, round {cell.run}, {line}")
