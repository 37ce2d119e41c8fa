"""Which runs are compared, which figures count, and what is said of them."""

import copy
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from cdb.bench.results import Document, ResultError
from cdb.report.build import build, name_of
from cdb.report.group_tables import LOOKUPS, workload_tables
from cdb.report.growth import alike, growth_of, growth_table, speeds
from cdb.report.model import LOAD, TOTAL, Case, Group, Mark, Row, Spread
from cdb.report.published import published_table
from cdb.report.read import read
from cdb.report.tables import Column, figure_table, problem_lines, runs_text
from tests.report.fixtures import (
    NEXT_MATRIX,
    ended,
    every_failure,
    matrix,
    run,
    without,
    write,
)

WARM = Case.of(
    "read_random",
    {
        "batch": 1000,
        "cache": "warm",
        "form": "packed",
        "names": "existing",
        "state": "settled",
        "threads": 1,
    },
)


def only_group(documents: list[Document]) -> Group:
    (group,) = build(documents).groups
    return group


def row_of(group: Group, schema: str) -> Row:
    return next(row for row in group.lines if row.schema == schema)


def wall(row: Row) -> Spread:
    spread = row.figure(LOAD, "wall_seconds")
    assert spread is not None
    return spread


def with_figures(document: Document, **figures: float | None) -> Document:
    """The run with other figures of its load."""
    changed = copy.deepcopy(document)
    changed["cases"][0]["figures"] |= figures
    return changed


@pytest.mark.parametrize(
    "difference",
    [
        {"machine": "m2"},
        {"profile": "SLOW"},
        {"coins": 2_000_000},
        {"durability": "none"},
        {"flush_coins": 1000},
    ],
)
def test_only_like_is_compared_with_like(difference: dict[str, Any]) -> None:
    report = build([*matrix(("coin_log",)), *matrix(("rocks",), **difference)])
    assert sorted(row.schema for group in report.groups for row in group.rows) == [
        "coin_log",
        "rocks",
    ]
    assert [len(group.rows) for group in report.groups] == [1, 1]


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [("data", "digest", "another"), ("profile", "iops", 50), ("profile", "memory_bytes", 1e9)],
)
def test_another_replay_or_other_limits_of_the_same_name_are_not_alike(
    part: str, key: str, value: object
) -> None:
    other = run("rocks")
    other[part] = other[part] | {key: value}
    assert len(build([run("coin_log"), other]).groups) == 2


def test_a_spread_of_few_runs_has_a_dagger_where_others_have_more() -> None:
    group = only_group(matrix(("coin_log",), 5) + matrix(("rocks",), 4))
    spread = wall(row_of(group, "coin_log"))
    assert (spread.runs, group.dagger(spread)) == (5, "")
    assert spread.min < spread.median < spread.max
    assert group.dagger(wall(row_of(group, "rocks"))) == "†"


def test_where_all_have_few_runs_a_dagger_would_say_nothing() -> None:
    group = only_group(matrix(("coin_log",), 2) + matrix(("rocks",), 1))
    assert {group.dagger(wall(row)) for row in group.rows} == {""}
    assert runs_text(group) == "1 to 2 runs each"
    assert runs_text(only_group([run("rocks")])) == "one run each"


def test_spreads() -> None:
    assert Spread.of([5, 1, 2]) == Spread(1, 2, 5, runs=3)
    assert Spread.of([4, 1, 2, 3]) == Spread(1, 2.5, 4, runs=4)
    assert Spread.of([7]) == Spread(7, 7, 7, runs=1)


def test_spreads_as_texts() -> None:
    assert Spread(0.27, 0.28, 0.3, 5).text("wall_seconds") == "0.270 / 0.280 / 0.300 s"
    assert Spread(58, 60, 63, 2).text("wall_seconds") == "58.0 s / 1 m 00 s / 1 m 03 s"
    assert Spread(60, 61, 62, 5).text("wall_seconds") == "1 m 00 s / 1 m 01 s / 1 m 02 s"
    assert Spread(2, 2, 2, 1).text("wall_seconds") == "2.00 s"
    assert Spread(1, 2, 3, 5).text("syncs") == "1 / 2 / 3"
    assert Spread(1, 2, 3, 1).median_text("syncs") == "2"


def test_ratios_are_to_the_best_contestant() -> None:
    group = only_group(matrix(("floor", "null", "coin_log", "interval@rocksdb")))
    best, other = group.rows[:2]
    assert [row.schema for row in group.rows] == ["coin_log", "interval@rocksdb", "null"]
    assert group.ratio(best, LOAD, "wall_seconds") == 1
    assert group.ratio(other, LOAD, "wall_seconds") == pytest.approx(0.55 / 0.28)
    assert group.ratio(other, WARM, "names_per_second") == pytest.approx(1570 / 174)
    for name in ("floor", "null"):
        row = row_of(group, name)
        assert wall(row).median < wall(best).median
        assert group.ratio(row, LOAD, "wall_seconds") is None


def test_a_wrong_answer_voids_all_of_a_schema() -> None:
    documents = matrix(("coin_log", "interval@rocksdb"))
    documents[0] = without(documents[0], "rewind", "wrong", "the digest after it differs")
    row = row_of(only_group(documents), "coin_log")
    assert row.mark is Mark.WRONG
    assert not row.figures
    assert not row.phases
    assert not row.curves
    assert "the digest after it differs" in [problem.reason for problem in row.problems]
    assert only_group(documents).best(LOAD, "wall_seconds") == pytest.approx(0.55)


def test_a_case_that_failed_once_has_no_figures_of_the_other_runs() -> None:
    documents = matrix(("interval@rocksdb",))
    documents[2] = without(documents[2], "rewind", "failed", "killed by signal 9")
    documents[3] = without(documents[3], "settle", "failed", "time limit")
    row = row_of(only_group(documents), "interval@rocksdb")
    assert row.mark is Mark.RIGHT
    assert wall(row).runs == 5
    assert not [case for case in row.figures if case.workload == "rewind"]
    assert TOTAL not in row.figures
    assert (Case("rewind"), "failed", 1) in [(p.case, p.outcome, p.runs) for p in row.problems]


def test_every_failure_is_a_row_with_its_reason() -> None:
    group = only_group(every_failure())
    marks = {row.schema: row.mark for row in group.rows}
    assert marks["sqlite_row"] is Mark.FAILED
    assert marks["flat_file"] is Mark.WRONG
    assert marks["rocks"] is Mark.NOT_MEASURED
    assert marks["null"] is Mark.NOTHING
    assert marks["blockchain_v2"] is Mark.ENDED
    assert len(marks) == 9
    assert all(row.problems for row in group.rows if not row.figures)


def test_a_load_that_ended_at_the_limit_has_no_figures_of_the_other_runs() -> None:
    documents = matrix(("coin_log", "interval@rocksdb"), 3)
    documents[3] = ended(documents[3], 850_000, 1_191.5)
    group = only_group(documents)
    row = row_of(group, "interval@rocksdb")
    assert (row.mark, row.competes, LOAD in row.figures) == (Mark.ENDED, False, False)
    (table,) = figure_table(group, "", [Column("load", LOAD, "wall_seconds")])
    texts = {line.cells[0].text: line.cells[1].text for line in table.rows}
    assert texts["interval@rocksdb"] == "850 k of 1 M in 19 m 52 s"
    at_the_limit = (
        "load: 850 k of 1 M in 19 m 52 s in 1 of 3 runs: ended at the limit of 20 minutes"
    )
    assert f"interval@rocksdb: {at_the_limit}" in problem_lines(group)


def test_runs_that_left_no_result_are_missed() -> None:
    documents = [run("coin_log", number, runs=5) for number in (1, 2, 3)]
    problems = row_of(only_group(documents), "coin_log").problems
    assert [problem.runs for problem in problems if problem.outcome == "missing"] == [2]


def test_a_schema_has_one_name() -> None:
    documents = [*matrix(("rocks_kv",)), *matrix(("interval@rocksdb",), matrix=NEXT_MATRIX)]
    (row,) = only_group(documents).rows
    assert (row.schema, row.matrix) == ("interval@rocksdb", NEXT_MATRIX)
    assert name_of("rocks_kv,cache_mb=9") == "interval@rocksdb,cache_mb=9"
    assert name_of("coin_log") == "coin_log"


def test_the_newest_matrix_of_a_schema_counts() -> None:
    documents = [
        *matrix(("coin_log",), matrix=NEXT_MATRIX, speed=2),
        *matrix(("coin_log", "interval@rocksdb")),
    ]
    report = build(documents)
    (group,) = report.groups
    assert wall(row_of(group, "coin_log")).median == pytest.approx(0.14)
    assert row_of(group, "coin_log").matrix == NEXT_MATRIX
    assert row_of(group, "interval@rocksdb").matrix < NEXT_MATRIX
    assert [(each.files, each.counted) for each in report.matrices] == [(10, True), (5, True)]
    assert not build(documents[:5] + matrix(("coin_log",))).matrices[0].counted


def test_bytes_are_counted_where_all_contestants_tell_them() -> None:
    documents = matrix(("floor", "null", "coin_log", "interval@rocksdb"), 1)
    assert only_group(documents).written_figure == "device_written_bytes"
    documents[3] = with_figures(documents[3], device_written_bytes=None)
    group = only_group(documents)
    assert group.written_figure == "disk_written_bytes"
    figure = row_of(group, "coin_log").figure(LOAD, "write_amplification")
    assert figure is not None
    assert figure.median == pytest.approx(1.1 * 76 / 80)


def test_what_follows_from_a_run() -> None:
    row = row_of(only_group([run("coin_log")]), "coin_log")
    told = {name: spread.median for name, spread in row.figures[LOAD].items()}
    assert told["cpu_seconds"] == pytest.approx(0.9 * 0.28)
    assert told["cpu_microseconds_per_coin"] == pytest.approx(0.252)
    assert told["written_bytes_per_coin"] == 76
    assert told["size_bytes_per_coin"] == 69
    assert "device_read_bytes" not in told  # this machine doesn't tell it
    (curve,) = row.curves
    assert curve[-1][0] == 1_000_000
    assert curve[-1][1] == pytest.approx(0.28)
    assert row.figures[TOTAL]["wall_seconds"].median == pytest.approx(1.1 * 0.28)
    assert row.figures[TOTAL]["size_bytes_per_coin"].median == pytest.approx(0.98 * 69)


def test_a_load_is_held_against_the_floor_of_its_own_round() -> None:
    documents = matrix(("floor", "coin_log"), 3)
    slow = next(each for each in documents if each["contestant"]["name"] == "floor")
    documents[documents.index(slow)] = with_figures(slow, wall_seconds=0.28, user_seconds=None)
    row = row_of(only_group(documents), "coin_log")
    wall_ratio, cpu_ratio = (row.figure(LOAD, f"{what}_floor_ratio") for what in ("wall", "cpu"))
    assert wall_ratio is not None
    assert cpu_ratio is not None
    assert (wall_ratio.runs, cpu_ratio.runs) == (3, 2)
    assert wall_ratio.min == pytest.approx(1.0)
    assert wall_ratio.max == pytest.approx(0.28 / 0.15)
    assert cpu_ratio.median == pytest.approx(0.28 / 0.15)


def test_a_load_without_the_floor_in_its_round_has_no_ratio_to_it() -> None:
    documents = [*matrix(("floor",), 2), *matrix(("coin_log",), 2, matrix=NEXT_MATRIX)]
    assert row_of(only_group(documents), "coin_log").figure(LOAD, "wall_floor_ratio") is None


def test_what_a_coin_costs_in_each_size() -> None:
    documents = [
        *matrix(("floor", "coin_log", "rocks")),
        *matrix(("floor", "coin_log"), 1, coins=4_000_000, speed=0.5),
        *matrix(("coin_log",), durability="none"),
        *matrix(("coin_log",), profile="SLOW"),
    ]
    groups = build(documents).groups
    sizes = alike(groups, groups[0])
    assert {s: [g.setting.durability for g in each] for s, each in sizes.items()} == {
        1_000_000: ["power"],
        4_000_000: ["power"],
    }
    (table,) = growth_table(sizes)
    grown = growth_of(sizes, "coin_log")
    assert grown is not None
    assert grown == pytest.approx((1_000_000, 4_000_000, 2.0))
    assert growth_of(sizes, "rocks") is None
    assert table.header == (
        "a coin of a load",
        "1,000,000 coins",
        "4,000,000 coins",
        "last / first",
    )
    assert [row[0] for row in table.texts()] == [
        *("floor, time", "floor, CPU", "coin_log, time", "coin_log, CPU")
    ]
    assert table.texts()[2] == ["coin_log, time", "0.28 µs", "0.56 µs", "×2.0"]


def test_of_replays_of_one_size_the_newest_counts() -> None:
    other = run("coin_log", matrix=NEXT_MATRIX, speed=2)
    other["data"]["digest"] = "1" * 64
    documents = [run("coin_log"), other, run("coin_log", coins=4_000_000)]
    groups = build(documents).groups
    (table,) = growth_table(alike(groups, groups[0]))
    assert table.header[1:3] == ("1,000,000 coins", "4,000,000 coins")
    assert table.texts()[0] == ["coin_log, time", "0.14 µs", "0.28 µs", "×2.0"]


def test_unsettled_lookups_come_last() -> None:
    document = run("coin_log")
    warm = next(each for each in document["cases"] if each["parameters"] == dict(WARM.parameters))
    unsettled = warm | {"parameters": warm["parameters"] | {"state": "unsettled"}}
    document["cases"].insert(1, unsettled)  # where a load leaves it
    first, *_, last = workload_tables(only_group([document]), LOOKUPS)
    assert first.caption == (
        "Look-ups per second · names that exist · files in memory · after compaction · "
        "answers as packed bytes"
    )
    assert last.caption == first.caption.replace("after", "before")


def test_phases_are_those_of_the_middle_load_and_sum_to_its_time() -> None:
    row = row_of(only_group(matrix(("coin_log",), 4)), "coin_log")
    assert [name for name, _ in row.phases] == ["open", "parse", "accept", "flush", "close"]
    walls = sorted(each["cases"][0]["figures"]["wall_seconds"] for each in matrix(("coin_log",), 4))
    assert sum(seconds for _, seconds in row.phases) == pytest.approx(walls[1])
    untold = with_figures(run("coin_log"), parse_seconds=None)
    assert row_of(only_group([untold]), "coin_log").phases == ()


def test_the_frontier_is_who_is_beaten_by_none_in_both() -> None:
    group = only_group(
        [
            with_figures(run(name), wall_seconds=seconds, size_bytes=size)
            for name, seconds, size in (("a", 1, 9), ("b", 2, 5), ("c", 3, 5), ("d", 4, 1))
        ]
    )
    assert group.frontier(LOAD, "size_bytes") == {"a", "b", "d"}


def test_a_busy_machine_is_noted() -> None:
    def is_busy(document: Document, **told: object) -> bool:
        return row_of(only_group([document | told]), "coin_log").busy

    document = run("coin_log")
    assert is_busy(document, others_cores=0.3)
    assert not is_busy(document, others_cores=None)
    assert not is_busy(document, others_cores=19.2, seconds=0.0005)  # one tick of a kernel's clock
    assert not is_busy(document, others_cores=0.3, seconds=0.4)
    assert is_busy(document, others_cores=0.3, seconds=0.6)
    assert not is_busy(document, load_average_after=64.0)  # of its own threads
    older = {key: value for key, value in document.items() if key != "others_cores"}
    assert is_busy(older, load_average_after=2.5)
    assert not is_busy(older)
    assert not is_busy(older, load_average_after=None, load_average_before=None)
    unknown = document["machine"] | {"cpu_count": None}
    assert not is_busy(older, load_average_after=2.5, machine=unknown)


def test_cards_tell_every_value_there_was() -> None:
    first, second = run("coin_log", 1, profile="SLOW"), run("coin_log", 2, profile="SLOW")
    second["machine"] = second["machine"] | {"fdatasync_p50_microseconds": 900.0, "os": "Debian"}
    (card,) = build([first, second]).machines
    facts = dict(card.facts)
    assert facts["memory"] == "24 GB"
    assert facts["fdatasync p50"] == "172 µs to 900 µs"
    assert facts["OS"] == "Debian"
    (profile,) = card.profiles
    assert dict(profile.limits) == {"read": "16.8 MB/s", "write": "16.8 MB/s", "memory": "8 GB"}
    assert dict(profile.measured) == {"write": "16.5 / 16.7 / 16.8 MB/s"}


def test_a_profile_has_the_facts_of_its_own_disk() -> None:
    slow = run("coin_log", profile="SLOW")
    slow["machine"] = slow["machine"] | {"file_system": "xfs", "disk_device": "/dev/loop0"}
    (card,) = build([run("coin_log"), slow]).machines
    assert "file system" not in dict(card.facts)
    assert dict(card.facts)["memory"] == "24 GB"
    assert [profile.facts for profile in card.profiles] == [
        (("file system", "ext4"),),
        (("file system", "xfs"), ("disk device", "/dev/loop0")),
    ]


def test_published_figures_beside_measured_ones() -> None:
    documents = [*matrix(), *matrix(profile="SLOW"), *matrix(("rocks",), coins=13_423_068)]
    table = published_table(build(documents), "epyc")
    assert table is not None
    assert "1,000,000 coins" in table.caption
    rows = table.texts()
    assert dict(zip(table.header, rows[0], strict=True)) | {"SLOW / FAST": ""} == {
        "schema": "blockchain_v2",
        "published, FAST": "22 m 38 s",
        "published, SLOW": "54 h 02 m",
        "published, SPINNING": "–",
        "here, FAST": "22.0 s",
        "here, SLOW": "2 m 12 s",
        "here, SPINNING": "–",
        "SLOW / FAST": "",
    }
    assert [rows[0][n] for n, name in enumerate(table.header) if name == "SLOW / FAST"] == [
        "×143",
        "×6.0",
    ]
    assert published_table(build(matrix(("coin_log",))), "epyc") is None


def test_results_are_read_once_and_in_order(tmp_path: Path) -> None:
    documents = matrix(("coin_log", "rocks"), 2)
    paths = write(reversed(documents), tmp_path)
    assert paths[0].parent == tmp_path / "epyc"
    found = read([tmp_path, paths[0], tmp_path / "epyc"])
    assert found == documents
    assert build(found).raw == tuple(documents)


def _repeat_a_case(document: Document) -> None:
    document["cases"].append(document["cases"][0])


def _measure_infinity(document: Document) -> None:
    document["cases"][0]["figures"]["wall_seconds"] = float("inf")


def _measure_less_than_nothing(document: Document) -> None:
    document["cases"][0]["figures"]["wall_seconds"] = -1


def _load_no_end_of_coins(document: Document) -> None:
    document["data"]["coins"] = 10**400


def _forget_the_machine(document: Document) -> None:
    del document["machine"]


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (_repeat_a_case, "$.cases[12]: this case was there already"),
        (_measure_infinity, "$.cases[0].figures.wall_seconds: inf can't have been measured"),
        (
            _measure_less_than_nothing,
            "$.cases[0].figures.wall_seconds: -1 can't have been measured",
        ),
        (
            _load_no_end_of_coins,
            "$.data.coins: 1000000000000000000000000000000000000000 can't have",
        ),
        (_forget_the_machine, "$: 'machine' is a required property"),
    ],
)
def test_a_bad_file_is_named_with_what_is_wrong_and_where(
    spoil: Callable[[Document], None], problem: str, tmp_path: Path
) -> None:
    document = run("coin_log")
    spoil(document)
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(document), "utf-8")
    with pytest.raises(ResultError) as error:
        read([path])
    assert str(error.value).startswith(str(path))
    assert problem in str(error.value)
    assert "\n" not in str(error.value)


def test_the_same_run_twice_is_refused(tmp_path: Path) -> None:
    (path,) = write([run("coin_log")], tmp_path)
    copied = path.with_name("copied.json")
    copied.write_bytes(path.read_bytes())
    with pytest.raises(ResultError, match=r"is the same run as .*; remove one of the two"):
        read([tmp_path])


def test_two_machines_of_one_name_are_refused(tmp_path: Path) -> None:
    other = run("rocks")
    other["machine"] = other["machine"] | {"cpu_model_name": "Another"}
    write([run("coin_log"), other], tmp_path)
    with pytest.raises(ResultError, match=r"machine epyc is another one .* give it another name"):
        read([tmp_path])


def test_a_curve_is_as_long_as_its_load() -> None:
    curve = tuple((n * 1000, n**1.5) for n in range(1, 500))
    points = speeds(curve)
    assert points[0] == (1000, 1000.0)
    assert points[-1][0] == 499_000
    assert len(points) < 50
    ends = [(0, 0.0), *((coins, dict(curve)[coins]) for coins, _ in points)]
    coins = [
        speed * (end[1] - begin[1])
        for (begin, end), (_, speed) in zip(pairwise(ends), points, strict=True)
    ]
    assert sum(coins) == pytest.approx(499_000)


def test_a_curve_of_one_sample() -> None:
    assert speeds(((1000, 2.0),)) == [(1000, 500.0)]
