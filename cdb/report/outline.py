"""A report from beginning to end, as parts that Markdown and a terminal each write their way."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from cdb.report import layouts, node
from cdb.report.answers import answers, conditions
from cdb.report.group_tables import SECTIONS
from cdb.report.growth import growth_tables
from cdb.report.model import LOAD, Group, LayoutComparison, MachineCard, NodeComparison, Report
from cdb.report.published import SOURCE, published_table
from cdb.report.rules import (
    LAYOUTS_TITLE,
    LAYOUTS_WORDS,
    LIMITS,
    NODE_TITLE,
    NODE_WORDS,
    RULES,
    WEEK_TITLE,
    WEEK_WORDS,
)
from cdb.report.tables import (
    Table,
    all_figures_table,
    busy_line,
    machine_table,
    matrix_table,
    problem_lines,
    schema_table,
)

RULES_TITLE = "Rules and limits"


@dataclass(frozen=True, slots=True)
class Heading:
    """level: 1 for the whole document's."""

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """To a heading of the same document."""

    text: str
    heading: str


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Command:
    """A line for a shell."""

    line: str


Part = Heading | Text | Link | Items | Command | Table


def outline(report: Report) -> Iterator[Part]:
    """The parts in their order: answers first, rules last."""
    yield Heading(1, "What storing coins costs")
    for answer in answers(report):
        yield Text(answer.text)
    yield Link(f"How to read this: {RULES_TITLE.lower()}.", RULES_TITLE)
    for card in report.machines:
        yield from _machine(report, card)
    if report.node:
        yield Heading(2, NODE_TITLE)
        yield from node_parts(NODE_WORDS, report.node)
    if report.weeks:
        yield Heading(2, WEEK_TITLE)
        yield from node_parts(WEEK_WORDS, report.weeks)
    if report.layouts:
        yield Heading(2, LAYOUTS_TITLE)
        yield Text(LAYOUTS_WORDS)
        for comparison in report.layouts:
            yield from _layouts(comparison)
    yield Heading(2, "What each schema does")
    yield schema_table(report.groups)
    yield Heading(2, "How it was measured")
    for matrix in report.matrices:
        yield matrix_table(matrix)
        yield Command(matrix.command)
    yield Heading(2, RULES_TITLE)
    yield Items(RULES)
    yield Items(LIMITS)


def _machine(report: Report, card: MachineCard) -> Iterator[Part]:
    yield Heading(2, report.place(card.name))
    yield machine_table(card)
    for group in report.groups_of(card.name):
        yield from _group(group)
    for setting, table in growth_tables(report.groups_of(card.name)):
        yield Heading(3, f"{card.name}, {setting.profile}: how the cost grows")
        yield Text(f"Durability {setting.durability}, a flush each {setting.flush_coins:,} coins.")
        yield table
    published = published_table(report, card.name)
    if published is not None:
        title, table = published
        yield Heading(3, f"{card.name}: published beside measured")
        yield Text(f"{SOURCE} {title}")
        yield table


def node_parts(words: str, comparisons: Iterable[NodeComparison]) -> Iterator[Part]:
    """A node's coin stores beside each other, after some words on what was done."""
    yield Text(words)
    for comparison in comparisons:
        yield from _compared(comparison)


def _compared(comparison: NodeComparison) -> Iterator[Part]:
    yield Heading(3, f"{comparison.setting.machine}, {node.conditions(comparison)}")
    yield Text(node.how(comparison))
    busy = node.busy_line(comparison)
    if busy is not None:
        yield Text(busy)
    for table in node.node_tables(comparison):
        yield Text(f"{table.caption}:")
        yield table.as_texts()
    yield Command(comparison.command)


def _layouts(comparison: LayoutComparison) -> Iterator[Part]:
    yield Heading(3, f"{comparison.setting.machine}, {layouts.conditions(comparison)}")
    yield Text(layouts.how(comparison))
    busy = layouts.busy_line(comparison)
    if busy is not None:
        yield Text(busy)
    published = layouts.published_table(comparison)
    if published is not None:
        yield Text("Published beside measured:")
        yield published
        yield Items(layouts.flaw_lines(comparison))
    for table in layouts.layout_tables(comparison):
        yield Text(f"{table.caption}:")
        yield table.as_texts()
    problems = layouts.problem_lines(comparison)
    if problems:
        yield Items(problems)
    for line in comparison.commands:
        yield Command(line)


def _group(group: Group) -> Iterator[Part]:
    setting = group.setting
    yield Heading(3, f"{setting.machine}, {conditions(setting)}")
    yield Text(f"The replay is {setting.source}; {_written(group)}.")
    # The floor is a line to hold the others against.
    lined = replace(group, rows=group.lines)
    for section, tables in SECTIONS.items():
        for table in tables(lined if section == "cost" else group):
            yield table.as_texts()
    busy = busy_line(group)
    if busy is not None:
        yield Text(busy)
    problems = problem_lines(group)
    if problems:
        yield Items(tuple(problems))
    yield from _frontiers(group)
    yield Text("All figures, as medians:")
    yield all_figures_table(group)


def _written(group: Group) -> str:
    counted = {
        "device_written_bytes": "at the device",
        "disk_written_bytes": "where the process sends pages to the disk",
        "written_bytes": "in write calls",
    }
    return f"for write amplification, bytes are counted {counted[group.written_figure]}"


def _frontiers(group: Group) -> Iterator[Part]:
    for what, name in (("size on disk", "size_bytes"), ("peak RSS", "peak_rss_bytes")):
        schemas = _in_order(group, group.frontier(LOAD, name))
        if schemas:
            yield Text(f"Beaten by none in both load time and {what}: {', '.join(schemas)}.")


def _in_order(group: Group, schemas: frozenset[str]) -> list[str]:
    return [row.schema for row in group.rows if row.schema in schemas]
