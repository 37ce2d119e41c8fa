"""A node's coin stores, and its week: which comparison counts, and what its tables tell."""

import pytest

from cdb.report.build import build
from cdb.report.node import conditions, finding, how, node_tables
from tests.report.node_fixtures import comparison, week


def test_the_newest_of_a_setting_counts() -> None:
    older, newer = comparison(), comparison(begun="2026-11-24T12:00:00Z", speed=2)
    report = build([*newer, *older, *comparison(profile="SLOW"), *comparison(coins=50_000)])
    settings = [(each.setting.profile, each.setting.coins, *each.begun) for each in report.node]
    assert settings == [
        ("FAST", 1_000_000, "2026-11-24T12:00:00Z"),
        ("FAST", 50_000, "2026-11-23T12:00:00Z"),
        ("SLOW", 1_000_000, "2026-11-23T12:00:00Z"),
    ]
    assert len(report.raw) == 4 * 6


def test_tables_tell_both_and_how_they_compare() -> None:
    (found,) = build(comparison()).node
    warm, cold, others = node_tables(found)
    header = ("call", "chia: CPU", "chia: wall", "cdb: CPU", "cdb: wall")
    assert warm.header == cold.header == (*header, "CPU: chia / cdb", "wall: chia / cdb")
    # Of three rounds, each two hundredths faster than the one before.
    assert warm.texts()[0] == [
        "get_coin_records: names 100",
        *("1.51 / 1.54 / 1.57 ms",) * 2,
        *("151 / 154 / 157 µs",) * 2,
        *("×10",) * 2,
    ]
    assert [row[0] for row in cold.texts()] == ["get_coin_records: names 100"]
    told = {row[0]: row[1:] for row in others.texts()}
    assert told["load, size a coin"] == ["380 B", "380 B", "×1.0"]
    assert told["event loop: blocks of 2,000 coins, late max"][2] == "×10"


def test_what_one_store_alone_has_is_shown_without_a_ratio() -> None:
    documents = comparison()
    for each in documents:
        if each["contestant"]["name"] == "chia":
            each["cases"] = [case for case in each["cases"] if case["workload"] != "new_block"]
        for case in each["cases"]:
            if each["contestant"]["name"] == "cdb" and case["parameters"].get("cache") == "cold":
                case["figures"]["cpu_microseconds"] = 0
                case["figures"]["wall_microseconds"] = None
    (found,) = build(documents).node
    warm, cold, _ = (table.texts() for table in node_tables(found))
    assert next(row for row in warm if row[0].startswith("new_block"))[1:3] == ["–", "–"]
    assert cold[0][3:] == ["0.00 s", "–", "–", "–"]
    assert finding(found) == ("", "")


def test_the_finding_is_of_a_block() -> None:
    (found,) = build(comparison()).node
    sentence, short = finding(found)
    assert sentence == (
        "For a block of 45 coins chia's own store takes 8.27 ms of CPU, 10 × as much as cdb's "
        "827 µs (FAST, 1,000,000 coins)."
    )
    assert short == "chia's store takes 10 × the CPU"


def test_the_newest_of_as_long_a_week_counts() -> None:
    later = "2026-11-24T18:00:00Z"
    weeks = [
        *(*week(), *week(begun=later, speed=2)),
        *(*week(blocks=5_000), *week(part_seconds=60)),
    ]
    report = build(weeks)
    told = {(*dict(each.setting.asked).values(),): each.begun for each in report.weeks}
    assert told == {
        (100_000, 3_600.0): (later,),
        (5_000, 3_600.0): ("2026-11-23T18:00:00Z",),
        (100_000, 60): ("2026-11-23T18:00:00Z",),
    }


def test_tables_tell_parts_and_wallets_and_then_all() -> None:
    (found,) = build(week()).weeks
    assert conditions(found) == "SPINNING-1GB, a week of 100,000 blocks"
    assert "100,000 blocks were to be synced; chia's store had 1 h 00 m for each" in how(found)
    parts, wallets, *rest = node_tables(found)
    assert parts.header[1:4] == ("chia: wall", "chia: written", "chia: longest stall")
    assert parts.texts()[0] == [
        "sync: blocks 4,000",
        *("26 m 40 s", "6.4 GB", "1.60 s"),
        *("2 m 40 s", "640 MB", "0.160 s"),
        *("×10",) * 3,
    ]
    # chia's store had no time for the rest.
    assert parts.texts()[4][:4] == ["sync of the rest: blocks 96,000", "–", "–", "–"]
    assert [row[0] for row in wallets.texts()] == [
        "get_coin_states_by_ids: names 100",
        "get_coin_record",
    ]
    assert wallets.texts()[0][1:4] == ["20 ms", "80 ms", "90 ms"]
    told = {row[0]: row[1:] for table in rest for row in table.texts()}
    assert told["size"] == ["800 MB", "80 MB", "×10"]
    assert told["peak RSS"] == ["60 MB", "60 MB", "×1.0"]


def test_the_finding_of_a_week_is_of_its_sync() -> None:
    (found,) = build(week()).weeks
    sentence, short = finding(found)
    assert sentence == (
        "For a sync of 4,000 blocks chia's own store takes 26 m 40 s of time, 10 × as much as "
        "cdb's 2 m 40 s (SPINNING-1GB, a week of 100,000 blocks)."
    )
    assert short == "chia's store takes 10 × the time"


CLOCKS = [
    ((100.0, 0.0), (200.0, 0.0), 1, True),
    ((100.0, 0.0), (108.0, 0.0), 1, False),  # too near
    ((800.0, 1400.0), (1900.0, 2700.0), 2, True),
    ((800.0, 1400.0), (900.0, 1700.0), 2, False),  # ranges that overlap
]
LONGER = " By the clock cdb's takes longer for "


@pytest.mark.parametrize("cache", ["cold", "warm"])
@pytest.mark.parametrize(("chia", "cdb", "runs", "is_told"), CLOCKS)
def test_the_finding_tells_what_takes_longer(
    chia: tuple[float, float], cdb: tuple[float, float], runs: int, *, is_told: bool, cache: str
) -> None:
    documents = comparison(runs=runs)
    for each in documents:
        for case in each["cases"]:
            if case["workload"] == "get_coin_records" and case["parameters"]["cache"] == cache:
                times = {"chia": chia, "cdb": cdb}[each["contestant"]["name"]]
                case["figures"]["wall_microseconds"] = times[each["run"] - 1]
    (found,) = build(documents).node
    sentence, _ = finding(found)
    told = sentence.partition(LONGER)[2]
    assert told.startswith(f"get_coin_records: {cache}, names ") == is_told
    assert (" (200 µs to 100 µs)" in told) == (is_told and runs == 1)
    assert bool(told) == is_told


def test_the_finding_of_a_week_tells_what_takes_longer() -> None:
    documents = week()
    for each in documents:
        for case in each["cases"]:
            if case["workload"] == "hints of the sync" and each["contestant"]["name"] == "cdb":
                case["figures"]["wall_seconds"] *= 100
    (found,) = build(documents).weeks
    assert finding(found)[0].partition(LONGER)[2].startswith("hints of the sync: blocks ")


def test_the_finding_of_a_week_is_of_cpu_and_says_that_the_machine_was_busy() -> None:
    documents = week()
    for each in documents:
        each["others_cores"] = 1.5
        for case in each["cases"]:
            if case["workload"] == "sync":
                cpu = {"chia": 30.0, "cdb": 2.5}[each["contestant"]["name"]]
                case["figures"]["cpu_seconds"] = cpu
    (found,) = build(documents).weeks
    sentence, short = finding(found)
    assert sentence == (
        "For a sync of 4,000 blocks chia's own store takes 30.0 s of CPU, 12 × as much as cdb's "
        "2.50 s (SPINNING-1GB, a week of 100,000 blocks ⚠ busy)."
    )
    assert short == "chia's store takes 12 × the CPU ⚠ busy"
