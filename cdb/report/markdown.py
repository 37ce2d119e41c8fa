"""A document as Markdown. Texts from results are escaped: nothing in them is markup."""

import re
from collections.abc import Iterable, Sequence
from html import escape

from tabulate import tabulate

from cdb.contract.printable import CELL_LENGTH, plain, printable
from cdb.report.outline import Command, Heading, Items, Link, Part, Text
from cdb.report.tables import Table

_MARKUP = re.compile(r"([\\`*\[\]|#~]|\b_+|_+\b)")


def markdown(parts: Iterable[Part]) -> str:
    """The document; ends with a line break."""
    return "\n\n".join(map(_part, parts)) + "\n"


def table_text(table: Table) -> str:
    """A pipe table."""
    return pipe_table(
        [_cell(cell) for cell in table.header],
        [[_cell(cell) for cell in row] for row in table.rows],
        table.texts,
    )


def pipe_table(header: Sequence[str], rows: Sequence[Sequence[str]], texts: int) -> str:
    """A table of cells that are Markdown already; the first `texts` columns begin at the left."""
    return tabulate(
        rows,
        header,
        tablefmt="pipe",
        colalign=["left" if n < texts else "right" for n in range(len(header))],
        disable_numparse=True,
    )


def escaped(text: str) -> str:
    """Text of any origin, as one line that stands for itself, also in a cell."""
    return _MARKUP.sub(_backslashed, escape(plain(text), quote=False))


def _cell(text: str) -> str:
    return escaped(plain(text, CELL_LENGTH))


def _backslashed(found: re.Match[str]) -> str:
    return "".join(f"\\{each}" for each in found[0])


def _part(part: Part) -> str:
    match part:
        case Heading(level, text):
            return f"{'#' * level} {escaped(text)}"
        case Text(text):
            return escaped(text)
        case Link(text, heading):
            return f"[{escaped(text)}](#{_anchor(heading)})"
        case Items(texts):
            return "\n".join(f"- {escaped(text)}" for text in texts)
        case Command(line):
            return _code(printable(line))
        case Table():
            return table_text(part)


def _anchor(heading: str) -> str:
    """As GitHub makes it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _code(line: str) -> str:
    """A block whose fence is longer than any in the line."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", line)), default=0))
    return f"{fence}sh\n{line}\n{fence}"
