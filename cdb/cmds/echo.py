"""Prints what people read. What it quotes, of a database or a file of results, is only text.

What a command was asked for goes to standard output, and so does what it has done; standard error
has errors, and notes on what goes on. --quiet leaves out the notes and what was done.
"""

import json
import sys
from typing import Any

import click

from cdb.contract.printable import printable, printable_lines

_QUIET = "cdb.cmds.quiet"
"""In the meta of a click context, which all commands of one command line share."""


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print lines that a terminal has nothing to obey in."""
    click.echo(printable_lines(text), err=err, nl=nl)


def echo_line(text: str, *, err: bool = False) -> None:
    """Print one line, also where it quotes a name that has line ends: that would forge others."""
    click.echo(printable(text), err=err)


def echo_status(text: str) -> None:
    """Show on a terminal what goes on, in place of what was shown so before; "" takes it away."""
    if sys.stderr.isatty() and not is_quiet():
        click.echo(f"\r\033[K{printable(text)}", err=True, nl=False)


def echo_done(*lines: str) -> None:
    """Print what a command has done, unless --quiet was given; see echo_line."""
    if not is_quiet():
        for line in lines:
            echo_line(line)


def echo_json(value: dict[str, Any] | list[Any]) -> None:
    """Print what --json asks for."""
    click.echo(json.dumps(value, indent=2))


def note(text: str) -> None:
    """Print lines on standard error, unless --quiet was given."""
    if not is_quiet():
        echo(text, err=True)


def note_line(text: str) -> None:
    """Print one line so; see echo_line."""
    note(printable(text))


def be_quiet(ctx: click.Context) -> None:
    """Leave out notes and progress from here on."""
    ctx.meta[_QUIET] = True


def is_quiet() -> bool:
    """Whether --quiet was given."""
    ctx = click.get_current_context(silent=True)
    return ctx is not None and _QUIET in ctx.meta
