"""bench_week: a node's week, simulated, on chia's coin store and on cdb's."""

from dataclasses import replace
from typing import Unpack

import click

from cdb.chia.bench.week import BYTES_A_BLOCK, MORE_BYTES, TEXT_BYTES_A_BLOCK, Week
from cdb.chia.full_node import check_installed
from cdb.cmds.bar import step_bar
from cdb.cmds.bench_campaign import run_campaign
from cdb.cmds.bench_options import (
    Where,
    campaign_options,
    profile_option,
)
from cdb.cmds.options import TimeType
from cdb.cmds.runner import run
from cdb.lab.profile import PROFILES, SPINNING, Profile

MEMORY_BYTES = 10**9


@click.command("week")
@click.option(
    "--blocks",
    type=click.IntRange(min=20),
    default=100_000,
    show_default=True,
    metavar="N",
    help="Sync so many blocks with transactions, of 67 coins in the mean.",
)
@click.option(
    "--time-limit",
    "time_limit_minutes",
    type=TimeType(),
    default=60.0,
    show_default=True,
    metavar="MINUTES",
    help="chia's store has so much for each of the four parts; cdb's then does as many blocks.",
)
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="So many weeks of each store, each on new files.",
)
@campaign_options("the stores")
@profile_option("SPINNING")
def bench_week(
    *,
    blocks: int,
    time_limit_minutes: float,
    runs: int,
    profiles: tuple[Profile, ...],
    **where: Unpack[Where],
) -> None:
    """Live through a node's week with chia's own coin store, and then with cdb's.

    Each syncs a chain in mainnet's shape from its first block on, looking up what each block
    spends, and then adds the hints of these blocks; it follows the tip, each twentieth time with a
    reorg; and it does so while wallets ask. Both get the same blocks, and have to give the same
    answers. It tells time, bytes written, how long the event loop stands still, and memory. It
    needs chia-blockchain: pip install '.[chia,bench]' in a checkout.

    SLOW and SPINNING, the default, have 1 GB of memory here, page cache included; they take root on
    Linux. FAST is this machine as it is; or give disk, iops and memory yourself.

    On a slow disk chia's store takes many hours for all blocks. What it reaches in its time cdb's
    does as well, and that is compared; then cdb's goes on to the last block by itself. So it takes
    up to four time limits, and what cdb's needs. Each store's week is a file as soon as it has been
    lived through; after Ctrl-C the same command goes on with the next.

    \b
    Examples:
      cdb bench week --blocks 500 --profile FAST && cdb report
      sudo cdb bench week --blocks 5000 --time-limit 10
      sudo cdb bench week --profile SPINNING --profile SLOW --dir /mnt/disk
      sudo cdb bench week --profile big:disk=48MB/s,iops=120,memory=4GB
    """
    check_installed()
    run_campaign(
        "week",
        Week(blocks, 60 * time_limit_minutes, step_bar).experiment(),
        runs=runs,
        profiles=[*map(with_memory, profiles or (SPINNING,))],
        **where,
        needed_bytes=(BYTES_A_BLOCK + TEXT_BYTES_A_BLOCK) * blocks + MORE_BYTES,
    )


def with_memory(profile: Profile) -> Profile:
    """SLOW and SPINNING with the memory of a week, and names that say so; others as they are."""
    if not profile.limits_disk or profile.name not in PROFILES:
        return profile
    return replace(profile, name=f"{profile.name}-1GB", memory_bytes=MEMORY_BYTES)


if __name__ == "__main__":
    run(bench_week)
