"""Power cuts by replay: one run is recorded, and cut after every operation in several ways.

A cut leaves, on each model of a file system: nothing that was not synced; everything; of that only
the names, or only the contents; of the names or the contents only what came last; and torn states,
where a seeded choice of names and of 512-byte sectors has reached the disk.

A trial that makes only some of the cuts makes those that show a durable step that is missing, or
comes too late (boundaries.py).
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random

from cdb.errors import UnsupportedError
from cdb.testing.faults.boundaries import Boundaries, Boundary, in_turns
from cdb.testing.faults.coverage import Coverage
from cdb.testing.faults.crash_states import (
    CONTENTS,
    EVERYTHING,
    NAMES,
    NEWEST_CONTENTS,
    NEWEST_NAME,
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
WHOLE = (NOTHING, EVERYTHING, NAMES, CONTENTS)
ELSEWHERE = "elsewhere"
"""What a cut is counted as that is at no boundary."""
SURVIVALS = {
    FileSystem.EXT4: (*WHOLE, NEWEST_CONTENTS),
    FileSystem.STRICT: (*WHOLE, NEWEST_CONTENTS, NEWEST_NAME),
    FileSystem.UNORDERED: (),
}
"""What a cut leaves on each beside torn states: what UNORDERED leaves of these STRICT leaves."""


@dataclass(frozen=True)
class Point:
    """One cut, behind the operation at a place, and what it leaves. shown: see boundaries.py."""

    name: str
    place: int
    progress: Progress
    tree: Tree
    shown: Boundary | None = None


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
    recording: Recording,
    seed: int,
    file_system: FileSystem,
    places: Collection[int] | None = None,
    *,
    only_boundaries: bool = False,
) -> Iterator[Point]:
    """Every cut of a recording. The torn ones are drawn from the seed.

    places: only behind the operations at these. only_boundaries: only those at boundaries.
    """
    disk, boundaries = Disk(str(recording.root), file_system), Boundaries(recording.root)
    progress = Progress(0, 0)
    for n, operation in enumerate(recording.operations):
        changed = disk.apply(operation)
        boundaries.pass_by(operation, disk)
        if operation.kind is Kind.MARK:
            progress = after_mark(progress, operation.data)
        elif not changed:
            continue
        if places is not None and n not in places:
            continue
        survivals = list(SURVIVALS[file_system])
        # An acknowledgement changes no disk, so it tears nothing anew.
        if changed:
            survivals += _torn(f"{seed}:{n}:{file_system.value}")
        for survival in survivals:
            shown = boundaries.shown_by(survival)
            if shown is not None or not only_boundaries:
                tree = crash_state(disk, survival)
                yield Point(f"{n}:{survival.name}", n, progress, tree, shown)


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
    if not any(operation.kind is not Kind.MARK for operation in recording.operations):
        raise UnsupportedError("its script changes no file that a power cut could take")
    oracle = Oracle(spec, seed)
    oracle.check_whole(Case(trial, spec, seed, "none"), recording.root / DATABASE)

    most = most_of(seed, most)
    cuts = partial(points, recording, seed, file_system, only_boundaries=most is not None)
    found = [
        (point.shown, fingerprint(point.tree), point.place)
        for point in cuts(_places(only))
        if only in (None, point.name)
    ]
    chosen = _choose([(shown, state) for shown, state, _ in found], most)
    digests: dict[str, str] = {}
    made = Counter[str]()
    for point in cuts({place for _, state, place in found if state in chosen}):
        state = fingerprint(point.tree)
        if state not in chosen or only not in (None, point.name):
            continue
        made[ELSEWHERE if point.shown is None else point.shown.way] += 1
        case = Case(trial, spec, seed, point.name)
        progress = oracle.after_power_cut(point.progress)
        if state in digests:
            oracle.check_digest(case, digests[state], progress)
            continue
        place = new_directory(directory / "cut")
        write_tree(point.tree, place)
        digests[state] = oracle.check(case, place / DATABASE, progress)
    return Coverage(trial, spec, seed, made.total(), len(found), len(digests), made)


def after_mark(progress: Progress, mark: bytes) -> Progress:
    """How far a script has come when it has told so."""
    word, step = mark.split()
    if word == b"begun":
        return Progress(progress.kept, int(step))
    return Progress(int(step), progress.begun) if word == b"kept" else progress


def _places(only: str | None) -> Collection[int] | None:
    """Behind which operations it is cut, as a failure names one; None: behind all."""
    if only is None:
        return None
    place = only.partition(":")[0]
    return [int(place)] if place.isdigit() else []


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


def _choose(found: Sequence[tuple[Boundary | None, str]], most: int | None) -> Collection[str]:
    """At most so many of the states, of as many boundaries as can be."""
    if most is None:
        return {state for _, state in found}
    at_boundaries = [(shown, state) for shown, state in found if shown is not None]
    return set(islice(dict.fromkeys(in_turns(at_boundaries)), most))
