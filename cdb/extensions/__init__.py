"""The extension modules of native/: found, missing, and their errors raised."""

DISTRIBUTION = "coinset-db"
"""What pip calls the package cdb. Here, because all commands ask for it as they start."""


def installed_version(distribution: str = DISTRIBUTION) -> str | None:
    """The version of an installed package; None where it is not installed."""
    from importlib import metadata  # takes half as long as a short command does

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
