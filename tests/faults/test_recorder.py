"""What the recorder sees, replayed, is what was done; and what a cut leaves of it."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from cdb.errors import UnsupportedError
from cdb.testing.faults import missing
from cdb.testing.faults.crash_states import (
    EVERYTHING,
    NAMES,
    NEWEST_CONTENTS,
    NEWEST_NAME,
    NOTHING,
    Survival,
    Tree,
    crash_state,
)
from cdb.testing.faults.disk import Disk, FileSystem
from cdb.testing.faults.inodes import SECTOR_BYTES
from cdb.testing.faults.power import Recording
from cdb.testing.faults.recorder import read_trace
from cdb.testing.faults.shim import LIBRARY

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

PREAMBLE = """
import ctypes, mmap, os, shutil, sys
from pathlib import Path
from cdb.testing.faults.shim import Shim
root, trace = map(Path, sys.argv[1:])
shim = Shim()
shim.watch(root)
shim.record(os.open(trace, os.O_WRONLY | os.O_CREAT), -1)
os.chdir(root)
def new(name, flags=0):
    return os.open(name, os.O_RDWR | os.O_CREAT | flags)
def sync(name):
    descriptor = os.open(name, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
"""

Record = Callable[[str], Recording]


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Records what a piece of Python does in an empty directory that it is in."""

    def run(code: str) -> Recording:
        root, trace = tmp_path / "root", tmp_path / "trace"
        root.mkdir()
        command = [sys.executable, "-c", PREAMBLE + code, str(root), str(trace)]
        subprocess.run(command, env=os.environ | {"LD_PRELOAD": str(LIBRARY)}, check=True)
        return Recording(root, tuple(read_trace(trace)))

    return run


def left(
    recording: Recording, survival: Survival, file_system: FileSystem = FileSystem.STRICT
) -> Tree:
    disk = Disk(str(recording.root), file_system)
    for operation in recording.operations:
        disk.apply(operation)
    return crash_state(disk, survival)


@pytest.mark.parametrize(
    "code",
    [
        "a = new('a'); os.write(a, b'one'); os.pwrite(a, b'two', 700); os.write(a, b'three')",
        "a = new('a', os.O_APPEND); os.write(a, b'one'); os.lseek(a, 0, 0); os.write(a, b'two')",
        "a = new('a'); os.writev(a, [b'one', b'', b'two']); os.pwritev(a, [b'x', b'y'], 1)",
        "a = new('a'); os.write(a, b'long'); os.ftruncate(a, 2); os.ftruncate(a, 9)",
        "Path('a').write_bytes(b'long'); os.truncate('a', 2); Path('a').open('w')",
        "a = new('a'); os.posix_fallocate(a, 10, 20); os.write(a, b'x')",
        "a = new('a'); os.write(a, b'x' * 9000); libc = ctypes.CDLL(None)\n"
        "libc.fallocate(a, 3, ctypes.c_long(4096), ctypes.c_long(9999))",
        "a = new('a'); b = os.dup(a); os.close(a); os.write(b, b'one'); c = os.dup2(b, 50)\n"
        "os.close(b); os.write(c, b'two')",
        "os.mkdir('d'); new('d/a'); os.rename('d', 'e'); os.link('e/a', 'b'); os.unlink('e/a')\n"
        "os.rmdir('e'); new('c'); os.replace('c', 'b')",
        "os.mkdir('d'); d = os.open('d', os.O_RDONLY); a = os.open('a', os.O_CREAT, dir_fd=d)\n"
        "os.mkdir('f', dir_fd=d); os.rename('a', 'f/b', src_dir_fd=d, dst_dir_fd=d)\n"
        "new('c'); os.remove('c')",
        "d = f'/proc/self/fd/{os.open(\".\", os.O_RDONLY)}'; a = new(f'{d}/a'); os.write(a, b'x')\n"
        "os.mkdir(f'{d}/e'); os.rename(f'{d}/a', f'{d}/e/b'); new(f'{d}/c'); os.remove(f'{d}/c')",
        "Path('a').write_bytes(b'data' * 5000); shutil.copyfile('a', 'b'); shutil.copy('a', 'c')",
        "a = os.open('.', os.O_RDWR | os.O_TMPFILE); os.write(a, b'nameless'); new('a')",
    ],
)
def test_the_replay_of_everything_is_what_is_there(record: Record, code: str) -> None:
    recording = record(code)
    assert any(recording.root.iterdir())
    recording.check_complete(not_durable=())


def test_writes_through_a_shared_mapping_are_not_passed_over(record: Record) -> None:
    recording = record("a = new('a'); os.ftruncate(a, 9); mmap.mmap(a, 9)[:3] = b'abc'")
    with pytest.raises(UnsupportedError, match=r"\['a'\]"):
        recording.check_complete(not_durable=())
    recording.check_complete(not_durable=["a"])


def test_contents_and_names_are_each_durable_by_their_own_fsync(record: Record) -> None:
    recording = record("a = new('a'); os.write(a, b'one'); os.fsync(a); os.write(a, b'two')")
    assert left(recording, NOTHING) == {}
    assert left(recording, NAMES) == {"a": b"one"}
    assert left(recording, EVERYTHING) == {"a": b"onetwo"}
    assert left(recording, NOTHING, FileSystem.EXT4) == {"a": b"one"}


def test_a_rename_is_durable_by_the_fsync_of_its_directory(record: Record) -> None:
    recording = record(
        "a = new('a'); os.write(a, b'old'); os.fsync(a); sync('.')\n"
        "b = new('b'); os.write(b, b'new'); os.fsync(b); os.rename('b', 'a')"
    )
    assert left(recording, NOTHING) == {"a": b"old"}
    assert left(recording, NOTHING, FileSystem.EXT4) == {"a": b"old", "b": b"new"}
    assert left(recording, EVERYTHING) == {"a": b"new"}


def test_a_write_to_a_file_opened_with_o_dsync_is_durable(record: Record) -> None:
    recording = record("a = new('a', os.O_DSYNC); sync('.'); os.write(a, b'one')")
    assert left(recording, NOTHING) == {"a": b"one"}


def test_a_write_with_o_dsync_makes_no_other_one_durable(record: Record) -> None:
    """An engine may write its roots so, through a descriptor of their own."""
    recording = record(
        "a = new('a'); os.write(a, b'one two'); os.fsync(a); sync('.')\n"
        "b = new('a', os.O_DSYNC); os.pwrite(a, b'ONE TWO', 0); os.pwrite(b, b'six', 4)"
    )
    assert left(recording, NOTHING) == {"a": b"one six"}
    assert left(recording, EVERYTHING) == {"a": b"ONE six"}


def test_what_came_last_may_come_to_the_disk_alone(record: Record) -> None:
    recording = record(
        "a = new('a'); os.write(a, b'old'); os.fsync(a); b = new('b'); sync('.')\n"
        "os.write(a, b'lost'); os.write(b, b'newer'); os.pwrite(a, b'n', 0)\n"
        "os.unlink('b'); os.rename('a', 'c')"
    )
    assert left(recording, NEWEST_CONTENTS) == {"c": b"nld"}
    assert left(recording, NEWEST_NAME) == {"b": b"newer", "c": b"nldlost"}


def test_what_a_failed_fsync_should_have_synced_is_lost(record: Record) -> None:
    recording = record(
        "a = new('a'); sync('.'); os.write(a, b'one'); shim.arm(4, 1, 1, 5)\n"
        "try: os.fsync(a)\n"
        "except OSError: os.write(a, b'two'); os.fsync(a)"
    )
    assert left(recording, NOTHING) == {"a": b"\0\0\0two"}


@pytest.mark.parametrize("file_system", FileSystem)
def test_torn_states_are_made_of_old_and_new_sectors(
    record: Record, file_system: FileSystem
) -> None:
    recording = record(
        f"a = new('a'); os.write(a, b'o' * {2 * SECTOR_BYTES}); os.fsync(a); sync('.')\n"
        f"os.pwrite(a, b'n' * {4 * SECTOR_BYTES}, 0)"
    )
    seen = set()
    for seed in range(300):
        torn = Survival("torn", keep_names=True, keep_contents=True, torn=Random(seed))
        contents = left(recording, torn, file_system)["a"]
        assert contents is not None
        sectors = [contents[n : n + SECTOR_BYTES] for n in range(0, len(contents), SECTOR_BYTES)]
        assert {bytes(set(sector)) for sector in sectors} <= {b"o", b"n", b"\0"}
        seen.add("".join(chr(sector[0] or ord("0")) for sector in sectors))
    if file_system is FileSystem.UNORDERED:
        assert {"oo0n", "nn00", "nn"} <= seen
    else:
        overwritten, ends = ("oo", "on", "no", "nn"), ("", "n", "nn")
        assert seen == {first + end for first in overwritten for end in ends}


def test_what_the_coin_log_has_replaced_is_replaced_durably(record: Record) -> None:
    """The file's contents, and its name by a sync of its directory after the rename."""
    recording = record(
        "from cdb.contract.durability import Durability\n"
        "from cdb.schemas import find_schema\n"
        "from cdb.testing.chains import sample_chain\n"
        "database = find_schema('coin_log:SMALL').open('db', durability=Durability.POWER)\n"
        "for block in sample_chain().blocks: database.accept_block(block)\n"
        "database.close()"
    )
    (manifest,) = (name for name in left(recording, EVERYTHING) if name.endswith("/manifest"))
    for file_system in FileSystem:
        kept = left(recording, NOTHING, file_system)
        assert kept.get(manifest) == left(recording, EVERYTHING)[manifest]
        assert not any(name.endswith(".tmp") for name in kept)
