"""The tables of the bench commands: min / median / max of each figure, † where runs are few."""

from collections.abc import Callable, Iterable, Sequence

from cdb.bench.comparison import FLOOR, FLOORS, Comparison
from cdb.bench.plan import Plan
from cdb.bench.run import LOAD, failure
from cdb.bench.workload import Case
from cdb.cmds.table import table
from cdb.report.model import ENOUGH_RUNS, Spread
from cdb.report.units import size
from cdb.schemas import find_schema

NO_FIGURE = "–"
_LOAD_HEADER = (
    *("", "wall s", "CPU s", "wall/floor", "CPU/floor", "CPU µs a coin", "coins/s"),
    *("written B a coin", "size B a coin", "peak RSS", "digest"),
)
_SHOWN = {
    "settle": {"wall_seconds": "s"},
    "read_random": {"names_per_second": "names/s", "pages_per_name": "pages a name"},
    "read_sequential": {"names_per_second": "names/s", "pages_per_name": "pages a name"},
    "read_iterate": {"coins_per_second": "coins/s"},
    "open": {"milliseconds": "ms"},
    "rewind": {"milliseconds": "ms"},
    "append": {
        "commit_p50_microseconds": "µs",
        "commit_p99_microseconds": "µs, one in a hundred takes more",
        "ratio": "× a bare append and sync",
    },
    "objects": {"coins_per_second": "coins/s"},
    "read_beside": {
        "call_p50_microseconds": "µs",
        "call_p99_microseconds": "µs, one in a hundred takes more",
        "call_p999_microseconds": "µs, one in a thousand takes more",
        "coins_per_second": "coins/s of the load",
    },
    "memory": {
        "limited_seconds": "s with memory for a third of the data",
        "unlimited_seconds": "s without the limit",
        "ratio": "with / without",
    },
}
"""The figures of each workload that are shown, with their units."""


def heading(comparison: Comparison, plan: Plan) -> str:
    """One line on what was loaded, and how."""
    truth = comparison.truth
    what = f"{truth.coins:,} coins, {truth.spends:,} spends"
    flushes = f"a flush each {plan.flush_coins:,} coins, durability {plan.durability.value}"
    few = f"; †: fewer than {ENOUGH_RUNS}" if plan.runs < ENOUGH_RUNS else ""
    runs = "1 run" if plan.runs == 1 else f"{plan.runs} runs"
    return f"{what}; {flushes}; min / median / max of {runs}{few}"


def load_table(comparison: Comparison) -> str:
    """A line a contestant; the ratios are medians of those within a round."""
    rows = [list(_LOAD_HEADER)]
    failures = []
    for name in comparison.cases:
        loads = comparison.loads(name)
        failed = failure(loads)
        if failed is None:
            rows.append([_marked(name, loads), *_load_cells(comparison, name), _digest_mark(name)])
        else:
            rows.append([name, *["–"] * (len(_LOAD_HEADER) - 2), "✗"])
            failures.append(f"{name} failed: {failed.reason}")
    return "\n".join([table(rows), *failures])


def afterwards_table(comparison: Comparison) -> str:
    """A line a figure, a column a schema; then what is to be said of some."""
    notes: list[str] = []
    columns = {
        name: cases
        for name, cases in comparison.cases.items()
        if name not in FLOORS and any(case.workload in _SHOWN for case in cases)
    }
    rows = [["", *columns]]
    for workload, figures in _SHOWN.items():
        groups = [_by_parameters(workload, cases) for cases in columns.values()]
        for label in dict.fromkeys(label for group in groups for label in group):
            runs = [group.get(label, []) for group in groups]
            for place, (figure, unit) in enumerate(figures.items()):
                if place == 0 or any(_known(figure, each) for each in runs):
                    cells = [_cell(figure, each, notes) for each in runs]
                    rows.append([f"{label}: {unit}", *cells])
    return "\n".join([table(rows), *(f"[{n}] {text}" for n, text in enumerate(notes, 1))])


def growth_table(comparisons: Sequence[Comparison]) -> str:
    """What a coin costs in each replay, and in the largest against the smallest."""
    complete = [each for each in comparisons if failure(each.cases[FLOOR]) is None]
    ordered = sorted(complete, key=lambda each: each.truth.coins)
    heads = [_marked(f"{each.truth.coins:,} coins", each.loads(FLOOR)) for each in ordered]
    rows = [["µs a coin", *heads, "last / first"]]
    for name in ordered[-1].cases if ordered else ():
        if all(name in each.cases and failure(each.loads(name)) is None for each in ordered):
            for kind, figure in (("wall", _wall), ("CPU", _cpu)):
                costs = [_coin_microseconds(each, name, figure) for each in ordered]
                ratio = f"{costs[-1] / costs[0]:.2f}"
                rows.append([f"{name}, {kind}", *(f"{cost:.3f}" for cost in costs), ratio])
    return table(rows)


def problems(comparison: Comparison) -> list[str]:
    """What failed, a line each."""
    return [
        f"{name}: {case.reason}"
        if case.workload == LOAD
        else f"{name}, {_label(case)}: {case.reason}"
        for name, cases in comparison.cases.items()
        for case in cases
        if failure([case])
    ]


def _load_cells(comparison: Comparison, name: str) -> list[str]:
    loads, coins = comparison.loads(name), comparison.truth.coins
    floor = [] if failure(comparison.loads(FLOOR)) else comparison.loads(FLOOR)
    rounds = list(zip(loads, floor, strict=False))
    wall = Spread.of([_wall(load) for load in loads])
    peaks = _known("peak_rss_bytes", loads)
    return [
        _spread(wall, ".2f"),
        _spread(Spread.of([_cpu(load) for load in loads]), ".2f"),
        _median([_wall(load) / _wall(least) for load, least in rounds]),
        _median([_cpu(load) / _cpu(least) for load, least in rounds]),
        f"{_coin_microseconds(comparison, name, _cpu):.3f}",
        f"{coins / wall.median:,.0f}",
        _median([written / coins for written in _known("written_bytes", loads)]),
        _median([taken / coins for taken in _known("size_bytes", loads)]),
        size(int(max(peaks))) if peaks else "n/a",
    ]


def _digest_mark(name: str) -> str:
    if name in FLOORS:
        return ""
    return "✓" if find_schema(name).keeps_contract else "keeps nothing"


def _by_parameters(workload: str, cases: Iterable[Case]) -> dict[str, list[Case]]:
    """The workload's cases, those of the same parameters together, as all runs have them."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        if case.workload == workload:
            groups.setdefault(_label(case), []).append(case)
    return groups


def _label(case: Case) -> str:
    """The workload and its parameters: words speak for themselves, numbers need their names."""
    values = (
        value if isinstance(value, str) else f"{name.replace('_', ' ')} {value:,}"
        for name, value in case.parameters.items()
    )
    return ", ".join([case.workload, *values])


def _cell(figure: str, runs: Sequence[Case], notes: list[str]) -> str:
    for case in runs:
        if case.outcome != "measured":
            outcome = "not measured" if case.outcome == "not_measured" else case.outcome
            return f"{outcome} {_note(notes, str(case.reason))}"
    values = _known(figure, runs)
    if not values:
        return NO_FIGURE
    spread = Spread.of(values)
    return _spread(spread, ",.0f" if spread.median >= 100 else ".2f")


def _note(notes: list[str], text: str) -> str:
    if text not in notes:
        notes.append(text)
    return f"[{notes.index(text) + 1}]"


def _known(figure: str, cases: Iterable[Case]) -> list[float]:
    values = (case.figures.get(figure) for case in cases)
    return [value for value in values if value is not None]


def _wall(load: Case) -> float:
    return load.figures["wall_seconds"] or 0.0


def _cpu(load: Case) -> float:
    return (load.figures["user_seconds"] or 0.0) + (load.figures["system_seconds"] or 0.0)


def _coin_microseconds(
    comparison: Comparison, name: str, seconds: Callable[[Case], float]
) -> float:
    median = Spread.of([seconds(load) for load in comparison.loads(name)]).median
    return 1e6 * median / comparison.truth.coins


def _spread(spread: Spread, form: str) -> str:
    return " / ".join(format(value, form) for value in (spread.min, spread.median, spread.max))


def _median(values: Sequence[float]) -> str:
    return f"{Spread.of(values).median:.2f}" if values else "n/a"


def _marked(name: str, runs: Sequence[object]) -> str:
    return name if len(runs) >= ENOUGH_RUNS else f"{name} †"
