"""The load times of the published comparison, and what was measured here beside them."""

from collections.abc import Mapping

from cdb.report import units
from cdb.report.model import LOAD, Group, Report, Spread
from cdb.report.parts import NONE, Table

SOURCE_URL = "https://github.com/richardkiss/cdb_benchmark"
SOURCE = (
    "Published: one load of mainnet's heights below 800,000 (13,423,068 coins), from the "
    f"benchmark of {SOURCE_URL}. FAST: MacBook Air M2, 24 GB, writes 443 MB/s. SLOW: Celeron "
    "J1800, 8 GB, ZFS, writes 16.8 MB/s; SPINNING: the same with a disk that writes 48 MB/s. "
    "Neither durability nor flush interval is said; the figures are no contestants of ours."
)
SECONDS: Mapping[str, Mapping[str, int]] = {
    "blockchain_v2": {"FAST": 22 * 60 + 38, "SLOW": 3242 * 60},
    "sqlite_v3": {"FAST": 20 * 60 + 1, "SLOW": 1167 * 60},
    "sqlite_row": {"FAST": 119 * 60, "SLOW": 937 * 60},
    "flat_file": {"FAST": 41 * 60 + 48, "SLOW": 559 * 60},
    "rocks": {"FAST": 4 * 60 + 31, "SLOW": 170 * 60, "SPINNING": 116 * 60},
}
"""By schema and profile."""
PROFILES = ("FAST", "SLOW", "SPINNING")


def published_table(report: Report, machine: str) -> Table | None:
    """A machine's load times beside the published ones; its caption says what was loaded here.

    Of the machine's loads those with one size, durability and flush interval that tell of the most
    published schemas and profiles; among equals the most coins. None where none does.
    """
    alike = [report.profiles_of(each) for each in report.groups if each.setting.machine == machine]
    chosen = max(alike, key=_weight, default=None)
    if chosen is None or not _weight(chosen)[0]:
        return None
    rows = [
        (
            schema,
            *(_duration(seconds.get(profile)) for profile in PROFILES),
            _ratio(seconds["SLOW"], seconds["FAST"]),
            *(_text(_measured(chosen, schema, profile)) for profile in PROFILES),
            _measured_ratio(chosen, schema),
        )
        for schema, seconds in SECONDS.items()
    ]
    names = [f"{where}, {profile}" for where in ("published", "here") for profile in PROFILES]
    names.insert(len(PROFILES), "SLOW / FAST")
    setting = next(iter(chosen.values())).setting
    title = (
        f"Published, and here: {machine}, {setting.coins:,} coins, durability "
        f"{setting.durability}, a flush each {setting.flush_coins:,} coins"
    )
    return Table.of_texts(title, ("schema", *names, "SLOW / FAST"), rows)


_Groups = dict[str, Group]
"""By profile."""


def _weight(groups: _Groups) -> tuple[int, int]:
    pairs = [(schema, profile) for schema in SECONDS for profile in PROFILES]
    told = sum(_measured(groups, *pair) is not None for pair in pairs)
    return told, next(iter(groups.values())).setting.coins


def _measured(groups: _Groups, schema: str, profile: str) -> Spread | None:
    return groups[profile].figure(schema, LOAD, "wall_seconds") if profile in groups else None


def _measured_ratio(groups: _Groups, schema: str) -> str:
    slow, fast = (_measured(groups, schema, profile) for profile in ("SLOW", "FAST"))
    return _ratio(slow.median, fast.median) if slow and fast and fast.median else NONE


def _ratio(slow: float, fast: float) -> str:
    return units.times(slow / fast)


def _duration(seconds: int | None) -> str:
    return NONE if seconds is None else units.duration(seconds)


def _text(spread: Spread | None) -> str:
    return NONE if spread is None else spread.median_text("wall_seconds")
