"""The page: one HTML file that needs no network, and no JavaScript to be complete.

Its style and script are in templates/. What differs from view to view is told once for each; the
first view is open, all others are folded, and the script opens the one that is chosen.
"""

import io
import json
import lzma
import os
import tarfile
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

from cdb.bench.results import place_of, text_of
from cdb.contract.printable import printable
from cdb.report import units
from cdb.report.document import document
from cdb.report.markup import Html, element
from cdb.report.model import FLOOR, Report
from cdb.report.parts import (
    Answer,
    Bars,
    Block,
    Cell,
    Command,
    Document,
    Doubt,
    Fold,
    Heading,
    Items,
    Line,
    Part,
    Plot,
    Section,
    Table,
    Text,
    Tile,
)
from cdb.report.svg import plot

_CHOICES = ("machine", "profile", "size", "durability")
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
MOST_CARRIED_BYTES = 1_300_000
"""Of results before they are packed, to some 150,000 characters."""
_NO_COLOURS_LEFT = 9
"""From here on a colour is one of a circle's, a golden angle after the one before."""


def page(report: Report, places: Sequence[str] = ()) -> str:
    """The HTML of a report.

    places: addresses of its results, from where the page is going to lie. It carries the results
    themselves if they are few, or if nobody says where they are.
    """
    files = {place_of(dict(each)): text_of(dict(each)).encode() for each in report.raw}
    is_carried = not places or sum(map(len, files.values())) <= MOST_CARRIED_BYTES
    raw = _download(_archive(files)) if is_carried else _links(places)
    return f"<!DOCTYPE html>\n{_Page(document(report)).html(raw)}\n"


class _Page:
    """Writes a document's parts, with one colour for each schema."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._colours = {schema: n for n, schema in enumerate(document.schemas)}
        self._shown: Sequence[str] = ()

    def html(self, raw: Html) -> Html:
        """All of it. raw: how a reader gets the results."""
        head = element(
            "head",
            element("meta", charset="utf-8"),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            Html(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
            element("meta", name="color-scheme", content="light dark"),
            element("title", f"cdb: {self._document.title}"),
            element("style", Html(_file("page.css") + self._palette())),
        )
        body = element(
            "body",
            element("a", "To the answer", class_="skip", href="#answer"),
            self._header(),
            element("div", self._index(), element("main", *self._main(raw)), class_="frame"),
            element("div", id="hint", role="tooltip", hidden=True),
            element("script", self._views(), type="application/json", id="views"),
            element("script", Html(_file("page.js"))),
        )
        return element("html", head, body, lang="en")

    def _palette(self) -> str:
        """The classes of schemas' colours."""
        lines = []
        for n in range(len(self._colours)):
            if n >= _NO_COLOURS_LEFT:
                hue = 137.508 * n % 360
                both = f"oklch(52% .12 {hue:.0f}),oklch(76% .11 {hue:.0f})"
                lines.append(f":root{{--s{n}:light-dark({both})}}")
            lines.append(f".s{n}{{--c:var(--s{n})}}")
        return "\n".join(lines)

    def _classes(self, schema: str, first: Sequence[str] | None = None) -> str:
        more = "" if schema in (self._shown if first is None else first) else " more"
        return f"schema s{self._colours.get(schema, 0)}{more}"

    def _header(self) -> Html:
        buttons = element(
            "button", "Dark", type="button", id="theme", data_script=True, hidden=True
        )
        return element(
            "header",
            element("h1", f"cdb: {self._document.title}"),
            element("form", *self._selects(), class_="choices", data_script=True, hidden=True),
            buttons,
            element("p", id="jump", role="status", hidden=True),
        )

    def _selects(self) -> Iterator[Html]:
        for name in _CHOICES:
            values = dict.fromkeys(getattr(view, name) for view in self._document.views)
            values.pop("", None)
            options = [element("option", value) for value in values]
            select = element("select", *options, id=f"choose-{name}", aria_label=name)
            yield element("label", element("span", name), select, hidden=len(values) < 2)

    def _index(self) -> Html:
        links = [self._link(section) for section in self._document.sections]
        words = element("li", element("a", "Words", href="#terms"))
        box = element("input", type="checkbox", id="menu")
        menu = element("label", box, "Questions and answers")
        return element("nav", menu, element("ul", *links, words), aria_label="Questions")

    def _views(self) -> Html:
        """As the script reads them: no < ends the element."""
        views = [[getattr(view, name) for name in _CHOICES] for view in self._document.views]
        told = {"views": views, "decided": dict(self._document.decided)}
        return Html(json.dumps(told).replace("<", r"\u003c"))

    def _link(self, section: Section) -> Html:
        shorts = [
            element("small", block.short, **_of_views(views, hidden=0 not in views))
            for block, views in _shared(section.blocks, lambda each: each.short)
            if block.short
        ]
        return element("li", element("a", section.question, *shorts, href=f"#{section.id}"))

    def _main(self, raw: Html) -> Iterator[Html]:
        yield self._answer()
        yield self._words()
        for section in self._document.sections:
            head = element("h2", section.question, id=f"{section.id}-title")
            content = self._blocks(section.blocks)
            if section.id == "how":
                title = element("summary", "Conditions, machines, commands, rules, raw data")
                content = [element("details", title, *content, raw)]
            yield element(
                "section", head, *content, id=section.id, aria_labelledby=f"{section.id}-title"
            )

    def _answer(self) -> Html:
        radios = [
            element(
                "label",
                element("input", type="radio", name="use", id=f"use-{id}", checked=n == 0),
                element("span", title),
            )
            for n, (id, title) in enumerate(self._document.uses)
        ]
        uses = element("fieldset", element("legend", "I want to"), *radios, class_="uses")
        all_box = element("input", type="checkbox", id="all")
        what = element("span", "all schemas in pictures")
        everything = element("label", all_box, what, class_="all")
        return element(
            "section",
            uses,
            *self._blocks(self._document.answers),
            element("p", everything),
            id="answer",
            aria_label="Answer",
        )

    def _words(self) -> Html:
        terms = [
            element("div", element("dt", word), element("dd", meaning))
            for word, meaning in self._document.words
        ]
        summary = element("summary", "Words: schema, floor, compaction, packed …")
        # A browser opens the fold of a place that a link leads to.
        return element("details", summary, element("dl", *terms, id="terms"), id="words")

    def _blocks(self, blocks: Sequence[Block]) -> list[Html]:
        """A block a view; what views share is there once: whole blocks, folds and answers."""
        distinct = [each for each in _shared(blocks, repr) if not each[0].is_empty]
        told: dict[str, tuple[Fold | Answer, list[int], list[int]]] = {}
        for block, views in distinct:
            for part in block.parts:
                if isinstance(part, Fold | Answer):
                    found = told.setdefault(repr(part), (part, [], []))
                    found[1].extend(views)
                    found[2].append(1)
        common = {key: each for key, each in told.items() if len(each[2]) > 1}
        made = []
        for block, views in distinct:
            parts = tuple(part for part in block.parts if repr(part) not in common)
            made.append(self._block(replace(block, parts=parts), views))
        for part, views, _ in common.values():
            of = sorted(views)
            if isinstance(part, Answer):
                made.append(self._block(Block("", "", (part,)), of))
            else:
                made.append(element("div", self._part(part), **_of_views(of, hidden=False)))
        return made

    def _block(self, block: Block, views: Sequence[int]) -> Html:
        told = self._document.views
        self._shown = self._document.shown[views[0]] if told else ()
        finding = element("p", block.finding, class_="finding") if block.finding else None
        plots = [self._part(part) for part in block.parts if isinstance(part, Plot)]
        others = [self._part(part) for part in block.parts if not isinstance(part, Plot)]
        parts = [element("div", *plots, class_="plots"), *others] if plots else others
        label = " / ".join(str(told[n]) for n in views)
        return element(
            "details",
            element("summary", label),
            finding,
            *parts,
            **_of_views(views, hidden=False),
            class_="view",
            open=0 in views,
        )

    def _part(self, part: Part) -> Html:
        match part:
            case Text(text):
                return element("p", text)
            case Doubt(text):
                return element("p", element("b", "⚠ "), text, class_="warning")
            case Items(texts):
                return element("ul", *(element("li", text) for text in texts))
            case Heading(_, text):
                return element("p", element("b", text))
            case Command(line):
                return _command(line)
            case Table():
                return self._table(part)
            case Bars():
                return self._bars(part)
            case Plot():
                return self._plot(part)
            case Answer():
                return self._said(part)
            case Fold(title, parts, in_texts):
                content = [self._part(each) for each in parts]
                fold = element("details", element("summary", title), *content, class_="fold")
                return Html("") if in_texts else fold

    def _plot(self, part: Plot) -> Html:
        caption = element("figcaption", part.title)
        table = element(
            "details", element("summary", "Values"), self._table(part.table()), class_="fold"
        )
        return element("figure", caption, plot(part, self._classes), table)

    def _said(self, part: Answer) -> Html:
        name = element("b", part.schema, class_="name") if part.schema else None
        sentence = part.sentence.removeprefix(part.schema)
        use = next(id for id, title in self._document.uses if title == part.use)
        return element(
            "div",
            element("p", name, sentence, class_="verdict"),
            element("p", part.runner_sentence, class_="runner") if part.runner_sentence else None,
            element("dl", *map(_tile, part.tiles), class_="tiles") if part.tiles else None,
            *map(self._bars, part.glance),
            class_="use",
            data_use=use,
        )

    def _bars(self, part: Bars) -> Html:
        """A row a schema, a bar for each figure; each column has its own scale."""
        table = part.table
        rows = [line for line in table.rows if line.has_figures]
        first = part.shown or self._shown
        shown = [line for line in rows if line.schema in (*first, "")] or rows
        tops = list(zip(_tops(part, shown), _tops(part, rows), strict=True))
        heads = [element("th", label, scope="col") for label in table.header]
        body = [self._bar_row(line, tops, part.lines, first) for line in rows]
        caption = element("caption", table.caption)
        thead = element("thead", element("tr", *heads))
        drawn = element("table", caption, thead, element("tbody", *body), class_="bars")
        counts = _counts(shown, rows)
        return element("figure", element("figcaption", table.caption, *counts), _scroll(drawn))

    def _bar_row(
        self,
        line: Line,
        tops: Sequence[tuple[float, float]],
        lines: Sequence[float | None],
        first: Sequence[str],
    ) -> Html:
        """tops: of each column the longest bar of what is shown at first, and of all."""
        cells = [element("th", *_name(line, is_narrow=True), scope="row")]
        for n, (each, (few, every)) in enumerate(zip(line.cells[1:], tops[1:], strict=True)):
            if each.value is None:
                cells.append(element("td", each.text, class_="reason" if each.is_reason else None))
                continue
            style = f"--v:{_share(each.value, few)}"
            if every != few:
                style += f";--w:{_share(each.value, every)}"
            at = lines[n] if n < len(lines) and line.schema != FLOOR else None
            if at is not None and each.value:
                style += f";--f:{at / each.value:.3g}"
            ratio = element("small", units.times(each.ratio)) if each.ratio else None
            cells.append(element("td", element("i", style=style), element("b", each.text), ratio))
        classes = self._classes(line.schema, first) if line.schema else "schema"
        kind = " floor" if line.schema == FLOOR else ""
        return element("tr", *cells, class_=f"{classes}{kind}")

    def _table(self, table: Table) -> Html:
        sortable = table.has_figures or None
        heads = [element("th", label, scope="col", data_sort=sortable) for label in table.header]
        body = [
            element(
                "tr",
                element("th", *_name(line), scope="row"),
                *(_cell(each, is_word=n < table.words) for n, each in enumerate(line.cells[1:], 1)),
            )
            for line in table.rows
        ]
        caption = element("caption", table.caption)
        thead = element("thead", element("tr", *heads))
        drawn = element("table", caption, thead, element("tbody", *body))
        return _scroll(drawn)


def _shared(blocks: Sequence[Block], key: Callable[[Block], str]) -> list[tuple[Block, list[int]]]:
    """Blocks that are the same, with the places of their views."""
    found: dict[str, tuple[Block, list[int]]] = {}
    for n, block in enumerate(blocks):
        found.setdefault(key(block), (block, []))[1].append(n)
    return list(found.values())


def _of_views(views: Sequence[int], *, hidden: bool) -> dict[str, object]:
    return {"data_views": " ".join(map(str, views)), "hidden": hidden or None}


def _tops(bars: Bars, lines: Sequence[Line]) -> list[float]:
    """The greatest value of each column, or of all."""
    columns = zip(*(line.cells for line in lines), strict=True)
    tops = [max((cell.value or 0.0 for cell in column), default=0.0) for column in columns]
    return [max(tops)] * len(tops) if bars.is_one_scale else tops


def _counts(shown: Sequence[Line], rows: Sequence[Line]) -> Iterator[object]:
    """How many schemas there are, of how many: at first, and where all are asked for."""
    few, every = (
        len({line.schema for line in lines if line.schema not in ("", FLOOR)})
        for lines in (shown, rows)
    )
    if few < every:
        yield ". "
        yield element("span", f"{few} of {every} schemas", class_="few")
        yield element("span", f"All {every} schemas", class_="more")


def _share(value: float, top: float) -> str:
    return f"{min(value / top, 1.0) if top else 0:.3g}"


def _name(line: Line, *, is_narrow: bool = False) -> tuple[object, ...]:
    """A line's first cell. A schema's name is broken first before its options, and in a narrow one
    before its engine, but never in a word; after it stands what is to be known of it."""
    cell = line.cells[0]
    parts: list[object] = [cell.text]
    if "@" in cell.text:
        name, *options = cell.text.split(",")
        layout, _, engine = name.partition("@")
        parts = [layout, element("wbr"), f"@{engine}"] if is_narrow else [name]
        parts += [part for each in options for part in (element("wbr"), f",{each}")]
    return (*parts, *(element("small", note, class_="reason") for note in cell.notes))


def _cell(cell: Cell, *, is_word: bool) -> Html:
    if cell.value is None:
        kind = "reason" if cell.is_reason else "word" if is_word else None
        return element("td", cell.text, class_=kind)
    ratio = None
    if cell.ratio is not None:
        ratio = element("i", units.times(cell.ratio))
    below = [part for note in (cell.range, *cell.notes) if note for part in (Html("<br>"), note)]
    return element("td", cell.text, ratio, element("small", *below[1:]) if below else None)


def _tile(tile: Tile) -> Html:
    against = element("small", tile.against) if tile.against else None
    link = element("a", tile.label, href=f"#{tile.section}") if tile.section else tile.label
    return element("div", element("dt", link), element("dd", element("b", tile.text), against))


def _command(line: str) -> Html:
    code = element("pre", element("code", line), tabindex=0)
    button = element("button", "Copy", type="button", data_copy=True, data_script=True, hidden=True)
    return element("div", code, button, class_="command")


def _scroll(table: Html) -> Html:
    """The script names it by the table's caption."""
    return element("div", table, class_="scroll", tabindex=0)


def _download(archive: str) -> Html:
    name = "results.tar.xz"
    address = f"data:application/x-xz;base64,{archive}"
    link = element(
        "a", f"Download {name}", class_="button", id="download", download=name, href=address
    )
    return element("p", "All files of results that this page was made from: ", link)


def _links(places: Sequence[str]) -> Html:
    links = [element("a", printable(place), href=quote(os.fsencode(place))) for place in places]
    told = [part for link in links for part in (", ", link)][1:]
    return element("p", "The files of results that this page was made from: ", *told, id="raw")


def _file(name: str) -> str:
    return files("cdb.report").joinpath("templates", name).read_text("utf-8")


def _archive(results: Mapping[Path, bytes]) -> str:
    """Files of results, by their places, as a .tar.xz in base64; the same for the same results."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for place, content in results.items():
            entry = tarfile.TarInfo(f"results/{place}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return b64encode(lzma.compress(packed.getvalue(), preset=9 | lzma.PRESET_EXTREME)).decode()
