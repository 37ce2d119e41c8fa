"""Checks a coin log, and makes what is derived from the log again."""

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

from cdb.contract.durability import Durability
from cdb.contract.progress import Progress
from cdb.contract.secondary_keys import EXTRAS, PUZZLE_HASH
from cdb.disk.damage import Damage
from cdb.disk.home import checked_home, format_at, repaired_home
from cdb.disk.paths import located
from cdb.errors import CorruptDatabaseError, storage_errors
from cdb.stores.coin_log.binding import CoinLog, FoundDamage, has_keys, inspect

FORMAT_VERSION = 3
LOG = "log"
ACKED = "acked"
DERIVED = "derived"
MANIFEST = "derived/manifest"


def check(path: Path, progress: Progress) -> Iterator[Damage]:
    """Damage to the log, which nothing repairs, and to what is derived. See Check."""
    path = located(path, read_only=True)
    home = checked_home(path, "coin_log", FORMAT_VERSION, "log", folder=DERIVED, extras=EXTRAS)
    with home as (inside, damages):
        yield from (_telling_of_index(inside, damage) for damage in damages)
        yield from _check_files(inside, progress)


def repair(path: Path, damages: Sequence[Damage], progress: Progress) -> None:
    """Make FORMAT and what is derived again; the log is only read. See Repair."""
    path = located(path, read_only=False)
    with repaired_home(
        path,
        "coin_log",
        FORMAT_VERSION,
        damages,
        folder=DERIVED,
        extras=EXTRAS,
        extra_of=_extra_by_manifest,
    ) as (inside, others):
        if others or not (inside / MANIFEST).exists():
            found = format_at(inside)
            _rebuild_derived(inside, others, keys=found is not None and bool(found.extra))


def _check_files(path: Path, progress: Progress) -> Iterator[Damage]:
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


def _rebuild_derived(path: Path, damaged: list[Path], *, keys: bool) -> None:
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
    CoinLog(path, durability=Durability.POWER, forgiving=True, keys=keys).finish()


def _extra_by_manifest(path: Path) -> str:
    """What FORMAT said before it was lost. Where the manifest is, too, an index that is made for
    nothing does no harm, and one that is missing does."""
    return "" if _keys_by_manifest(path) is False else EXTRAS[0]


def _keys_by_manifest(path: Path) -> bool | None:
    """Whether a database has secondary keys; None where the manifest is lost, which tells."""
    with storage_errors(path):
        if not (path / MANIFEST).exists():
            return None
    with suppress(CorruptDatabaseError):
        return has_keys(path)
    return None


def _telling_of_index(path: Path, damage: Damage) -> Damage:
    """Damage to FORMAT, with what a repair can't know any more."""
    if damage.repairable_from is None or _keys_by_manifest(path) is not None:
        return damage
    lost = f"whether it had an index by {PUZZLE_HASH} is lost with the manifest"
    return replace(damage, problem=f"{damage.problem}; {lost}: it comes back with one")
