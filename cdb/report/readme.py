"""Tables of the documentation: drawn from results, and put between two lines of a file."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from cdb.engines import ENGINES
from cdb.errors import CdbError
from cdb.report.answers import USUAL_LOOKUPS, conditions, weight
from cdb.report.markdown import escaped, markdown, pipe_table
from cdb.report.model import LOAD, Case, Group, Mark, NodeComparison, Report, Row
from cdb.report.outline import node_parts
from cdb.report.rules import NODE_WORDS, WEEK_WORDS
from cdb.report.tables import NONE, busy_line
from cdb.schemas.registry import BY_ENGINE, layout_names

BEGIN = "<!-- cdb report --readme: begin -->"
END = "<!-- cdb report --readme: end -->"
NODE_BEGIN = "<!-- cdb report --node: begin -->"
NODE_END = "<!-- cdb report --node: end -->"
WEEK_BEGIN = "<!-- cdb report --week: begin -->"
WEEK_END = "<!-- cdb report --week: end -->"
PAGES = "docs/schemas"
_TAKE_IT = {
    "coin_log": "to follow the tip and look coins up by name: loads fastest, and is smallest",
    **{f"interval@{name}": engine.good_for for name, engine in ENGINES.items() if engine.good_for},
    "rocks": "to query coins by SQL; loads stay fast when names outgrow memory",
    "sqlite_v3": "to query coins by SQL, with nothing but Python and its SQLite",
    "flat_file": "to query coins by SQL; loads stay fast, in plain Python",
    "blockchain_v2": "to read a full node's own database",
}
"""Which schema is for whom; of any other one the table has its description."""
_LEFT_TO_THE_PAGE = {"memory", "sqlite_row"}
"""A model for tests, and flat_file's twin: no choice that a reader begins with."""
_HEADER = ("schema", "take it", "load, coins/s", "look-ups/s", "bytes per coin")
_LOOKUPS = Case.of("read_random", {**USUAL_LOOKUPS, "cache": "warm", "form": "objects"})


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
    """Which schema to take, of the group that tells the most."""
    group = max(report.groups, key=weight, default=None)
    if group is None:
        raise ReadmeError("there are no results to draw a table from")
    rows = [
        [
            _linked(row.schema, pages),
            escaped(_take_it(row)),
            escaped(_text(row, LOAD, "coins_per_second") or row.mark.value or NONE),
            escaped(_text(row, _LOOKUPS, "names_per_second") or NONE),
            escaped(_text(row, LOAD, "size_bytes_per_coin") or NONE),
        ]
        for row in _choices(group.rows)
    ]
    return f"{pipe_table(_HEADER, rows, 2)}\n\n{_notes(group)}\n"


def _choices(rows: Sequence[Row]) -> Iterator[Row]:
    """What a reader chooses from first. The page alone has all layouts and options, and a schema's
    older name beside its newer one."""
    names = {row.schema for row in rows}
    older = {module for name, module in BY_ENGINE.items() if name in names}
    left_out = {*layout_names(), *older, *_LEFT_TO_THE_PAGE}
    for row in rows:
        if row.mark is not Mark.NOTHING and row.schema not in left_out and "," not in row.schema:
            yield row


def _take_it(row: Row) -> str:
    module = BY_ENGINE.get(row.schema, row.schema)
    names = (row.schema, *(name for name, each in BY_ENGINE.items() if each == module))
    return next((_TAKE_IT[name] for name in names if name in _TAKE_IT), row.description)


def _text(row: Row, case: Case, figure: str) -> str:
    """A median, with †; empty where there is none."""
    spread = row.figure(case, figure)
    return "" if spread is None else spread.median_text(figure)


def _linked(schema: str, pages: Path) -> str:
    page = BY_ENGINE.get(schema, schema)
    has_page = page.isidentifier() and (pages / f"{page}.md").exists()
    return f"[{schema}]({PAGES}/{page}.md)" if has_page else escaped(schema)


def _notes(group: Group) -> str:
    note = (
        f"Medians on {group.setting.machine}, {conditions(group.setting)}; † means fewer than five "
        "runs. Look-ups are of names that exist, 1,000 at a time, as objects, with files in memory."
    )
    return escaped(" ".join(filter(None, [note, busy_line(group)])))


def _node_section(command: str, words: str, comparisons: Sequence[NodeComparison]) -> str:
    """What markdown() makes of the comparisons, without a heading."""
    if not comparisons:
        raise ReadmeError(f"there are no results of {command} to draw a table from")
    return f"{markdown(node_parts(words, comparisons))}\n"
