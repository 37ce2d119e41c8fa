"""How a command ends that is asked to."""

import signal
import sys
from typing import NoReturn

EXIT_TERMINATED = 128 + signal.SIGTERM


def end_at_sigterm() -> None:
    """End at SIGTERM as after Ctrl-C, so that nothing is left behind."""

    def terminate(number: int, frame: object) -> NoReturn:
        sys.exit(EXIT_TERMINATED)

    signal.signal(signal.SIGTERM, terminate)
