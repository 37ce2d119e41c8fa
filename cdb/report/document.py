"""A report's document: what HTML, Markdown and a terminal each write."""

from collections.abc import Iterator
from dataclasses import replace

from cdb.report.growth import alike, growth_of, short
from cdb.report.model import LOAD, Group, Mark, Report
from cdb.report.parts import Answer, Bars, Block, Document, Doubt, Part, Tile, View
from cdb.report.rules import WORDS
from cdb.report.sections import Context, sections
from cdb.report.tables import Column, busy_line, figure_table, runs_text
from cdb.report.uses import (
    BASELINE,
    DURABILITY_WORDS,
    LOOKUPS,
    USES,
    against,
    answer,
    case_of,
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
    schemas = [schema for each in in_pictures for schema in each]
    schemas += [row.schema for group in report.groups for row in group.lines]
    return Document(
        title=TITLE,
        views=tuple(view for view, _ in of_views),
        uses=tuple((use.id, use.title) for use in USES),
        answers=tuple(
            _opening(group, told) for (_, group), told in zip(of_views, answers, strict=True)
        ),
        sections=sections(contexts),
        shown=in_pictures,
        schemas=tuple(dict.fromkeys(schemas)),
        words=WORDS,
    )


def _best(answers: tuple[Answer, ...], group: Group | None) -> str:
    """The schema that sections speak of: the first answer, or who loads fastest."""
    told = [each.schema for each in answers if each.schema]
    rows = [row.schema for row in group.rows if row.competes] if group is not None else []
    return next(iter([*told, *rows]), "")


def _views(report: Report) -> list[tuple[View, Group | None]]:
    """Each group as it is chosen, the one that tells most first; then what only a node has."""
    groups = sorted(report.groups, key=weight, reverse=True)
    groups.sort(key=lambda group: group.setting.machine in report.elsewhere)
    views: list[tuple[View, Group | None]] = []
    for group in groups:
        view = _view(report, group)
        known = [other for told, other in views if other and told == view]
        views.append((_told_apart(view, group) if known else view, group))
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


def _told_apart(view: View, group: Group) -> View:
    setting = group.setting
    limits = ", ".join(f"{label} {text}" for label, text in setting.limits)
    more = (setting.source, f"a flush each {setting.flush_coins:,}", setting.digest[:8], limits)
    return replace(view, size=f"{view.size} ({', '.join(filter(None, more))})")


def _answers(report: Report, group: Group | None) -> tuple[Answer, ...]:
    if group is None:
        return ()
    told = (answer(report, group, use) for use in USES)
    return tuple(
        replace(each, tiles=(*each.tiles, *_prospects(report, group, each.schema))) for each in told
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


def _opening(group: Group | None, answers: tuple[Answer, ...]) -> Block:
    if group is None:
        return Block(
            "Here only a full node's coin stores or layouts were measured, no schemas.", ""
        )
    parts: list[Part] = [*answers]
    columns = [
        Column("load: less is better", LOAD, "wall_seconds"),
        Column("look-ups: more", case_of(group, LOOKUPS), "names_per_second"),
        Column("disk per coin: less", LOAD, "size_bytes_per_coin"),
        Column("memory: less", LOAD, "peak_rss_bytes"),
    ]
    title = (
        f"{group.setting.coins:,} coins at a glance, {runs_text(group)}. The dotted line is the "
        "floor: 80 bytes of each coin appended to a file, and nothing more"
    )
    for table in figure_table(group, title, columns):
        floor = group.floor
        lines = [column.spread(floor) if floor else None for column in columns]
        told = tuple(spread.median if spread else None for spread in lines)
        parts.append(Bars(table, told if len(table.header) == len(columns) + 1 else ()))
    busy = busy_line(group)
    if busy is not None:
        parts.append(Doubt(busy))
    void = [row for row in group.rows if row.mark is not Mark.RIGHT and row.keeps_contract]
    if void:
        names = ", ".join(f"{row.schema} ({row.mark})" for row in void)
        parts.append(Doubt(f"Without a figure that counts: {names}."))
    return Block("", "", tuple(parts))
