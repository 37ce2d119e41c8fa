"""The power is cut behind operations of a backup, or of a restore, on files.

    python -m tests.cmds.cuts restore --places 200

Whatever a file system may leave then (cdb.testing.faults): the node's database is what it was, or
there is none, or the new one; and the same command makes or finishes what was begun.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

from cdb.chia.backup import back_up
from cdb.chia.restore import READY, check_backup, restore
from cdb.chia.status import status_of
from cdb.disk.files import fsync_dir, fsync_file
from cdb.limits import SQLITE_NOT_DURABLE
from cdb.mainnet_shape import mainnet_shaped_blocks
from cdb.progress import no_bar
from cdb.testing.faults.crash_states import write_tree
from cdb.testing.faults.disk import FileSystem
from cdb.testing.faults.power import Recording, points
from cdb.testing.faults.recorder import read_trace
from cdb.testing.faults.shim import Shim
from cdb.testing.faults.trial import new_directory, scratch
from tests.cmds.nodes import make_node
from tests.in_fork import exit_code
from tests.preloaded import record, start_preloaded

BLOCKS = tuple(mainnet_shaped_blocks(coins=300))


def main() -> int:
    """Cut the power at so many places; 1 if one cut was survived badly."""
    arguments = _parser().parse_args()
    start_preloaded("tests.cmds.cuts")
    with scratch() as directory:
        root, trace = new_directory(directory / "root"), directory / "trace"
        begun = directory / "begun"
        _must_end_well("without a cut", lambda: _recorded(arguments.kind, root, trace, begun))
        recording = Recording(root, tuple(read_trace(trace)))
        recording.check_complete(SQLITE_NOT_DURABLE)
        all_places = range(int(begun.read_text()), len(recording.operations))
        random = Random(arguments.seed)
        places = random.sample(all_places, min(len(all_places), arguments.places))
        check = _check_restore if arguments.kind == "restore" else _check_backup
        done = 0
        for file_system in (FileSystem.EXT4, FileSystem.STRICT):
            for point in points(recording, arguments.seed, file_system, places):
                write_tree(point.tree, new_directory(root))
                _must_end_well(f"{file_system.value} at {point.name}", lambda: check(root))
                done += 1
    sys.stdout.write(f"{done} cuts at {len(places)} of {len(all_places)} places: all is well\n")
    return 0


def _recorded(kind: str, root: Path, trace: Path, begun: Path) -> None:
    """Make a node's database, durably; and then, from an operation on, what is to be cut."""
    shim = Shim()
    shim.watch(root)
    record(shim, trace)
    make_node(root / "node.sqlite", BLOCKS)
    if kind == "restore":
        back_up(root / "node.sqlite", root / "backup", no_bar)
    for path in (root, *root.rglob("*")):
        (fsync_dir if path.is_dir() else fsync_file)(path)
    begun.write_text(str(len(tuple(read_trace(trace)))))
    if kind == "restore":
        restore(root / "backup", root / "new.sqlite", no_bar)
    else:
        back_up(root / "node.sqlite", root / "backup", no_bar)


def _check_backup(root: Path) -> None:
    assert _newest(root / "node.sqlite") == BLOCKS[-1].index
    if not (root / "backup").exists():
        back_up(root / "node.sqlite", root / "backup", no_bar)
    check_backup(root / "backup", no_bar)


def _check_restore(root: Path) -> None:
    file = root / "new.sqlite"
    is_ready = (root / "new.sqlite.restore" / READY).exists()
    if is_ready or not file.exists():
        restore(root / "backup", file, no_bar)
    assert _newest(file) == BLOCKS[-1].index
    check_backup(root / "backup", no_bar)


def _newest(file: Path) -> int | None:
    """The newest block of a database in which all is well."""
    status = status_of(file)
    assert status.problems == []
    return status.next_height


def _must_end_well(what: str, call: Callable[[], None]) -> None:
    """Make a call in a fork of this process."""
    if exit_code(call) != 0:
        raise SystemExit(f"a power cut was survived badly: {what}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.cmds.cuts", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("kind", choices=["backup", "restore"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--places", type=int, default=20)
    return parser


if __name__ == "__main__":
    sys.exit(main())
