"""Runs a command as users expect: one line for an error, and exit codes that scripts can use.

0 fine · 1 data or store error, or stores differ · 2 usage · 3 damage that verify --repair mends ·
4 only the blocks before damage are dumped · 130 interrupt. When the reader of our output goes away
(``| head``), the command ends quietly, with 1.
"""

import os
import re
import sys
from contextlib import suppress
from io import StringIO
from typing import NoReturn

import click

from cdb.cmds.echo import echo, echo_line
from cdb.contract.printable import shell_word
from cdb.disk.paths import keep_standard_descriptors
from cdb.errors import VERIFY, CdbError, DatabaseError, explained, memory_problem
from cdb.process.termination import end_at_interrupts, raise_interrupts

EXIT_ERROR = 1
EXIT_REPAIRABLE = 3
EXIT_PARTIAL = 4
EXIT_INTERRUPT = 130


def run(command: click.Command) -> NoReturn:
    """Run a click command with the process's arguments, and exit."""
    _open_closed_streams()
    try:
        raise_interrupts()
        code = _exit_code(command)
    except KeyboardInterrupt:  # while an error was told
        code = EXIT_INTERRUPT
    end_at_interrupts()
    sys.exit(code)


def _open_closed_streams() -> None:
    """Standard output that is closed fails who writes to it, as a full disk does; standard error
    that is closed takes whatever comes: nobody wants to know.
    """
    keep_standard_descriptors()
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - it stays


def _exit_code(command: click.Command) -> int:
    try:
        # Not standalone: click would answer an interrupt with exit code 1.
        result = command.main(standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        shown = StringIO()
        error.show(shown)
        # All errors begin alike.
        echo(
            re.sub("^Error: ", "error: ", shown.getvalue(), count=1, flags=re.M), err=True, nl=False
        )
        return error.exit_code
    except DatabaseError as error:
        # Where nobody knew the database, what it is called tells `cdb verify` the rest.
        return fail(str(error).replace(VERIFY, f"cdb verify {shell_word(error.path)}"))
    except CdbError as error:
        return fail(str(error))
    except MemoryError as error:
        return fail(memory_problem(error))
    except BrokenPipeError:
        _give_up_output()
        return EXIT_ERROR
    except OSError as error:
        _give_up_output()
        # Errors of files name the file; of streams, only the output's end here.
        return fail(f"{error.filename or 'standard output'}: {explained(error)}")
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
    with suppress(OSError):  # standard error may be on the disk that is full
        echo_line(f"error: {problem}", err=True)
    return EXIT_ERROR
