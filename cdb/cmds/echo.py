"""Prints what people read. What it quotes, of a database or a file of results, is only text."""

import click

from cdb.plain import printable, printable_lines


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print lines that a terminal has nothing to obey in."""
    click.echo(printable_lines(text), err=err, nl=nl)


def echo_line(text: str, *, err: bool = False) -> None:
    """Print one line, also where it quotes a name that has line ends: that would forge others."""
    click.echo(printable(text), err=err)
