"""Which schema is chosen for a use: by figures alone, with what is missing or too near."""

import copy
import re

import pytest

from cdb.bench.results import Document
from cdb.report.build import build
from cdb.report.document import document
from cdb.report.parts import Answer
from cdb.report.uses import BASELINE, MOST_SHOWN, USES, answer, shown, weight
from tests.report.fixtures import every_failure, matrix, run, without
from tests.report.full import full

SCHEMAS = ("floor", "null", "coin_log", "interval@rocksdb", "rocks", BASELINE, "memory")


def chosen(documents: list[Document], use: str) -> Answer:
    """The answer for a use, of the group that tells the most."""
    report = build(documents)
    (wanted,) = [each for each in USES if each.id == use]
    return answer(report, max(report.groups, key=weight), wanted)


def swapped(documents: list[Document], one: str, other: str) -> list[Document]:
    """The same, where two schemas have each other's figures."""
    names = {one: other, other: one}
    result = copy.deepcopy(documents)
    for each in result:
        name = each["schema"]["name"]
        each["schema"]["name"] = names.get(name, name)
    return result


def with_case(document: Document, workload: str, **figures: float) -> Document:
    """The run with other figures of a workload."""
    changed = copy.deepcopy(document)
    for case in changed["cases"]:
        if case["workload"] == workload:
            case["figures"] |= figures
    return changed


def test_the_best_by_the_deciding_figure_is_told_with_how_much_better_it_is() -> None:
    told = chosen(matrix(SCHEMAS), "lookup")
    assert (told.schema, told.runner_up) == ("coin_log", "interval@rocksdb")
    assert told.sentence == (
        "coin_log looks coins up by name at 1.57 M/s: 31 × as fast as the node's own "
        "blockchain_v2, 9.0 × as fast as interval@rocksdb."
    )
    assert told.runner_sentence.startswith("Runner-up: interval@rocksdb (174 k/s, 9.0 × slower). ")
    tiles = {tile.label: (tile.text, tile.against) for tile in told.tiles}
    assert len(tiles) == 5
    assert tiles["load"] == ("0.280 s", "79 × faster than blockchain_v2")
    assert tiles["price in memory"] == ("107 MB", "1.1 × less than blockchain_v2")
    assert tiles["price in disk per coin"] == ("69 B", "3.3 × less than blockchain_v2")


@pytest.mark.parametrize("use", ["tip", "lookup", "height", "small"])
def test_two_schemas_that_swap_their_figures_swap_their_places(use: str) -> None:
    documents = [full(each) for each in matrix(SCHEMAS, 1)]
    slow = [full(each) for each in matrix(SCHEMAS, 1, profile="SLOW")]
    for each in documents + slow:
        each["schema"]["keeps_contract"] = each["schema"]["name"] not in ("floor", "null")
    before = chosen([*documents, *slow], use)
    after = chosen(swapped([*documents, *slow], "coin_log", "interval@rocksdb"), use)
    assert (before.schema, after.schema) == ("coin_log", "interval@rocksdb")
    assert before.runner_up != before.schema
    assert after.sentence != before.sentence
    figure = re.compile(r"[\d.,]+ (?:µs|ms|s|k/s|M/s)")
    assert figure.findall(after.sentence) == figure.findall(before.sentence)


def test_of_sql_only_who_has_it() -> None:
    documents = matrix(("coin_log", "interval@rocksdb", "rocks", "sqlite_v3"))
    for each in documents:
        if each["schema"]["name"] == "interval@rocksdb":
            each["schema"]["description"] = "Everything in RocksDB, without SQLite."
    told = chosen(documents, "sql")
    assert (told.schema, told.runner_up) == ("rocks", "sqlite_v3")
    assert chosen(matrix(("coin_log",)), "sql").sentence == (
        "Not known: no schema with SQL was measured here."
    )


def test_what_lies_too_near_is_said() -> None:
    near = [with_case(each, "load", wall_seconds=1.0) for each in matrix(("rocks",))]
    nearly = [with_case(each, "load", wall_seconds=1.05) for each in matrix(("sqlite_v3",))]
    far = [with_case(each, "load", wall_seconds=1.2) for each in matrix(("flat_file",))]
    told = chosen([*near, *nearly, *far], "sql")
    assert told.sentence == (
        "rocks loads 1,000,000 coins in 1.00 s, and sqlite_v3 lies too near to tell them apart."
    )
    told = chosen([*near, *far], "sql")
    assert told.sentence == "rocks loads 1,000,000 coins in 1.00 s: 1.2 × as fast as flat_file."


def test_ranges_that_overlap_are_too_near() -> None:
    documents = [
        with_case(run(schema, number), "load", wall_seconds=seconds)
        for schema, of_runs in (("rocks", (1, 2, 5)), ("flat_file", (2, 4, 6)))
        for number, seconds in enumerate(of_runs, 1)
    ]
    assert "flat_file lies too near" in chosen(documents, "sql").sentence


def test_what_was_not_measured_is_said() -> None:
    documents = [
        without(each, "append", "not_measured", "no time") for each in matrix(("coin_log", "rocks"))
    ]
    told = chosen(documents, "tip")
    assert told.sentence == (
        "coin_log loads 1,000,000 coins in 0.280 s: 16 × as fast as rocks. "
        "(Not measured of enough schemas here: commit of a block.)"
    )
    assert told.tiles[0].text == "not measured"
    assert chosen(matrix(("coin_log",)), "small").sentence.startswith("Not known: no slow disk")
    alone = chosen(matrix(("coin_log",)), "tip")
    assert alone.runner_sentence.startswith("No runner-up")
    wrong = [without(each, "load", "wrong", "no") for each in matrix(("rocks",))]
    assert chosen(wrong, "tip").sentence == "Not known: no schema was measured here."


def test_the_reference_model_layouts_and_options_are_no_answers() -> None:
    names = ("memory", "mono_space@rocksdb", "interval@rocksdb,spends=in_row", "sqlite_row")
    fast = [with_case(each, "load", wall_seconds=0.01) for each in matrix(names)]
    told = chosen([*fast, *matrix(("rocks",))], "tip")
    assert (told.schema, told.runner_up) == ("rocks", "")


def test_a_small_machine_is_the_slowest_profile() -> None:
    documents = [*matrix(SCHEMAS), *matrix(SCHEMAS, profile="SLOW")]
    told = chosen(documents, "small")
    assert told.sentence == (
        "coin_log loads 1,000,000 coins in 1.68 s: 79 × as fast as the node's own blockchain_v2, "
        "2.0 × as fast as interval@rocksdb. "
        "This is on SLOW: read 16.8 MB/s, write 16.8 MB/s, memory 8 GB."
    )


def test_six_schemas_are_shown_at_first() -> None:
    names = (*SCHEMAS, "sqlite_v3", "flat_file", "mono_space@rocksdb", "sqlite_row")
    told = document(build(matrix(names)))
    (first,) = told.shown
    assert len(first) == MOST_SHOWN
    assert {"coin_log", "rocks", BASELINE, "floor"} <= {*first}
    assert told.schemas[:MOST_SHOWN] == first
    assert {*told.schemas} == {*names}


def test_who_has_no_figure_that_counts_is_named() -> None:
    (opening,) = document(build(every_failure())).answers
    texts = [str(part) for part in opening.parts]
    assert any("flat_file (✗), sqlite_row (failed), rocks (not measured)" in text for text in texts)


def test_without_a_group_nothing_is_shown() -> None:
    report = build(matrix(("coin_log",)))
    assert shown(report.groups[0], ()) == ("coin_log",)


def test_figures_of_the_other_uses_never_choose() -> None:
    """One figure decides: the runner-up is better in all others, and stays the runner-up."""
    documents = matrix(("coin_log", "rocks"))
    for each in documents:
        if each["schema"]["name"] == "rocks":
            each["cases"][0]["figures"] |= {
                "wall_seconds": 0.001,
                "peak_rss_bytes": 1,
                "size_bytes": 1,
            }
    assert chosen(documents, "lookup").schema == "coin_log"
    assert chosen(documents, "sql").schema == "rocks"
