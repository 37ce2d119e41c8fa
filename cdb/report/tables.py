"""Tables of figures: in each a row a schema and a column a figure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cdb.bench.database import NO_HISTORY
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
)
from cdb.report.parts import NONE, Cell, Line, Table
from cdb.report.units import NOT_TOLD

Notes = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A figure of a case. notes: labels, and figures whose medians stand below it."""

    label: str
    case: Case
    figure: str
    notes: Notes = ()
    compared: bool = True

    def spread(self, row: Row) -> Spread | None:
        """What a row has of it."""
        return row.figure(self.case, self.figure)


def figure_table(
    group: Group, caption: str, columns: Iterable[Column], what: str = "schema"
) -> Iterator[Table]:
    """A table of the columns that anyone has a figure in; none without columns.

    The floor is a line, where a column has a figure of it, and nowhere a contestant.
    """
    told = tuple(column for column in columns if any(map(column.spread, group.rows)))
    if told:
        # Who has nothing to say here is left out; of whom nothing counts at all, is told.
        void = (Mark.WRONG, Mark.FAILED, Mark.ENDED, Mark.NOT_MEASURED)
        rows = [
            row
            for row in group.rows
            if row.mark in void or any(column.spread(row) for column in told)
        ]
        if group.floor is not None and any(column.spread(group.floor) for column in told):
            rows.insert(0, group.floor)
        header = (what, *(column.label for column in told))
        yield Table(caption, header, tuple(_line(group, row, told) for row in rows))


def _line(group: Group, row: Row, columns: Sequence[Column]) -> Line:
    return Line((name_cell(row), *(cell(group, row, column) for column in columns)), row.schema)


def name_cell(row: Row) -> Cell:
    """A schema, and what is to be known of its figures, unless all is well."""
    notes = [] if row.mark is Mark.RIGHT or row.schema == FLOOR else [str(row.mark)]
    if row.busy:
        notes.append("⚠ busy")
    return Cell(row.schema, range=" ".join([row.schema, *notes]) if notes else "", notes=(*notes,))


def cell(group: Group, row: Row, column: Column) -> Cell:
    """A figure, or why there is none."""
    spread = column.spread(row)
    if spread is None:
        reason = _problem(row, column.case)
        return Cell(reason or NONE, is_reason=bool(reason))
    text, dagger = spread.text(column.figure), group.dagger(spread)
    median = spread.median_text(column.figure)
    return Cell(
        f"{median} {dagger}".rstrip(),
        spread.median,
        group.ratio(row, column.case, column.figure) if column.compared else None,
        f"{text} {dagger}".rstrip() if spread.min != spread.max else "",
        tuple(_notes(row, column)),
    )


def _notes(row: Row, column: Column) -> Iterator[str]:
    for label, figures in column.notes:
        spreads = [(name, row.figure(column.case, name)) for name in figures]
        texts = [units.text(name, spread.median) for name, spread in spreads if spread]
        if texts:
            yield f"{label} {' · '.join(texts)}".strip()


def _problem(row: Row, case: Case) -> str:
    """What came of this case, or of its whole workload; else of the load, or of the row.

    What a schema does not have is n/a.
    """
    if row.mark is Mark.WRONG:
        return "✗ wrong"
    for wanted in (case, Case(case.workload), LOAD):
        for problem in row.problems:
            if problem.case == wanted:
                is_none = problem.reason == NO_HISTORY
                return NOT_TOLD if is_none else problem.told
    return str(row.mark) if row.mark in (Mark.FAILED, Mark.ENDED, Mark.NOT_MEASURED) else ""


def all_figures_table(group: Group) -> Table:
    """Each figure of each case, a column a schema: medians."""
    lines = group.lines
    rows = []
    for case in group.cases():
        names = dict.fromkeys(name for row in lines for name in row.figures.get(case, ()))
        for name in names:
            cells = (cell(group, row, Column("", case, name)).text for row in lines)
            rows.append((str(case), units.label(name), *cells))
    header = ("workload", "figure", *(row.schema for row in lines))
    return Table.of_texts("All figures, as medians", header, rows, words=2)


def phase_table(group: Group) -> Iterator[Table]:
    """Where the time of a load goes, of the run with the middle time: parts that sum to it."""
    rows = [row for row in group.rows if row.phases]
    if rows:
        phases = [phase for phase, _ in rows[0].phases]
        lines = tuple(
            Line(
                (
                    name_cell(row),
                    *(Cell(units.duration(each), each) for _, each in row.phases),
                    Cell(units.duration(sum(each for _, each in row.phases))),
                ),
                row.schema,
            )
            for row in rows
        )
        yield Table("Where the time of a load goes", ("schema", *phases, "sum"), lines)


def problem_lines(group: Group) -> list[str]:
    """What failed, was wrong, or wasn't measured, and of whom; a line for each reason."""
    schemas: dict[str, list[str]] = {}
    for row in group.lines:
        for problem in row.problems:
            runs = "" if problem.runs == row.runs else f" in {problem.runs} of {row.runs} runs"
            line = f"{problem.case}: {problem.told}{runs}: {problem.reason}"
            schemas.setdefault(line, []).append(row.schema)
    return [f"{', '.join(names)}: {line}" for line, names in schemas.items()]


def runs_text(group: Group) -> str:
    """How many runs are behind figures: ``one run each``, ``2 to 5 runs each``."""
    counts = sorted({row.runs for row in group.rows})
    if not counts:
        return "no runs"
    if counts == [1]:
        return "one run each"
    return f"{' to '.join(map(str, dict.fromkeys((counts[0], counts[-1]))))} runs each"


def busy_line(group: Group) -> str | None:
    """A warning, where the machine had other things to do."""
    busy = [row for row in group.lines if row.busy]
    if not busy:
        return None
    names = ", ".join(row.schema for row in busy)
    return (
        f"Other processes wanted up to {max(row.others_cores for row in busy):.1f} cores "
        f"in runs of {names}: their times by the clock are those of a busy machine. "
        "CPU times count."
    )


def machine_table(card: MachineCard, place: str) -> Table:
    """A machine's card, with its profiles."""
    rows = list(card.facts)
    for profile in card.profiles:
        rows += [(f"{profile.name}: {label}", text) for label, text in profile.facts]
        rows += [(f"{profile.name}, limit: {label}", text) for label, text in profile.limits]
        rows += [(f"{profile.name}, measured: {label}", text) for label, text in profile.measured]
    return Table.of_texts(f"Machine {place}", (place, ""), rows, words=2)


def matrix_table(matrix: Matrix) -> Table:
    """What a matrix was measured with. Its command is for a block of its own."""
    rows = [("runs", f"{matrix.files:,}, {matrix.runs:,} of each schema"), *matrix.software]
    if not matrix.counted:
        rows.append(("counts", "no: a newer one has all of its schemas"))
    title = f"matrix {matrix.id}, {matrix.machine}"
    return Table.of_texts(title, (title, ""), rows, words=2)


def schema_table(groups: Sequence[Group]) -> Table:
    """What each schema does."""
    described = {row.schema: row.description for group in groups for row in group.lines}
    return Table.of_texts(
        "What each schema does", ("schema", "what it does"), sorted(described.items()), words=2
    )
