"""Pictures as SVG, drawn when the page is made: points and lines on logarithmic axes.

A picture has no colour of its own: each schema's group has the classes schema and its colour's, and
those that are not shown at first more. Texts are escaped by the writer of elements.
"""

from collections.abc import Callable, Iterator, Sequence
from math import ceil, floor, log10

from cdb.report import units
from cdb.report.markup import Html, element
from cdb.report.parts import Plot, Points

WIDTH, HEIGHT = 520, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 126, 14, 44
_GAP = 15
"""Between labels, so that none lies on another."""
_MOST_TICKS = 5
_STEPS = ((1, 1.5, 2, 2.5, 3, 4, 5, 6, 8), (1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))
Classes = Callable[[str], str]


def plot(picture: Plot, classes: Classes) -> Html:
    """The picture; classes: those of a schema's elements."""
    is_lines = any(len(points) > 1 for _, points in picture.points)
    of_all = [point for _, points in picture.points for point in points]
    x = _Axis([at for at, _ in of_all], _LEFT, WIDTH - _RIGHT)
    y = _Axis([at for _, at in of_all], HEIGHT - _BOTTOM, _TOP)
    drawn = [_line(picture, each, classes, x, y) for each in picture.points]
    return element(
        "svg",
        *_axes(picture, x, y),
        *drawn,
        *_labels(picture.points, classes, x, y, at_end=is_lines),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=picture.title,
    )


class _Axis:
    """Where values lie: logarithmic, with room on both sides."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        low, high = log10(min(values)), log10(max(values))
        room = max(0.06 * (high - low), 0.06)
        self.low, self.high, self.start, self.end = low - room, high + room, start, end

    def __call__(self, value: float) -> float:
        share = (log10(value) - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self) -> list[float]:
        """Round numbers on it, as many as there is room for."""
        for steps in _STEPS:
            powers = range(floor(self.low), ceil(self.high) + 1)
            told = [
                step * 10.0**power
                for power in powers
                for step in steps
                if self.low <= log10(step * 10.0**power) <= self.high
            ]
            if len(told) <= _MOST_TICKS:
                return told
        return told[:: ceil(len(told) / _MOST_TICKS)]


def _axes(picture: Plot, x: _Axis, y: _Axis) -> Iterator[Html]:
    for at in x.ticks():
        yield element("path", d=f"M{x(at)} {_TOP}V{HEIGHT - _BOTTOM}", class_="grid")
        text = _tick(picture.x_name, at)
        yield element("text", text, x=x(at), y=HEIGHT - _BOTTOM + 17, class_="tick x-tick")
    for at in y.ticks():
        yield element("path", d=f"M{_LEFT} {y(at)}H{WIDTH - _RIGHT}", class_="grid")
        text = _tick(picture.y_name, at)
        yield element("text", text, x=_LEFT - 7, y=y(at) + 4, class_="tick y-tick")
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    yield element("text", picture.x_label, x=middle, y=HEIGHT - 8, class_="tick x-tick")
    across = f"translate(13 {(HEIGHT - _BOTTOM + _TOP) / 2}) rotate(-90)"
    yield element("text", picture.y_label, transform=across, class_="tick x-tick")


def _tick(name: str, value: float) -> str:
    if name in ("coins", "coins_per_second"):
        return units.rate(value).removesuffix("/s")
    return units.text(name, value).replace(".00 s", " s").replace(".0 s", " s")


def _line(picture: Plot, line: tuple[str, Points], classes: Classes, x: _Axis, y: _Axis) -> Html:
    schema, points = line
    name = classes(schema)
    path = "L".join(f"{x(at)} {y(value)}" for at, value in points)
    drawn = [element("path", element("title", schema), d=f"M{path}")] if len(points) > 1 else []
    # Where there are dozens of lines, a click away, each has its name and no values.
    if "more" not in name.split() or len(points) == 1:
        drawn += [
            element(
                "circle",
                element("title", _told(picture, schema, *point)),
                cx=x(point[0]),
                cy=y(point[1]),
                r=3 if len(points) > 1 else 6,
            )
            for point in points
        ]
    return element("g", *drawn, class_=f"{name} line")


def _told(picture: Plot, schema: str, x: float, y: float) -> str:
    return (
        f"{schema}: {picture.x_label} {units.text(picture.x_name, x)}, "
        f"{picture.y_label} {units.text(picture.y_name, y)}"
    )


def _labels(
    lines: Sequence[tuple[str, Points]], classes: Classes, x: _Axis, y: _Axis, *, at_end: bool
) -> Iterator[Html]:
    """Names beside points, or at the ends of lines, none on another: of those that are shown at
    first, and at the ends of all lines. Beside a crowd of points there is no room for all."""
    few = [each for each in lines if "more" not in classes(each[0]).split()]
    for kind, some in (("few", few), ("more", lines)) if at_end else (("", few),):
        ends = sorted((y(points[-1][1]), x(points[-1][0]), schema) for schema, points in some)
        tops = _apart([end[0] for end in ends])
        for top, (_, left, schema) in zip(tops, ends, strict=True):
            at = WIDTH - _RIGHT + 8 if at_end else left + 10
            yield element("text", schema, x=at, y=round(top + 4, 1), class_=f"{kind} name".strip())


def _apart(places: Sequence[float]) -> list[float]:
    """The places, from the top on, moved so that each is a gap below the one before, and none
    below the picture."""
    gap = min(_GAP, (HEIGHT - _BOTTOM) / max(len(places), 1))
    moved: list[float] = []
    for place in places:
        moved.append(max(place, moved[-1] + gap) if moved else place)
    limit = HEIGHT - _BOTTOM + 8.0
    for n in reversed(range(len(moved))):
        moved[n] = min(moved[n], limit)
        limit = moved[n] - gap
    return moved
