"""Curves and plots, by Altair: a Vega-Lite specification, and an SVG for who has no JavaScript.

Colours are the page's own CSS variables --s0, --s1, … and currentColor, so that one picture fits
light and dark. A schema has its colour and its shape in every chart of a page.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, log
from typing import Any

import altair as alt
import vl_convert

from cdb.contract.printable import plain, printable
from cdb.report.model import LOAD, Curve, Group, Row

COLOURS = 9
"""How many variables --s0, --s1, … the page defines."""
_SHAPES = (
    *("circle", "square", "triangle-up", "diamond", "cross"),
    *("triangle-down", "triangle-right", "triangle-left"),
)
_WIDTH, _HEIGHT = 640, 380
_WINDOWS = 36
_MARK_EACH = 6
Point = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Chart:
    """The same picture twice. specification: Vega-Lite as JSON; svg: markup."""

    specification: dict[str, Any]
    svg: str


@cache
def runtime() -> str:
    """The JavaScript that draws specifications: it defines the function vegaEmbed."""
    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return script.replace("</script", r"<\/script").replace("<!--", r"<\!--")


class Charts:
    """Draws with one set of colours and shapes for all groups of a page."""

    def __init__(self, schemas: Iterable[str]) -> None:
        self._places = {printable(schema): place for place, schema in enumerate(schemas)}

    def throughput(self, group: Group) -> Chart | None:
        """Coins a second against coins loaded, a line a schema; None where no run tells."""
        points = [
            {**_names(row), "x": x, "y": y, "m": place % _MARK_EACH == 0}
            for row in group.rows
            if row.competes and row.curves
            for place, (x, y) in enumerate(speeds(_middle(row.curves)))
        ]
        if not points:
            return None
        base = alt.Chart(alt.NamedData("points")).encode(
            x=_log_axis("x", "coins loaded", "~s"), y=_log_axis("y", "coins/s", "~s")
        )
        colour, shape = self._colour(points), self._shape(points)
        line = base.mark_line(strokeWidth=2, aria=False).encode(color=colour)
        marks = (
            base.transform_filter("datum.m")
            .mark_point(filled=True, size=55, opacity=1, aria=False)
            .encode(color=colour, shape=shape)
        )
        targets = base.mark_point(filled=True, size=300, opacity=0, aria=False).encode(
            tooltip=[
                alt.Tooltip("n:N", title="schema"),
                alt.Tooltip("x:Q", title="coins loaded", format=",.0f"),
                alt.Tooltip("y:Q", title="coins/s", format=",.0f"),
            ]
        )
        return _chart(points, [line, marks], [targets])

    def trade_off(self, group: Group, figure: str, label: str) -> Chart | None:
        """Load time against another figure of it that is better the less it is, both on log axes.

        The frontier, where nothing is better in both, is a line. None below two points.
        """
        points = [
            {**_names(row), "x": time.median, "y": other.median}
            for row in group.rows
            if row.competes
            and (time := row.figure(LOAD, "wall_seconds"))
            and (other := row.figure(LOAD, figure))
            and other.median > 0
        ]
        if len(points) < 2:
            return None
        base = alt.Chart(alt.NamedData("points")).encode(
            x=_log_axis("x", "load, seconds", "~g", padding=48),
            y=_log_axis("y", f"{label}, bytes", "~s", padding=28),
        )
        in_order: list[alt.SortField | dict[str, str]] = [alt.SortField("x"), alt.SortField("y")]
        frontier = (
            base.transform_window(least="min(y)", sort=in_order)
            .transform_window(place="row_number()", before="lag(least)", sort=in_order)
            .transform_filter("datum.place == 1 || datum.least < datum.before")
            .mark_line(
                color="currentColor",
                strokeDash=[5, 4],
                strokeWidth=1.5,
                point=alt.OverlayMarkDef(filled=False, color="currentColor", size=330),
                aria=False,
            )
        )
        marks = base.mark_point(filled=True, size=110, opacity=1, aria=False).encode(
            color=self._colour(points, legend=False),
            shape=self._shape(points, legend=False),
            tooltip=[
                alt.Tooltip("n:N", title="schema"),
                alt.Tooltip("x:Q", title="load, seconds", format=",.3~r"),
                alt.Tooltip("y:Q", title=f"{label}, bytes", format=",.0f"),
            ],
        )
        # Every other one below its point: neighbours leave each other room.
        names = [
            base.transform_window(place="row_number()", sort=in_order)
            .transform_filter(f"datum.place % 2 == {odd}")
            .mark_text(dy=dy, fontSize=12, color="currentColor", aria=False)
            .encode(text="n:N")
            for odd, dy in ((1, -17), (0, 19))
        ]
        return _chart(points, [frontier, marks, *names], [])

    def colour(self, schema: str) -> str:
        """A schema's, as CSS has it."""
        return f"var(--s{self._places[printable(schema)] % COLOURS})"

    def _colour(self, points: Sequence[Point], *, legend: bool = True) -> alt.Color:
        colours = {point["n"]: self.colour(point["s"]) for point in points}
        scale = alt.Scale(domain=list(colours), range=list(colours.values()))
        return alt.Color("n:N", scale=scale, legend=_legend() if legend else None)

    def _shape(self, points: Sequence[Point], *, legend: bool = True) -> alt.Shape:
        places = {point["n"]: self._places[point["s"]] for point in points}
        shapes = [_SHAPES[place % len(_SHAPES)] for place in places.values()]
        scale = alt.Scale(domain=list(places), range=shapes)
        return alt.Shape("n:N", scale=scale, legend=_legend() if legend else None)


def speeds(curve: Curve) -> list[tuple[int, float]]:
    """Coins so far and coins a second since the point before, in windows that widen evenly.

    >>> speeds(((1000, 1.0), (2000, 3.0)))
    [(1000, 1000.0), (2000, 500.0)]
    """
    coins = [at for at, _ in curve]
    first, last = log(coins[0]), log(coins[-1])
    wanted = [exp(first + (last - first) * n / _WINDOWS) for n in range(_WINDOWS + 1)]
    # At its end exp(log(x)) may be a little more than x.
    places = dict.fromkeys(min(bisect_left(coins, at), len(coins) - 1) for at in wanted)
    result, before, since = [], 0, 0.0
    for place in places:
        at, seconds = curve[place]
        if at > before and seconds > since:
            result.append((at, (at - before) / (seconds - since)))
            before, since = at, seconds
    return result


def _middle(curves: Sequence[Curve]) -> Curve:
    """The curve of the run whose time is the median."""
    return sorted(curves, key=lambda curve: curve[-1][1])[(len(curves) - 1) // 2]


def _names(row: Row) -> Point:
    """As the page has it, and as a chart has room for; vl-convert dies of control characters."""
    return {"s": printable(row.schema), "n": plain(row.schema, 24)}


def _log_axis(field: str, title: str, form: str, padding: int = 0) -> Any:
    channel = alt.X if field == "x" else alt.Y
    scale = alt.Scale(type="log", nice=False, padding=padding)
    axis = alt.Axis(format=form, tickCount=6, labelOverlap=True)
    return channel(f"{field}:Q", title=title, scale=scale, axis=axis)


def _legend() -> alt.Legend:
    return alt.Legend(title=None, orient="top", columns=4, symbolSize=80, labelLimit=140)


def _chart(
    points: Sequence[Point], layers: Sequence[alt.Chart], targets: Sequence[alt.Chart]
) -> Chart:
    """targets: layers that are only there to be pointed at."""
    svg: str = vl_convert.vegalite_to_svg(_specification(points, layers))
    return Chart(_specification(points, [*layers, *targets]), svg)


def _specification(points: Sequence[Point], layers: Sequence[alt.Chart]) -> dict[str, Any]:
    chart = (
        alt.layer(*layers)
        .properties(
            width=_WIDTH,
            height=_HEIGHT,
            background="transparent",
            autosize=alt.AutoSizeParams(type="fit", contains="padding"),
        )
        .configure(font="system-ui, sans-serif")
        .configure_view(stroke=None)
        .configure_axis(
            **dict.fromkeys(("labelColor", "titleColor", "tickColor"), "currentColor"),
            domainColor="currentColor",
            gridColor="currentColor",
            gridOpacity=0.12,
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
        )
        .configure_legend(labelColor="currentColor", labelFontSize=12)
    )
    specification: dict[str, Any] = chart.to_dict(validate=False)  # a third of the time
    del specification["$schema"]  # an address
    specification["data"] = {"values": list(points)}
    return specification
