"""The tables of a report as texts: what Markdown and a terminal show, and the page too."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cdb.report import units
from cdb.report.model import FLOOR, LOAD, TOTAL, Case, Group, MachineCard, Mark, Matrix, Row

NONE = "–"


@dataclass(frozen=True, slots=True)
class Table:
    """Cells as plain text. texts: how many columns at the left are words, not figures."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    texts: int = 1


@dataclass(frozen=True, slots=True)
class Column:
    """A figure of one case, as a column."""

    label: str
    case: Case
    figure: str
    with_spread: bool = False

    def text(self, row: Row) -> str:
        """A row's cell."""
        spread = row.figure(self.case, self.figure)
        if spread is None:
            return NONE
        return spread.text(self.figure) if self.with_spread else spread.median_text(self.figure)


_LOAD_COLUMNS = (
    Column("coins/s", LOAD, "coins_per_second"),
    Column("CPU a coin", LOAD, "cpu_microseconds_per_coin"),
    Column("written a coin", LOAD, "written_bytes_per_coin"),
    Column("× 80 B", LOAD, "write_amplification"),
    Column("size a coin", LOAD, "size_bytes_per_coin"),
    Column("peak RSS", LOAD, "peak_rss_bytes"),
    Column("syncs", LOAD, "syncs"),
    Column("+ compaction", TOTAL, "wall_seconds"),
    Column("settled", TOTAL, "size_bytes_per_coin"),
)


def load_table(group: Group) -> Table:
    """What a load costs; the floor first, as a line to hold the others against."""
    columns = told_columns(_LOAD_COLUMNS, group)
    header = ("schema", "", "load: min / median / max", "× best", "× floor")
    return Table(
        header + tuple(column.label for column in columns),
        tuple(
            (
                row.schema,
                mark_text(row),
                Column("", LOAD, "wall_seconds", with_spread=True).text(row),
                _times(group.ratio(row, LOAD, "wall_seconds")),
                _times(times_floor(group, row)),
                *(column.text(row) for column in columns),
            )
            for row in group.lines
        ),
        texts=2,
    )


def afterwards_table(group: Group) -> Table:
    """What the loaded databases can do, in a few figures; without rows if nothing was measured."""
    columns = told_columns(_AFTERWARDS_COLUMNS, group)
    rows = [row for row in group.rows if row.mark is not Mark.NOTHING] if columns else []
    return Table(
        ("schema", "", *(column.label for column in columns)),
        tuple((row.schema, mark_text(row), *(each.text(row) for each in columns)) for row in rows),
        texts=2,
    )


def all_figures_table(group: Group) -> Table:
    """Each figure of each case, a column a schema: medians."""
    lines = group.lines
    rows = []
    for case in group.cases():
        names = dict.fromkeys(name for row in lines for name in row.figures.get(case, ()))
        for name in names:
            column = Column("", case, name)
            rows.append((str(case), units.label(name), *(column.text(row) for row in lines)))
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
    """A row's mark; none for the floor, which gives no answers."""
    return "" if row.schema == FLOOR and row.mark is Mark.NOTHING else row.mark.value


def times_floor(group: Group, row: Row) -> float | None:
    """A row's load time as a multiple of the floor's."""
    wall = row.figure(LOAD, "wall_seconds")
    floor = group.floor.figure(LOAD, "wall_seconds") if group.floor else None
    return wall.median / floor.median if wall and floor and floor.median else None


USUAL_LOOKUPS: Mapping[str, str | int] = {
    "names": "existing",
    "batch": 1000,
    "threads": 1,
    "state": "settled",
}
"""Which of the many cases of lookups is shown, where only one is."""


def _lookups(cache: str, form: str) -> Case:
    return Case.of("read_random", {**USUAL_LOOKUPS, "cache": cache, "form": form})


READ_COLUMNS = (
    Column("warm lookups", _lookups("warm", "packed"), "names_per_second"),
    Column("warm, objects", _lookups("warm", "objects"), "names_per_second"),
    Column("cold lookups", _lookups("cold", "packed"), "names_per_second"),
    Column("cold, objects", _lookups("cold", "objects"), "names_per_second"),
)
_COMMIT = Case.of("append", {"commit_coins": 45})
_AFTERWARDS_COLUMNS = (
    *READ_COLUMNS,
    Column("rewind 1,000", Case.of("rewind", {"heights": 1000}), "milliseconds"),
    Column("open", Case.of("open", {"after": "close"}), "milliseconds"),
    Column("after kill -9", Case.of("open", {"after": "kill"}), "milliseconds"),
    Column("commit p50", _COMMIT, "commit_p50_microseconds"),
    Column("p99", _COMMIT, "commit_p99_microseconds"),
    Column("max", _COMMIT, "commit_max_microseconds"),
    Column("× bare append", _COMMIT, "ratio"),
)


def told_columns(columns: Sequence[Column], group: Group) -> list[Column]:
    """Those that any row has a figure in."""
    return [
        column
        for column in columns
        if any(row.figure(column.case, column.figure) for row in group.lines)
    ]


def _times(ratio: float | None) -> str:
    return NONE if ratio is None else units.times(ratio)
