"""What limits a machine has, by a name or by own numbers."""

import re
from dataclasses import dataclass

UNITS = {"B": 1, **{f"{p}B": 1000**n for n, p in enumerate("kMGT", 1)}}
UNITS |= {f"{p}iB": 1024**n for n, p in enumerate("KMGT", 1)}
DISK_LIMITS = ("read_bytes_per_second", "write_bytes_per_second", "iops")
FORM = "NAME:disk=30MB/s,read=…,write=…,iops=200,memory=2GB"


@dataclass(frozen=True, slots=True)
class Profile:
    """A disk's speed and the memory, page cache included; None is what this machine has.

    Reads and writes are counted apart: each may have all of its bytes, and each the IOPS.
    """

    name: str
    read_bytes_per_second: int | None = None
    write_bytes_per_second: int | None = None
    iops: int | None = None
    memory_bytes: int | None = None

    @property
    def limits_disk(self) -> bool:
        """Whether it asks for another disk than there is."""
        return any(getattr(self, name) for name in DISK_LIMITS)


FAST = Profile("FAST")
SLOW = Profile("SLOW", 16_800_000, 16_800_000, None, 8_000_000_000)
SPINNING = Profile("SPINNING", 48_000_000, 48_000_000, 120)
PROFILES = {profile.name: profile for profile in (FAST, SLOW, SPINNING)}


def parse_profile(text: str) -> Profile:
    """The profile that a name stands for, or own numbers such as mine:disk=30MB/s,memory=2GB.

    Raises ValueError, whose text says what is wrong.
    """
    name, colon, numbers = text.partition(":")
    if not colon:
        if name.upper() not in PROFILES:
            raise ValueError(f"there is no profile {name!r}: {', '.join(PROFILES)}, or {FORM}")
        return PROFILES[name.upper()]
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name) or name.upper() in PROFILES:
        raise ValueError(f"{name!r} can't name own numbers: take other small letters and digits")
    return Profile(name, **_limits(numbers))


def _limits(numbers: str) -> dict[str, int]:
    limits: dict[str, int] = {}
    for number in numbers.split(","):
        key, _, value = number.partition("=")
        fields = {
            "disk": ("read_bytes_per_second", "write_bytes_per_second"),
            "read": ("read_bytes_per_second",),
            "write": ("write_bytes_per_second",),
            "iops": ("iops",),
            "memory": ("memory_bytes",),
        }.get(key)
        if fields is None:
            raise ValueError(f"{number!r} is no limit: a profile reads {FORM}")
        for field in fields:
            if field in limits:
                raise ValueError(f"{number!r} is said twice")
            limits[field] = _count(number, value) if key == "iops" else _bytes(number, key, value)
    return limits


def _count(number: str, value: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,8}", value):
        raise ValueError(f"{number!r}: IOPS are a whole number, such as iops=200")
    return int(value)


def _bytes(number: str, key: str, value: str) -> int:
    per_second = "" if key == "memory" else "/s"
    found = re.fullmatch(rf"([0-9]+(?:\.[0-9]+)?)({'|'.join(UNITS)}){per_second}", value)
    n_bytes = round(float(found[1]) * UNITS[found[2]]) if found else 0
    if not 0 < n_bytes < 1 << 63:
        example = f"{key}=2GB{per_second}"
        raise ValueError(f"{number!r}: it takes a size with its unit, as in {example}")
    return n_bytes
