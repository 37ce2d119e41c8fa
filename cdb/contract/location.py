"""Where a database is: at a path, or at a URL for who keeps it elsewhere."""

import re
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

_is_url = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE).match
_secrets = re.compile(r"(?<=://).*(?=@)|(?<=[?&]password=)[^&#]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Url:
    """A URL. No file is at it.

    text: as it was given, for the schema to read; as a str, for people, it is without secrets.
    """

    text: str

    def __str__(self) -> str:
        return _secrets.sub("…", self.text)


Location = Path | Url
"""What is at a path has files: a lock, FORMAT, a size, a backup. What is at a URL has none."""


def location_of(given: "str | PathLike[str] | Url") -> Location:
    """What was given, parsed once. Text that begins as a URL does (``cassandra://``) is one; a file
    in a directory of such a name is ``./cassandra:/…``."""
    if isinstance(given, Url):
        return given
    return Url(given) if isinstance(given, str) and _is_url(given) else Path(given)
