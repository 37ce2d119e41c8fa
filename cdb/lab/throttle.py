"""The block-I/O controller: how fast one device may be."""

from pathlib import Path

from cdb.lab.groups import MOUNTS, Group, place_for_groups, top_of
from cdb.lab.process import NotMeasuredError
from cdb.lab.profile import Profile

# With version 1, pages that the kernel writes back later are nobody's: they count for the group
# above all others. So the limits stand there, on our own loop device alone, and all who use it
# join that group. With version 2 they count for the group whose memory they are; what a file
# system's own threads write, as its journal, isn't limited there.


def controllers(profile: Profile, mounts: Path = MOUNTS) -> tuple[str, ...]:
    """Which ones the group of a place needs."""
    if not profile.limits_disk or top_of("blkio", mounts):
        return ("memory",)
    return ("memory", "io")


def missing(profile: Profile) -> str | None:
    """Why a disk can't have these limits here; None when it can."""
    if profile.limits_disk:
        try:
            place_for_groups(*controllers(profile))
        except NotMeasuredError as error:
            return str(error)
    return None


def throttle(
    device: str, profile: Profile, group: Group, mounts: Path = MOUNTS
) -> tuple[Path, ...]:
    """Limit a device, by its numbers as in 7:0, or free it again by FAST.

    Gives the cgroup.procs that its users have to join besides. Raises OSError where the kernel
    can't.
    """
    reads, writes = profile.read_bytes_per_second, profile.write_bytes_per_second
    top = top_of("blkio", mounts)
    if top is None:
        limits = {"rbps": reads, "wbps": writes, "riops": profile.iops, "wiops": profile.iops}
        line = " ".join(f"{name}={limit or 'max'}" for name, limit in limits.items())
        _write(group.directory / "io.max", f"{device} {line}")
        return ()
    for name, limit in {
        "read_bps": reads,
        "write_bps": writes,
        "read_iops": profile.iops,
        "write_iops": profile.iops,
    }.items():
        _write(top.directory / f"blkio.throttle.{name}_device", f"{device} {limit or 0}")
    return (top.procs,)


def _write(file: Path, line: str) -> None:
    file.write_text(f"{line}\n", "ascii")
