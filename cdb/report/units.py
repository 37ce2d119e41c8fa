"""Figures as people read them: with their units, and exact enough to be compared.

A figure's name ends with its unit, so that a name and a value are all that a text needs.
"""

from collections.abc import Callable

NOT_TOLD = "n/a"


def duration(seconds: float) -> str:
    """Seconds as a reader takes them in: ``202 µs``, ``0.420 s``, ``22 m 38 s``, ``1 h 05 m``."""
    if 0 < seconds < 0.9995e-3:
        return f"{1e6 * seconds:.3g} µs"
    if 0 < seconds < 0.09995:
        return f"{1e3 * seconds:.3g} ms"
    if seconds < 9.995:
        return f"{seconds:#.3g} s"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} m {rest:02} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours:,} h {minutes:02} m"


def size(n_bytes: float | None) -> str:
    """Bytes in decimal units: ``815 B``, ``1.25 MB``, ``18.9 GB``; n/a for None."""
    if n_bytes is None:
        return NOT_TOLD
    if n_bytes < 999.5:
        return f"{n_bytes:.0f} B"
    value = float(n_bytes)
    for unit in ("kB", "MB", "GB", "TB"):
        value /= 1000
        if value < 999.5 or unit == "TB":
            break
    return f"{number(value)} {unit}"


def number(value: float) -> str:
    """Three digits, or all of an integer: ``1,234``, ``12.3``, ``0.0123``."""
    if value == round(value) or abs(value) >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def rate(per_second: float) -> str:
    """``1.8 M/s``, ``52 k/s``, ``8.5/s``."""
    for unit, least in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if per_second >= least * 0.9995:
            return f"{per_second / least:.3g} {unit}/s"
    return f"{per_second:.3g}/s"


def times(ratio: float) -> str:
    """``×1.0``, ``×22``, ``×1,358``."""
    return f"×{ratio:.1f}" if ratio < 9.95 else f"×{ratio:,.0f}"


_UNITS: tuple[tuple[str, Callable[[float], str]], ...] = (
    ("_bytes_per_second", lambda value: f"{size(value)}/s"),
    ("_bytes_per_coin", lambda value: f"{number(value)} B"),
    ("_microseconds_per_coin", lambda value: duration(value / 1e6)),
    ("_per_second", rate),
    ("_microseconds", lambda value: duration(value / 1e6)),
    ("_milliseconds", lambda value: duration(value / 1e3)),
    ("_seconds", duration),
    ("_bytes", size),
    ("_ratio", lambda value: f"×{number(value)}"),
    ("_amplification", lambda value: f"×{number(value)}"),
)


_SHOWN = ("_bytes", "_microseconds", "_milliseconds", "_seconds")
_ABBREVIATIONS = {"cpu": "CPU", "rss": "RSS", "os": "OS"}


def text(name: str, value: float) -> str:
    """The value of a figure of this name, with its unit."""
    for suffix, write in _UNITS:
        if f"_{name}".endswith(suffix):
            return write(value)
    return number(value)


def label(name: str) -> str:
    """A name in words, without the unit that its value shows: ``written a coin``, ``peak RSS``."""
    for suffix, _ in _UNITS:
        if suffix.startswith(_SHOWN) and name.endswith(suffix):
            name = name.removesuffix(suffix) + ("_a_coin" if suffix.endswith("_per_coin") else "")
            break
    name = name.replace("_per_second", "/s").replace("milliseconds", "time")
    return " ".join(_ABBREVIATIONS.get(word, word) for word in name.split("_"))


def fact(name: str, value: str | float | bool | None) -> str:
    """The value of a fact of this name, such as a machine's memory_bytes."""
    if value is None:
        return NOT_TOLD
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else text(name, value)
