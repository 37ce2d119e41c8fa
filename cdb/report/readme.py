"""Tables of the documentation: drawn from results, and put between two lines of a file."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from cdb.errors import CdbError
from cdb.report.answers import USUAL_LOOKUPS, answer, weight
from cdb.report.markdown import escaped, markdown, pipe_table
from cdb.report.model import LOAD, Case, Group, NodeComparison, Report, Row
from cdb.report.outline import node_parts
from cdb.report.rules import NODE_WORDS, WEEK_WORDS
from cdb.report.tables import NONE, Column, busy_line, told_columns
from cdb.schemas.registry import BY_ENGINE

BEGIN = "<!-- cdb report --readme: begin -->"
END = "<!-- cdb report --readme: end -->"
NODE_BEGIN = "<!-- cdb report --node: begin -->"
NODE_END = "<!-- cdb report --node: end -->"
WEEK_BEGIN = "<!-- cdb report --week: begin -->"
WEEK_END = "<!-- cdb report --week: end -->"
PAGES = "docs/schemas"


def _lookups(label: str, cache: str, form: str) -> Column:
    case = Case.of("read_random", {**USUAL_LOOKUPS, "cache": cache, "form": form})
    return Column(label, case, "names_per_second")


_COLUMNS = (
    Column("coins/s", LOAD, "coins_per_second"),
    Column("written a coin", LOAD, "written_bytes_per_coin"),
    Column("size a coin", LOAD, "size_bytes_per_coin"),
    _lookups("warm lookups", "warm", "packed"),
    _lookups("warm, objects", "warm", "objects"),
    _lookups("cold lookups", "cold", "packed"),
    _lookups("cold, objects", "cold", "objects"),
)


class ReadmeError(CdbError):
    """The file has no place for the table, or there is no table."""


def with_table(text: str, report: Report, readme: Path) -> str:
    """The README's text with the table of this report. Raises ReadmeError."""
    pages = readme.parent / PAGES
    return _put(text, (BEGIN, END), readme, lambda: _section(report, pages))


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


def _section(report: Report, pages: Path) -> str:
    """Of the group that tells the most; and what its loads take on the machine's other profiles."""
    group = max(report.groups, key=weight, default=None)
    if group is None:
        raise ReadmeError("there are no results to draw a table from")
    profiles = report.profiles_of(group)
    columns = told_columns(_COLUMNS, group)
    header = ["schema", "what it is", *(f"load, {profile}" for profile in profiles)]
    header += [column.label for column in columns]
    rows = [
        [
            _linked(row.schema, pages),
            escaped(row.description),
            *(escaped(_load(other, row.schema)) for other in profiles.values()),
            *(escaped(column.median_text(row)) for column in columns),
        ]
        for row in group.lines
    ]
    return f"{escaped(answer(group))}\n\n{pipe_table(header, rows, 2)}\n\n{_notes(group)}\n"


def _linked(schema: str, pages: Path) -> str:
    page = BY_ENGINE.get(schema, schema)
    has_page = page.isidentifier() and (pages / f"{page}.md").exists()
    return f"[{schema}]({PAGES}/{page}.md)" if has_page else escaped(schema)


def _load(group: Group, schema: str) -> str:
    row = next((row for row in group.lines if row.schema == schema), None)
    return NONE if row is None else _load_text(row)


def _load_text(row: Row) -> str:
    wall = row.figure(LOAD, "wall_seconds")
    return row.mark.value if wall is None else wall.median_text("wall_seconds")


def _notes(group: Group) -> str:
    setting = group.setting
    note = (
        f"Medians, on {setting.machine}; † means fewer than five runs. But for the loads on other "
        f"profiles, figures are of {setting.profile}. The replay is {setting.source}."
    )
    return escaped(" ".join(filter(None, [note, busy_line(group)])))


def _node_section(command: str, words: str, comparisons: Sequence[NodeComparison]) -> str:
    """What markdown() makes of the comparisons, without a heading."""
    if not comparisons:
        raise ReadmeError(f"there are no results of {command} to draw a table from")
    return f"{markdown(node_parts(words, comparisons))}\n"
