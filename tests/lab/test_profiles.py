"""Profiles: what they say, that a place is within them, and that nothing of a place is left."""

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from cdb.bench import page_cache
from cdb.lab import image
from cdb.lab.cleanup import remove_remains
from cdb.lab.disk_speed import DiskSpeed
from cdb.lab.groups import Group
from cdb.lab.image import EXT4, make_disk
from cdb.lab.places import check, kept, place
from cdb.lab.process import KilledError, Limits, NotMeasuredError, fresh_within
from cdb.lab.profile import FAST, SLOW, SPINNING, Profile, parse_profile
from cdb.lab.throttle import controllers, throttle
from tests.conftest import Commands
from tests.lab import workloads
from tests.lab.places import lines_of, seen, wait_until_gone

MB = 1_000_000
LIMITED = "test:disk=25MB/s,memory=300MB"


@pytest.mark.parametrize(
    ("text", "profile"),
    [
        ("FAST", FAST),
        ("slow", SLOW),
        ("spinning", SPINNING),
        ("mine:disk=30MB/s,iops=200,memory=2GB", Profile("mine", 30 * MB, 30 * MB, 200, 2000 * MB)),
        ("a-1:write=1.5MiB/s,read=1kB/s", Profile("a-1", 1000, 3 << 19)),
        ("m:memory=1GiB", Profile("m", memory_bytes=1 << 30)),
    ],
)
def test_own_numbers(text: str, profile: Profile) -> None:
    assert parse_profile(text) == profile


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("quick", "there is no profile 'quick': FAST, SLOW, SPINNING, or NAME:disk="),
        ("", "there is no profile ''"),
        ("slow:iops=1", "'slow' can't name"),
        ("../x:iops=1", "'../x' can't name"),
        ("mine:", "'' is no limit"),
        ("mine:speed=1MB/s", "'speed=1MB/s' is no limit"),
        ("mine:iops=0", "'iops=0': IOPS are a whole number"),
        ("mine:iops=1e3", "'iops=1e3': IOPS"),
        ("mine:disk=30", "'disk=30': it takes a size with its unit, as in disk=2GB/s"),
        ("mine:disk=30MB", "'disk=30MB': it takes"),
        ("mine:memory=2GB/s", "'memory=2GB/s': it takes a size with its unit, as in memory=2GB"),
        ("mine:memory=0GB", "'memory=0GB': it takes"),
        ("mine:disk=1MB/s,read=1MB/s", "'read=1MB/s' is said twice"),
    ],
)
def test_wrong_numbers(text: str, problem: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - its text follows
        parse_profile(text)
    assert str(caught.value).startswith(problem)
    assert "\n" not in str(caught.value)


def test_what_was_measured_is_compared() -> None:
    check(SPINNING, DiskSpeed(48.0 * MB, 40.0 * MB, 140.0))
    check(FAST, DiskSpeed(1.0, 1.0, 1.0))
    for bad in (
        DiskSpeed(70.0 * MB, 48.0 * MB, 120.0),
        DiskSpeed(48.0 * MB, 30.0 * MB, 120.0),
        DiskSpeed(48.0 * MB, 48.0 * MB, 5_000.0),
    ):
        with pytest.raises(NotMeasuredError, match="the limits don't hold here"):
            check(SPINNING, bad)


def test_throttled_by_version_1(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"cgroup {tmp_path} cgroup rw,blkio 0 0\n")
    group = Group(Path("/memory/of-a-place"), 1)
    assert controllers(SPINNING, mounts) == ("memory",)
    assert throttle("7:3", SPINNING, group, mounts) == (tmp_path / "cgroup.procs",)
    assert _limits(tmp_path) == {
        "read_bps": "7:3 48000000\n",
        "write_bps": "7:3 48000000\n",
        "read_iops": "7:3 120\n",
        "write_iops": "7:3 120\n",
    }
    throttle("7:3", FAST, group, mounts)
    assert set(_limits(tmp_path).values()) == {"7:3 0\n"}


def _limits(top: Path) -> dict[str, str]:
    files = top.glob("blkio.throttle.*_device")
    return {file.name.split(".")[2].removesuffix("_device"): file.read_text() for file in files}


def test_throttled_by_version_2(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"cgroup2 {tmp_path} cgroup2 rw 0 0\n")
    group = Group(tmp_path, 2)
    assert controllers(SLOW, mounts) == ("memory", "io")
    assert controllers(Profile("m", memory_bytes=MB), mounts) == ("memory",)
    assert throttle("7:3", SLOW, group, mounts) == ()
    limits = (tmp_path / "io.max").read_text()
    assert limits == "7:3 rbps=16800000 wbps=16800000 riops=max wiops=max\n"
    throttle("7:3", FAST, group, mounts)
    assert (tmp_path / "io.max").read_text() == "7:3 rbps=max wbps=max riops=max wiops=max\n"


def test_without_limits(tmp_path: Path) -> None:
    with place(FAST, tmp_path, MB) as made:
        assert made.join == ()
        assert made.measured is None
        assert not list(made.directory.iterdir())
        (made.directory / "file").write_bytes(b"data")
    assert not list(tmp_path.iterdir())


def test_gone_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), place(FAST, tmp_path, MB):
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/sys/dev/block").exists(), reason="Linux alone limits disks")
def test_what_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def problem(size_bytes: int = MB) -> str:
        with pytest.raises(NotMeasuredError) as caught:
            make_disk(tmp_path / "image", tmp_path / "disk", size_bytes, SLOW)
        return str(caught.value)

    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert problem() == "only root can make a disk: run it with sudo"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    which = shutil.which
    monkeypatch.setattr(
        shutil, "which", lambda tool, path: None if tool == "mkfs.ext4" else which(tool, path=path)
    )
    assert problem() == "there is no mkfs.ext4 here: apt-get install e2fsprogs"
    monkeypatch.setattr(shutil, "which", lambda tool, path: tool)
    monkeypatch.setattr(image, "LOOP_CONTROL", tmp_path / "absent")
    assert problem().startswith(f"there is no {tmp_path}/absent here")
    monkeypatch.setattr(image, "LOOP_CONTROL", tmp_path)
    assert problem(1 << 55).startswith(f"{tmp_path}: no room for a disk of 37,")


@pytest.mark.parametrize(
    ("memory_bytes", "problem"), [(1 << 60, "this machine's memory is"), (MB, "1 MB are too few")]
)
def test_unfit_memory(tmp_path: Path, memory_bytes: int, problem: str) -> None:
    with (
        pytest.raises(NotMeasuredError, match=f"{problem}|no control group"),
        place(Profile("m", memory_bytes=memory_bytes), tmp_path, MB),
    ):
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("seconds", [0.02, 0.05, 0.1, 0.2])
def test_an_interrupt_while_a_place_is_made(seconds: float, tmp_path: Path) -> None:
    """Whether it comes before the keeper's answer or after it."""
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with pytest.raises(KeyboardInterrupt), place(FAST, tmp_path, MB):
            time.sleep(10)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def disk_can_be_limited(tmp_path: Path) -> None:
    """Skip where nothing can be made; limits that don't hold are no reason to skip."""
    keeper = kept(tmp_path / "cdb-place-0", parse_profile(LIMITED), MB, EXT4)
    try:
        with keeper:
            pass
    except NotMeasuredError as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("disk_can_be_limited")
def test_within_limits(tmp_path: Path) -> None:
    with place(parse_profile(LIMITED), tmp_path, 10 * MB) as made:
        folder = made.directory.parent
        assert seen(folder) == "group mount loop files"
        assert not list(made.directory.iterdir())
        assert f"/{folder.name}\n" in fresh_within(Limits(made.join), workloads.groups).groups
        with pytest.raises(KilledError):
            fresh_within(Limits(made.join), workloads.take_memory, 600 * MB)
        file = made.directory / "file"
        file.write_bytes(os.urandom(4 * MB))
        gone = file.with_name("gone")  # as one that a merge has removed meanwhile
        page_cache.drop([gone, file])
        assert page_cache.resident_bytes([gone, file]) == 0
        device = file.stat().st_dev
    wait_until_gone(folder)
    rules = Path("/sys/fs/cgroup/blkio").glob("blkio.throttle.*_device")
    numbers = f"{os.major(device)}:{os.minor(device)} "
    assert not [line for rule in rules for line in lines_of(rule) if line.startswith(numbers)]


@dataclass(frozen=True)
class Held:
    """A process that holds a place, and one that works there."""

    holder: psutil.Process
    worker: psutil.Process
    folder: Path


HOLD = """
import subprocess, sys, time
from pathlib import Path
from cdb.lab.process import NotMeasuredError
from cdb.lab.places import place
from cdb.lab.profile import parse_profile
try:
    with place(parse_profile(sys.argv[1]), Path.cwd(), 1_000_000) as made:
        script = 'for group; do echo $$ > "$group"; done; echo $$; exec sleep 1000'
        subprocess.Popen(["sh", "-c", script, "sh", *made.join], cwd=made.directory)
        print(made.directory.parent, flush=True)
        time.sleep(1000)
except NotMeasuredError as error:
    print("not measured", error, sep="\\n")
"""


@pytest.fixture
def hold(run_command: Commands) -> Callable[[str], Held]:
    """Starts both, with a profile."""

    def start(profile: str) -> Held:
        holder = run_command.popen([sys.executable, "-c", HOLD, profile])
        assert holder.stdout is not None
        said = [holder.stdout.readline().decode().strip() for _ in range(2)]
        if said[0] == "not measured":
            pytest.skip(said[1])
        (pid,) = filter(str.isdecimal, said)
        (folder,) = {*said} - {pid}
        return Held(psutil.Process(holder.pid), psutil.Process(int(pid)), Path(folder))

    return start


def works(process: psutil.Process) -> bool:
    """Whether it is alive; its new parent may take a while to hear of its end."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize(
    ("how", "profile"),
    [
        (signal.SIGKILL, LIMITED),
        (signal.SIGINT, "test:memory=300MB"),
        (signal.SIGTERM, "test:memory=300MB"),
    ],
)
def test_gone_after_a_signal(hold: Callable[[str], Held], how: int, profile: str) -> None:
    held = hold(profile)
    assert seen(held.folder)
    held.holder.send_signal(how)
    wait_until_gone(held.folder)
    assert not works(held.worker)


@pytest.mark.usefixtures("disk_can_be_limited")
def test_remains_of_a_dead_keeper(hold: Callable[[str], Held], tmp_path: Path) -> None:
    held = hold(LIMITED)
    for process in held.holder.children():
        if any("cdb.process.children" in word for word in process.cmdline()):
            process.kill()
    held.holder.kill()
    with place(FAST, tmp_path.parent, MB) as alive:
        remove_remains(tmp_path.parent)
        assert alive.directory.exists()
    assert seen(held.folder) == "group mount loop files"
    assert works(held.worker)
    remove_remains(tmp_path)
    wait_until_gone(held.folder)
    assert not works(held.worker)
