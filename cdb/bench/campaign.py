"""A campaign: all runs of a matrix, one after the other. Each is a file as soon as it is made.

What is measured is an Experiment: of schemas (cdb.bench.schemas), of layouts below the coin set
(cdb.bench.layouts), or of a node's coin stores (cdb.chia.bench).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter

from cdb.bench.case import EMPTY_CASE, Case
from cdb.bench.machine import load_average, machine_facts, others_cpu_seconds
from cdb.bench.matrix import Cell, Matrix, cells, timestamp
from cdb.bench.results import (
    VERSION,
    Document,
    Kind,
    answers_of,
    differing,
    rounded,
    write_result,
)
from cdb.bench.software import software_versions
from cdb.contract.progress import rough_time
from cdb.lab.places import Place, place
from cdb.lab.process import NotMeasuredError
from cdb.lab.profile import FAST, Profile

Note = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Data:
    """What runs are made over, ready to be measured.

    facts: what a result says of it, "data", and under which conditions it is stored. size_bytes:
    the room that a place needs for what is made of it. run: the cases of a contestant in a round,
    in a place that this leaves to the next one, after the runs so far over this data in such a
    place.
    """

    facts: Document
    size_bytes: int
    run: Callable[[str, Place, Sequence[Document], Note], list[Case]]


@dataclass(frozen=True, slots=True)
class Experiment:
    """What is measured, of whom, and over which data.

    contestants: by name, in their order: what a result says of each beside that. sources: by what
    the data is in words: what makes it in a directory. settings: all that runs must share to be of
    one matrix, as JSON. software: versions of what it uses beside cdb and its engines. conditions:
    by contestant, what of its runs is other than the data's facts.
    """

    kind: Kind
    contestants: Mapping[str, Document]
    sources: Mapping[str, Callable[[Path, Note], Data]]
    settings: Document
    software: Mapping[str, str] = field(default_factory=dict)
    conditions: Mapping[str, Document] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Campaign:
    """What to run, and where.

    results: the directory of all machines' results. machine: what to call this one instead of its
    own name.
    """

    experiment: Experiment
    matrix: Matrix
    profiles: Sequence[Profile]
    parent: Path
    results: Path
    machine: str | None
    note: Note

    def cells(self) -> list[Cell]:
        """All runs, in their order."""
        names = list(self.experiment.contestants)
        return [
            cell
            for source in self.experiment.sources
            for profile in self.profiles
            for cell in cells(source, profile.name, names, self.matrix.runs)
        ]

    def made(self) -> int:
        """How many of them there are already."""
        return sum(cell in self.matrix.made for cell in self.cells())

    def run(self) -> Iterator[Document]:
        """Make the runs that are not made yet, and give each once it is written.

        A profile that this machine can't have is left out, and the note says why.
        """
        left = [cell for cell in self.cells() if cell not in self.matrix.made]
        for source in dict.fromkeys(cell.source for cell in left):
            # The data is gone at the end even after kill -9.
            with place(FAST, self.parent, 0) as there:
                data = self.experiment.sources[source](there.directory, self.note)
                for profile in self.profiles:
                    here = [c for c in left if (c.source, c.profile) == (source, profile.name)]
                    if here:
                        yield from self._run_in(profile, here, data)

    def _run_in(self, profile: Profile, cells: Sequence[Cell], data: Data) -> Iterator[Document]:
        try:
            with place(profile, self.parent, data.size_bytes) as there:
                surroundings = self._surroundings(profile, there)
                for cell in cells:
                    document = self._run(cell, surroundings, data, there)
                    write_result(self.results, document)
                    self.matrix.note(document)
                    yield document
        except NotMeasuredError as error:
            self.note(f"profile {profile.name} is left out: {error}")

    def _surroundings(self, profile: Profile, there: Place) -> Document:
        """Where it is measured and with what; the place's disk is measured for some seconds."""
        facts = asdict(machine_facts(there.directory))
        del facts["mount_point"]  # a directory's name is its owner's
        measured = asdict(there.measured) if there.measured else {}
        return {
            "profile": asdict(profile) | {"measured": measured},
            "machine": facts | ({"name": self.machine} if self.machine else {}),
            "software": software_versions() | dict(self.experiment.software),
        }

    def _run(self, cell: Cell, surroundings: Document, data: Data, there: Place) -> Document:
        before = self.matrix.before(cell)
        begun, load_before = timestamp(), load_average()
        others_before, start = others_cpu_seconds(), perf_counter()
        name = cell.contestant
        cases = data.run(name, there, before, self._noting(cell))
        seconds, others_after = perf_counter() - start, others_cpu_seconds()
        document: Document = rounded(
            {
                "version": VERSION,
                "kind": self.experiment.kind.value,
                "matrix": self.matrix.head(),
                "run": cell.run,
                "begun": begun,
                "seconds": seconds,
                "contestant": {"name": name, **self.experiment.contestants[name]},
                **surroundings,
                **data.facts,
                **self.experiment.conditions.get(name, {}),
                "load_average_before": load_before,
                "load_average_after": load_average(),
                "others_cores": _cores(others_before, others_after, seconds),
                "cases": [asdict(case) for case in cases],
            }
        )
        return document | {"cases": _held_against(before, document)}

    def _noting(self, cell: Cell) -> Note:
        """Puts before a line which run it is about."""
        all_cells = self.cells()
        left = self.matrix.seconds_left(all_cells)
        until_end = "" if left is None else f", {rough_time(left)} left"
        head = f"run {self.made() + 1} of {len(all_cells)}{until_end}: {cell.profile}"
        if len(self.experiment.sources) > 1:
            head += f", {cell.source}"
        return lambda line: self.note(f"{head}, round {cell.run}, {cell.contestant}: {line}")


def _cores(before: float | None, after: float | None, seconds: float) -> float | None:
    """How many cores' time went by from one CPU time to another."""
    return None if before is None or after is None else max(0.0, after - before) / seconds


def _held_against(before: Sequence[Document], document: Document) -> list[Document]:
    """A run's cases; wrong are those whose answers are others than in a run before."""
    told = {asked: answers for each in reversed(before) for asked, answers in answers_of(each)}
    cases = []
    for case in document["cases"]:
        problem = differing({**document, "cases": [case]}, told)
        if problem is not None:
            wrong = {"outcome": "wrong", "reason": problem}
            told_of = {name: case[name] for name in ("workload", "parameters")}
            case = {**EMPTY_CASE, **told_of, **wrong}
        cases.append(case)
    return cases
