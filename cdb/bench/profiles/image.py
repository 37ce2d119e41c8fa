"""A disk of its own: a file system in a file, behind a loop device. Linux, as root."""

import os
import shutil
import subprocess
from pathlib import Path

from cdb.bench.process import NotMeasuredError
from cdb.bench.profiles.profile import Profile

TOOLS = {"mkfs.ext4": "e2fsprogs", "mount": "mount", "umount": "mount", "losetup": "mount"}
SYSTEM_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
LEAST_READ_AHEAD_BYTES = 128 << 10  # Linux's default
# An inode for each 64 KiB, and a block and a journal of the same size whatever the disk's.
_MKFS = "-q -F -b 4096 -m 0 -i 65536 -J size=64 -E nodiscard,lazy_itable_init=1"
_JOURNAL_AND_MORE_BYTES = 128 << 20


def make_disk(image: Path, directory: Path, size_bytes: int, profile: Profile) -> str:
    """Mount a new file system that has room for so much. Gives its device's numbers, as in 7:0.

    What can't be done is a NotMeasuredError; whatever was done by then is to be undone.
    """
    _check_possible()
    _fill(image, size_bytes + size_bytes // 32 + _JOURNAL_AND_MORE_BYTES)
    _run("mkfs.ext4", *_MKFS.split(), str(image))
    directory.mkdir()
    # noinit_itable: nothing is to write to the disk behind our back. The loop device that mount
    # makes is gone with its last user.
    _run("mount", "-o", "loop,noatime,noinit_itable", str(image), str(directory))
    (directory / "lost+found").rmdir()
    device = numbers(directory)
    _set_up(device, profile)
    return device


def unmount(directory: Path) -> None:
    """Take the disk away; where somebody is still there, a shell perhaps, with the last of them."""
    if _try("umount", str(directory)).returncode:
        _run("umount", "--lazy", str(directory))


def numbers(directory: Path) -> str:
    """Major and minor of the device that a directory is on."""
    device = directory.stat().st_dev
    return f"{os.major(device)}:{os.minor(device)}"


def _check_possible() -> None:
    if not Path("/sys/dev/block").exists():
        raise NotMeasuredError("a disk can be limited on Linux alone")
    if os.geteuid() != 0:
        raise NotMeasuredError("only root can limit a disk: run it with sudo")
    for tool, package in TOOLS.items():
        if shutil.which(tool, path=SYSTEM_PATH) is None:
            raise NotMeasuredError(f"there is no {tool} here: apt-get install {package}")


def _fill(image: Path, n_bytes: int) -> None:
    """All its blocks at once: the disk below is not to run out of them half-way."""
    with image.open("xb") as stream:
        try:
            os.posix_fallocate(stream.fileno(), 0, n_bytes)
        except OSError as error:
            problem = f"no room for a disk of {n_bytes / 1e9:,.1f} GB: {error.strerror}"
            raise NotMeasuredError(f"{image.parent}: {problem}") from error


def _set_up(device: str, profile: Profile) -> None:
    sysfs = Path("/sys/dev/block", device)
    # The image's own pages are not kept in memory then. Where the file system below can't do
    # that they are, and a read may come from there; it passes the loop device all the same, whose
    # limits count it.
    _try("losetup", "--direct-io=on", f"/dev/{sysfs.resolve().name}")
    # Reading in order is to reach the bytes a second in spite of the IOPS, as a disk does.
    wanted = LEAST_READ_AHEAD_BYTES
    if profile.iops and profile.read_bytes_per_second:
        while wanted * profile.iops < profile.read_bytes_per_second:
            wanted *= 2
    (sysfs / "bdi" / "read_ahead_kb").write_text(f"{wanted >> 10}\n", "ascii")


def _run(*command: str) -> None:
    done = _try(*command)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise NotMeasuredError(f"{command[0]} failed: {lines[0]}")


def _try(*command: str) -> "subprocess.CompletedProcess[str]":
    program = shutil.which(command[0], path=SYSTEM_PATH) or command[0]
    return subprocess.run([program, *command[1:]], capture_output=True, text=True, check=False)  # noqa: S603 - our own commands
