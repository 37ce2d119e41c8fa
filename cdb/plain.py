"""Texts of any origin, made fit for one line."""

CELL_LENGTH = 300


def plain(text: str, longest: int = 2000) -> str:
    """On one line and without control characters, which a terminal would obey.

    Of a text that is longer than `longest` the end is left out, and … says so.
    """
    line = printable(" ".join(text.split()))
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def printable(text: str) -> str:
    """The text with � for each control character."""
    return "".join(each if each.isprintable() else "�" for each in text)


def printable_lines(text: str) -> str:
    """The same for each line of a text of several."""
    return "\n".join(map(printable, text.split("\n")))
