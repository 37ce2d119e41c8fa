"""Runs a command as users expect: one line for an error, and exit codes that scripts can use.

0 fine · 1 data or store error, or stores differ · 2 usage · 3 damage that verify --repair mends ·
130 interrupt. When the reader of our output goes away (``| head``), the command ends quietly, with
1.
"""

import os
import sys
from typing import NoReturn

import click

from cdb.errors import CdbError

EXIT_ERROR = 1
EXIT_REPAIRABLE = 3
EXIT_INTERRUPT = 130


def run(command: click.Command) -> NoReturn:
    """Run a click command with the process's arguments, and exit."""
    _open_closed_streams()
    sys.exit(_exit_code(command))


def _open_closed_streams() -> None:
    """Give the standard streams that are closed to /dev/null.

    Otherwise a database file would get such a stream's number, and what is printed would go there.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
            if name != "stdin":
                setattr(sys, name, os.fdopen(number, "w", closefd=False))


def _exit_code(command: click.Command) -> int:
    try:
        # Not standalone: click would answer an interrupt with exit code 1.
        result = command.main(standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except CdbError as error:
        return fail(str(error))
    except BrokenPipeError:
        _give_up_output()
        return EXIT_ERROR
    except OSError as error:
        _give_up_output()
        where = "" if error.filename is None else f"{error.filename}: "
        return fail(f"{where}{error.strerror or error}")
    except (KeyboardInterrupt, click.Abort):
        return EXIT_INTERRUPT
    return result if isinstance(result, int) else 0


def _give_up_output() -> None:
    """Where standard output takes no more, keep the interpreter from trying again when it exits."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def fail(problem: str) -> int:
    """Print the one line of an error; the exit code."""
    click.echo(f"error: {problem}", err=True)
    return EXIT_ERROR
