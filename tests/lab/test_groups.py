"""Control groups, as made-up systems describe them."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from cdb.lab.groups import Group, groups_named, make_group, place_for_groups, top_of
from cdb.lab.process import NotMeasuredError
from tests.conftest import Commands

Described = Callable[..., Group]


@pytest.fixture
def described(tmp_path: Path) -> Described:
    """Looks for the place by the text of /proc/self/cgroup and /proc/self/mounts."""

    def find(groups: str, mounts: str, *controllers: str) -> Group:
        files = tmp_path / "cgroup", tmp_path / "mounts"
        for file, text in zip(files, (groups, mounts), strict=True):
            file.write_text(text)
        return place_for_groups(*controllers, groups=files[0], mounts=files[1])

    return find


def test_version_1(described: Described) -> None:
    groups = "5:cpu,cpuacct:/c\n4:memory:/a/b\n0::/\n"
    mounts = "cgroup /g/cpu cgroup rw,cpu,cpuacct 0 0\ncgroup /g/memory cgroup rw,memory 0 0\n"
    assert described(groups, mounts, "memory") == Group(Path("/g/memory/a/b"), 1)
    with pytest.raises(NotMeasuredError, match="for blkio can be made"):
        described(groups, mounts, "blkio")


@pytest.mark.parametrize(
    ("slice_shares", "top_shares", "found"),
    [
        ("cpu io memory", "", "user"),
        ("cpu memory", "io memory", ""),
        ("memory", "memory", None),
        (None, None, None),
    ],
)
def test_version_2(
    described: Described,
    tmp_path: Path,
    slice_shares: str | None,
    top_shares: str | None,
    found: str | None,
) -> None:
    top = tmp_path / "unified"
    (top / "user" / "session").mkdir(parents=True)
    (top / "user" / "session" / "cgroup.subtree_control").write_text("\n")
    for directory, shares in ((top / "user", slice_shares), (top, top_shares)):
        if shares is not None:
            (directory / "cgroup.subtree_control").write_text(f"{shares}\n")
    arguments = "0::/user/session\n", f"cgroup2 {top} cgroup2 rw,nsdelegate 0 0\n", "memory", "io"
    if found is not None:
        assert described(*arguments) == Group(top / found, 2)
    else:
        with pytest.raises(NotMeasuredError, match="for memory and io can be made"):
            described(*arguments)


def test_none(tmp_path: Path) -> None:
    with pytest.raises(NotMeasuredError):
        place_for_groups("memory", groups=tmp_path / "no", mounts=tmp_path / "nothing")


def test_by_name(tmp_path: Path) -> None:
    (tmp_path / "one" / "a" / "mine").mkdir(parents=True)
    (tmp_path / "two" / "mine").mkdir(parents=True)
    mounts = tmp_path / "mounts"
    mounts.write_text(
        f"cgroup {tmp_path}/one cgroup rw,blkio 0 0\ncgroup2 {tmp_path}/two cgroup2 rw 0 0\n"
        f"proc {tmp_path} proc rw 0 0\n"
    )
    found = [Group(tmp_path / "one/a/mine", 1), Group(tmp_path / "two/mine", 2)]
    assert groups_named("mine", mounts) == found
    assert top_of("blkio", mounts) == Group(tmp_path / "one", 1)
    assert top_of("memory", mounts) is None


@pytest.mark.parametrize(
    ("version", "limits"),
    [
        (1, {"memory.limit_in_bytes": "7000\n", "memory.memsw.limit_in_bytes": "7000\n"}),
        (2, {"memory.max": "7000\n", "memory.swap.max": "0\n"}),
    ],
)
def test_limits_on_memory(tmp_path: Path, version: int, limits: dict[str, str]) -> None:
    memory, swap = limits
    Group(tmp_path, version).limit_memory(7_000)
    assert [file.name for file in tmp_path.iterdir()] == [memory]
    (tmp_path / swap).touch()
    Group(tmp_path, version).limit_memory(7_000)
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == limits


def test_more_beside_the_inner_group(tmp_path: Path) -> None:
    assert Group(tmp_path, 1).inner("memory") == Group(tmp_path, 1)
    inner = Group(tmp_path, 2).inner("memory", "io")
    assert inner == Group(tmp_path / "inner", 2)
    assert inner.directory.is_dir()
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+memory +io"


def test_the_end_of_all_below(run_command: Commands) -> None:
    try:
        group = make_group(f"cdb-test-{os.getpid()}", "memory")
    except NotMeasuredError as error:
        pytest.skip(str(error))
    below = Group(group.directory / "below", group.version)
    below.directory.mkdir()
    asleep = run_command.popen(["sleep", "1000"])
    below.procs.write_text(f"{asleep.pid}\n")
    assert groups_named(group.directory.name) == [group]
    group.end()
    assert asleep.wait() == -signal.SIGKILL
    assert not group.directory.exists()
