"""Checks a coin log, and makes what is derived from the log again."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from cdb.contract.durability import Durability
from cdb.contract.progress import Progress
from cdb.disk.damage import Damage
from cdb.errors import storage_errors
from cdb.stores.coin_log.binding import CoinLog, FoundDamage, inspect

LOG = "log"
ACKED = "acked"
DERIVED = "derived"
MANIFEST = "derived/manifest"


def check_coin_log(path: Path, progress: Progress) -> Iterator[Damage]:
    """All damage to derived files, and the first to the log. Nobody may write meanwhile."""
    for found in inspect(path, progress):
        repairable_from = LOG if found.can_be_rebuilt else None
        yield Damage(path / found.error.file, _problem(found), repairable_from)


def _problem(found: FoundDamage) -> str:
    if found.error.offset < 0 or found.error.file != LOG:
        return found.error.problem
    newest = found.newest_index
    place = "before the first block" if newest is None else f"behind block {newest}"
    return f"{found.error.problem}, {place}"


def rebuild_derived(path: Path, damaged: list[Path], *, keys: bool) -> None:
    """Remove damaged derived files; opening the log makes all of them again from it.

    keys: see CoinLog.

    `acked` stays, for what of it is intact: opening mends it. Raises CorruptDatabaseError, and
    changes nothing, where the log is damaged.
    """
    before_damage = CoinLog(
        path, durability=Durability.POWER, read_only=True, forgiving=True, before_damage=True
    )
    with closing(before_damage) as log:
        log.check()
    for file in damaged:
        if path / DERIVED in file.parents:
            with storage_errors(file):
                file.unlink(missing_ok=True)
    CoinLog(path, durability=Durability.POWER, forgiving=True, keys=keys).close()
