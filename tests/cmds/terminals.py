"""What a command shows on a terminal."""

import os
import termios

from tests.conftest import COMMAND_SECONDS, Commands


def shown_on_a_terminal(run_command: Commands, *line: object) -> tuple[int, str]:
    """The exit code of a command, and what it printed to a terminal on stderr."""
    screen, terminal = os.openpty()
    termios.tcsetwinsize(terminal, (24, 80))
    try:
        process = run_command.start(*map(str, line), stderr=terminal)
        os.close(terminal)
        printed = b""
        while True:
            try:
                printed += os.read(screen, 65_536)
            except OSError:  # the terminal's other end is closed
                break
        return process.wait(timeout=COMMAND_SECONDS), printed.decode()
    finally:
        os.close(screen)
