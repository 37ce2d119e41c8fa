"""A disk for trials whose power can be cut: a file system in a file, behind a loop device.

A process of its own takes it away, also after kill -9 of this one (cdb.lab.places).
"""

import errno
import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, sleep

from cdb.errors import UnsupportedError
from cdb.lab.cleanup import DISK
from cdb.lab.image import EXT4, FileSystem, device_of, mount, unmount
from cdb.lab.image import missing as missing_for_disks
from cdb.lab.places import kept, new_folder
from cdb.lab.process import NotMeasuredError
from cdb.lab.profile import FAST, Profile
from cdb.lab.throttle import missing as missing_for_limits

SMALL_EXT4 = replace(
    EXT4,
    mkfs_options="-q -F -b 4096 -m 0 -i 65536 -J size=4 -E nodiscard,lazy_itable_init=1",
    own_bytes=16 << 20,
)
XFS = FileSystem("xfs", "xfsprogs", "-q -f -K", "noatime", 300 << 20)
SIZE_BYTES = 64 << 20
LONGEST_SECONDS = 20.0
_SHUT_DOWN = 0x8004587D  # FS_IOC_SHUTDOWN
_WITHOUT_LOG = 2  # NOLOGFLUSH: not even the journal is written


@dataclass(frozen=True)
class LoopDisk:
    """directory: where it is mounted. groups: see Request of live.py."""

    directory: Path
    groups: tuple[Path, ...]
    device: Path
    file_system: FileSystem

    def cut_power(self) -> None:
        """From now on nothing reaches the disk, and all calls fail."""
        descriptor = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(descriptor, _SHUT_DOWN, struct.pack("I", _WITHOUT_LOG))
        finally:
            os.close(descriptor)

    def restart(self) -> None:
        """Mount what is on the disk, which nobody may use meanwhile."""
        unmount(self.directory)
        _wait_until_unclaimed(self.device)
        mount(self.device, self.directory, self.file_system)


def _wait_until_unclaimed(device: Path) -> None:
    """What is unmounted may live on for a while, and a mount would give the same, shut down.

    Raises UnsupportedError if somebody else keeps it, by a mount namespace of his own.
    """
    deadline = monotonic() + LONGEST_SECONDS
    while True:
        try:
            os.close(os.open(device, os.O_RDONLY | os.O_CLOEXEC | os.O_EXCL))
        except OSError as error:
            if error.errno != errno.EBUSY or monotonic() > deadline:
                raise UnsupportedError(f"{device} stays mounted: {error.strerror}") from error
            sleep(0.01)
        else:
            return


def missing(file_system: FileSystem, profile: Profile = FAST) -> str | None:
    """Why such a disk can't be made here; None when it can."""
    return missing_for_disks(file_system) or missing_for_limits(profile)


@contextmanager
def loop_disk(parent: Path, file_system: FileSystem, profile: Profile = FAST) -> Iterator[LoopDisk]:
    """Make a disk of SIZE_BYTES below a directory; it is gone at the end, whatever happens.

    Raises UnsupportedError where it can't be made.
    """
    folder = new_folder(parent)
    with ExitStack() as stack:
        try:
            groups = stack.enter_context(kept(folder, profile, SIZE_BYTES, file_system))
        except NotMeasuredError as error:
            raise UnsupportedError(str(error)) from error
        device = device_of(folder / DISK)
        # The device lasts as long as it is open: it stays when the file system is unmounted.
        stack.callback(os.close, os.open(device, os.O_RDONLY | os.O_CLOEXEC))
        yield LoopDisk(folder / DISK, groups, device, file_system)
