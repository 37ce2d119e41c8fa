"""What other programs of the system say."""

import subprocess


def output_of(*command: str) -> str | None:
    """What a program prints; None where there is no such program, or it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=True)  # noqa: S603 - our own commands
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
