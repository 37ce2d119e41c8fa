"""The tables of a report: of texts, and of figures, which can be written as texts, too."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cdb.bench.workload import NO_HISTORY
from cdb.report import units
from cdb.report.model import (
    FLOOR,
    LOAD,
    Case,
    Group,
    MachineCard,
    Mark,
    Matrix,
    Row,
    Spread,
    is_more_better,
)
from cdb.report.units import NOT_TOLD

NONE = "–"
Notes = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Cells as plain text. texts: how many columns at the left are words, not figures."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    texts: int = 1


@dataclass(frozen=True, slots=True)
class Column:
    """A figure of a case. notes: labels, and figures whose medians stand below it."""

    label: str
    case: Case
    figure: str
    notes: Notes = ()
    compared: bool = True

    @property
    def best(self) -> str:
        """Which of its values is the best, as the page's script wants it; empty for none."""
        if not self.compared:
            return ""
        return "max" if is_more_better(self.figure) else "min"

    def spread(self, row: Row) -> Spread | None:
        """What a row has of it."""
        return row.figure(self.case, self.figure)

    def median_text(self, row: Row) -> str:
        """A row's median."""
        spread = self.spread(row)
        return NONE if spread is None else spread.median_text(self.figure)


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure of a row, or why there is none. ratio: to the column's best."""

    figure: str
    spread: Spread | None
    ratio: float | None
    notes: tuple[str, ...]
    problem: str

    def __str__(self) -> str:
        """Min / median / max, and how many times the best that is."""
        if self.spread is None:
            return self.problem or NONE
        ratio = "" if self.ratio is None else units.times(self.ratio)
        return " ".join(filter(None, [self.spread.text(self.figure), ratio]))


@dataclass(frozen=True, slots=True)
class FigureTable:
    """Rows with a cell for each column."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Row, tuple[Cell, ...]], ...]

    def as_texts(self) -> Table:
        """Without the notes."""
        return Table(
            (self.caption, "", *(column.label for column in self.columns)),
            tuple((row.schema, mark_text(row), *map(str, cells)) for row, cells in self.rows),
            texts=2,
        )


def figure_table(group: Group, caption: str, columns: Iterable[Column]) -> Iterator[FigureTable]:
    """A table of the columns that anyone has a figure in; none without columns."""
    told = tuple(column for column in columns if any(map(column.spread, group.rows)))
    if told:
        rows = (
            (row, tuple(_cell(group, row, column) for column in told))
            for row in group.rows
            if row.curves or row.figures or row.problems
        )
        yield FigureTable(caption, told, tuple(rows))


def _cell(group: Group, row: Row, column: Column) -> Cell:
    spread = column.spread(row)
    if spread is None:
        return Cell(column.figure, None, None, (), _problem(row, column.case))
    return Cell(
        column.figure,
        spread,
        group.ratio(row, column.case, column.figure) if column.compared else None,
        tuple(_notes(row, column)),
        "",
    )


def _notes(row: Row, column: Column) -> Iterator[str]:
    for label, figures in column.notes:
        spreads = [(name, row.figure(column.case, name)) for name in figures]
        texts = [units.text(name, spread.median) for name, spread in spreads if spread]
        if texts:
            yield f"{label} {' · '.join(texts)}"


def _problem(row: Row, case: Case) -> str:
    """The outcome of this case, or of its whole workload; else that of the load.

    What a schema does not have is n/a.
    """
    if row.mark is Mark.WRONG:
        return "✗ wrong"
    for wanted in (case, Case(case.workload), LOAD):
        for problem in row.problems:
            if problem.case == wanted:
                is_none = problem.reason == NO_HISTORY
                return NOT_TOLD if is_none else problem.outcome.replace("_", " ")
    return ""


def all_figures_table(group: Group) -> Table:
    """Each figure of each case, a column a schema: medians."""
    lines = group.lines
    rows = []
    for case in group.cases():
        names = dict.fromkeys(name for row in lines for name in row.figures.get(case, ()))
        for name in names:
            column = Column("", case, name)
            rows.append((str(case), units.label(name), *map(column.median_text, lines)))
    return Table(("workload", "figure", *(row.schema for row in lines)), tuple(rows), texts=2)


def problem_lines(group: Group) -> list[str]:
    """What failed, was wrong, or wasn't measured, and of whom; a line for each reason."""
    schemas: dict[str, list[str]] = {}
    for row in group.lines:
        for problem in row.problems:
            runs = "" if problem.runs == row.runs else f" in {problem.runs} of {row.runs} runs"
            outcome = problem.outcome.replace("_", " ")
            line = f"{problem.case}: {outcome}{runs}: {problem.reason}"
            schemas.setdefault(line, []).append(row.schema)
    return [f"{', '.join(names)}: {line}" for line, names in schemas.items()]


def busy_line(group: Group) -> str | None:
    """A warning, where the machine had more to do than its cores can."""
    busy = [row for row in group.lines if row.busy]
    averages = [row.load_average.max for row in busy if row.load_average]
    if not averages:
        return None
    names = ", ".join(row.schema for row in busy)
    return (
        f"The load average was above the number of cores, up to {max(averages):.1f}, "
        f"in runs of {names}: figures of a busy machine are wrong."
    )


def machine_table(card: MachineCard) -> Table:
    """A machine's card, with its profiles."""
    rows = list(card.facts)
    for profile in card.profiles:
        rows += [(f"{profile.name}: {label}", text) for label, text in profile.facts]
        rows += [(f"{profile.name}, limit: {label}", text) for label, text in profile.limits]
        rows += [(f"{profile.name}, measured: {label}", text) for label, text in profile.measured]
    return Table((card.name, ""), tuple(rows), texts=2)


def matrix_table(matrix: Matrix) -> Table:
    """What a matrix was measured with. Its command is for a block of its own."""
    rows = [("runs", f"{matrix.files:,}, {matrix.runs:,} of each schema"), *matrix.software]
    if not matrix.counted:
        rows.append(("counts", "no: a newer one has all of its schemas"))
    return Table((f"matrix {matrix.id}, {matrix.machine}", ""), tuple(rows), texts=2)


def schema_table(groups: Sequence[Group]) -> Table:
    """What each schema does."""
    described = {row.schema: row.description for group in groups for row in group.lines}
    return Table(("schema", "what it does"), tuple(sorted(described.items())), texts=2)


def mark_text(row: Row) -> str:
    """A row's mark, but for the floor, which gives no answers; and how many runs it has."""
    is_floor = row.schema == FLOOR and row.mark is Mark.NOTHING
    return row.runs_text if is_floor else f"{row.mark}, {row.runs_text}"
