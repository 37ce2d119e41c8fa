"""Texts of any origin, made fit for one line."""

from os import PathLike, fsencode, fspath
from shlex import quote

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


def shell_word(text: str | PathLike[str]) -> str:
    """The text as one word to type in a shell.

    What can't be printed is escaped in the way of bash and zsh: on one line it reads as it is.
    """
    word = fspath(text)
    if word.isprintable():
        return quote(word)
    return f"$'{''.join(map(_escaped, word))}'"


def _escaped(character: str) -> str:
    if character.isprintable():
        return f"\\{character}" if character in "\\'" else character
    return "".join(f"\\x{byte:02x}" for byte in fsencode(character))


def printable_lines(text: str) -> str:
    """The same for each line of a text of several."""
    return "\n".join(map(printable, text.split("\n")))
