"""A document as text for a terminal."""

from collections.abc import Iterable

from tabulate import tabulate

from cdb.contract.printable import CELL_LENGTH, plain, printable
from cdb.report.outline import Command, Heading, Items, Link, Part, Text
from cdb.report.tables import Table


def terminal(parts: Iterable[Part]) -> str:
    """The document; ends with a line break."""
    return "\n\n".join(map(_part, parts)) + "\n"


def table_text(table: Table) -> str:
    """Aligned columns. Lines may be longer than a terminal's."""
    return tabulate(
        [[plain(cell, CELL_LENGTH) for cell in row] for row in table.rows],
        [plain(cell, CELL_LENGTH) for cell in table.header],
        tablefmt="simple",
        colalign=["left" if n < table.texts else "right" for n in range(len(table.header))],
        disable_numparse=True,
    )


def _part(part: Part) -> str:
    match part:
        case Heading(level, text):
            return f"{plain(text)}\n{'=-.'[level - 1] * len(plain(text))}"
        case Text(text):
            return plain(text)
        case Link(text):
            return plain(text)
        case Items(texts):
            return "\n".join(f"- {plain(text)}" for text in texts)
        case Command(line):
            return f"  {printable(line)}"
        case Table():
            return table_text(part)
