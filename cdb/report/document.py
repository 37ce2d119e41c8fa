"""A report's document: what HTML, Markdown and a terminal each write."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from cdb.report.growth import alike, growth_of, short
from cdb.report.model import LOAD, Group, Mark, Report, is_more_better
from cdb.report.parts import Answer, Bars, Block, Document, Doubt, Part, Section, Text, Tile, View
from cdb.report.rules import WORDS
from cdb.report.sections import Context, sections
from cdb.report.tables import Column, busy_line, figure_table, runs_text
from cdb.report.uses import (
    BASELINE,
    DURABILITY_WORDS,
    LOOKUPS,
    USES,
    Use,
    against,
    answer,
    case_of,
    deciding,
    ratio,
    shown,
    slowest,
    times,
    weight,
)

TITLE = "Which store for your coins?"


def document(report: Report) -> Document:
    """What a report says: answers first, how it was measured last."""
    of_views = _views(report)
    answers = [_answers(report, group) for _, group in of_views]
    in_pictures = tuple(
        shown(group, told) if group is not None else ()
        for (_, group), told in zip(of_views, answers, strict=True)
    )
    contexts = [
        Context(report, view, group, _best(told, group))
        for (view, group), told in zip(of_views, answers, strict=True)
    ]
    told_sections = sections(contexts)
    schemas = [schema for each in in_pictures for schema in each]
    schemas += [row.schema for group in report.groups for row in group.lines]
    return Document(
        title=TITLE,
        views=tuple(view for view, _ in of_views),
        uses=tuple((use.id, use.title) for use in USES),
        answers=tuple(
            _opening(group, told, _unanswered(told_sections, n))
            for n, ((_, group), told) in enumerate(zip(of_views, answers, strict=True))
        ),
        sections=told_sections,
        shown=in_pictures,
        schemas=tuple(dict.fromkeys(schemas)),
        words=WORDS,
        decided=tuple((use.id, _decided(report, of_views)) for use in USES if use.slow),
    )


def _decided(report: Report, of_views: Sequence[tuple[View, Group | None]]) -> tuple[int, ...]:
    """Of each view the place of the one of the slow disk; its own, where there is none."""
    groups = [group for _, group in of_views]
    return tuple(
        n if group is None or (slow := slowest(report, group)) is None else groups.index(slow)
        for n, group in enumerate(groups)
    )


def _unanswered(told: Sequence[Section], view: int) -> str:
    """The questions of which nothing was measured in a view, in a line; empty for none."""
    questions = [each.question for each in told if each.blocks[view].is_empty]
    return f"Not measured with this choice: {' '.join(questions)}" if questions else ""


def _best(answers: tuple[Answer, ...], group: Group | None) -> str:
    """The schema of the group that sections speak of: the first answer, or who loads fastest. An
    answer of the slow disk may be of a schema that the group does not have."""
    if group is None:
        return ""
    told = [each.schema for each in answers if group.row(each.schema)]
    rows = [row.schema for row in group.rows if row.competes]
    return next(iter([*told, *rows]), "")


def _views(report: Report) -> list[tuple[View, Group | None]]:
    """Each group as it is chosen, the one that tells most first; then what only a node has."""
    groups = sorted(report.groups, key=weight, reverse=True)
    groups.sort(key=lambda group: group.setting.machine in report.elsewhere)
    views: list[tuple[View, Group | None]] = []
    for group in groups:
        view = _view(report, group)
        known = [other for _, other in views if other and _view(report, other) == view]
        views.append((_told_apart(view, group, known) if known else view, group))
    places = {(view.machine, view.profile) for view, _ in views}
    for group in (*report.node, *report.weeks, *report.layouts):
        place = (report.place(group.setting.machine), group.setting.profile)
        if place not in places:
            places.add(place)
            views.append((View(*place, "", ""), None))
    return views


def _view(report: Report, group: Group) -> View:
    setting = group.setting
    size = f"{setting.coins:,} coins"
    durability = DURABILITY_WORDS[setting.durability]
    return View(report.place(setting.machine), setting.profile, size, durability)


def _told_apart(view: View, group: Group, known: Sequence[Group]) -> View:
    """The view with what differs from the first of its name: words, as a path means nothing."""
    one, other = group.setting, known[0].setting
    differs = []
    if one.flush_coins != other.flush_coins:
        differs.append(f"flushed each {one.flush_coins:,}")
    if one.limits != other.limits:
        differs.append(", ".join(f"{label} {text}" for label, text in one.limits) or "no limits")
    if one.digest != other.digest:
        differs.append(f"other blocks, {one.digest[:8]}")
    if not differs:
        day = max(row.matrix for row in group.lines)[:8]
        of = group.rows[0].schema if len(group.rows) == 1 else f"{len(group.rows)} schemas"
        differs.append(f"{of} measured again, {day[:4]}-{day[4:6]}-{day[6:]}")
    more = f" {len(known) + 1}" if len(known) > 1 else ""
    return replace(view, size=f"{view.size} ({'; '.join(differs)}{more})")


def _answers(report: Report, group: Group | None) -> tuple[Answer, ...]:
    if group is None:
        return ()
    told = []
    for use in USES:
        given = answer(report, group, use)
        measured = deciding(report, group, use) or group
        tiles = (*given.tiles, *_prospects(report, measured, given.schema))
        told.append(replace(given, tiles=tiles))
    return tuple(
        replace(each, glance=tuple(_glance(report, group, use, told)))
        for each, use in zip(told, USES, strict=True)
    )


def _prospects(report: Report, group: Group, schema: str) -> Iterator[Tile]:
    """What becomes of a load as it grows, and on a slow disk."""
    if not schema:
        return
    grown = growth_of(alike(report.groups, group), schema)
    text, more = "one size measured", ""
    if grown is not None:
        first, last, factor = grown
        own_growth = growth_of(alike(report.groups, group), BASELINE)
        text = f"{times(factor)} the time"
        more = f"per coin, at {short(last)} against {short(first)} coins"
        if own_growth is not None and schema != BASELINE:
            more += f"; {BASELINE}: {times(own_growth[2])}"
    yield Tile("as it grows", text, more, "growth")
    slow = slowest(report, group)
    spread = slow.figure(schema, LOAD, "wall_seconds") if slow else None
    if slow is None or spread is None:
        yield Tile("on a slow disk", "not measured", "", "slow")
        return
    own = slow.figure(BASELINE, LOAD, "wall_seconds")
    faster = ""
    if own is not None and schema != BASELINE:
        faster = f", {against(ratio(spread, own, 'wall_seconds'), is_price=False)}"
    text = spread.median_text("wall_seconds")
    yield Tile("on a slow disk", text, f"to load {short(slow.setting.coins)} coins{faster}", "slow")


def _glance(report: Report, group: Group, use: Use, answers: Sequence[Answer]) -> Iterator[Bars]:
    """The figures of those who can do it: first the one that decides, then what all uses have."""
    measured = deciding(report, group, use)
    if measured is None:
        return
    group = replace(measured, rows=tuple(row for row in measured.rows if use.fits(row)))
    columns = [each for each in _columns(group, use) if any(map(each.spread, group.rows))]
    title = (
        f"{group.setting.profile}, {group.setting.coins:,} coins at a glance, {runs_text(measured)}"
        f"{f', {use.who}' if use.who else ''}. ×1.0 is the best of its column, ×2.4 is 2.4 times "
        "worse. The dotted line is the floor: 80 bytes of each coin appended to a file, no more"
    )
    floor = group.floor
    lines = [column.spread(floor) if floor else None for column in columns]
    medians = tuple(spread.median if spread else None for spread in lines)
    (own,) = [each for each in answers if each.use == use.title]
    first = shown(group, [own] if use.slow or use.who else answers)
    for table in figure_table(group, title, columns):
        yield Bars(table, medians, shown=first)


def _columns(group: Group, use: Use) -> Iterator[Column]:
    decides = use.wants[0]
    case = case_of(group, decides.cases)
    yield Column(f"{decides.label}: {_better(decides.figure)} is better", case, decides.figure)
    for label, case, figure in (
        ("load", LOAD, "wall_seconds"),
        ("look-ups", case_of(group, LOOKUPS), "names_per_second"),
        ("disk per coin", LOAD, "size_bytes_per_coin"),
        ("memory", LOAD, "peak_rss_bytes"),
    ):
        if label != decides.label:
            yield Column(f"{label}: {_better(figure)}", case, figure)


def _better(figure: str) -> str:
    return "more" if is_more_better(figure) else "less"


def _opening(group: Group | None, answers: tuple[Answer, ...], unanswered: str) -> Block:
    told = (Text(unanswered),) if unanswered else ()
    if group is None:
        finding = "Here only a full node's coin stores or layouts were measured, no schemas."
        return Block(finding, "", told)
    parts: list[Part] = [*answers, *told]
    busy = busy_line(group)
    if busy is not None:
        parts.append(Doubt(busy))
    void = [row for row in group.rows if row.mark is not Mark.RIGHT and row.keeps_contract]
    if void:
        names = ", ".join(f"{row.schema} ({row.mark})" for row in void)
        parts.append(Doubt(f"Without a figure that counts: {names}."))
    return Block("", "", tuple(parts))
