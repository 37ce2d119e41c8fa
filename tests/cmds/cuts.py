"""The power is cut while a node's database is used, moved, backed up or restored.

    python -m tests.cmds.cuts restore --seed 16 --places 40
    python -m tests.cmds.cuts all --cuts 5000

What an operation (tests/cmds/operations.py; following, with chia, in tests/chia/following.py) does
to SQLite's files and to the log is one recording. Behind each sync in it the power is cut so that
all is lost that was not synced; behind a choice of places so that a part of it is lost, torn or
reordered, and so that only the log has it, or only SQLite. Each state is checked once, in a process
of its own. A recording that leaves too few states is a failure.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from random import Random

from cdb.disk.files import fsync_dir, fsync_file
from cdb.stores.node_table.table import LOG_SUFFIX
from cdb.stores.rows.sqlite import SQLITE_NOT_DURABLE
from cdb.testing.faults.crash_states import EVERYTHING, NOTHING, Tree, write_tree
from cdb.testing.faults.disk import FileSystem
from cdb.testing.faults.oracle import Progress
from cdb.testing.faults.power import Recording, fingerprint, points
from cdb.testing.faults.recorder import Kind, read_trace
from cdb.testing.faults.shim import Shim
from cdb.testing.faults.trial import new_directory, scratch
from tests.cmds.operations import OPERATIONS, Operation, take_small_steps, telling
from tests.in_fork import exit_code
from tests.preloaded import record, start_preloaded

LEAST_CUTS = 10
"""Of one recording."""
WITH_CHIA = ("follow", "reorg", "reopen")
_SYNCS = (Kind.SYNC, Kind.DATA_SYNC, Kind.MARK)


def main() -> int:
    """Cut the power in so many places; 1 if one cut was survived badly, or there were too few."""
    arguments = _parser().parse_args()
    start_preloaded("tests.cmds.cuts")
    kinds = dict.fromkeys(arguments.kinds)
    if "all" in kinds:
        kinds = dict.fromkeys((*OPERATIONS, *WITH_CHIA))
    total, seed = 0, arguments.seed
    while not total or total < arguments.cuts:
        for kind in kinds:
            with scratch() as directory:
                operation = _operation(kind)(directory / "root", seed)
                trial = Trial(f"{kind} --seed {seed}", operation, directory)
                found = trial.run(arguments.places, arguments.only)
            n_cuts = sum(found.values())
            what = ", ".join(f"{count} {name}" for name, count in sorted(found.items()))
            _say(f"{trial.name}: {n_cuts} cuts of {trial.n_operations} operations: {what}")
            if n_cuts < (LEAST_CUTS if arguments.only is None else 1):
                raise SystemExit(f"{trial.name}: that is too few")
            total += n_cuts
        seed += 1
    _say(f"{total} cuts: all is well")
    return 0


def _operation(kind: str) -> type[Operation]:
    if kind in OPERATIONS:
        return OPERATIONS[kind]
    from tests.chia import following

    return following.OPERATIONS[kind]


@dataclass
class Trial:
    """One operation, done once and recorded, and the cuts of that."""

    name: str
    operation: Operation
    directory: Path
    n_operations: int = 0

    def run(self, n_places: int, only: str | None) -> Counter[str]:
        """Check what cuts leave; how many there were of each kind."""
        recording = self._recording()
        first = next(
            n
            for n, operation in enumerate(recording.operations)
            if operation.kind is Kind.MARK and operation.data == b"begun 1"
        )
        self.n_operations = len(recording.operations) - first
        found = Counter[str]()
        seen = set[tuple[str, Progress]]()
        for name, progress, tree in self._states(recording, first, n_places):
            state = fingerprint(tree), progress
            if state in seen or only not in (None, name):
                continue
            seen.add(state)
            write_tree(tree, new_directory(self.operation.root))
            _must_end_well(f"{self.name} cut at {name}", partial(self.operation.check, progress))
            found[name.rpartition(":")[2].partition("-")[0]] += 1
        return found

    def _recording(self) -> Recording:
        root, trace = new_directory(self.operation.root), self.directory / "trace"
        _must_end_well(f"{self.name} without a cut", lambda: self._recorded(trace))
        recording = Recording(root, tuple(read_trace(trace)))
        recording.check_complete(SQLITE_NOT_DURABLE)
        return recording

    def _recorded(self, trace: Path) -> None:
        root, shim = self.operation.root, Shim()
        shim.watch(root)
        tell = telling(record(shim, trace))
        take_small_steps()
        self.operation.prepare()
        for path in (root, *root.rglob("*")):
            (fsync_dir if path.is_dir() else fsync_file)(path)
        tell("begun", 1)
        self.operation.do(tell)

    def _states(
        self, recording: Recording, first: int, n_places: int
    ) -> Iterator[tuple[str, Progress, Tree]]:
        """What cuts leave, each with a name and with what was told before."""
        operations, random = recording.operations, Random(self.operation.seed)
        synced = [n for n in range(first, len(operations)) if operations[n].kind in _SYNCS]
        most_unsynced = [n - 1 for n in synced if n > first]
        chosen = {*_some(random, most_unsynced, n_places // 2)}
        chosen |= {*_some(random, range(first, len(operations)), n_places - len(chosen))}
        for system in FileSystem:
            places = {*synced, *chosen}
            found = points(recording, self.operation.seed, system, places)
            for place, at_place in groupby(found, lambda point: point.place):
                states = {point.name.partition(":")[2]: point for point in at_place}
                progress = next(iter(states.values())).progress
                trees = {name: point.tree for name, point in states.items()}
                if place not in chosen:
                    trees = {NOTHING.name: trees[NOTHING.name]} if NOTHING.name in trees else {}
                elif system is FileSystem.STRICT and not self.operation.has_moves:
                    nothing, everything = trees[NOTHING.name], trees[EVERYTHING.name]
                    trees["log"] = _mixed(everything, nothing)
                    trees["sqlite"] = _mixed(nothing, everything)
                for name, tree in trees.items():
                    yield f"{system.value}:{place}:{name}", progress, tree


def _mixed(log: Tree, sqlite: Tree) -> Tree:
    """The log of one state, and SQLite's files of another."""
    sources = {name: log if LOG_SUFFIX in name else sqlite for name in sorted({*log, *sqlite})}
    return {name: source[name] for name, source in sources.items() if name in source}


def _some(random: Random, places: Sequence[int], n: int) -> list[int]:
    return random.sample(places, min(len(places), n))


def _must_end_well(what: str, call: Callable[[], None]) -> None:
    """Make a call in a fork of this process."""
    if exit_code(call) != 0:
        raise SystemExit(f"a power cut was survived badly: {what}")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.cmds.cuts", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("kinds", nargs="+", choices=[*OPERATIONS, *WITH_CHIA, "all"])
    parser.add_argument("--seed", type=int, default=1, help="of the first recording of each kind")
    parser.add_argument("--places", type=int, default=20, help="in each recording, beside syncs")
    parser.add_argument("--cuts", type=int, default=0, help="record anew until it were so many")
    parser.add_argument("--only", metavar="CUT", help="this one alone, as a failure names it")
    return parser


if __name__ == "__main__":
    sys.exit(main())
