"""The tables of the bench commands: min / median / max of each figure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cdb.bench.comparison import FLOOR, FLOORS
from cdb.bench.load import LoadFigures
from cdb.bench.plan import Plan
from cdb.bench.rounds import Samples, Spread
from cdb.bench.truth import Truth
from cdb.cmds.table import size, table
from cdb.schemas import find_schema

Loads = dict[str, Samples[LoadFigures]]
Afterwards = dict[str, dict[str, Samples[Any]]]
_LOAD_HEADER = (
    *("", "wall s", "CPU s", "wall/floor", "CPU/floor", "CPU µs a coin", "coins/s"),
    *("written B a coin", "size B a coin", "peak RSS", "digest"),
)


@dataclass(frozen=True, slots=True)
class _Row:
    """A figure of a workload, and how it is shown."""

    label: str
    workload: str
    figure: str
    form: str = ",.0f"
    may_be_packed: bool = False


_ROWS = (
    _Row("warm lookups/s, batches of 1,000", "warm", "batched_names_per_second", ",.0f", True),
    _Row("warm lookups/s, one by one", "warm", "single_names_per_second", ",.0f", True),
    _Row("warm absent names/s, batches of 1,000", "warm", "absent_names_per_second", ",.0f", True),
    _Row("warm coin infos/s as objects, batches of 1,000", "warm", "object_infos_per_second"),
    _Row("cold lookups/s, batches of 1,000", "cold", "names_per_second", ",.0f", True),
    _Row("pages read a cold lookup", "cold", "pages_per_name", ".2f"),
    _Row("durable rewind of {heights:,} heights, ms", "rewind", "milliseconds", ",.1f"),
    _Row("open after a clean close, ms", "open", "milliseconds", ",.1f"),
    _Row("open after kill -9, ms", "killed", "milliseconds", ",.1f"),
    _Row("open without what is derived, ms", "underived", "milliseconds", ",.1f"),
    _Row("a durable commit of 45 coins, µs", "tip", "commit_microseconds"),
    _Row("  one in a hundred takes more than, µs", "tip", "commit_p99_microseconds"),
    _Row("  a bare append and sync, µs", "tip", "append_microseconds"),
    _Row("  commit / append", "tip", "ratio", ".2f"),
    _Row("accept_block of objects, coins/s", "objects", "coins_per_second"),
    _Row("load with memory for a third of the data, s", "limited", "limited_seconds", ".2f"),
    _Row("  without the limit, s", "limited", "unlimited_seconds", ".2f"),
    _Row("  with / without", "limited", "ratio", ".2f"),
)


def heading(loads: Loads, plan: Plan) -> str:
    """One line on what was loaded, and how."""
    loaded = [samples.runs[0] for samples in loads.values() if samples.runs]
    what = f"{loaded[0].coins:,} coins, {loaded[0].spends:,} spends; " if loaded else ""
    flushes = f"a flush each {plan.flush_coins:,} coins, durability {plan.durability.value}"
    return f"{what}{flushes}; min / median / max of {plan.runs} runs"


def load_table(loads: Loads) -> str:
    """A line a contestant; the ratios are medians of those within a round."""
    rows = [list(_LOAD_HEADER)]
    problems = []
    for name, samples in loads.items():
        if samples.complete:
            rows.append([name, *_load_cells(samples, loads[FLOOR]), _digest_mark(name)])
        else:
            rows.append([name, *["–"] * (len(_LOAD_HEADER) - 2), "✗"])
            problems.append(f"{name} failed: {samples.error}")
    return "\n".join([table(rows), *problems])


def afterwards_table(truth: Truth, afterwards: Afterwards) -> str:
    """A line a figure, a column a schema; then what is to be said of some."""
    notes: list[str] = []
    heights = truth.newest_index - truth.rewind_index
    rows = [["", *afterwards]]
    for row in _ROWS:
        cells = [_cell(row, samples[row.workload], notes) for samples in afterwards.values()]
        rows.append([row.label.format(heights=heights), *cells])
    return "\n".join([table(rows), *(f"[{n}] {text}" for n, text in enumerate(notes, 1))])


def growth_table(results: Sequence[Loads]) -> str:
    """What a coin costs in each replay, and in the largest against the smallest."""
    complete = [each for each in results if each[FLOOR].complete]
    ordered = sorted(complete, key=_coins)
    rows = [["µs a coin", *(f"{_coins(loads):,} coins" for loads in ordered), "last / first"]]
    for name in results[0]:
        if all(loads[name].complete for loads in ordered):
            for kind in ("wall", "CPU"):
                costs = [_cost(loads[name], kind) for loads in ordered]
                ratio = f"{costs[-1] / costs[0]:.2f}"
                rows.append([f"{name}, {kind}", *(f"{cost:.3f}" for cost in costs), ratio])
    return table(rows)


def problems(loads: Loads, afterwards: Afterwards) -> list[str]:
    """What failed, a line each."""
    failed = [f"{name}: {samples.error}" for name, samples in loads.items() if samples.error]
    for name, workloads in afterwards.items():
        failed += [
            f"{name}, {workload}: {samples.error}"
            for workload, samples in workloads.items()
            if samples.error
        ]
    return failed


def _load_cells(samples: Samples[LoadFigures], floor: Samples[LoadFigures]) -> list[str]:
    runs = samples.runs
    coins = runs[0].coins
    wall = Spread.of([run.wall_seconds for run in runs])
    cpu = Spread.of([run.cpu_seconds for run in runs])
    rounds = list(zip(runs, floor.runs, strict=False))
    peaks = [run.peak_rss_bytes for run in runs if run.peak_rss_bytes is not None]
    return [
        _spread(wall, ".2f"),
        _spread(cpu, ".2f"),
        _median([run.wall_seconds / least.wall_seconds for run, least in rounds]),
        _median([run.cpu_seconds / least.cpu_seconds for run, least in rounds]),
        f"{1e6 * cpu.median / coins:.3f}",
        f"{coins / wall.median:,.0f}",
        _median([run.bytes_written / coins for run in runs if run.bytes_written is not None]),
        _median([run.size_bytes / coins for run in runs]),
        size(max(peaks)) if peaks else "n/a",
    ]


def _digest_mark(name: str) -> str:
    if name in FLOORS:
        return ""
    return "✓" if find_schema(name).keeps_contract else "keeps nothing"


def _cell(row: _Row, samples: Samples[Any], notes: list[str]) -> str:
    if samples.error is not None:
        return f"failed {_note(notes, samples.error)}"
    if samples.not_measured is not None:
        return f"not measured {_note(notes, samples.not_measured)}"
    text = _spread(Spread.of([getattr(run, row.figure) for run in samples.runs]), row.form)
    if row.may_be_packed and not samples.runs[0].is_packed:
        text += " " + _note(notes, "as objects: this schema has no packed lookups")
    return text


def _note(notes: list[str], text: str) -> str:
    if text not in notes:
        notes.append(text)
    return f"[{notes.index(text) + 1}]"


def _spread(spread: Spread, form: str) -> str:
    return " / ".join(format(value, form) for value in (spread.min, spread.median, spread.max))


def _median(values: Sequence[float]) -> str:
    return f"{Spread.of(values).median:.2f}" if values else "n/a"


def _coins(loads: Loads) -> int:
    return loads[FLOOR].runs[0].coins


def _cost(samples: Samples[LoadFigures], kind: str) -> float:
    seconds = [run.wall_seconds if kind == "wall" else run.cpu_seconds for run in samples.runs]
    return 1e6 * Spread.of(seconds).median / samples.runs[0].coins
