"""Limits on memory: what is within them, what exceeds them, and that no group is left."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cdb.bench.memory import LEAST_BYTES, limited_memory, place_for_groups
from cdb.bench.process import KilledError, NotMeasuredError, fresh_within
from tests.bench import workloads


@pytest.fixture
def place() -> Path:
    """The directory below which groups are made here; skips where none can be."""
    try:
        with limited_memory(LEAST_BYTES):
            return place_for_groups()[0]
    except NotMeasuredError as error:
        pytest.skip(str(error))


def test_a_process_within(place: Path) -> None:
    with limited_memory(LEAST_BYTES) as procs:
        joined = fresh_within(procs, workloads.groups).groups
        assert f"/{procs.parent.name}\n" in joined
        assert fresh_within(procs, workloads.take_memory, 1000).text == "1000"
    assert not list(place.glob("cdb-bench-*"))


def test_a_process_beyond(place: Path) -> None:
    with limited_memory(LEAST_BYTES) as procs, pytest.raises(KilledError):
        fresh_within(procs, workloads.take_memory, 4 * LEAST_BYTES)
    assert not list(place.glob("cdb-bench-*"))


def test_too_little_for_anything() -> None:
    with pytest.raises(NotMeasuredError, match="too few"), limited_memory(LEAST_BYTES - 1):
        pass


@pytest.fixture
def described(tmp_path: Path) -> Callable[[str, str], tuple[Path, str]]:
    """Looks for the place by the text of /proc/self/cgroup and /proc/self/mounts."""

    def find(groups: str, mounts: str) -> tuple[Path, str]:
        (tmp_path / "cgroup").write_text(groups)
        (tmp_path / "mounts").write_text(mounts)
        return place_for_groups(tmp_path / "cgroup", tmp_path / "mounts")

    return find


def test_version_1(described: Callable[[str, str], tuple[Path, str]]) -> None:
    groups = "5:cpu,cpuacct:/c\n4:memory:/a/b\n0::/\n"
    mounts = "cgroup /g/cpu cgroup rw,cpu,cpuacct 0 0\ncgroup /g/memory cgroup rw,memory 0 0\n"
    assert described(groups, mounts) == (Path("/g/memory/a/b"), "memory.limit_in_bytes")


@pytest.mark.parametrize("offers", ["cpu memory", "cpu", None])
def test_version_2(
    described: Callable[[str, str], tuple[Path, str]], tmp_path: Path, offers: str | None
) -> None:
    own = tmp_path / "unified" / "user" / "session"
    own.mkdir(parents=True)
    if offers is not None:
        (own.parent / "cgroup.subtree_control").write_text(f"{offers}\n")
    arguments = "0::/user/session\n", f"cgroup2 {tmp_path}/unified cgroup2 rw,nsdelegate 0 0\n"
    if offers == "cpu memory":
        assert described(*arguments) == (own.parent, "memory.max")
    else:
        with pytest.raises(NotMeasuredError, match="no control group"):
            described(*arguments)


def test_no_control_groups(tmp_path: Path) -> None:
    with pytest.raises(NotMeasuredError):
        place_for_groups(tmp_path / "no", tmp_path / "nothing")
