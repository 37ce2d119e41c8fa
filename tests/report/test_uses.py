"""Which schema is chosen for a use: by figures alone, with what is missing or too near."""

import copy
import re
from collections.abc import Callable

import pytest

from cdb.bench.results import Document
from cdb.report.build import build
from cdb.report.document import document
from cdb.report.html import page
from cdb.report.model import Report
from cdb.report.parts import Answer
from cdb.report.text import markdown
from cdb.report.uses import (
    BASELINE,
    MEMORY,
    MOST_SHOWN,
    USES,
    against,
    answer,
    shown,
    weight,
)
from tests.report.fixtures import NEXT_MATRIX, ended, every_failure, matrix, run, without
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
        name = each["contestant"]["name"]
        each["contestant"]["name"] = names.get(name, name)
    return result


def with_case(document: Document, workload: str, **figures: float) -> Document:
    """The run with other figures of a workload."""
    changed = copy.deepcopy(document)
    for case in changed["cases"]:
        if case["workload"] == workload:
            case["figures"] |= figures
    return changed


@pytest.mark.parametrize("write", [page, lambda report: markdown(document(report))])
def test_a_campaign_that_has_but_its_floor_so_far_makes_a_document(
    write: Callable[[Report], str],
) -> None:
    """Of each campaign the floor's run is the first."""
    assert "no runs" in write(build([run("floor")]))


def test_the_best_by_the_deciding_figure_is_told_with_how_much_better_it_is() -> None:
    told = chosen(matrix(SCHEMAS), "lookup")
    assert (told.schema, told.runner_up) == ("coin_log", "interval@rocksdb")
    assert told.sentence == (
        "coin_log looks coins up by name at 1.57 M/s: 31 × as fast as the node's own "
        "blockchain_v2, 9.0 × as fast as interval@rocksdb."
    )
    assert told.runner_sentence == (
        "Runner-up: interval@rocksdb (174 k/s). Take interval@rocksdb to build on an engine that "
        "others maintain, with its tools."
    )
    tiles = {tile.label: (tile.text, tile.against) for tile in told.tiles}
    assert len(tiles) == 5
    assert tiles["load"] == ("0.280 s", "79 × as fast as blockchain_v2")
    assert tiles["price in memory"] == (
        "107 MB",
        "peak of a load of 1 M coins, mapped files counted; blockchain_v2: 123 MB",
    )
    assert tiles["price in disk per coin"] == ("69 B", "0.3 × as much as blockchain_v2")


@pytest.mark.parametrize(
    ("factor", "price", "figure"),
    [
        (8.46, "0.12 × as much", "8.5 × as fast"),
        (0.5, "2.0 × as much", "0.5 × as fast"),
        (1.05, "about as much", "about as fast"),
        (0.95, "about as much", "about as fast"),
    ],
)
def test_how_good_it_is_has_one_form(factor: float, price: str, figure: str) -> None:
    assert against(factor, is_price=True) == f"{price} as {BASELINE}"
    assert against(factor, is_price=False) == f"{figure} as {BASELINE}"


def memory_of(group: int, documents: list[Document]) -> tuple[str, str]:
    """The card of memory, of a group of the report."""
    report = build(documents)
    told = answer(report, report.groups[group], USES[0])
    (tile,) = [each for each in told.tiles if each.label == MEMORY.label]
    return tile.text, tile.against


def test_memory_is_told_in_the_size_that_is_farthest_too() -> None:
    sizes = {coins: matrix(SCHEMAS, 1, coins=coins) for coins in (1_000_000, 4_000_000, 13_500_000)}
    documents = [each for of_size in sizes.values() for each in of_size]
    assert memory_of(2, documents) == (
        "107 MB",
        "peak of a load of 1 M coins, mapped files counted; 193 MB at 13.5 M; "
        "blockchain_v2: 123 MB, 406 MB",
    )
    assert memory_of(0, documents) == (
        "193 MB",
        "peak of a load of 13.5 M coins, mapped files counted; 107 MB at 1 M; "
        "blockchain_v2: 406 MB, 123 MB",
    )
    without_own = [*sizes[1_000_000], *matrix(("coin_log", "rocks"), 1, coins=4_000_000)]
    assert memory_of(1, without_own)[1].endswith("; 128 MB at 4 M; blockchain_v2: 123 MB")


def test_a_newer_run_of_the_same_blocks_is_told_though_the_machine_was_busy() -> None:
    (again,) = matrix(("coin_log",), 1, matrix=NEXT_MATRIX)
    again = with_case(again, "load", peak_rss_bytes=1_060_000_000) | {"others_cores": 1.5}
    again["data"]["source"] = "/mnt/disk/blocks.txt"
    documents = [*matrix(SCHEMAS, 1), again, *matrix(SCHEMAS, 1, coins=4_000_000)]
    report = build(documents)
    (place,) = [n for n, each in enumerate(report.groups) if len(each.rows) > 1 and n]
    assert "; in a newer run 1.06 GB; " in memory_of(place, documents)[1]
    assert "; 1.06 GB at 1 M; " in memory_of(0, documents)[1]


def test_who_was_not_measured_is_named_where_schemas_are_ranked() -> None:
    """A ranking leaves nobody out without a word: also who failed, or was never begun."""
    documents = [full(each) for each in matrix(SCHEMAS, 1)]
    slow = [full(each) for each in matrix(("coin_log", BASELINE, "rocks"), 1, profile="SLOW")]
    for each in documents + slow:
        each["contestant"]["keeps_contract"] = each["contestant"]["name"] not in ("floor", "null")
    for each in slow:
        if each["contestant"]["name"] == "coin_log":
            each["cases"] = [case for case in each["cases"] if case["workload"] != "historical"]
        if each["contestant"]["name"] == "rocks":
            each["cases"] = without(each, "historical", "failed", "time limit")["cases"]
    report = build([*documents, *slow])
    fast, limited = report.groups
    uses = {each.id: each for each in USES}
    named = "(Not measured here: coin_log, interval@rocksdb, rocks (failed).)"
    assert named in answer(report, limited, uses["height"]).sentence
    assert "(Not measured here: interval@rocksdb.)" in answer(report, limited, uses["tip"]).sentence
    assert "Not measured here" not in answer(report, fast, uses["height"]).sentence
    find = next(each for each in document(report).sections if each.id == "find")
    assert "as of any height blockchain_v2, " in find.blocks[1].finding
    assert named[1:-2].replace("Not", "(not") in find.blocks[1].finding
    assert "not measured" not in find.blocks[0].finding
    slow_disk = next(each for each in document(report).sections if each.id == "slow")
    assert slow_disk.blocks[0].finding.endswith("(not measured here: interval@rocksdb).")


def test_each_use_has_its_own_figure_first_and_its_own_schemas() -> None:
    names = (*SCHEMAS[:-1], "sqlite_v3", "flat_file")
    documents = [
        full(each) for profile in ("FAST", "SLOW") for each in matrix(names, 1, profile=profile)
    ]
    for each in documents:
        each["contestant"]["keeps_contract"] = each["contestant"]["name"] not in ("floor", "null")
        if each["contestant"]["name"] == "interval@rocksdb":
            each["contestant"]["description"] = "Everything in RocksDB, without SQLite."
    opening = document(build(documents)).answers[0]
    told = {each.use: each for each in opening.parts if isinstance(each, Answer)}
    tables = {use: each.glance[0].table for use, each in told.items()}
    assert {use: table.header[1] for use, table in tables.items()} == {
        "follow the tip as a node": "commit of a block: less is better",
        "load and look up": "look-ups: more is better",
        "query by SQL": "load: less is better",
        "look up as of any height": "look-ups as of a height: more is better",
        "use a slow disk": "load: less is better",
    }
    sql = {line.schema for line in tables["query by SQL"].rows}
    assert sql == {"floor", "rocks", "sqlite_v3", "flat_file", BASELINE}
    best = [line for line in tables["query by SQL"].rows if line.cells[1].ratio == 1]
    assert [line.schema for line in best] == [told["query by SQL"].schema]
    for use, table in tables.items():
        profile = "SLOW" if use == "use a slow disk" else "FAST"
        assert table.caption.startswith(f"{profile}, 1,000,000 coins at a glance")
        assert "×1.0 is the best of its column" in table.caption
    assert all(len(each.glance[0].shown) <= MOST_SHOWN for each in told.values())
    assert {*told["query by SQL"].glance[0].shown} == sql


def test_a_use_of_the_slow_disk_is_decided_by_its_view() -> None:
    documents = [*matrix(SCHEMAS, 1), *matrix(SCHEMAS, 1, profile="SLOW")]
    told = document(build(documents))
    assert [view.profile for view in told.views] == ["FAST", "SLOW"]
    assert dict(told.decided) == {"small": (1, 1)}
    assert dict(document(build(matrix(SCHEMAS, 1))).decided) == {"small": (0,)}


def test_little_memory_is_no_slow_disk() -> None:
    fast, slow, mine = (
        matrix(SCHEMAS, 1, profile=profile, coins=coins)
        for profile, coins in (("FAST", 4_000_000), ("SLOW", 1_000_000), ("mine", 4_000_000))
    )
    told = document(build([*fast, *slow, *mine]))
    (block,) = [each.blocks[0] for each in told.sections if each.id == "slow"]
    assert block.finding.startswith("On SLOW (")
    (block,) = [
        each.blocks[0] for each in document(build([*fast, *mine])).sections if each.id == "slow"
    ]
    assert block.finding == "No slow disk was measured on this machine."


def test_in_memory_is_what_was_read_before_where_memory_has_a_limit() -> None:
    said = "Memory is 212 MB: what is larger was only read before."
    for profile in ("FAST", "SLOW", "mine"):  # SLOW has a limit, too: of 8 GB
        told = document(build(matrix(SCHEMAS, 1, profile=profile)))
        (found,) = [each.blocks[0].finding for each in told.sections if each.id == "find"]
        assert (said in found) == (profile == "mine")


def test_the_page_begins_where_there_is_an_answer() -> None:
    """One run that ended, on a machine without limits, tells less than others with them."""
    slow = matrix(SCHEMAS, 1, profile="SLOW")
    (run,) = matrix(("coin_log",), 1)
    told = document(build([ended(run, 400_000, 1_200), *slow]))
    assert told.views[0].profile == "SLOW"
    answers = [each for each in told.answers[0].parts if isinstance(each, Answer)]
    assert answers[0].schema == "coin_log"
    (cost, *_) = [each.blocks for each in told.sections if each.id == "cost"]
    assert "coin_log did not load 1,000,000 coins here." in [each.finding for each in cost]


@pytest.mark.parametrize("use", ["tip", "lookup", "height", "small"])
def test_two_schemas_that_swap_their_figures_swap_their_places(use: str) -> None:
    documents = [full(each) for each in matrix(SCHEMAS, 1)]
    slow = [full(each) for each in matrix(SCHEMAS, 1, profile="SLOW")]
    for each in documents + slow:
        each["contestant"]["keeps_contract"] = each["contestant"]["name"] not in ("floor", "null")
    before = chosen([*documents, *slow], use)
    after = chosen(swapped([*documents, *slow], "coin_log", "interval@rocksdb"), use)
    assert (before.schema, after.schema) == ("coin_log", "interval@rocksdb")
    assert before.runner_up != before.schema
    assert after.sentence != before.sentence
    figure = re.compile(r"[\d.,]+ (?:µs|ms|s|k/s|M/s)")
    assert figure.findall(after.sentence) == figure.findall(before.sentence)


def test_of_sql_only_who_has_it() -> None:
    documents = matrix(
        ("coin_log", "interval@rocksdb", "interval@sqlite", "option_1@sqlite", "rocks", "sqlite_v3")
    )
    for each in documents:
        if each["contestant"]["name"] == "interval@rocksdb":
            each["contestant"]["description"] = "Everything in RocksDB, without SQLite."
        if each["contestant"]["name"].endswith("@sqlite"):  # of which no query reads coins
            each["contestant"]["description"] = "Everything in SQLite as ordered keys and values."
    told = chosen(documents, "sql")
    assert (told.schema, told.runner_up) == ("rocks", "sqlite_v3")
    (sql,) = [use for use in USES if use.id == "sql"]
    fits = {row.schema for row in build(documents).groups[0].rows if sql.fits(row)}
    assert fits == {"rocks", "sqlite_v3"}
    assert chosen(matrix(("coin_log",)), "sql").sentence == (
        "Not known: no schema with SQL, to choose from, has a figure of it here."
    )


def test_what_lies_too_near_is_said() -> None:
    near = [with_case(each, "load", wall_seconds=1.0) for each in matrix(("rocks",))]
    nearly = [with_case(each, "load", wall_seconds=1.05) for each in matrix(("sqlite_v3",))]
    far = [with_case(each, "load", wall_seconds=1.2) for each in matrix(("flat_file",))]
    told = chosen([*near, *nearly, *far], "sql")
    assert told.sentence == (
        "rocks loads 1,000,000 coins in 1.00 s, and sqlite_v3 (1.05 s) is within 10 % of it."
    )
    told = chosen([*near, *far], "sql")
    assert told.sentence == "rocks loads 1,000,000 coins in 1.00 s: 1.2 × as fast as flat_file."


def test_ranges_that_overlap_are_too_near() -> None:
    documents = [
        with_case(run(schema, number), "load", wall_seconds=seconds)
        for schema, of_runs in (("rocks", (1, 2, 5)), ("flat_file", (2, 4, 6)))
        for number, seconds in enumerate(of_runs, 1)
    ]
    told = chosen(documents, "sql").sentence
    assert told.endswith("and flat_file (4.00 s) is within the range of its runs.")


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
    assert chosen(matrix(("coin_log",)), "small").sentence == (
        "Not known: no schema to choose from has a figure of a slow disk on this machine."
    )
    alone = chosen(matrix(("coin_log",)), "tip")
    assert alone.runner_sentence == (
        "No runner-up: no other schema to choose from has a figure of it here."
    )
    wrong = [without(each, "load", "wrong", "no") for each in matrix(("rocks",))]
    assert chosen(wrong, "tip").sentence == (
        "Not known: no schema to choose from has a figure of it here."
    )


def test_the_reference_model_layouts_and_options_are_no_answers() -> None:
    names = ("memory", "mono_space@rocksdb", "interval@rocksdb,payload=inline", "sqlite_row")
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
    others = "blockchain_v2 (ended at the limit), rocks (not measured)"
    void = f"flat_file (✗), sqlite_row (failed), {others}"
    assert any(void in text for text in texts)


def test_without_a_group_nothing_is_shown() -> None:
    report = build(matrix(("coin_log",)))
    assert shown(report.groups[0], ()) == ("coin_log",)


def test_figures_of_the_other_uses_never_choose() -> None:
    """One figure decides: the runner-up is better in all others, and stays the runner-up."""
    documents = matrix(("coin_log", "rocks"))
    for each in documents:
        if each["contestant"]["name"] == "rocks":
            each["cases"][0]["figures"] |= {
                "wall_seconds": 0.001,
                "peak_rss_bytes": 1,
                "size_bytes": 1,
            }
    assert chosen(documents, "lookup").schema == "coin_log"
    assert chosen(documents, "sql").schema == "rocks"
