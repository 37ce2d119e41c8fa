"""Tables of the documentation: drawn from results, and put between two lines of a file."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from cdb.errors import CdbError
from cdb.report import node
from cdb.report.markup import Html, xml
from cdb.report.model import LOAD, Case, Group, Mark, Report, Row
from cdb.report.parts import NONE, Heading, Part, Text
from cdb.report.rules import NODE_WORDS, WEEK_WORDS
from cdb.report.sections import node_parts
from cdb.report.tables import busy_line, runs_text
from cdb.report.text import escaped, markdown, pipe_table
from cdb.report.uses import (
    LOOKUPS,
    TAKE_IT,
    conditions,
    is_listed,
    page_of,
    weight,
)

BEGIN = "<!-- cdb report --readme: begin -->"
END = "<!-- cdb report --readme: end -->"
NODE_BEGIN = "<!-- cdb report --node: begin -->"
NODE_END = "<!-- cdb report --node: end -->"
WEEK_BEGIN = "<!-- cdb report --week: begin -->"
WEEK_END = "<!-- cdb report --week: end -->"
PAGES = "docs/schemas"
PICTURE = "docs/schemas.svg"
"""Beside a README, where it has docs/."""
_HEADER = ("schema", "take it", "load, coins/s", "look-ups/s", "bytes per coin")
_FIGURES: Sequence[tuple[Case, str]] = (
    (LOAD, "coins_per_second"),
    (LOOKUPS[0], "names_per_second"),
    (LOAD, "size_bytes_per_coin"),
)
"""In the order of columns, from the third on."""
_WIDTH, _NAME, _ROW, _TOP = 720, 130, 24, 26
_COLOURS = ("#2f7fc1", "#3a9d78", "#b0702a")


class ReadmeError(CdbError):
    """The file has no place for the table, or there is no table."""


def with_table(text: str, report: Report, readme: Path) -> str:
    """The README's text with the table of this report. Raises ReadmeError."""
    return _put(text, (BEGIN, END), readme, lambda: _section(report, readme.parent))


def with_node_tables(text: str, report: Report, page: Path) -> str:
    """A page's text with the tables of the node's coin stores. Raises ReadmeError."""
    section = partial(_node_section, "cdb bench node", NODE_WORDS, report.node)
    return _put(text, (NODE_BEGIN, NODE_END), page, section)


def with_week_tables(text: str, report: Report, page: Path) -> str:
    """A page's text with the tables of a node's week. Raises ReadmeError."""
    section = partial(_node_section, "cdb bench week", WEEK_WORDS, report.weeks)
    return _put(text, (WEEK_BEGIN, WEEK_END), page, section)


def _put(text: str, lines: tuple[str, str], file: Path, section: Callable[[], str]) -> str:
    first, last = lines
    head, begin, rest = text.partition(f"{first}\n")
    _, end, tail = rest.partition(last)
    if not begin or not end:
        raise ReadmeError(f"{file}: there are no lines {first} and {last} to put the table between")
    return f"{head}{first}\n{section()}{last}{tail}"


def _group(report: Report) -> Group:
    """The one that tells the most, and has a row."""
    groups = (group for group in report.groups if any(_choices(group.rows)))
    group = max(groups, key=weight, default=None)
    if group is None:
        raise ReadmeError("there are no results to draw a table from")
    return group


def _section(report: Report, folder: Path) -> str:
    """Which schema to take."""
    group = _group(report)
    rows = [
        [
            _linked(row.schema, folder / PAGES),
            escaped(TAKE_IT.get(row.schema, row.description)),
            *(
                escaped(_text(group, row, *each) or (NONE if n else _no_load(row)))
                for n, each in enumerate(_FIGURES)
            ),
        ]
        for row in _choices(group.rows)
    ]
    picture = ""
    if (folder / PICTURE).parent.is_dir():
        picture = f"![The table below as bars]({PICTURE})\n\n"
    return f"{picture}{pipe_table(_HEADER, rows, 2)}\n\n{_notes(group)}\n"


def _no_load(row: Row) -> str:
    return NONE if row.mark is Mark.RIGHT else row.mark.value


def _choices(rows: Sequence[Row]) -> Iterator[Row]:
    """What a reader chooses from first. The page alone has all layouts and options."""
    for row in rows:
        if row.mark is not Mark.NOTHING and is_listed(row):
            yield row


def _text(group: Group, row: Row, case: Case, figure: str) -> str:
    """A median; empty where there is none."""
    spread = row.figure(case, figure)
    return "" if spread is None else f"{spread.median_text(figure)} {group.dagger(spread)}".strip()


def _linked(schema: str, pages: Path) -> str:
    page = page_of(schema)
    has_page = page.isidentifier() and (pages / f"{page}.md").exists()
    return f"[{schema}]({PAGES}/{page}.md)" if has_page else escaped(schema)


def _notes(group: Group) -> str:
    note = (
        f"Medians on {group.setting.machine}, {conditions(group.setting)}; {runs_text(group)}. "
        "Look-ups are of names that exist, 1,000 at a time, as objects, with files in memory."
    )
    return escaped(" ".join(filter(None, [note, busy_line(group)])))


def picture(report: Report) -> str:
    """The README's table as bars: an SVG that is read in light and in dark. Raises ReadmeError."""
    group = _group(report)
    rows = [row for row in _choices(group.rows) if row.competes]
    height = _TOP + _ROW * len(rows) + 4
    width = (_WIDTH - _NAME) / 3
    parts = [
        xml(
            "style",
            Html(
                "text{font:13px system-ui,sans-serif;fill:#59616a}.n{fill:#1b1f23}"
                "@media(prefers-color-scheme:dark){text{fill:#a4adb6}.n{fill:#e6e9ec}}"
            ),
        )
    ]
    for n, (case, figure) in enumerate(_FIGURES):
        left = _NAME + n * width
        told = [spread for row in rows if (spread := row.figure(case, figure))]
        top = max((spread.median for spread in told), default=1.0) or 1.0
        parts.append(xml("text", _HEADER[n + 2], x=f"{left:.0f}", y=14))
        for place, row in enumerate(rows):
            spread = row.figure(case, figure)
            y = _TOP + place * _ROW
            if n == 0:
                parts.append(xml("text", row.schema, x=0, y=y + 13, class_="n"))
            if spread is not None:
                long = max(2.0, (width - 78) * spread.median / top)
                text = f"{spread.median_text(figure)} {group.dagger(spread)}".strip()
                bar = {"width": f"{long:.1f}", "height": 14, "rx": 2, "fill": _COLOURS[n]}
                parts.append(xml("rect", x=f"{left:.0f}", y=y + 2, **bar))
                at = f"{left + long + 5:.1f}"
                parts.append(xml("text", text, x=at, y=y + 13))
    title = f"Load, look-ups and size of {len(rows)} schemas"
    drawn = xml(
        "svg",
        xml("title", title),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_WIDTH} {height}",
        width=_WIDTH,
        height=height,
        role="img",
    )
    return f"{drawn}\n"


def _node_section(command: str, words: str, groups: Sequence[Group]) -> str:
    """What markdown() makes of the comparisons, without a heading."""
    if not groups:
        raise ReadmeError(f"there are no results of {command} to draw a table from")
    parts: list[Part] = [Text(words)]
    for group in groups:
        parts.append(Heading(3, f"{group.setting.machine}, {node.conditions(group)}"))
        parts += node_parts(group)
    return f"{markdown(parts)}\n"
