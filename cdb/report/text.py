"""A document as Markdown, and as a terminal's text: what has neither pictures nor folds.

In Markdown texts from results are escaped: nothing in them is markup.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape

from tabulate import tabulate

from cdb.contract.printable import CELL_LENGTH, plain, printable
from cdb.report.parts import (
    Answer,
    Bars,
    Command,
    Document,
    Doubt,
    Fold,
    Heading,
    Items,
    Part,
    Plot,
    Table,
    Text,
    Tile,
)

Flat = Heading | Text | Doubt | Items | Command | Table
_MARKUP = re.compile(r"([\\`*\[\]|#~]|\b_+|_+\b)")


def markdown(document: Document | Iterable[Part]) -> str:
    """The document, or parts, as Markdown; ends with a line break."""
    return _written(document, _in_markdown)


def terminal(document: Document | Iterable[Part]) -> str:
    """The document, or parts, for a terminal; ends with a line break. Lines may be longer."""
    return _written(document, _in_a_terminal)


def _written(document: Document | Iterable[Part], write: Callable[[Flat], str]) -> str:
    return "\n\n".join(map(write, flat(document))) + "\n"


def _in_markdown(part: Flat) -> str:
    match part:
        case Heading(level, text):
            return f"{'#' * level} {escaped(text)}"
        case Text(text):
            return escaped(text)
        case Doubt(text):
            return f"**{escaped(text)}**"
        case Items(texts):
            return "\n".join(f"- {escaped(text)}" for text in texts)
        case Command(line):
            return _code(printable(line))
        case Table():
            return pipe_table(*_cells(part, escaped), part.words)


def _in_a_terminal(part: Flat) -> str:
    match part:
        case Heading(level, text):
            return f"{plain(text)}\n{'=-.'[min(level, 3) - 1] * len(plain(text))}"
        case Text(text) | Doubt(text):
            return plain(text)
        case Items(texts):
            return "\n".join(f"- {plain(text)}" for text in texts)
        case Command(line):
            return f"  {printable(line)}"
        case Table():
            return _tabulated(*_cells(part, plain), part.words, "simple")


def _cells(table: Table, write: Callable[[str], str]) -> tuple[list[str], list[list[str]]]:
    """The header and the rows."""
    header, *rows = (
        [write(plain(cell, CELL_LENGTH)) for cell in row] for row in (table.header, *table.texts())
    )
    return header, rows


def pipe_table(header: Sequence[str], rows: Sequence[Sequence[str]], words: int) -> str:
    """A table of cells that are Markdown already; the first `words` columns begin at the left."""
    return _tabulated(header, rows, words, "pipe")


def _tabulated(header: Sequence[str], rows: Sequence[Sequence[str]], words: int, form: str) -> str:
    sides = ["left" if n < words else "right" for n in range(len(header))]
    return tabulate(rows, header, tablefmt=form, colalign=sides, disable_numparse=True)


def escaped(text: str) -> str:
    """Text of any origin, as one line of Markdown that stands for itself, also in a cell."""
    return _MARKUP.sub(_backslashed, escape(plain(text), quote=False))


def _backslashed(found: re.Match[str]) -> str:
    return "".join(f"\\{each}" for each in found[0])


def _code(line: str) -> str:
    """A block whose fence is longer than any in the line."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", line)), default=0))
    return f"{fence}sh\n{line}\n{fence}"


def flat(document: Document | Iterable[Part]) -> Iterator[Flat]:
    """A picture is its table, a fold what is in it, an answer its sentences and figures."""
    if isinstance(document, Document):
        yield from _document(document)
    else:
        for part in document:
            yield from _part(part)


def _document(document: Document) -> Iterator[Flat]:
    yield Heading(1, document.title)
    for view, opening in zip(document.views, document.answers, strict=True):
        yield Heading(2, str(view))
        yield from _texts(opening.finding)
        yield from flat(opening.parts)
    yield Heading(2, "Words")
    yield Items(tuple(f"{word}: {meaning}" for word, meaning in document.words))
    for section in document.sections:
        yield Heading(2, section.question)
        seen = set()
        for view, block in zip(document.views, section.blocks, strict=True):
            if block.is_empty:
                continue
            yield Heading(3, str(view))
            yield from _texts(block.finding)
            for part in block.parts:
                # What several views share is told once.
                told = tuple(_part(part))
                if repr(told) not in seen:
                    seen.add(repr(told))
                    yield from told


def _texts(text: str) -> Iterator[Text]:
    if text:
        yield Text(text)


def _part(part: Part) -> Iterator[Flat]:
    match part:
        case Table():
            yield from _texts(part.caption and f"{part.caption}:")
            yield part
        case Bars(table):
            yield from _part(table)
        case Plot():
            yield from _part(part.table())
        case Fold(_, parts):
            yield from flat(parts)
        case Answer():
            yield Heading(3, f"To {part.use}")
            yield Text(part.sentence)
            yield from _texts(part.runner_sentence)
            yield from _tiles(part.tiles)
            yield from flat(part.glance)
        case _:
            yield part


def _tiles(tiles: Iterable[Tile]) -> Iterator[Items]:
    told = tuple(
        f"{tile.label}: {tile.text}{f' ({tile.against})' if tile.against else ''}" for tile in tiles
    )
    if told:
        yield Items(told)
