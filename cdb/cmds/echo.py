"""Prints what people read. What it quotes, of a database or a file of results, is only text."""

import click

from cdb.plain import printable_lines


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print lines that a terminal has nothing to obey in."""
    click.echo(printable_lines(text), err=err, nl=nl)
