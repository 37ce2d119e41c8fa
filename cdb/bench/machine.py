"""Which machine measures. Keys that pyperf has are named as there; not the host's name."""

import json
import math
import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdb.errors import CdbError
from cdb.lab.disk_speed import sync_latencies, write_bytes_per_second
from cdb.process.children import output_of

# Kinds of CPU time, as psutil names them: the machine's, and a process's with its ended children.
_BUSY = ("user", "nice", "system", "irq", "softirq", "steal")
_OWN = ("user", "system", "children_user", "children_system")


@dataclass(frozen=True, slots=True)
class Machine:
    """The processor, memory and system, and the disk of a directory. None is what isn't known."""

    name: str
    cpu_model_name: str | None
    cpu_count: int | None
    physical_cpu_count: int | None
    memory_bytes: int
    platform: str
    os: str
    kernel: str
    architecture: str
    virtualization: str | None
    disk_device: str | None
    disk_model: str | None
    disk_rotational: bool | None
    file_system: str | None
    mount_point: str | None
    mount_options: str | None
    fdatasync_p50_microseconds: float
    fdatasync_p99_microseconds: float
    write_bytes_per_second: float


def machine_facts(directory: Path | str) -> Machine:
    """Facts of this machine and of the directory's disk, which is measured for some seconds.

    Raises CdbError where psutil is missing.
    """
    psutil, cpu = _psutil(), _lscpu()
    mount = _mount(Path(directory).resolve())
    device = mount.device if mount else None
    disk = _lsblk(device) if device else {}
    syncs = sync_latencies(Path(directory))
    return Machine(
        name=machine_name(),
        cpu_model_name=_cpu_model_name(cpu),
        cpu_count=psutil.cpu_count(),
        physical_cpu_count=psutil.cpu_count(logical=False),
        memory_bytes=psutil.virtual_memory().total,
        platform=platform.platform(),
        os=_os_name(),
        kernel=platform.release(),
        architecture=platform.machine(),
        virtualization=cpu.get("Hypervisor vendor"),
        disk_device=device,
        disk_model=disk.get("model"),
        disk_rotational=disk.get("rota"),
        file_system=mount.fstype if mount else None,
        mount_point=mount.mountpoint if mount else None,
        mount_options=mount.opts if mount else None,
        fdatasync_p50_microseconds=syncs.p50_microseconds,
        fdatasync_p99_microseconds=syncs.p99_microseconds,
        write_bytes_per_second=write_bytes_per_second(Path(directory)),
    )


def machine_name() -> str:
    """A name for this machine's results, such as amd-epyc-2-cores-24-gb."""
    psutil = _psutil()
    model = _cpu_model_name(_lscpu()) or platform.machine()
    cores = psutil.cpu_count(logical=False) or psutil.cpu_count() or 1
    return slug(model, cores, psutil.virtual_memory().total)


def slug(cpu_model_name: str, cores: int, memory_bytes: int) -> str:
    """Memory is rounded up to whole GiB: the kernel keeps some of what is there."""
    # Without marks, clock rates and what else says nothing: Intel(R) Core(TM) i7-8700K CPU @ 3.7GHz
    model = re.sub(r"\(\w+\)|\bCPU\b|@.*|\b\d+-Core\b|\bProcessor\b", " ", cpu_model_name)
    words = f"{model} {cores} cores {math.ceil(memory_bytes / (1 << 30))} GB"
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


def load_average() -> float | None:
    """How many processes wanted to run, over the last minute."""
    try:
        return os.getloadavg()[0]
    except OSError:
        return None


def others_cpu_seconds() -> float | None:
    """What processes other than this one and those it started have used since the machine began.

    Stolen time counts: it is another machine's on the same processor. None where that isn't told.
    """
    psutil = _psutil()
    try:
        used = _cpu_seconds(psutil.cpu_times()._asdict(), _BUSY)
        this = psutil.Process()
        for process in (this, *this.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                used -= _cpu_seconds(process.cpu_times()._asdict(), _OWN)
    except (psutil.Error, OSError):
        return None
    return used


def _cpu_seconds(times: Mapping[str, float], kinds: Sequence[str]) -> float:
    return sum(times.get(kind, 0.0) for kind in kinds)


def _psutil() -> Any:
    try:
        import psutil
    except ImportError as error:
        raise CdbError("psutil is missing; install it: pip install 'coinset-db[bench]'") from error
    return psutil


def _mount(directory: Path) -> Any:
    """Where the directory's file system is mounted: of those above it, the nearest and last."""
    above = [
        mount
        for mount in _psutil().disk_partitions(all=True)
        if directory.is_relative_to(mount.mountpoint)
    ]
    return max(reversed(above), key=lambda mount: len(mount.mountpoint), default=None)


def _cpu_model_name(cpu: dict[str, str]) -> str | None:
    if platform.system() == "Darwin":
        return output_of("sysctl", "-n", "machdep.cpu.brand_string")
    return cpu.get("Model name")


def _os_name() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()


def _lscpu() -> dict[str, str]:
    fields = _json("lscpu", "--json").get("lscpu", [])
    return {field["field"].rstrip(":"): field["data"] for field in _all_of(fields)}


def _lsblk(device: str) -> dict[str, Any]:
    """Of a partition, the disk that it is on."""
    found = _json("lsblk", "--json", "--inverse", "--output", "NAME,MODEL,ROTA", device)
    return next(reversed(list(_all_of(found.get("blockdevices", [])))), {})


def _all_of(nodes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for node in nodes:
        yield node
        yield from _all_of(node.get("children", []))


def _json(*command: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(output_of(*command) or "{}")
    return found
