"""Power cuts of real file systems: they find stores that don't sync, and leave nothing behind."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cdb.testing.faults import CATALOGUE, BrokenPromiseError, Coverage, all_subjects, scratch
from cdb.testing.faults.loop_disk import SMALL_EXT4, loop_disk
from cdb.testing.faults.trial import MEMORY
from cdb.testing.plugin import FAULT_COVERAGE
from tests.conftest import Commands
from tests.lab.places import seen, wait_until_gone
from tests.lab.processes import soon

pytestmark = pytest.mark.long  # of the lab, not of what it looks at

CUTS = 3
MOST_CUTS = 30
FAST_DISKS = ["cut-ext4", "cut-xfs"]
SLOW_DISKS = ["cut-slow", "cut-spinning"]
Cut = Callable[[str, str, int], Coverage]


@pytest.fixture
def cut(record_property: Callable[[str, object], None]) -> Cut:
    """Makes some cuts of a kind, and says how many."""

    def make(trial: str, spec: str, cuts: int) -> Coverage:
        kind = CATALOGUE[trial]
        problem = kind.missing()
        if problem is not None:
            pytest.skip(problem)
        with scratch() as directory:
            coverage = kind.trial(spec, 1, directory, most=cuts, only=None)
        record_property(FAULT_COVERAGE, str(coverage))
        return coverage

    return make


@pytest.mark.parametrize("name", ["blockchain_v2", "rocks_kv", "coin_log"])
@pytest.mark.parametrize("trial", FAST_DISKS)
def test_nothing_is_lost(cut: Cut, trial: str, name: str) -> None:
    assert cut(trial, all_subjects()[name].spec, CUTS).points == CUTS


@pytest.mark.parametrize("trial", SLOW_DISKS)
def test_nothing_is_lost_by_a_slow_disk(cut: Cut, trial: str) -> None:
    assert cut(trial, all_subjects()["coin_log"].spec, 1).points == 1


@pytest.mark.parametrize("trial", FAST_DISKS)
def test_a_good_store_passes(cut: Cut, trial: str) -> None:
    assert cut(trial, "tests.broken.files:Good", CUTS).points == CUTS


@pytest.mark.parametrize("name", ["NoFsync", "NoDirectoryFsync"])
@pytest.mark.parametrize("trial", FAST_DISKS)
def test_a_store_that_does_not_sync_is_caught(cut: Cut, trial: str, name: str) -> None:
    with pytest.raises(BrokenPromiseError, match=r"was acknowledged|was begun|Corrupt") as caught:
        cut(trial, f"tests.broken.files:{name}", MOST_CUTS)
    assert f" {trial} " in caught.value.case.command


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_of_a_disk(run_command: Commands, how: int) -> None:
    problem = CATALOGUE["cut-ext4"].missing()
    if problem is not None:
        pytest.skip(problem)
    line = [sys.executable, "-m", "cdb.testing.faults", "cut-ext4", "memory", "--most", "1000"]
    trial = run_command.popen(line)

    def folders() -> list[Path]:
        return list(MEMORY.glob(f"cdb-faults-*/cdb-place-{trial.pid}-*"))

    assert soon(lambda: [seen(folder) for folder in folders()] == ["mount loop files"])
    (folder,) = folders()
    trial.send_signal(how)
    wait_until_gone(folder)
    shutil.rmtree(folder.parent, ignore_errors=True)


def test_a_restarted_disk_is_a_new_one_though_another_namespace_held_the_old() -> None:
    problem = CATALOGUE["cut-ext4"].missing()
    if problem is not None:
        pytest.skip(problem)
    hold = ["unshare", "--mount", "sh", "-c", "echo held; exec sleep 0.5"]
    with (
        scratch() as directory,
        loop_disk(directory, SMALL_EXT4) as disk,
        subprocess.Popen(hold, stdout=subprocess.PIPE) as holder,
    ):
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        disk.cut_power()
        disk.restart()
        (disk.directory / "file").write_bytes(b"data")


def test_a_moment_that_is_none(run_command: Commands) -> None:
    if CATALOGUE["cut-ext4"].missing() is not None:
        pytest.skip(str(CATALOGUE["cut-ext4"].missing()))
    line = [sys.executable, "-m", "cdb.testing.faults", "cut-ext4", "memory", "--only", "soon"]
    trial = run_command.popen(line)
    _, said = trial.communicate()
    assert said == b"Error: there is no cut-ext4 soon of memory at seed 1\n"
