"""Power cuts by replay: one run is recorded, and cut after every operation in several ways.

A cut leaves, on each model of a file system: nothing that was not synced; everything; of that only
the names, or only the contents; and torn states, where a seeded choice of names and of 512-byte
sectors has reached the disk.
"""

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from random import Random

from cdb.errors import UnsupportedError
from cdb.testing.faults.calls import choose
from cdb.testing.faults.coverage import Coverage
from cdb.testing.faults.crash_states import (
    CONTENTS,
    EVERYTHING,
    NAMES,
    NOTHING,
    Survival,
    Tree,
    crash_state,
    read_tree,
    write_tree,
)
from cdb.testing.faults.disk import Disk, FileSystem
from cdb.testing.faults.oracle import Case, Oracle, Progress, check_ended_well
from cdb.testing.faults.recorder import Kind, Operation, read_trace
from cdb.testing.faults.runs import Request, Run
from cdb.testing.faults.script import most_of
from cdb.testing.faults.subjects import subject_of
from cdb.testing.faults.trial import DATABASE, new_directory

TORN_STATES = 2
PLACES_A_CUT = 4
WHOLE = (NOTHING, EVERYTHING, NAMES, CONTENTS)
"""What UNORDERED leaves of these is what STRICT leaves."""


@dataclass(frozen=True)
class Point:
    """One cut, behind the operation at a place, and what it leaves."""

    name: str
    place: int
    progress: Progress
    tree: Tree


@dataclass(frozen=True)
class Recording:
    """What one run of a script did to the files below a root."""

    root: Path
    operations: tuple[Operation, ...]

    def check_complete(self, not_durable: Sequence[str]) -> None:
        """Hold the replay of everything against the files that are there.

        not_durable: see cdb.schemas.registry. Raises UnsupportedError for other files that are
        written through shared mappings or stdio.
        """
        disk = Disk(str(self.root), FileSystem.STRICT)
        for operation in self.operations:
            disk.apply(operation)
        replayed = crash_state(disk, EVERYTHING)
        there = read_tree(self.root)
        assert replayed.keys() == there.keys(), "the recorder missed a change of names"
        differing = {name for name, contents in there.items() if contents != replayed[name]}
        missed = differing - disk.unseen
        assert not missed, f"the recorder missed writes to {missed}"
        unseen = [
            name
            for name in disk.unseen & there.keys()
            if not any(fnmatch(name, pattern) for pattern in not_durable)
        ]
        if unseen:
            problem = f"{unseen} are written in ways that cannot be recorded, so not be cut"
            raise UnsupportedError(problem)


def record(spec: str, seed: int, directory: Path) -> Recording:
    """Run the seed's script on a new database somewhere in the directory.

    Raises BrokenPromiseError where it does not go well.
    """
    root, trace = new_directory(directory / "root"), directory / "trace"
    ended = Run(Request(spec, seed, root / DATABASE, trace=trace)).listen_to_end()
    case = Case(trial_on(FileSystem.STRICT), spec, seed, "none")
    check_ended_well(case, ended.error, ended.signal)
    return Recording(root, tuple(read_trace(trace)))


def points(
    recording: Recording, seed: int, file_system: FileSystem, places: Collection[int] | None = None
) -> Iterator[Point]:
    """Every cut of a recording. The torn ones are drawn from the seed.

    places: only behind the operations at these.
    """
    disk = Disk(str(recording.root), file_system)
    progress = Progress(0, 0)
    for n, operation in enumerate(recording.operations):
        changed = disk.apply(operation)
        if operation.kind is Kind.MARK:
            progress = after_mark(progress, operation.data)
        elif not changed:
            continue
        if places is not None and n not in places:
            continue
        # An acknowledgement changes no disk, so it tears nothing anew.
        name = str(n)
        survivals = [] if file_system is FileSystem.UNORDERED else list(WHOLE)
        if changed:
            survivals += _torn(f"{seed}:{name}:{file_system.value}")
        for survival in survivals:
            yield Point(f"{name}:{survival.name}", n, progress, crash_state(disk, survival))


def trial_on(file_system: FileSystem) -> str:
    """What the catalogue calls the cuts on a file system."""
    return f"power-{file_system.value}"


def cut_power(
    spec: str,
    seed: int,
    directory: Path,
    file_system: FileSystem,
    *,
    most: int | None = None,
    only: str | None = None,
) -> Coverage:
    """Cut the seed's script everywhere, and check every database that a cut leaves.

    See Trial; most: open only so many databases. Raises UnsupportedError too where the schema's
    writes can't be seen.
    """
    trial = trial_on(file_system)
    recording = record(spec, seed, directory)
    recording.check_complete(subject_of(spec).not_durable)
    oracle = Oracle(spec, seed)
    oracle.check_whole(Case(trial, spec, seed, "none"), recording.root / DATABASE)

    def cuts(places: Collection[int] | None) -> Iterator[tuple[str, Point]]:
        for point in points(recording, seed, file_system, places):
            if only in (None, point.name):
                yield fingerprint(point.tree), point

    most = most_of(seed, most)
    possible = range(len(recording.operations))
    places = _places(possible, most, only, seed)
    found = [(each, point.place) for each, point in cuts(places)]
    chosen = _choose([each for each, _ in found], most, seed)
    digests: dict[str, str] = {}
    covered = 0
    for each, point in cuts({place for each, place in found if each in chosen}):
        if each not in chosen:
            continue
        covered += 1
        case = Case(trial, spec, seed, point.name)
        progress = oracle.after_power_cut(point.progress)
        if each in digests:
            oracle.check_digest(case, digests[each], progress)
            continue
        place = new_directory(directory / "cut")
        write_tree(point.tree, place)
        digests[each] = oracle.check(case, place / DATABASE, progress)
    is_choice = only is None and most is not None
    whole = len(found) * len(possible) // max(1, len(places)) if is_choice else len(found)
    return Coverage(trial, spec, seed, covered, whole, len(digests))


def after_mark(progress: Progress, mark: bytes) -> Progress:
    """How far a script has come when it has told so."""
    word, step = mark.split()
    if word == b"begun":
        return Progress(progress.kept, int(step))
    return Progress(int(step), progress.begun) if word == b"kept" else progress


def _places(
    operations: Sequence[int], most: int | None, only: str | None, seed: int
) -> Collection[int]:
    """Behind which operations it is cut: more than `most`, as many cuts leave the same state."""
    if only is not None:
        place = only.partition(":")[0]
        return [int(place)] if place.isdigit() else []
    return operations if most is None else set(choose(operations, PLACES_A_CUT * most, seed))


def _torn(seed: str) -> Iterator[Survival]:
    for n in range(TORN_STATES):
        random = Random(f"{seed}:{n}")  # noqa: S311 - reproducible, not secret
        yield Survival(f"torn-{n}", keep_names=True, keep_contents=True, torn=random)


def fingerprint(tree: Tree) -> str:
    """The same for the same tree alone."""
    digest = hashlib.blake2b(digest_size=16)
    for name, contents in tree.items():
        digest.update(f"{name}\0{-1 if contents is None else len(contents)}\0".encode())
        digest.update(contents or b"")
    return digest.hexdigest()


def _choose(prints: Sequence[str], most: int | None, seed: int) -> set[str]:
    distinct = list(dict.fromkeys(prints))
    if most is None or len(distinct) <= most:
        return set(distinct)
    return set(Random(seed).sample(distinct, most))  # noqa: S311 - reproducible, not secret
