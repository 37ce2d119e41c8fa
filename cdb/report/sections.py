"""The questions of a report: of each a finding with its figure, a picture, and tables to open."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from cdb.bench.results import STORES
from cdb.engines import ENGINES
from cdb.report import group_tables, layouts, node, tables, units
from cdb.report.growth import Sizes, alike, growth_of, growth_table, middle, short, speeds
from cdb.report.model import LOAD, Case, Group, Mark, Report, Row
from cdb.report.options import options_block
from cdb.report.parts import (
    NONE,
    Bars,
    Block,
    Cell,
    Command,
    Doubt,
    Fold,
    Items,
    Line,
    Part,
    Plot,
    Section,
    Table,
    Text,
    View,
)
from cdb.report.published import SOURCE, published_table
from cdb.report.published_engines import published_parts
from cdb.report.rules import LAYOUTS_WORDS, LIMITS, NODE_WORDS, RULES, WEEK_WORDS
from cdb.report.tables import Column, busy_line, cell, figure_table, runs_text
from cdb.report.uses import (
    ABSENT_LOOKUPS,
    AS_OF,
    BASELINE,
    COLD_LOOKUPS,
    COMMIT,
    FIND,
    FIND_COLD,
    HISTORY,
    LOAD_TIME,
    LOOKUPS,
    SIZE,
    Want,
    case_of,
    conditions,
    find,
    has_history,
    has_slow_disk,
    in_both_forms,
    is_choice,
    is_near,
    lookups,
    ranked_by,
    ratio,
    slowest,
    times,
    unmeasured,
)

NOTHING = "Not measured with this choice."


class Context:
    """A view with what sections say of it: its group, and the schema that they say it of."""

    def __init__(self, report: Report, view: View, group: Group | None, schema: str) -> None:
        self.report = report
        self.view = view
        self.group = group
        self.schema = schema

    def alike(self, groups: Iterable[Group]) -> list[Group]:
        """Those of the view's machine and profile."""
        where = (self.view.machine, self.view.profile)
        return [
            each
            for each in groups
            if (self.report.place(each.setting.machine), each.setting.profile) == where
        ]


def sections(contexts: Sequence[Context]) -> tuple[Section, ...]:
    """All of them, each with a block for each view; the last is how it was measured."""
    return tuple(
        Section(id, question, tuple(make(each) for each in contexts))
        for id, (question, make) in _MAKERS.items()
    )


def _of_group(make: Callable[[Context, Group], Block]) -> Callable[[Context], Block]:
    """A block of the view's group; where it has none, that says so."""

    def block(context: Context) -> Block:
        if context.group is None or not context.schema:
            return Block(NOTHING, "not measured", is_empty=True)
        return make(context, context.group)

    return block


def _fold(title: str, parts: Iterable[Part]) -> Iterator[Fold]:
    told = tuple(parts)
    if told:
        yield Fold(title, told)


def _workloads(title: str, group: Group, workloads: tuple[str, ...]) -> Iterator[Fold]:
    told = tuple(group_tables.workload_tables(group, workloads))
    if told:
        of_calls = workloads is not group_tables.HISTORY
        yield Fold(title, (*((Text(group_tables.BELOW),) if of_calls else ()), *told))


@_of_group
def _cost(context: Context, group: Group) -> Block:
    row = group.row(context.schema) or group.rows[0]
    coins = f"{group.setting.coins:,}"
    texts = {
        name: spread.median_text(name)
        for name in ("wall_seconds", "peak_rss_bytes", "size_bytes_per_coin", "wall_floor_ratio")
        if (spread := row.figure(LOAD, name)) is not None
    }
    costs = _fold("All costs", [*group_tables.cost_tables(group), *tables.phase_table(group)])
    if "wall_seconds" not in texts:
        return Block(f"{row.schema} did not load {coins} coins here.", "not measured", (*costs,))
    finding = f"{row.schema} loads {coins} coins in {texts['wall_seconds']}"
    if "wall_floor_ratio" in texts:
        floor = texts["wall_floor_ratio"].removeprefix("×")
        finding += f", {floor} × the time of its round's floor"
    memory = texts.get("peak_rss_bytes", "n/a")
    finding += f", with {memory} of memory and {texts.get('size_bytes_per_coin', 'n/a')} of disk "
    finding += f"per coin. {_frontier(group)}"
    plots = [
        plot
        for figure, label in (("peak_rss_bytes", "peak memory"), ("size_bytes", "size on disk"))
        if (plot := _trade_off(group, figure, label)) is not None
    ]
    return Block(finding.strip(), f"{memory} of memory", (*plots, *costs))


def _frontier(group: Group) -> str:
    told = group.frontier(LOAD, "size_bytes")
    names = [row.schema for row in group.rows if row.schema in told]
    if not names:
        return ""
    return f"In load time and size together no other beats {', '.join(names)}."


def _trade_off(group: Group, figure: str, label: str) -> Plot | None:
    points = tuple(
        (row.schema, ((time.median, other.median),))
        for row in group.rows
        if row.competes
        and (time := row.figure(LOAD, "wall_seconds"))
        and (other := row.figure(LOAD, figure))
        and other.median > 0
        and time.median > 0
    )
    title = f"Load time and {label}: nearer to the lower left is better"
    return Plot(title, "load", "wall_seconds", label, figure, points) if len(points) > 1 else None


@_of_group
def _growth(context: Context, group: Group) -> Block:
    sizes = alike(context.report.groups, group)
    loaded = {
        coins: has
        for coins, groups in sizes.items()
        if (has := [each for each in groups if each.figure(context.schema, LOAD, "wall_seconds")])
    }
    costs = _fold("A coin's cost by size", growth_table(sizes))
    if not loaded:
        return Block(f"{context.schema} was loaded in no size.", "not measured", (*costs,))
    largest = max(loaded[max(loaded)], key=lambda each: sum(row.competes for row in each.rows))
    rows = [row for row in largest.rows if row.competes and row.curves]
    lines = [(row.schema, tuple(speeds(middle(row.curves)))) for row in rows]
    # Two points are no growth.
    told = tuple((schema, points) for schema, points in lines if len(points) >= 3)
    title = f"Coins per second while {largest.setting.coins:,} coins are loaded; falling is slower"
    names = ("coins loaded", "coins", "coins per second", "coins_per_second")
    plots = (Plot(title, *names, told),) if told else ()
    finding, few_words = _how_it_grows(sizes, context.schema, max(loaded))
    return Block(finding, few_words, (*plots, *costs))


def _how_it_grows(sizes: Sizes, schema: str, most_coins: int) -> tuple[str, str]:
    """In a sentence, and in a few words. most_coins: of the schema's loads."""
    grown, own = growth_of(sizes, schema), growth_of(sizes, BASELINE)
    if grown is None:
        return f"{schema} was loaded in one size only: {most_coins:,} coins.", "one size measured"
    first, last, factor = grown
    against = ""
    if own is not None and own[:2] == (first, last) and schema != BASELINE:
        against = f"; of the node's own {BASELINE} {times(own[2])}"
    # As the factor is told: 1.1 × is no standstill.
    said = "does not slow down" if factor < 1.05 else "slows down"
    finding = (
        f"{schema} {said}: a coin of a load of {last:,} coins takes {times(factor)} the "
        f"time of one of {first:,}{against}."
    )
    return finding, f"{times(factor)} a coin, {short(first)} → {short(last)}"


@_of_group
def _find(context: Context, group: Group) -> Block:
    ways = {"in memory": LOOKUPS, "not in memory": COLD_LOOKUPS, "as of any height": HISTORY}
    told = [each for way, cases in ways.items() if (each := _most_in(context, group, way, cases))]
    columns = [Column(way, case_of(group, of), FIND.figure) for way, of in ways.items()]
    title = "Look-ups per second, of 1,000 names at a time, with files in memory or not"
    own = find(group, group.row(context.schema), FIND)
    limits = {} if has_slow_disk(group.setting) else dict(group.setting.limits)
    memory = limits.get(units.label("memory_bytes"))
    held = f" Memory is {memory}: what is larger was only read before." if memory else ""
    return Block(
        f"Of schemas to choose from, most look-ups per second: {'; '.join(told)}.{held}"
        if told
        else "No schema to choose from has a figure of look-ups after settling here.",
        own.median_text(FIND.figure) if own else "not measured",
        (
            *map(Bars, figure_table(group, title, columns)),
            *_workloads("Look-ups by name", group, group_tables.LOOKUPS),
            *_workloads("Reading in order, and beside a load", group, group_tables.READING),
            *_workloads("As of a height", group, group_tables.HISTORY),
            *_workloads("Other workloads", group, group_tables.other_workloads(group)),
        ),
    )


def _most_in(context: Context, group: Group, way: str, cases: tuple[Case, ...]) -> str:
    """The schema that finds most in a way, how many, and who was not asked; empty for none."""
    case = case_of(group, cases)
    rows = [row for row in group.rows if is_choice(row)]
    told = [(each.median, row) for row in rows if (each := row.figure(case, FIND.figure))]
    most, row = max(told, key=lambda each: each[0], default=(0.0, None))
    if row is None:
        return ""
    fits = has_history if cases is HISTORY else is_choice
    missing = unmeasured(context.report, group, FIND._replace(cases=cases), fits)
    notes = f" ({missing})" if missing else ""
    return f"{way} {row.schema}, {units.text(FIND.figure, most)}{notes}"


def _node(context: Context) -> Block:
    """What a node's own calls cost with each store, and what following the chain does."""
    parts: list[Part] = []
    findings, short = [], "not measured"
    group = context.group
    bars: list[Part] = []
    if group is not None:
        columns = [
            Column("commit of a block", COMMIT[0], "commit_p50_microseconds"),
            Column("rewind of a block", Case.of("rewind", {"heights": 1}), "milliseconds"),
            Column("open", Case.of("open", {"after": "close"}), "milliseconds"),
        ]
        title = "Time of a durable commit of 45 coins, of a rewind, and to open"
        bars = [Bars(table) for table in figure_table(group, title, columns)]
        parts += _workloads("Commits, rewinds, opening", group, group_tables.TIP)
    for words, groups in ((NODE_WORDS, context.report.node), (WEEK_WORDS, context.report.weeks)):
        for each in context.alike(groups):
            finding, few_words = node.finding(each)
            if finding:
                findings.append(finding)
                short = few_words
            title = f"A node's coin store: {node.conditions(each)}"
            parts.append(Fold(title, (Text(words), *node_parts(each))))
    if not findings:
        findings.append(_not_of_a_node(context))
    return Block(" ".join(findings), short, (*bars, *parts))


def _not_of_a_node(context: Context) -> str:
    others = [*context.report.node, *context.report.weeks]
    if not others:
        return "A full node's own calls were not measured yet: cdb bench node measures them."
    told = dict.fromkeys(f"{each.setting.machine} · {each.setting.profile}" for each in others)
    return f"A full node's own calls were not measured here, but with {', '.join(told)}."


def node_parts(group: Group) -> Iterator[Part]:
    """A node's coin stores beside each other."""
    yield Text(node.how(group))
    yield from _warned(group)
    missing = [store for store in STORES if group.row(store) is None]
    lines = [f"There is no run of {store} yet: the same command makes it." for store in missing]
    lines += tables.problem_lines(group)
    if lines:
        yield Items(tuple(lines))
    yield from node.node_tables(group)
    for line in group.commands:
        yield Command(line)


def _warned(group: Group) -> Iterator[Part]:
    busy = busy_line(group)
    if busy is not None:
        yield Doubt(busy)


@_of_group
def _slow(context: Context, group: Group) -> Block:
    slow = slowest(context.report, group)
    beside = [each for each in (published_table(context.report, group.setting.machine),) if each]
    published = _fold("What was published, and what was measured here", [Text(SOURCE), *beside])
    folds = tuple(published) if beside else ()
    if slow is None:
        return Block("No slow disk was measured on this machine.", "not measured", folds)
    quick = max(
        (each for each in context.report.profiles_of(slow).values() if not each.setting.limits),
        key=lambda each: len(each.rows),
        default=None,
    )
    rows = [row for row in slow.rows if row.competes]
    loads = [(row, wall) for row in rows if (wall := row.figure(LOAD, "wall_seconds"))]
    if not loads:
        return Block("Nothing was loaded on the slow disk.", "not measured", folds)
    best, wall = next((each for each in loads if is_choice(each[0])), loads[0])
    text = wall.median_text("wall_seconds")
    limits = ", ".join(f"{label} {told}" for label, told in slow.setting.limits)
    finding = f"On {slow.setting.profile} ({limits}), of schemas, {best.schema} loads fastest: "
    finding += f"{slow.setting.coins:,} coins in {text}"
    own, fast = slow.row(BASELINE), quick.row(best.schema) if quick else None
    short = text
    other = own.figure(LOAD, "wall_seconds") if own and own is not best else None
    if other is not None:
        factor = times(ratio(wall, other, "wall_seconds"))
        finding += f", {factor} as fast as the node's own {BASELINE}"
        short = f"{text}, {factor} as fast as {BASELINE}"
    before = fast.figure(LOAD, "wall_seconds") if fast else None
    if before is not None:
        finding += f"; without the limits it takes {before.median_text('wall_seconds')}"
    missing = unmeasured(context.report, slow, LOAD_TIME)
    finding += f" ({missing})" if missing else ""
    lines = tuple(_slow_line(slow, quick, row) for row, _ in loads)
    header = ("schema", slow.setting.profile, *((quick.setting.profile,) if quick else ()))
    bars = Bars(Table(f"Time to load {slow.setting.coins:,} coins", header, lines))
    return Block(f"{finding}.", short, (bars, *folds))


def _slow_line(slow: Group, quick: Group | None, row: Row) -> Line:
    column = Column("", LOAD, "wall_seconds")
    cells = [Cell(row.schema), cell(slow, row, column)]
    if quick is not None:
        other = quick.row(row.schema)
        cells.append(Cell(NONE) if other is None else cell(quick, other, column))
    return Line(tuple(cells), row.schema)


def _engines(context: Context) -> Block:
    """Layouts in engines: as schemas of this view, and below the coin set as was published."""
    group = context.group
    rows = [] if group is None else [row for row in group.rows if _layout_of(row) and row.competes]
    others = context.alike(context.report.layouts)
    if group is None and not others:
        return Block(NOTHING, "not measured", is_empty=True)
    best: dict[str, Row] = {}
    for row in rows:
        if row.figure(LOAD, "wall_seconds"):
            best.setdefault(_engine_of(row), row)
    told = [
        (engine, row.schema, spread.median_text("wall_seconds"))
        for engine, row in best.items()
        if (spread := row.figure(LOAD, "wall_seconds"))
    ]
    if not told:
        finding = NOTHING
    elif {_layout_of(row) for row in rows} == {_ONE_LAYOUT}:
        in_turn = ", then ".join(f"{engine} ({load})" for engine, _, load in told)
        finding = f"{_ONE_LAYOUT} loads{' fastest' if len(told) > 1 else ''} in {in_turn}."
    else:
        of_each = "; ".join(f"in {engine} {of} loads fastest ({load})" for engine, of, load in told)
        finding = f"Of {len(rows)} layouts in engines, {of_each}."
    missing = sorted({*ENGINES} - _engines_tried(group))
    finding += f" Not measured here: {', '.join(missing)}." if missing else ""
    parts: list[Part] = []
    if group is not None:
        verdict, table = _by_engine(group)
        finding += verdict
        parts += table
        parts += _fold("Published figures of engines, and the same here", published_parts(group))
    if group is not None and best:
        parts += [Bars(each, is_one_scale=True) for each in _layouts_by_engine(group, [*best])]
    for each in others:
        title = f"Published layouts, and what the same costs here: {each.setting.source}"
        parts.append(Fold(title, tuple(_layout_parts(each))))
    short = f"{len(rows)} layouts in {' and '.join(best)}" if best else "not measured"
    return Block(finding, short, tuple(parts))


def _engines_tried(group: Group | None) -> set[str]:
    """Those with a layout of which a run began, whatever came of it."""
    rows = [] if group is None else group.rows
    tried = (row for row in rows if _layout_of(row) and row.mark is not Mark.NOT_MEASURED)
    return {_engine_of(row) for row in tried}


_ONE_LAYOUT = "interval"
_TAKEN_BY = (
    ("a node", LOAD_TIME, "load"),
    ("an indexer", FIND, "look-ups in memory"),
    ("", FIND_COLD, "look-ups not in memory"),
    ("an archive", SIZE, "disk per coin"),
    ("", FIND._replace(cases=ABSENT_LOOKUPS), "look-ups of absent names"),
    ("", AS_OF, "look-ups as of a height"),
)
"""Who takes an engine for what it is best in; a want, and its column. Without limits nobody is told
what a small machine takes: what is best there may be slowest where memory is short."""
_TAKEN_WITH_LIMITS = (
    ("{machine} that follows the chain", LOAD_TIME, "load"),
    ("one that looks coins up", FIND_COLD, "look-ups not in memory"),
)
"""With a profile's limits: the others have none."""

TELL_APART = (
    ("the disk received in a load", (LOAD,), "device_written_bytes"),
    ("look-ups before settling", lookups(state="unsettled"), FIND.figure),
    ("look-ups by 64 threads", lookups(threads=64), FIND.figure),
    (
        "look-ups one by one, by 64 threads, not in memory",
        lookups(threads=64, batch=1, cache="cold"),
        FIND.figure,
    ),
    ("unspent coins scanned", in_both_forms("latest"), "rows_per_second"),
    ("a load while a snapshot is open, to one without", (Case.of("snapshot", {}),), "ratio"),
)
"""What else tells engines apart: a column, its cases, and the figure."""


def _by_engine(group: Group) -> tuple[str, list[Part]]:
    """Which engine is for whom, by one layout in all of them; and a line an engine."""
    rows = tuple(row for row in group.rows if _layout_of(row) == _ONE_LAYOUT)
    competing = [row for row in rows if row.competes]
    if len(competing) < 2:
        return "", []
    told = []
    machine = "a machine with a slow disk" if has_slow_disk(group.setting) else "a small machine"
    for who, want, label in _TAKEN_WITH_LIMITS if group.setting.limits else _TAKEN_BY:
        if who and (ranked := ranked_by(group, competing, want)):
            best, figure = ranked[0], ranked[0].spread.median_text(want.figure)
            near = [each for each in ranked if is_near(best.spread, each.spread, want.figure)]
            names = " or ".join(_engine_of(each.row) for each in near)
            failed = _failed(group, competing, want)
            told.append(f"for {who.format(machine=machine)} {names} ({label}: {figure}{failed})")
    columns = [
        Column(label, case_of(group, want.cases), want.figure) for _, want, label in _TAKEN_BY
    ]
    of_engines = replace(group, rows=rows, floor=None)
    beside = [Column(label, case_of(group, cases), figure) for label, cases, figure in TELL_APART]
    title = f"{_ONE_LAYOUT} in each engine"
    tables: list[Part] = [
        *figure_table(of_engines, title, columns, "engine"),
        *figure_table(of_engines, f"{title}: what else tells them apart", beside, "engine"),
    ]
    return f" By {_ONE_LAYOUT} in each, take {'; '.join(told)}." if told else "", tables


def _failed(group: Group, rows: Sequence[Row], want: Want) -> str:
    """Engines that loaded, were asked for this figure and have none: ``; bbolt: failed``."""
    column = Column("", case_of(group, want.cases), want.figure)
    cells = {_engine_of(row): cell(group, row, column) for row in rows}
    told = {name: each.text for name, each in cells.items() if each.is_reason}
    return "".join(f"; {name}: {why}" for name, why in told.items() if why != "not measured")


def _engine_of(row: Row) -> str:
    return row.schema.rpartition("@")[2]


def _layout_of(row: Row) -> str:
    """Its layout, where it is one in an engine and has no options."""
    return row.schema.rpartition("@")[0] if "," not in row.schema else ""


def _layouts_by_engine(group: Group, engines: Sequence[str]) -> Iterator[Table]:
    """A line a layout, a column an engine; of what was measured."""
    names = dict.fromkeys(_layout_of(row) for row in group.rows if _layout_of(row))
    case = case_of(group, LOOKUPS)
    for title, column in (
        ("Time to load", Column("", LOAD, "wall_seconds")),
        ("Look-ups per second", Column("", case, "names_per_second")),
    ):
        lines = [
            Line((Cell(name), *(_cell_of(group, f"{name}@{each}", column) for each in engines)))
            for name in names
        ]
        table = Table(title, ("layout", *engines), tuple(lines))
        if table.has_figures:
            yield table


def _cell_of(group: Group, schema: str, column: Column) -> Cell:
    row = group.row(schema)
    return Cell(NONE) if row is None else replace(cell(group, row, column), ratio=None)


def _layout_parts(group: Group) -> Iterator[Part]:
    yield Text(LAYOUTS_WORDS)
    yield Text(f"{layouts.conditions(group)}. {layouts.how(group)}")
    yield from _warned(group)
    published = layouts.published_table(group)
    if published is not None:
        yield published
        yield Items(layouts.flaw_lines(group))
    yield from layouts.layout_tables(group)
    yield from _problems(group)
    for line in group.commands:
        yield Command(line)


def _options(context: Context) -> Block:
    """The same with each view: of options there are pairs of one place alone."""
    if context.report.pairs:
        return options_block(context.report.pairs)
    none = "No option was measured beside its default: cdb bench pairs does."
    return Block(none, "not measured", is_empty=context.group is None)


def _how(context: Context) -> Block:
    """Conditions, machines, commands, rules, failures."""
    report, group = context.report, context.group
    parts: list[Part] = []
    finding = f"{context.view}."
    if group is not None:
        finding = (
            f"{group.setting.machine}, {conditions(group.setting)}; {runs_text(group)}. Every "
            "answer was checked; a schema with a wrong one has no figures."
        )
        parts.append(Text(f"The replay is {group.setting.source}; {_written(group)}."))
        parts += _warned(group)
        parts += _fold("What has no figures, and why", _problems(group))
        parts.append(Fold("All figures", (tables.all_figures_table(group),), in_texts=True))
    parts += _fold(
        "What each schema does", [tables.schema_table(report.groups)] if report.groups else []
    )
    cards = [tables.machine_table(card, report.place(card.name)) for card in report.machines]
    parts += _fold("The machines", cards)
    commands = [
        part
        for each in report.matrices
        for part in (tables.matrix_table(each), Command(each.command))
    ]
    parts += _fold("The commands", commands)
    parts.append(Fold("Rules and limits", (Items(RULES), Items(LIMITS))))
    return Block(finding, runs_text(group) if group else "", tuple(parts))


def _problems(group: Group) -> Iterator[Part]:
    lines = tables.problem_lines(group)
    if lines:
        yield Items(tuple(lines))
    void = [row for row in group.rows if row.mark is not Mark.RIGHT and row.keeps_contract]
    if void:
        names = ", ".join(f"{row.schema} ({row.mark})" for row in void)
        yield Text(f"Without a load time that counts: {names}.")


def _written(group: Group) -> str:
    counted = {
        "device_written_bytes": "at the device",
        "disk_written_bytes": "where the process sends pages to the disk",
        "written_bytes": "in write calls",
    }
    return f"for write amplification, bytes are counted {counted[group.written_figure]}"


_MAKERS: dict[str, tuple[str, Callable[[Context], Block]]] = {
    "cost": ("What does a load cost?", _cost),
    "growth": ("Does it slow down as it grows?", _growth),
    "find": ("How fast does it find coins?", _find),
    "node": ("What does it save a full node?", _node),
    "slow": ("What does a slow disk change?", _slow),
    "engines": ("Which engine, and which layout?", _engines),
    "options": ("Which options pay?", _options),
    "how": ("How was this measured?", _how),
}
"""Questions and what answers them, in the order of documents."""
