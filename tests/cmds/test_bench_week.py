"""bench week where it can't run: one line, and nothing is left. And what its profiles are."""

from importlib.util import find_spec

import pytest

from cdb.cmds.bench_week import with_memory
from cdb.lab.profile import FAST, SLOW, SPINNING, parse_profile
from tests.conftest import Commands, contents


@pytest.mark.skipif(find_spec("chia") is not None, reason="chia-blockchain is installed here")
def test_without_chia_it_says_how_to_install_it(run_command: Commands) -> None:
    error = run_command("bench", "week", "--blocks", 20).error()
    assert error.startswith("chia-blockchain is not installed beside cdb; pip install ")
    assert not contents(run_command.cwd)


@pytest.mark.parametrize(
    "options",
    [("--blocks", 5), ("--runs", 0), ("--time-limit", 0), ("--profile", "FASTER"), ("--dir", "")],
)
def test_wrong_usage(options: tuple[str | int, ...], run_command: Commands) -> None:
    run_command("bench", "week", *options).usage_error()


def test_slow_disks_come_with_little_memory() -> None:
    own = parse_profile("mine:iops=100,memory=4GB")
    assert [with_memory(profile) for profile in (FAST, own)] == [FAST, own]
    for profile in (SLOW, SPINNING):
        limited = with_memory(profile)
        assert (limited.name, limited.memory_bytes) == (f"{profile.name}-1GB", 10**9)
        assert limited.write_bytes_per_second == profile.write_bytes_per_second
