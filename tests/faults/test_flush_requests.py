"""What a commit asks of the disk, as the kernel counts it: a preloaded library doesn't see Go."""

from collections.abc import Callable

import pytest

from cdb.contract.durability import Durability
from cdb.process.meter import Meter
from cdb.schemas import find_schema
from cdb.testing.chains import block_at
from cdb.testing.faults import scratch
from cdb.testing.faults.loop_disk import SMALL_EXT4, loop_disk, missing
from cdb.testing.plugin import FAULT_COVERAGE
from tests.engines import SCHEMAS, SYNCED_AT_PROCESS

COMMITS = 100
JOURNAL_SECONDS = 5
"""As often ext4 commits its journal by itself, with a flush."""


@pytest.mark.skipif(missing(SMALL_EXT4) is not None, reason=str(missing(SMALL_EXT4)))
@pytest.mark.parametrize("level", [Durability.POWER, Durability.PROCESS])
@pytest.mark.parametrize("name", [*SCHEMAS, "coin_log", "offset_log"])
def test_a_commit_flushes_the_disk_at_power_alone(
    name: str, level: Durability, record_property: Callable[[str, object], None]
) -> None:
    found = find_schema(name)
    if found.missing is not None:
        pytest.skip(found.missing)
    if level not in found.spec.durabilities:
        pytest.skip(f"{name} has no level {level.value}")
    with scratch(on_disk=True) as directory, loop_disk(directory, SMALL_EXT4) as disk:
        with found.open(disk.directory / "db", durability=level) as schema:
            schema.accept_block(block_at(1))
            schema.flush()
            meter = Meter(disk.directory)
            for index in range(2, 2 + COMMITS):
                schema.accept_block(block_at(index))
                schema.flush()
            asked, seconds = meter.disk_flushes(), meter.seconds()
        assert asked is not None
        record_property(
            FAULT_COVERAGE,
            f"{name} {level.value}: {asked} flushes of the disk in {COMMITS} commits",
        )
    if level is Durability.POWER:
        assert asked >= COMMITS
    elif name in SYNCED_AT_PROCESS:
        assert asked < 1.5 * COMMITS
    else:
        assert asked <= 1 + seconds / JOURNAL_SECONDS
