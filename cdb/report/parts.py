"""What a report is made of: parts that HTML, Markdown and a terminal each write their way.

A Document has sections, a section a block for each view, and a block a finding and parts. A view is
what may be compared: one machine, profile, size and durability.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cdb.report import units

NONE = "–"


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure in a table, or a word, or why there is no figure.

    value: to sort by, and to draw. ratio: how many times worse than the best of its column. range:
    the least, the median and the greatest, where they differ. notes: what stands below, and is left
    out of texts.
    """

    text: str
    value: float | None = None
    ratio: float | None = None
    range: str = ""
    notes: tuple[str, ...] = ()
    is_reason: bool = False

    def __str__(self) -> str:
        ratio = "" if self.ratio is None else units.times(self.ratio)
        return " ".join(filter(None, [self.range or self.text, ratio]))


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a table. schema: whose it is, empty for nobody's."""

    cells: tuple[Cell, ...]
    schema: str = ""

    @property
    def has_figures(self) -> bool:
        """Whether any of its cells is a figure."""
        return any(cell.value is not None for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Table:
    """Cells under a header. words: how many columns at the left are words, not figures."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[Line, ...]
    words: int = 1

    @classmethod
    def of_texts(
        cls, caption: str, header: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1
    ) -> "Table":
        """A table of texts alone."""
        lines = tuple(Line(tuple(map(Cell, row))) for row in rows)
        return cls(caption, tuple(header), lines, words)

    @property
    def has_figures(self) -> bool:
        """Whether any of its cells is a figure."""
        return any(line.has_figures for line in self.rows)

    def texts(self) -> list[list[str]]:
        """The rows, as texts are written."""
        return [[str(cell) for cell in line.cells] for line in self.rows]


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Doubt:
    """What makes figures doubtful."""

    text: str


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Command:
    """A line for a shell."""

    line: str


@dataclass(frozen=True, slots=True)
class Heading:
    """For documents of their own: a section brings its own."""

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Bars:
    """A table as a picture: a bar for each cell that has a value, as long as its share of the
    greatest of its column, or of all. lines: a value for each column to hold the bars against, or
    None. shown: the schemas at first, where they are others than the view's. Rows of nobody are
    always shown."""

    table: Table
    lines: tuple[float | None, ...] = ()
    is_one_scale: bool = False
    shown: tuple[str, ...] = ()


Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """Points on logarithmic axes, of each schema its own; joined to a line, or each for itself.

    x_name, y_name: names of figures, which say how a value is written.
    """

    title: str
    x_label: str
    x_name: str
    y_label: str
    y_name: str
    points: tuple[tuple[str, Points], ...]

    def table(self) -> Table:
        """Some of the points as a table, a column a schema, where they are lines; else all."""
        if all(len(points) == 1 for _, points in self.points):
            rows = [
                (schema, units.text(self.x_name, x), units.text(self.y_name, y))
                for schema, ((x, y),) in self.points
            ]
            return Table.of_texts(self.title, ("schema", self.x_label, self.y_label), rows)
        longest = max((points for _, points in self.points), key=len)
        chosen = [x for x, _ in longest[:: max(1, len(longest) // 6)]]
        header = (self.x_label, *(schema for schema, _ in self.points))
        rows_of_lines = [
            (
                units.text(self.x_name, x),
                *(_at(points, x, self.y_name) for _, points in self.points),
            )
            for x in chosen
        ]
        return Table.of_texts(f"{self.title}: {self.y_label}", header, rows_of_lines)


def _at(points: Points, x: float, name: str) -> str:
    return next((units.text(name, y) for at, y in points if at >= x), NONE)


@dataclass(frozen=True, slots=True)
class Fold:
    """What is opened by who wants it. in_texts: not part of the page, which has its raw data."""

    title: str
    parts: "tuple[Part, ...]"
    in_texts: bool = False


@dataclass(frozen=True, slots=True)
class Tile:
    """A figure with its label, and what it is against another one. section: what tells more."""

    label: str
    text: str
    against: str = ""
    section: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """Which schema for a use. schema, runner_up: empty for none. tiles: figures, then prices.

    glance: the use's figures of all who can do it.
    """

    use: str
    schema: str
    runner_up: str
    sentence: str
    runner_sentence: str
    tiles: tuple[Tile, ...]
    glance: tuple[Bars, ...] = ()


Part = Text | Doubt | Items | Command | Heading | Table | Bars | Plot | Fold | Answer


@dataclass(frozen=True, slots=True)
class Block:
    """What a section says of a view. short: the finding in a few words. is_empty: whether nothing
    of its question was measured there."""

    finding: str
    short: str
    parts: tuple[Part, ...] = ()
    is_empty: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A question. blocks: one for each view, in their order."""

    id: str
    question: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class View:
    """What may be compared, as it is chosen."""

    machine: str
    profile: str
    size: str
    durability: str

    def __str__(self) -> str:
        return " · ".join(filter(None, [self.machine, self.profile, self.size, self.durability]))


@dataclass(frozen=True, slots=True)
class Document:
    """All of it. uses: their ids and what one wants to do. views: the first is the default.

    shown: the schemas that pictures have at first, by view. schemas: all, in the order of their
    colours. words: terms and what they mean. decided: by the uses that another view may decide, of
    each view the place of that one.
    """

    title: str
    views: tuple[View, ...]
    uses: tuple[tuple[str, str], ...]
    answers: tuple[Block, ...]
    sections: tuple[Section, ...]
    shown: tuple[tuple[str, ...], ...]
    schemas: tuple[str, ...]
    words: tuple[tuple[str, str], ...]
    decided: tuple[tuple[str, tuple[int, ...]], ...] = ()
