"""Which engine: one layout in all of them, in a table and in words, by made-up results."""

import copy
from collections.abc import Callable

import pytest

from cdb.bench.results import Document
from cdb.engines import ENGINES
from cdb.report.build import build
from cdb.report.document import document
from cdb.report.html import page
from cdb.report.parts import NONE, Bars, Block, Fold, Items, Table
from tests.engines import OTHERS
from tests.report.fixtures import AT_THE_LIMIT, ended, run, without

QUICK, SLOW, ENDED, MISSING, *UNTRIED = OTHERS
COINS = 4_000_000


def loads(engine: str, speed: float = 1.0) -> list[Document]:
    return [run(f"interval@{engine}", n, runs=3, coins=COINS, speed=speed) for n in (1, 2, 3)]


def finding_most(document: Document, factor: float) -> Document:
    """The run, with so many times the look-ups of existing names."""
    changed = copy.deepcopy(document)
    for case in changed["cases"]:
        if case["parameters"].get("names") == "existing":
            case["figures"]["names_per_second"] *= factor
    return changed


@pytest.fixture(scope="module")
def block() -> Block:
    """QUICK loads fastest, and SLOW finds most; one ended, and one is not on this machine."""
    documents = [
        *loads(QUICK, speed=2),
        *(finding_most(each, 9) for each in loads(SLOW)),
        *(ended(each, 2_100_000, 1_195 + each["run"]) for each in loads(ENDED)),
        *(without(each, "load", "not_measured", "no library") for each in loads(MISSING)),
    ]
    (section,) = [each for each in document(build(documents)).sections if each.id == "engines"]
    return section.blocks[0]


@pytest.fixture(scope="module")
def table(block: Block) -> Table:
    """Of the engines."""
    (found,) = [
        part
        for part in block.parts
        if isinstance(part, Table) and part.caption == "interval in each engine"
    ]
    return found


@pytest.fixture(scope="module")
def told(table: Table) -> Callable[[str, str], str]:
    """The text of an engine in a column."""
    rows = {line.cells[0].text: line.cells for line in table.rows}
    return lambda engine, column: rows[f"interval@{engine}"][table.header.index(column)].text


def test_each_engine_that_was_tried_is_a_line(table: Table) -> None:
    names = [line.cells[0].text for line in table.rows]
    assert names == [f"interval@{each}" for each in (QUICK, SLOW, ENDED, MISSING)]
    assert table.header == (
        "engine",
        "load",
        "look-ups in memory",
        "look-ups not in memory",
        "disk per coin",
        "look-ups of absent names",
    )


def test_what_else_tells_them_apart_is_another_table(block: Block) -> None:
    title = "interval in each engine: what else tells them apart"
    (table,) = [each for each in block.parts if isinstance(each, Table) and each.caption == title]
    assert table.header == ("engine", "the disk received in a load")
    received = {line.cells[0].text: line.cells[1].text for line in table.rows}
    assert received[f"interval@{QUICK}"] == received[f"interval@{SLOW}"] == "1.48 GB"


def test_the_figures_are_medians(told: Callable[[str, str], str]) -> None:
    assert (told(QUICK, "load"), told(SLOW, "load")) == ("9.00 s", "18.0 s")
    assert told(QUICK, "look-ups in memory") == "180 k/s"
    assert told(SLOW, "look-ups in memory") == "810 k/s"
    assert told(SLOW, "look-ups not in memory") == "27 k/s"
    assert told(SLOW, "look-ups of absent names") == "90 k/s"
    assert told(SLOW, "disk per coin") == told(QUICK, "disk per coin") == "150 B"


def test_one_that_ended_says_how_far_it_came(told: Callable[[str, str], str]) -> None:
    assert told(ENDED, "load") == "2.1 M of 4 M in 19 m 56 s"
    assert told(MISSING, "load") == "not measured"
    assert AT_THE_LIMIT not in told(ENDED, "look-ups in memory")


def test_the_verdict_is_by_use(block: Block) -> None:
    assert f"take for a node {QUICK} (load: 9.00 s); " in block.finding
    assert f"for an indexer {SLOW} (look-ups in memory: 810 k/s); " in block.finding
    assert "for a small machine" not in block.finding  # no limit: none was measured
    assert f"for an archive {QUICK} or {SLOW} (disk per coin: 150 B)." in block.finding


@pytest.mark.parametrize(
    ("profile", "machine"), [("SLOW", "a machine with a slow disk"), ("mine", "a small machine")]
)
def test_a_machine_with_limits_takes_what_loads_or_finds_most_there(
    profile: str, machine: str
) -> None:
    documents = [
        run(f"interval@{QUICK}", 1, coins=COINS, profile=profile, speed=2),
        finding_most(run(f"interval@{SLOW}", 1, coins=COINS, profile=profile), 9),
    ]
    found = finding(documents)
    assert f"take for {machine} that follows the chain {QUICK} (load: " in found
    assert f"for one that looks coins up {SLOW} (look-ups not in memory: " in found
    assert "a node" not in found


def finding(documents: list[Document]) -> str:
    """Of the one block that has a verdict."""
    (section,) = [each for each in document(build(documents)).sections if each.id == "engines"]
    (found,) = [block.finding for block in section.blocks if " take for " in block.finding]
    return found


def test_what_cannot_be_told_apart_is_named_together_and_what_failed_is_said() -> None:
    failed = without(run(f"interval@{SLOW}", 1, coins=COINS), "read_random", "failed", "killed")
    third, fourth = sorted((ENDED, MISSING))
    slower = [run(f"interval@{each}", 1, coins=COINS, speed=0.99) for each in (third, fourth)]
    unasked = without(slower[1], "read_random", "not_measured", "no time")
    documents = [run(f"interval@{QUICK}", 1, coins=COINS, speed=1.05), failed, slower[0], unasked]
    found = finding(documents)
    assert f"take for a node {QUICK} or {SLOW} or {third} or {fourth} (load: " in found
    indexer = f"for an indexer {QUICK} or {third} (look-ups in memory: 94.5 k/s; {SLOW}: failed); "
    assert indexer in found


def test_nothing_is_as_good_as_nothing() -> None:
    documents = [run(f"interval@{each}", 1, coins=COINS) for each in (QUICK, SLOW)]
    for each in documents:
        each["cases"][0]["figures"]["wall_seconds"] = 0.0
    assert f"take for a node {QUICK} or {SLOW} (load: 0.00 s); " in finding(documents)


def test_engines_that_nobody_tried_are_named(block: Block) -> None:
    untried = sorted({*ENGINES} - {QUICK, SLOW, ENDED})
    assert {*UNTRIED, MISSING} <= {*untried}
    assert f" Not measured here: {', '.join(untried)}. By interval" in block.finding


def test_what_was_not_asked_for_has_no_table() -> None:
    """As in results of `cdb bench speed`, in which layouts do nothing but load."""
    documents = loads(QUICK)
    for each in documents:
        each["cases"] = [case for case in each["cases"] if case["workload"] == "load"]
    report = build(documents)
    (section,) = [each for each in document(report).sections if each.id == "engines"]
    drawn = [part.table.caption for part in section.blocks[0].parts if isinstance(part, Bars)]
    assert drawn == ["Time to load"]
    assert "Time to load" in page(report)


def test_published_figures_stand_beside_ours() -> None:
    documents = [*loads("badger"), *loads("bbolt", speed=0.5)]
    (section,) = [each for each in document(build(documents)).sections if each.id == "engines"]
    (fold,) = [
        part
        for part in section.blocks[0].parts
        if isinstance(part, Fold) and part.title.startswith("Published figures of engines")
    ]
    table = next(part for part in fold.parts if isinstance(part, Table))
    assert table.header[1:4] == ("published: Badger", "published: bbolt", "published: Margaret")
    rows = {row[0]: row[1:] for row in table.texts()}
    assert rows["append · load"] == ["65%", "96%", "100%", "50%", "100%", NONE]
    assert rows["size"][3:] == ["100%", "100%", NONE]
    assert any("None says that it checked an answer" in line for line in items_of(fold))


def items_of(fold: Fold) -> tuple[str, ...]:
    (items,) = [part for part in fold.parts if isinstance(part, Items)]
    return items.texts
