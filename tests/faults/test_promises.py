"""What is promised is on the disk: when a flush returns no name and no byte waits for a sync.

Power cuts show what follows where one does, at the places that are tried. This needs no such luck:
it looks at every promise of a script.
"""

from collections.abc import Iterator
from fnmatch import fnmatch

import pytest

from cdb.schemas import find_schema
from cdb.testing.faults import all_subjects, missing, scratch
from cdb.testing.faults.disk import Disk, FileSystem
from cdb.testing.faults.inodes import Inode
from cdb.testing.faults.power import record
from cdb.testing.faults.recorder import Kind, Operation
from tests.engines import OTHER_SCHEMA

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

SUBJECTS = ("memory", "blockchain_v2", "sqlite_v3", "flat_file", OTHER_SCHEMA)
WITH_THREADS = ("rocks", "rocks_kv", "coin_log")
"""Their own threads make files meanwhile, so that these are looked at once they are closed."""
UNPROMISED = ("*-shm", "lock.mdb", "readers", "acked")
"""No promise rests on these: on memory that processes share, and on how far coin_log's log was
synced, as far as the log tells that, too."""


def _is_promise(operation: Operation) -> bool:
    return operation.kind is Kind.MARK and operation.data.startswith(b"kept ")


def _files(directory: Inode) -> Iterator[tuple[str, Inode]]:
    for name, inode in directory.entries.items():
        yield name, inode
        yield from _files(inode)


def _unsynced(disk: Disk) -> set[str]:
    """Names that were made, and files that were written. A name that is removed may come back."""
    made = {name for each in disk.names for _, name, inode in each.entries if inode is not None}
    written = {name for name, inode in _files(disk.root) if inode.pending}
    names = made | written
    return {name for name in names if not any(fnmatch(name, each) for each in UNPROMISED)}


@pytest.mark.parametrize("name", [*SUBJECTS, *WITH_THREADS])
def test_nothing_that_is_promised_waits_for_a_sync(name: str) -> None:
    subject, promises = all_subjects()[name], 0
    problem = find_schema(subject.spec).missing
    if problem is not None:
        pytest.skip(problem)
    with scratch() as directory:
        recording = record(subject.spec, subject.seed, directory)
    disk = Disk(str(recording.root), FileSystem.STRICT)
    for n, operation in enumerate(recording.operations):
        disk.apply(operation)
        if _is_promise(operation):
            promises += 1
            assert name in WITH_THREADS or _unsynced(disk) == set(), n
    assert _unsynced(disk) == set()
    assert promises >= 5
