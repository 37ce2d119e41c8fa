"""A disk of its own: a file system in a file, behind a loop device. Linux, as root."""

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cdb.lab.process import NotMeasuredError
from cdb.lab.profile import Profile
from cdb.process.children import finished

TOOLS = {"mount": "mount", "umount": "mount", "losetup": "mount"}
LOOP_CONTROL = Path("/dev/loop-control")
SYSTEM_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
LEAST_READ_AHEAD_BYTES = 128 << 10  # Linux's default


@dataclass(frozen=True, slots=True)
class FileSystem:
    """How one is made and mounted.

    package: where its mkfs is. own_bytes: what it takes for itself, beside a 32nd of the rest.
    """

    name: str
    package: str
    mkfs_options: str
    mount_options: str
    own_bytes: int


# An inode for each 64 KiB, and a block and a journal of the same size whatever the disk's.
# noinit_itable: nothing is to write to the disk behind our back.
EXT4 = FileSystem(
    "ext4",
    "e2fsprogs",
    "-q -F -b 4096 -m 0 -i 65536 -J size=64 -E nodiscard,lazy_itable_init=1",
    "noatime,noinit_itable",
    128 << 20,
)


def missing(file_system: FileSystem) -> str | None:
    """Why such a disk can't be made here; None when it can."""
    if not Path("/sys/dev/block").exists():
        return "only Linux has disks in files"
    if os.geteuid() != 0:
        return "only root can make a disk: run it with sudo"
    for tool, package in {f"mkfs.{file_system.name}": file_system.package, **TOOLS}.items():
        if shutil.which(tool, path=SYSTEM_PATH) is None:
            return f"there is no {tool} here: apt-get install {package}"
    if not LOOP_CONTROL.exists():
        return f"there is no {LOOP_CONTROL} here: a container has it only if it is privileged"
    return None


def make_disk(
    image: Path, directory: Path, size_bytes: int, profile: Profile, file_system: FileSystem = EXT4
) -> str:
    """Mount a new file system that has room for so much. Gives its device's numbers, as in 7:0.

    What can't be done is a NotMeasuredError; whatever was done by then is to be undone.
    """
    problem = missing(file_system)
    if problem is not None:
        raise NotMeasuredError(problem)
    _fill(image, size_bytes + size_bytes // 32 + file_system.own_bytes)
    _run(f"mkfs.{file_system.name}", *file_system.mkfs_options.split(), str(image))
    directory.mkdir()
    # The loop device that mount makes is gone with its last user.
    mount(image, directory, file_system, "loop")
    with suppress(FileNotFoundError):
        (directory / "lost+found").rmdir()
    _set_up(directory, profile)
    return numbers(directory)


def mount(source: Path, directory: Path, file_system: FileSystem, *options: str) -> None:
    """Mount a device, or with the option "loop" a file. Raises NotMeasuredError."""
    all_options = ",".join((*options, file_system.mount_options))
    _run("mount", "-t", file_system.name, "-o", all_options, str(source), str(directory))


def unmount(directory: Path) -> None:
    """Take the disk away. Raises NotMeasuredError, when somebody is still there too."""
    _run("umount", str(directory))


def unmount_at_last(directory: Path) -> None:
    """Take it away; where somebody is still there, a shell perhaps, with the last of them."""
    try:
        unmount(directory)
    except NotMeasuredError:
        _run("umount", "--lazy", str(directory))


def numbers(directory: Path) -> str:
    """Major and minor of the device that a directory is on."""
    device = directory.stat().st_dev
    return f"{os.major(device)}:{os.minor(device)}"


def device_of(directory: Path) -> Path:
    """The device that a directory is on."""
    return Path("/dev", _sysfs(directory).name)


def _sysfs(directory: Path) -> Path:
    return Path("/sys/dev/block", numbers(directory)).resolve()


def _fill(image: Path, n_bytes: int) -> None:
    """All its blocks at once: the disk below is not to run out of them half-way."""
    with image.open("xb") as stream:
        try:
            os.posix_fallocate(stream.fileno(), 0, n_bytes)
        except OSError as error:
            problem = f"no room for a disk of {n_bytes / 1e9:,.1f} GB: {error.strerror}"
            raise NotMeasuredError(f"{image.parent}: {problem}") from error


def _set_up(directory: Path, profile: Profile) -> None:
    # The image's own pages are not kept in memory then. Where the file system below can't do
    # that they are, and a read may come from there; it passes the loop device all the same, whose
    # limits count it.
    finished(*_found("losetup", "--direct-io=on", str(device_of(directory))))
    # Reading in order is to reach the bytes a second in spite of the IOPS, as a disk does.
    wanted = LEAST_READ_AHEAD_BYTES
    if profile.iops and profile.read_bytes_per_second:
        while wanted * profile.iops < profile.read_bytes_per_second:
            wanted *= 2
    (_sysfs(directory) / "bdi" / "read_ahead_kb").write_text(f"{wanted >> 10}\n", "ascii")


def _run(*command: str) -> None:
    done = finished(*_found(*command))
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise NotMeasuredError(f"{command[0]} failed: {lines[0]}")


def _found(tool: str, *arguments: str) -> tuple[str, ...]:
    """A command, with its tool where the system has it."""
    return (shutil.which(tool, path=SYSTEM_PATH) or tool, *arguments)
