"""The page: one HTML file that needs no network, and no JavaScript to be complete.

Its templates, style and script are in templates/. Jinja2 escapes all texts, of which none keeps a
control character; the SVGs of charts.py are the only markup that it is given.
"""

import io
import tarfile
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from cdb.bench.results import place_of, text_of
from cdb.contract.printable import printable
from cdb.report import layouts, node, units
from cdb.report.answers import answer, answers, conditions
from cdb.report.charts import Charts, runtime
from cdb.report.group_tables import SECTIONS
from cdb.report.growth import growth_tables
from cdb.report.model import (
    LOAD,
    Document,
    Group,
    LayoutSetting,
    Mark,
    NodeSetting,
    Report,
    Row,
    Setting,
    Spread,
)
from cdb.report.published import SOURCE, published_table
from cdb.report.rules import (
    LAYOUTS_TITLE,
    LAYOUTS_WORDS,
    LIMITS,
    NODE_TITLE,
    NODE_WORDS,
    RULES,
    WEEK_TITLE,
    WEEK_WORDS,
)
from cdb.report.tables import busy_line

_TICKS = (
    *((0.001, "1 ms"), (0.01, "10 ms"), (0.1, "0.1 s"), (1, "1 s"), (10, "10 s"), (60, "1 m")),
    *((600, "10 m"), (3600, "1 h"), (36_000, "10 h"), (360_000, "100 h")),
)
"""Where an axis of seconds may have a mark."""
_MARK_WORDS = {
    Mark.RIGHT: "all answers right",
    Mark.WRONG: "wrong answers",
    Mark.FAILED: "failed",
    Mark.NOT_MEASURED: "not measured",
    Mark.NOTHING: "keeps nothing",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """Something to show or not. chosen: whether it is shown before anybody chooses."""

    value: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Axis:
    """Seconds, logarithmic, from low to high. floor: 0 where there is none."""

    low: float
    high: float
    floor: float
    ticks: tuple[tuple[float, str], ...]


def page(report: Report) -> str:
    """The HTML of a report."""
    environment = Environment(
        loader=PackageLoader("cdb.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
    environment.filters |= {
        "times": units.times,
        "duration": units.duration,
        "breakable": _breakable,
    }
    headlines = [each.group for each in answers(report)]
    schemas = sorted({row.schema for group in report.groups for row in group.rows})
    return environment.get_template("page.html").render(
        report=report,
        groups=[*headlines, *(group for group in report.groups if group not in headlines)],
        choices=_choices(report, headlines, schemas),
        answer=answer,
        axis_of=_axis,
        busy_line=busy_line,
        growth=tuple(growth_tables(report.groups)),
        charts=Charts(schemas),
        conditions_of=conditions,
        layouts=layouts,
        layouts_title=LAYOUTS_TITLE,
        layouts_words=LAYOUTS_WORDS,
        limits=LIMITS,
        node=node,
        node_title=NODE_TITLE,
        week_title=WEEK_TITLE,
        node_sections=(
            ("node", NODE_WORDS, report.node),
            ("week", WEEK_WORDS, report.weeks),
        ),
        LOAD=LOAD,
        mark_words=_MARK_WORDS,
        published_source=SOURCE,
        published_table=published_table,
        range_of=_range,
        ratio=lambda group, row: group.ratio(row, LOAD, "wall_seconds"),
        reason=_reason,
        rows_of=_rows,
        rules=RULES,
        settings_of=_settings,
        tables=SECTIONS,
        archive=_archive(report.raw),
        runtime=_safe(runtime()),
        script=_file("page.js"),
        style=_file("page.css"),
    )


def _file(name: str) -> Markup:
    return _safe(files("cdb.report").joinpath("templates", name).read_text("utf-8"))


def _breakable(schema: str) -> Markup:
    """A schema's name, which is broken first before its options."""
    return escape(printable(schema)).replace(",", _safe(",<wbr>"))


def _settings(setting: Setting) -> dict[str, str]:
    """What tells one group from another, in the words of the choices."""
    return {
        "machine": setting.machine,
        "profile": setting.profile,
        "coins": f"{setting.coins:,}",
        "durability": setting.durability.upper(),
        "flush": f"{setting.flush_coins:,}",
    }


def _where(setting: NodeSetting | LayoutSetting) -> dict[str, str]:
    """What others than groups can be chosen by."""
    return {"machine": setting.machine, "profile": setting.profile}


def _choices(
    report: Report, headlines: Iterable[Group], schemas: Iterable[str]
) -> dict[str, list[Choice]]:
    """By dimension. Chosen are all machines, profiles, schemas; else what the answers are of."""
    told = [_settings(group.setting) for group in report.groups]
    of_others = [
        *(_where(each.setting) for each in (*report.node, *report.weeks)),
        *(_where(each.setting) for each in report.layouts),
    ]
    answered = [_settings(group.setting) for group in headlines]
    choices = {
        dimension: [
            Choice(
                value,
                dimension in ("machine", "profile")
                or any(each[dimension] == value for each in answered),
            )
            for value in dict.fromkeys(
                each[dimension] for each in (*told, *of_others) if dimension in each
            )
        ]
        for dimension in (told[0] if told else ())
    }
    return choices | {"schema": [Choice(schema, True) for schema in schemas]}


def _axis(group: Group) -> Axis:
    floor = group.floor.figure(LOAD, "wall_seconds") if group.floor else None
    spreads = [row.figure(LOAD, "wall_seconds") for row in group.rows]
    told = [spread for spread in (*spreads, floor) if spread and spread.min > 0]
    low = min((spread.min for spread in told), default=1.0) / 2
    high = max((spread.max for spread in told), default=10.0)
    ticks = tuple((at, label) for at, label in _TICKS if low < at < high)
    return Axis(low, high, floor.median if floor else 0, ticks)


def _range(name: str, spread: Spread) -> str:
    """From the least to the greatest, where the texts of the two differ."""
    least, greatest = (units.text(name, value) for value in (spread.min, spread.max))
    return f"{least} – {greatest}" if least != greatest else ""


def _rows(group: Group) -> tuple[Row, ...]:
    """All rows, the floor's too."""
    return (*group.rows, group.floor) if group.floor else group.rows


def _reason(row: Row) -> str:
    """Why a row has no load time: a wrong answer, or what became of the load."""
    ranked = sorted(row.problems, key=lambda each: (each.outcome != "wrong", each.case != LOAD))
    if not ranked:
        return "no load time"
    problem = ranked[0]
    mark = "✗ " if problem.outcome == "wrong" else ""
    return f"{mark}{problem.case}: {problem.outcome.replace('_', ' ')}: {problem.reason}"


def _archive(documents: Iterable[Document]) -> Markup:
    """The files of results, as a .tar.xz in base64; the same for the same results."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as archive:
        for document in documents:
            plain = dict(document)
            content = text_of(plain).encode()
            entry = tarfile.TarInfo(f"results/{place_of(plain)}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return _safe(b64encode(packed.getvalue()).decode())


def _safe(markup: str) -> Markup:
    """Text of this package, or made by it, that is not to be escaped."""
    return Markup(markup)  # noqa: S704
